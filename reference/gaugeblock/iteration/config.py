"""What an operator asks of its iterator; field names and defaults follow PyTorch's TensorIteratorConfig."""

from __future__ import annotations

from typing import NamedTuple

from ..core.device import Device
from ..core.dtype import DType


class IteratorConfig(NamedTuple):
    """Switches of the build steps. The bare default demands one dtype and one device and promotes nothing."""

    check_mem_overlap: bool = True
    check_all_same_dtype: bool = True
    check_all_same_device: bool = True
    allow_cpu_scalars: bool = False
    promote_inputs_to_common_dtype: bool = False
    promote_integer_inputs_to_float: bool = False
    cast_common_dtype_to_outputs: bool = False
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
    cast_common_dtype_to_outputs=True,
    enforce_safe_casting_to_output=True,
)
FLOAT = IteratorConfig(
    check_all_same_dtype=False,
    allow_cpu_scalars=True,
    promote_inputs_to_common_dtype=True,
    promote_integer_inputs_to_float=True,
    cast_common_dtype_to_outputs=True,
    enforce_safe_casting_to_output=True,
)
COMPARISON = IteratorConfig(
    check_all_same_dtype=False, allow_cpu_scalars=True, promote_inputs_to_common_dtype=True
)
COPY = IteratorConfig(check_all_same_dtype=False, check_all_same_device=False, resize_outputs=False)
