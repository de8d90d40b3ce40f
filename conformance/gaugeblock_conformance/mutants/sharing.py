"""Single operators that copy where they should show, or show where they should copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .mutant import Intercepted, Patch, Row, rows
from .patches import copies, with_data

# By what asks for the view.
_VIEWS = {
    "views/transpose-permutes-metadata": "swapaxes movedim mT",
    "views/nothing-to-do-copies-nothing "
    "": """H mH broadcast_tensors unsafe_chunk unsafe_split ravel atleast_1d atleast_2d
        atleast_3d resolve_conj type_as""",
    "views/unflatten-and-view-as-follow-view": "unflatten",
    "views/split-and-chunk-are-views": "chunk",
    "views/reshape-views-when-view-can": "reshape_as",
    "operators/alias-marks-are-truthful[]": "tensor_split hsplit linalg_diagonal expand_as",
}
# By what asks for the copy.
_COPIES = {
    "views/copying-operators-never-alias": "roll repeat tile rot90 where",
    "operators/alias-marks-are-truthful[] operators/functional-forms-leave-their-inputs-alone[]": """flipud round clamp
        relu masked_fill nan_to_num mul pow cumprod view_copy slice_copy expand_copy tril maximum lerp hardtanh
        threshold renorm linalg_matrix_power addmm constant_pad_nd take_along_dim""",
}


def _the_input(c: Intercepted) -> Any:
    """A result of the sizes, dtype and elements of a tensor argument is that tensor's memory."""
    result = c.right()
    if c.inplace or not (c.is_tensor(result) and c.has_data):
        return result
    b = c.backend
    for x in filter(c.is_tensor, c.args):
        alike = tuple(b.shape(result)) == tuple(b.shape(x)) and b.dtype(result) == b.dtype(x)
        if alike and np.array_equal(c.array(result), c.array(x)):
            return c.alias(x)
    return result


def _rows(table: dict[str, str], patch: Patch, words: str) -> Iterator[Row]:
    for breaks, operators in table.items():
        for operator in operators.split():
            yield f"{operator.replace('_', '-')}-{words}", breaks, (operator,), patch


MUTANTS = rows(
    "aliasing and purity",
    *_rows(_VIEWS, copies, "copies-what-it-shows"),
    *_rows(_COPIES, _the_input, "shows-what-it-copies"),
    within=with_data,
)
