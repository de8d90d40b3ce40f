"""Storage shared and written as the alias marks of the schemas say, and not otherwise."""

from __future__ import annotations

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
