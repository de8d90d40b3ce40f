"""functionalize: programs of writes and views give the same, and show neither."""

from __future__ import annotations

from hypothesis import strategies as hs

from ..backend_dispatch import Mode, Slot, Step
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session

_REMOVE = ("mutations", "mutations_and_views")
_START = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
_LOG = Mode("seen")
# Views of a matrix with 2 rows and 3 columns.
_VIEWS = (
    ("select.int", (0, 1)), ("select.int", (1, 0)), ("slice.Tensor", (1, 1, 3)), ("transpose.int", (0, 1)),
    ("view", ((6,),)), ("diagonal", ()), ("unsqueeze", (0,)), ("permute", ((1, 0),)), ("narrow", (1, 1, 2)),
)  # fmt: skip
_WRITES = (("add_.Scalar", (10,)), ("mul_.Scalar", (2,)), ("fill_.Scalar", (7,)), ("zero_", ()), ("neg_", ()))
_VIEW_NAMES = frozenset(operator.partition(".")[0] for operator, _ in _VIEWS) | {"t", "detach", "alias", "as_strided"}


def _program(view: int, write: int, on_copy: bool) -> tuple[Step, ...]:
    """Write through a view of the argument, or of a copy of it, and add the whole to itself."""
    (seen, view_args), (written, write_args) = _VIEWS[view], _WRITES[write]
    base = Slot(1) if on_copy else Slot(0)
    steps = [
        Step("clone", (Slot(0),)), Step(seen, (base, *view_args)), Step(written, (Slot(2), *write_args)),
        Step("add.Tensor", (base, base)),
    ]  # fmt: skip
    return tuple(steps)


def _argument(s: Session) -> Handle:
    """A tensor that a program may write to: a copy, which the session does not watch."""
    made: Handle = s.call("clone", s.tensor(_START))
    return made


def _run(s: Session, remove: str, steps: tuple[Step, ...]) -> tuple[str, ...]:
    """The names of the operators that a mode saw."""
    x = _argument(s)
    s.call("dispatch_log")
    s.call("within", (_LOG,), "functionalized", remove, steps, x)
    return tuple(entry.removeprefix("seen ") for entry in s.call("dispatch_log"))


@requirement("dispatch/functionalize-gives-the-same")
@forall(
    view=hs.integers(0, len(_VIEWS) - 1), write=hs.integers(0, len(_WRITES) - 1), on_copy=hs.booleans(),
    remove=hs.sampled_from(_REMOVE),
)  # fmt: skip
def test_results_and_arguments(s: Session, view: int, write: int, on_copy: bool, remove: str) -> None:
    steps = _program(view, write, on_copy)
    plain, other = _argument(s), _argument(s)
    want = s.read(s.call("run_program", steps, plain)).copy()
    s.expect_values(s.call("functionalized", remove, steps, other), want)
    s.expect_values(other, s.read(plain))


@requirement("dispatch/functionalize-gives-the-same")
def test_golden(s: Session) -> None:
    steps = (
        Step("clone", (Slot(0),)), Step("select.int", (Slot(1), 0, 0)), Step("add_.Scalar", (Slot(2), 10)),
        Step("mul_.Scalar", (Slot(0), 2)), Step("add.Tensor", (Slot(1), Slot(0))),
    )  # fmt: skip
    for remove in _REMOVE:
        x = _argument(s)
        s.expect_values(s.call("functionalized", remove, steps, x), [[13, 16, 19], [12, 15, 18]], dtype="float32")
        s.expect_values(x, [[2, 4, 6], [8, 10, 12]], dtype="float32")


@requirement("dispatch/functionalize-shows-no-write")
@forall(
    view=hs.integers(0, len(_VIEWS) - 1), write=hs.integers(0, len(_WRITES) - 1), on_copy=hs.booleans(),
    remove=hs.sampled_from(_REMOVE),
)  # fmt: skip
def test_no_write_is_seen(s: Session, view: int, write: int, on_copy: bool, remove: str) -> None:
    names = _run(s, remove, _program(view, write, on_copy))
    written = [name for name in names if name.partition(".")[0].endswith("_")]
    want = [] if on_copy else ["copy_"]
    s.expect_of_last(written, want, "in-place operators", "[e[5:] for e in {} if e.partition('.')[0].endswith('_')]")
    if want:
        s.expect_of_last(names[-1], "copy_", "the last operator", "{}[-1][5:]")


@requirement("dispatch/functionalize-removes-views")
@forall(view=hs.integers(0, len(_VIEWS) - 1), write=hs.integers(0, len(_WRITES) - 1), on_copy=hs.booleans())
def test_no_view_is_seen(s: Session, view: int, write: int, on_copy: bool) -> None:
    names = _run(s, "mutations_and_views", _program(view, write, on_copy))
    found = [name for name in names if name.partition(".")[0] in _VIEW_NAMES]
    s.expect_of_last(found, [], "views", f"[e[5:] for e in {{}} if e[5:].partition('.')[0] in {sorted(_VIEW_NAMES)}]")
