"""Single operators that copy where they should show, or show where they should copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .mutant import Intercepted, Mutant, Patch
from .operators import with_data
from .patches import copies

# By the area that asks for it.
_VIEWS = {
    "views": """swapaxes movedim mT H mH unflatten broadcast_tensors chunk unsafe_chunk unsafe_split ravel atleast_1d
        atleast_2d atleast_3d resolve_conj type_as reshape_as""",
    "operators": "tensor_split hsplit linalg_diagonal",
    "storage": "expand_as",
}
_COPIES = {
    "views": "roll repeat tile rot90",
    "operators": """flipud round clamp relu where masked_fill nan_to_num mul pow cumprod view_copy slice_copy
        expand_copy tril maximum lerp hardtanh threshold renorm linalg_matrix_power addmm constant_pad_nd
        take_along_dim""",
}


def _the_input(c: Intercepted) -> Any:
    """A result of the sizes, dtype and elements of the first tensor is that tensor's memory."""
    result, x = c.right(), c.args[0] if c.args else None
    if c.inplace or not (c.is_tensor(x) and c.is_tensor(result) and c.has_data):
        return result
    b = c.backend
    if tuple(b.shape(result)) != tuple(b.shape(x)) or b.dtype(result) != b.dtype(x):
        return result
    return c.alias(x) if np.array_equal(c.array(result), c.array(x)) else result


def _rows(table: dict[str, str], patch: Patch, words: str) -> tuple[Mutant, ...]:
    return tuple(
        Mutant(f"{operator.replace('_', '-')}-{words}", "aliasing and purity", area, (operator,), with_data(patch))
        for area, operators in table.items()
        for operator in operators.split()
    )


MUTANTS = (*_rows(_VIEWS, copies, "copies-what-it-shows"), *_rows(_COPIES, _the_input, "shows-what-it-copies"))
