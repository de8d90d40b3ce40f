"""Storage shared and written as the alias marks of the schemas say, and not otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
from gaugeblock_spec import operators

from ..aliasing import FREE, VIEW, promise
from ..requirement import requirement
from ..session import Handle, Session
from .calls import OperatorCall
from .coverage import swept
from .drawing import draw
from .outs import result_of
from .sweep import sweep


def _parts(result: object) -> list[Handle]:
    items = result if isinstance(result, list | tuple) else [result]
    return [item for item in items if isinstance(item, Handle)]


def _handles(value: object) -> list[Handle]:
    items = value if isinstance(value, list | tuple) else [value]
    return [item for item in items if isinstance(item, Handle)]


@requirement("operators/alias-marks-are-truthful", needs=("storage",), slow=True)
def test_storages_follow_the_marks(s: Session) -> None:
    def body(s: Session, call: OperatorCall) -> None:
        positional, keywords = call.bind(s.build)
        result, error = s.attempt(call.operator, *positional, **keywords)
        given = [h for value in (*positional, *keywords.values()) for h in _handles(value)]
        for part in [] if error is not None else _parts(result):
            if promise(call.operator) == VIEW:
                s.expect_shares(part, given[0])
            else:
                s.expect_fresh(part, *given)

    kept = [n for n in swept() if promise(n) != FREE and not n.partition(".")[0].endswith("_")]
    sweep(s, kept, draw, body, weight=0.03)


_TENSORS = {
    "x": np.ones((2, 2), np.float32), "no": np.zeros((2, 2), np.bool_), "none": np.zeros((2, 2), np.float32),
    "places": np.array([[0, 1], [0, 1]]), "row": np.ones((1, 3), np.float32), "numbers": np.ones(3, np.uint8),
}  # fmt: skip
# Calls whose result has the sizes and elements of one of these tensors, which are named.
_IDLE: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("expand_copy", ("x", (2, 2))), ("view_copy", ("x", (2, 2))), ("squeeze_copy", ("x",)),
    ("slice_copy.Tensor", ("x", 0, 0, 2)), ("permute_copy", ("x", (0, 1))), ("alias_copy", ("x",)),
    ("constant_pad_nd", ("x", (0, 0))), ("flipud", ("x",)), ("fliplr", ("x",)), ("rot90", ("x", 4)),
    ("roll", ("x", 0, 0)), ("repeat", ("x", (1, 1))), ("tile", ("x", (1,))), ("clamp", ("x", 0.0, 2.0)),
    ("abs", ("x",)), ("abs", ("numbers",)), ("round", ("x",)), ("relu", ("x",)), ("tril", ("x", 5)),
    ("triu", ("x", -5)), ("nan_to_num", ("x",)), ("hardtanh", ("x", 0.0, 2.0)),
    ("cumprod", ("x", 0)), ("pow.Tensor_Scalar", ("x", 1)),
    ("mul.Scalar", ("x", 1)), ("add.Scalar", ("x", 0)), ("div.Scalar", ("x", 1)), ("linalg_matrix_power", ("x", 1)),
    ("renorm", ("x", 2.0, 0, 100.0)), ("threshold", ("x", 0.0, 0.0)), ("adaptive_avg_pool1d", ("x", 2)),
    ("where.self", ("no", "x", "x")), ("maximum", ("x", "x")), ("minimum", ("x", "x")),
    ("lerp.Scalar", ("x", "x", 0.5)), ("take_along_dim", ("x", "places", 1)), ("copysign.Tensor", ("x", "x")),
    ("masked_fill.Scalar", ("x", "no", 3.0)), ("addmm", ("x", "none", "none")), ("sum.dim_IntList", ("row", (0,))),
)  # fmt: skip


@requirement("operators/alias-marks-are-truthful", needs=("storage",))
def test_copies_with_nothing_to_do(s: Session) -> None:
    def body(s: Session, operator: str, arguments: tuple[Any, ...]) -> None:
        made = {name: s.tensor(data) for name, data in _TENSORS.items() if name in arguments}
        given = [made[value] if isinstance(value, str) else value for value in arguments]
        s.expect_fresh(s.call(operator, *given), *made.values())

    s.table(_IDLE, body)


@requirement("operators/functional-forms-leave-their-inputs-alone", slow=True)
def test_written_results_reach_no_input(s: Session) -> None:
    """What is written to a result is not seen through an input: the session watches their storages."""

    def body(s: Session, call: OperatorCall) -> None:
        result = result_of(s, call)
        for part in _parts(result):
            s.call("zero_", part)

    rows = operators.load()
    made = [n for n in swept() if rows[n].family not in ("view", "metadata", "random")]
    fresh = [n for n in made if promise(n) not in (FREE, VIEW)]
    sweep(s, [n for n in fresh if not n.partition(".")[0].endswith("_")], draw, body, weight=0.03)
