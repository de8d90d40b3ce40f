"""One operand of an iterator: a tensor, a Python number, or an output still to be allocated."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.dtype import DType, dtype_of_number
from ..tensor.geometry import Geometry
from ..tensor.tensor import Tensor
from .overlap import Extent

Number = bool | int | float | complex


@dataclass(slots=True, eq=False)
class Operand:
    """State of one operand while the steps run; `strides` are in bytes, over the iterator's current shape.

    An input with `promotes` false (the condition of where) does not affect the common dtype; one with `only_promotes`
    (the exponent of pow, the bounds of clamp) affects nothing else. An output with `planned` has a geometry but no
    tensor yet.
    """

    tensor: Tensor | None
    number: Number | None
    is_output: bool
    geometry: Geometry | None
    dtype: DType | None
    promotes: bool = True
    only_promotes: bool = False
    is_read_write: bool = False
    will_resize: bool = False
    planned: bool = False
    strides: tuple[int, ...] | None = None

    @property
    def defined(self) -> bool:
        return self.geometry is not None or self.number is not None

    @property
    def priority(self) -> int:
        """Class for promotion: 0 a Python number, 1 a 0-dim tensor, 2 a tensor with dims."""
        if self.geometry is None:
            return 0
        return 2 if self.geometry.ndim else 1

    def extent(self) -> Extent:
        """What the overlap check compares; only for operands with a tensor."""
        tensor = self.tensor
        assert tensor is not None
        geometry = tensor.geometry
        return Extent(id(tensor.storage_impl), tensor.offset, geometry.sizes, geometry.strides, geometry.dtype.itemsize)

    def describe(self) -> str:
        if self.number is not None:
            return f"number {self.number!r}"
        role = "output" if self.is_output else "input"
        if self.is_read_write:
            role = "read and written"
        if self.geometry is None:
            return f"{role}, to be allocated"
        resize = ", to be resized" if self.will_resize else ""
        geometry = self.geometry
        return f"{role} {list(geometry.sizes)} strides {list(geometry.strides)} {geometry.dtype.name}{resize}"


def output_operand(tensor: Tensor | None) -> Operand:
    if tensor is None:
        return Operand(None, None, True, None, None)
    return Operand(tensor, None, True, tensor.geometry, tensor.geometry.dtype)


def input_operand(value: Tensor | Number) -> Operand:
    if isinstance(value, Tensor):
        return Operand(value, None, False, value.geometry, value.geometry.dtype)
    return Operand(None, value, False, None, dtype_of_number(value))
