"""What a writer of kernels needs, in one place; reference/kernels.md is the guide.

    argument checks   Argument, check, check_dim, check_size, check_same_dtype ...
    element access    accessor, packed_accessor
    loops             map_into for formulas (select, `elementary`), parallel_for for anything else
    looking inside    vector_width, trace_paths, capability
"""

from .core.argument_checks import (
    Argument,
    check,
    check_contiguous,
    check_defined,
    check_dim,
    check_dim_range,
    check_dtype,
    check_numel,
    check_same_device,
    check_same_dim,
    check_same_dtype,
    check_same_size,
    check_size,
    check_size_at,
)
from .kernels import elementary
from .kernels.accessor import PackedAccessor, TensorAccessor, accessor, packed_accessor
from .kernels.expression import Expr, select
from .kernels.isa import capability
from .kernels.parallel import GRAIN, parallel_for
from .operators.introspection import PathTrace, trace_paths, vector_width
from .operators.launch import map_into

__all__ = [
    "GRAIN", "Argument", "Expr", "PackedAccessor", "PathTrace", "TensorAccessor", "accessor", "capability", "check",
    "check_contiguous", "check_defined", "check_dim", "check_dim_range", "check_dtype", "check_numel",
    "check_same_device", "check_same_dim", "check_same_dtype", "check_same_size", "check_size", "check_size_at",
    "elementary", "map_into", "packed_accessor", "parallel_for", "select", "trace_paths", "vector_width",
]  # fmt: skip
