"""Writing into parts, copies of views, diagonals and splits: which module has which operator."""

from __future__ import annotations

from ..deferred import register_deferred

INPLACE = {"reduced_writes": "scatter_reduce_.two index_reduce_"}
"""In-place forms with a kernel of their own."""
KERNELS = {
    "diagonals": "diag_embed fill_diagonal_ nonzero_static",
    "fills": "fill.Scalar fill.Tensor",
    "parts": "select_scatter slice_scatter diagonal_scatter as_strided_scatter",
    "reduced_writes": "scatter_reduce.two index_reduce",
}
"""Operators with a kernel for CPU and Meta."""
COMPOSITES = {
    "diagonals": "diagflat",
    "fills": "sum_to_size",
    "grids": "broadcast_tensors meshgrid.indexing",
    "stacks": """atleast_1d atleast_2d atleast_3d atleast_1d.Sequence atleast_2d.Sequence atleast_3d.Sequence
        column_stack""",
}
"""Operators made of others."""
PARTS = {"parts_apart": "unsafe_chunk unsafe_split.Tensor unsafe_split_with_sizes"}
"""Operators with one kernel for all devices, whose results are on their input's storage but no views of it."""

register_deferred(__name__, INPLACE)
register_deferred(__name__, KERNELS)
register_deferred(__name__, COMPOSITES, "CompositeImplicitAutograd")
register_deferred(__name__, PARTS, "CompositeExplicitAutograd")
