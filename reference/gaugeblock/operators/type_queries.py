"""Questions about dtypes and shapes that take no part in dispatch: result_type, broadcast_shapes, is_tensor."""

from __future__ import annotations

from typing import Any

from ..core.dtype import DType, dtype_of_number
from ..core.errors import check_ints, type_error
from ..core.promotion import common_dtype
from ..core.size import Size
from ..iteration import dimensions
from ..tensor.reinterpret import is_conj, is_neg
from ..tensor.tensor import Tensor
from .arguments import tensor_argument
from .fill import NUMBERS


def result_type(tensor1: Any, tensor2: Any) -> DType:
    """The dtype in which two tensors or numbers meet. Raises TypeError for other arguments."""
    given = []
    for place, value in enumerate((tensor1, tensor2), start=1):
        if isinstance(value, Tensor):
            given.append((value.meta.dtype, 2 if value.meta.ndim else 1))
        elif isinstance(value, NUMBERS):
            given.append((dtype_of_number(value), 0))
        else:
            type_error("result_type", f"tensor{place}", value, "Tensor or Number")
    return common_dtype(given)


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that all of `shapes` (tuples or single sizes) stretch to. Raises RuntimeError when they do not fit."""
    return Size(dimensions.broadcast_shapes(check_ints("broadcast_shapes", "shapes", shape) for shape in shapes))


def is_tensor(obj: Any) -> bool:
    """Return whether `obj` is a tensor."""
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> int:
    """How many elements a tensor has. Raises TypeError for anything else."""
    return tensor_argument("numel", "input", 1, input).meta.numel


def is_conj_of(input: Tensor) -> bool:
    """Return whether a tensor is lazily conjugate. Raises TypeError for anything else."""
    return is_conj(tensor_argument("is_conj", "input", 1, input))


def is_neg_of(input: Tensor) -> bool:
    """Return whether a tensor is lazily negative. Raises TypeError for anything else."""
    return is_neg(tensor_argument("is_neg", "input", 1, input))
