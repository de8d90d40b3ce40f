"""TensorIterator: the operands of one operator call taken through the named build steps.

Order of the steps: mark outputs, overlap, broadcast, resize, devices, types, then either a fast setup (all operands of
one layout) or strides and reordering, allocation, coalescing. Every check precedes the first allocation or resize.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, NamedTuple

from ..core.device import Device, cpu
from ..core.dtype import DType, dtype_of_number
from ..core.promotion import check_castable, common_dtype, floating
from ..core.tracing import TRACING
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta, meta_of, permuted, preserve_format_strides, reorder_dimensions
from .dimensions import (
    FastSetup,
    broadcast_shapes,
    coalesce_dimensions,
    fast_setup,
    fast_strides,
    iteration_strides,
    packed_strides,
    resize_output,
)
from .overlap import check_no_internal_overlap, check_no_partial_overlap

Number = bool | int | float | complex


@dataclass(slots=True, eq=False)
class Operand:
    """State of one operand while the steps run; `strides` are in bytes, over the iterator's current shape.

    An input with `promotes` false (the condition of where) does not affect the common dtype; one with `only_promotes`
    (the exponent of pow, the bounds of clamp) affects nothing else. An output with `planned` has a meta but no
    tensor yet.
    """

    tensor: Tensor | None
    number: Number | None
    is_output: bool
    meta: TensorMeta | None
    dtype: DType | None
    promotes: bool = True
    only_promotes: bool = False
    is_read_write: bool = False
    will_resize: bool = False
    planned: bool = False
    strides: tuple[int, ...] | None = None

    @property
    def priority(self) -> int:
        """Class for promotion: 0 a Python number, 1 a 0-dim tensor, 2 a tensor with dims."""
        if self.meta is None:
            return 0
        return 2 if self.meta.ndim else 1

    def describe(self) -> str:
        if self.number is not None:
            return f"number {self.number!r}"
        if self.meta is None and self.strides is not None and self.dtype is not None:
            return f"{self.dtype.name}, restrided"
        role = "output" if self.is_output else "input"
        if self.is_read_write:
            role = "read and written"
        if self.meta is None:
            return f"{role}, to be allocated"
        resize = ", to be resized" if self.will_resize else ""
        meta = self.meta
        return f"{role} {list(meta.sizes)} strides {list(meta.strides)} {meta.dtype.name}{resize}"


def output_operand(tensor: Tensor | None) -> Operand:
    if tensor is None:
        return Operand(None, None, True, None, None)
    return Operand(tensor, None, True, tensor.meta, tensor.meta.dtype)


def input_operand(value: Tensor | Number) -> Operand:
    if isinstance(value, Tensor):
        return Operand(value, None, False, value.meta, value.meta.dtype)
    return Operand(None, value, False, None, dtype_of_number(value))


Ints = tuple[int, ...]


class IteratorConfig(NamedTuple):
    """Switches of the build steps. The bare default demands one dtype and one device and promotes nothing."""

    check_mem_overlap: bool = True
    check_all_same_dtype: bool = True
    check_all_same_device: bool = True
    allow_cpu_scalars: bool = False
    promote_inputs_to_common_dtype: bool = False
    promote_integer_inputs_to_float: bool = False
    enforce_safe_casting_to_output: bool = False
    enforce_linear_iteration: bool = False
    resize_outputs: bool = True
    is_reduction: bool = False
    static_dtype: DType | None = None
    static_device: Device | None = None
    static_shape: tuple[int, ...] | None = None


DEFAULT = IteratorConfig()
UNARY = BINARY = IteratorConfig(
    check_all_same_dtype=False,
    allow_cpu_scalars=True,
    promote_inputs_to_common_dtype=True,
    enforce_safe_casting_to_output=True,
)
FLOAT = BINARY._replace(promote_integer_inputs_to_float=True)
COMPARISON = BINARY._replace(enforce_safe_casting_to_output=False)
COPY = IteratorConfig(check_all_same_dtype=False, check_all_same_device=False, resize_outputs=False)


def common_device(operands: Sequence[TensorMeta], *, check: bool = True, allow_cpu_scalars: bool = False) -> Device:
    """The device of the operands; RuntimeError names both when two differ."""
    found: Device | None = None
    for operand in operands:
        if operand.device is not cpu or operand.ndim:
            if found is None:
                found = operand.device
            elif check and operand.device is not found:
                raise RuntimeError(
                    f"Expected all tensors to be on the same device, but found at least two devices, "
                    f"{found} and {operand.device}!"
                )
    if found is None:
        return cpu
    if check and not allow_cpu_scalars and any(operand.device is not found for operand in operands):
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {found} and {cpu}!"
        )
    return found


class Snapshot(NamedTuple):
    """The iterator after one step, for `explain`."""

    step: str
    shape: Ints
    strides: tuple[Ints | None, ...]
    note: str


def _show(values: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, values)) + "]"


class TensorIterator:
    """Built operands of one elementwise or reducing operator, outputs first.

    `shape` and each of `strides` (bytes) list the dims innermost first after the build; `perm` says which logical dim
    each was before coalescing (None where a fast setup or coalescing made that meaningless).
    """

    def __init__(
        self, outputs: Sequence[Tensor | None], inputs: Sequence[Tensor | Number], config: IteratorConfig = DEFAULT
    ) -> None:
        self.config = config
        self.outputs = [output_operand(tensor) for tensor in outputs]
        self.inputs = [input_operand(value) for value in inputs]
        self.operands = self.outputs + self.inputs
        self.logical_shape: Ints = ()
        self.shape: Ints = ()
        self.perm: Ints | None = None
        self.setup = FastSetup.NONE
        self.common_dtype: DType | None = None
        self.device: Device = cpu
        self.snapshots: list[Snapshot] = []

    @classmethod
    def restrided(
        cls, shape: Ints, strides: Sequence[Ints], dtypes: Sequence[DType], *, linear: bool = False
    ) -> TensorIterator:
        """Return the iterator over operands whose byte strides over `shape` are given; the first decides on the order.

        A gather, a flip or a window does not walk its operands as they lie, so that the operator works out the strides.
        `linear` keeps the order of the dims.
        """
        self = cls((), (), COPY._replace(static_shape=shape, enforce_linear_iteration=linear))
        self.inputs = self.operands = [
            Operand(None, None, False, None, dtype, strides=steps) for steps, dtype in zip(strides, dtypes, strict=True)
        ]
        self.logical_shape = self.shape = shape
        self._record("strides")
        self._reorder()
        self._coalesce()
        if TRACING.hook is not None:
            TRACING.hook("iterator", self)
        return self

    def build(self, *, allocate: bool = True) -> TensorIterator:
        """Run all steps; with ``allocate=False`` outputs keep a planned meta but get no memory."""
        self._mark_outputs()
        self._check_overlap()
        self._find_shape()
        self._mark_resize()
        self._find_device()
        self._find_types()
        if not self._fast_setup():
            self._find_strides()
            self._reorder()
        self._plan_outputs()
        if self.setup is FastSetup.NONE:
            self._coalesce()
        if allocate:
            self.allocate_outputs()
        if TRACING.hook is not None:
            TRACING.hook("iterator", self)
        return self

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def numel(self) -> int:
        return prod(self.shape)

    @property
    def strides(self) -> tuple[Ints, ...]:
        """Byte strides of every operand over `shape`, outputs first."""
        return tuple(operand.strides or (0,) * len(self.shape) for operand in self.operands)

    @property
    def dims(self) -> list[Ints]:
        """Each size with the byte strides of every operand, innermost first; none for a single element."""
        return [] if self.shape in ((), (1,)) else list(zip(self.shape, *self.strides, strict=True))

    def _mark_outputs(self) -> None:
        for output in self.outputs:
            output.is_read_write = output.tensor is not None and any(i.tensor is output.tensor for i in self.inputs)
        self._record("mark outputs")

    def _check_overlap(self) -> None:
        if not self.config.check_mem_overlap:
            return
        for output in self.outputs:
            if output.tensor is None or output.meta is None:
                continue
            check_no_internal_overlap(output.meta.sizes, output.meta.strides)
            for other in self.operands:
                if other.tensor is not None and other.tensor is not output.tensor:
                    check_no_partial_overlap(output.tensor, other.tensor)
        self._record("check overlap")

    def _find_shape(self) -> None:
        if self.config.static_shape is not None:
            self.logical_shape = self.config.static_shape
        else:
            counted = [o for o in self.operands if not (o.is_output and self.config.resize_outputs)]
            if self.config.resize_outputs and not self.inputs:
                counted = self.outputs
            self.logical_shape = broadcast_shapes(o.meta.sizes for o in counted if o.meta is not None)
        self.shape = self.logical_shape
        self._record("broadcast")

    def _mark_resize(self) -> None:
        for output in self.outputs:
            meta = output.meta
            if meta is None or meta.sizes == self.logical_shape or self.config.is_reduction:
                continue
            if output.is_read_write or not self.config.resize_outputs:
                raise RuntimeError(
                    f"output with shape {list(meta.sizes)} doesn't match the broadcast shape "
                    f"{list(self.logical_shape)}"
                )
            output.will_resize = True

    def _find_device(self) -> None:
        tensors = [o.meta for o in self.operands if o.meta is not None]
        self.device = self.config.static_device or common_device(
            tensors, check=self.config.check_all_same_device, allow_cpu_scalars=self.config.allow_cpu_scalars
        )

    def find_common_dtype(self) -> DType:
        """The dtype that the inputs meet in, by the configuration; found once."""
        if self.common_dtype is None:
            given = [(o.dtype, o.priority) for o in self.inputs if o.dtype is not None and o.promotes]
            promotes = self.config.promote_inputs_to_common_dtype and len({dtype for dtype, _ in given}) != 1
            self.common_dtype = common_dtype(given) if promotes else given[0][0]
            if self.config.promote_integer_inputs_to_float:
                self.common_dtype = floating(self.common_dtype)
        return self.common_dtype

    def _find_types(self) -> None:
        config = self.config
        if self.inputs:
            self.find_common_dtype()
            if config.check_all_same_dtype and not config.promote_inputs_to_common_dtype:
                self._check_same_dtype()
        for output in self.outputs:
            if output.dtype is None:
                output.dtype = config.static_dtype or self.common_dtype
            elif config.enforce_safe_casting_to_output and self.common_dtype is not None:
                check_castable(self.common_dtype, output.dtype)
            if output.dtype is None:
                raise RuntimeError("an output without inputs needs a dtype: give static_dtype")
        self._record("types", "" if self.common_dtype is None else f"common dtype {self.common_dtype.name}")

    def _check_same_dtype(self) -> None:
        for operand in self.operands:
            if operand.dtype is not None and operand.dtype is not self.common_dtype:
                assert self.common_dtype is not None
                raise RuntimeError(f"Found dtype {operand.dtype.name} but expected {self.common_dtype.name}")

    def _fast_setup(self) -> bool:
        config = self.config
        if config.is_reduction or config.enforce_linear_iteration or config.static_shape is not None:
            return False
        if self.logical_shape and any(o.number is not None and not o.only_promotes for o in self.operands):
            return False
        present = [o for o in self.operands if o.meta is not None and not o.will_resize]
        layouts = [self._layout(operand) for operand in present]
        self.setup = fast_setup(layouts)
        if self.setup is FastSetup.NONE or layouts[0].sizes != self.logical_shape:
            self.setup = FastSetup.NONE
            return False
        if fast_setup([o.meta for o in present if o.meta is not None]) is not self.setup:
            self._plan_dense(fast_strides(self.setup, layouts[0]))
            self.setup = FastSetup.NONE
            return False
        self.shape = (prod(self.logical_shape),) if self.logical_shape else ()
        for operand in self.operands:
            if operand.number is None:
                assert operand.dtype is not None
                operand.strides = (operand.dtype.itemsize,) if self.shape else ()
        self._record("fast setup", self.setup.value)
        return True

    def _layout(self, operand: Operand) -> TensorMeta:
        """Return how an operand counts when layouts are chosen: one that needs a cast counts as its copy would lie."""
        meta = operand.meta
        assert meta is not None
        casts = self.config.promote_inputs_to_common_dtype and operand.promotes and not operand.is_output
        if not casts or operand.dtype is self.common_dtype:
            return meta
        strides = preserve_format_strides(meta.sizes, meta.strides)
        return meta_of(meta.sizes, strides, meta.dtype, meta.device)

    def _plan_dense(self, strides: Ints) -> None:
        for output in self.outputs:
            if output.meta is None or output.will_resize:
                assert output.dtype is not None
                output.meta = meta_of(self.logical_shape, strides, output.dtype, self.device)
                output.planned = True

    def _find_strides(self) -> None:
        for operand in self.operands:
            meta = operand.meta
            if meta is not None and (operand.planned or not operand.will_resize):
                operand.strides = iteration_strides(meta.sizes, meta.strides, self.logical_shape, meta.dtype.itemsize)
        self._record("strides")

    def _vote(self, operand: Operand) -> Ints | None:
        """The byte strides with which an operand takes part in ordering the dims; their signs do not count."""
        if operand.strides is None:
            return None
        if operand.meta is None:
            return tuple(map(abs, operand.strides))
        layout = self._layout(operand)
        if layout is operand.meta:
            return operand.strides
        return iteration_strides(layout.sizes, layout.strides, self.logical_shape, layout.dtype.itemsize)

    def _reorder(self) -> None:
        ndim = len(self.logical_shape)
        if self.config.enforce_linear_iteration:
            order: Ints = tuple(range(ndim - 1, -1, -1))
        else:
            reduced = [self.config.is_reduction] * len(self.outputs)
            order = reorder_dimensions(self.logical_shape, [self._vote(o) for o in self.operands], reduced)
        self.perm = order
        self.shape = permuted(self.logical_shape, order)
        for operand in self.operands:
            if operand.strides is not None:
                operand.strides = permuted(operand.strides, order)
        self._record("reorder", f"perm {list(order)}")

    def _plan_outputs(self) -> None:
        for output in self.outputs:
            if output.meta is not None and (output.planned or not output.will_resize):
                continue
            assert output.dtype is not None
            if self.setup is not FastSetup.NONE:
                model = next(o.meta for o in self.operands if o.meta is not None and not o.will_resize)
                strides = fast_strides(self.setup, model)
            else:
                assert self.perm is not None
                strides = packed_strides(self.logical_shape, self.perm)
                step = [stride * output.dtype.itemsize for stride in strides]
                output.strides = tuple([step[dim] for dim in self.perm])
            output.meta = meta_of(self.logical_shape, strides, output.dtype, self.device)
        self._record("plan outputs")

    def _coalesce(self) -> None:
        strided = [operand for operand in self.operands if operand.strides is not None]
        shape, strides = coalesce_dimensions(self.shape, [o.strides for o in strided if o.strides is not None])
        if shape != self.shape:
            self.shape = shape
            for operand, merged in zip(strided, strides, strict=True):
                operand.strides = merged
        self._record("coalesce")

    def allocate_outputs(self) -> None:
        """Give planned outputs memory and resize those that have to be."""
        for output in self.outputs:
            assert output.meta is not None
            if output.tensor is None:
                output.tensor = new_like(output.meta)
            elif output.will_resize:
                resize_output(output.tensor, output.meta)
                output.will_resize = False

    def output(self, index: int = 0) -> Tensor:
        """The tensor of an output, allocated by now."""
        tensor = self.outputs[index].tensor
        if tensor is None:
            raise RuntimeError(f"output {index} is planned but not allocated")
        return tensor

    def for_each(self, loop: Callable[[Ints, Ints, int], Any]) -> None:
        """Call ``loop(addresses, byte strides, count)`` once per innermost run; never for zero elements."""
        if self.numel == 0:
            return
        strides = self.strides
        addresses = tuple(0 if o.tensor is None else o.tensor.pointer for o in self.operands)
        inner = tuple(operand[0] if operand else 0 for operand in strides)
        count = self.shape[0] if self.shape else 1
        for place in product(*map(range, reversed(self.shape[1:]))):
            moved = tuple(
                address + sum(i * s for i, s in zip(reversed(place), operand[1:], strict=True))
                for address, operand in zip(addresses, strides, strict=True)
            )
            loop(moved, inner, count)

    def _record(self, step: str, note: str = "") -> None:
        self.snapshots.append(Snapshot(step, self.shape, tuple(o.strides for o in self.operands), note))

    def explain(self) -> str:
        """A table of shape and byte strides after each step."""

        lines = [f"operand {number}: {operand.describe()}" for number, operand in enumerate(self.operands)]
        rows = [("step", "shape", "strides in bytes, operand by operand", "note")]
        for snapshot in self.snapshots:
            strides = "  ".join("-" if steps is None else _show(steps) for steps in snapshot.strides)
            rows.append((snapshot.step, _show(snapshot.shape), strides, snapshot.note))
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        for row in rows:
            lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        return "\n".join(lines)


def planned_meta(iterator: TensorIterator, index: int = 0) -> TensorMeta:
    """The meta of an output after the build."""
    meta = iterator.outputs[index].meta
    assert meta is not None
    return meta


def plan(
    *inputs: Tensor | Number, outputs: tuple[Tensor | None, ...] = (None,), config: IteratorConfig = DEFAULT,
    **switches: Any,
) -> TensorIterator:  # fmt: skip
    """The built iterator over `inputs` and `outputs` (None: to be allocated), nothing allocated or resized. `switches`
    are fields of IteratorConfig; TypeError names an unknown one. Raises what the operator would raise."""
    return TensorIterator(outputs, inputs, IteratorConfig(**{**config._asdict(), **switches})).build(allocate=False)
