"""What a test did to the backend, step by step, so that a failure can be told as a few lines of the backend's own API.

Recording is cheap (a tuple per step); text is made by the backend's dialect only when something failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .aliasing import changes_metadata
from .backend import Array, Ran
from .backend_allocator import STATEFUL as ALLOCATOR_STATEFUL
from .backend_autograd import STATEFUL as AUTOGRAD_STATEFUL
from .backend_dispatch import is_dispatch_call

if TYPE_CHECKING:
    from .case import TensorCase
    from .dialect import Dialect


_STATEFUL = AUTOGRAD_STATEFUL | ALLOCATOR_STATEFUL | frozenset(
    """manual_seed set_default_dtype set_num_threads use_deterministic_algorithms declare_operator apply_function under
    gradients""".split()
)
# Operators whose results hold elements of their operand, perhaps with the other sign.
_PARTS: dict[str, Callable[[Array], Array]] = {"conj": np.conj, "real": np.real, "imag": np.imag}


class Name:
    """A variable of the snippet; stands for a tensor in recorded arguments."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


@dataclass(eq=False, slots=True)
class Create:
    """``target`` = the tensor of a case, or of a NumPy array."""

    target: str
    source: TensorCase | Array


@dataclass(eq=False, slots=True)
class Call:
    """``targets`` = operator(*args, **kwargs); ``mutates`` names the variables that it may write to. What came of the
    call is filled in when it has returned.

    ``unpack``: a sequence was returned, so that a single target stands for its only member. ``refused``: the call
    raised, as was expected of it. ``ran``: what the adapter made of it, if it is one other call.
    """

    targets: tuple[str, ...]
    operator: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    mutates: frozenset[str]
    unpack: bool = False
    refused: bool = False
    ran: Ran | None = None

    @property
    def shown(self) -> Ran:
        """The call of a snippet."""
        return self.ran or (self.operator, self.args, self.kwargs)


@dataclass(eq=False, slots=True)
class Line:
    """A line of Python's or NumPy's own, beside the backend: ``text`` binds ``target``, unless that is empty, uses the
    variables ``uses`` and may write to those that ``mutates`` names."""

    target: str
    text: str
    uses: frozenset[str]
    mutates: frozenset[str] = frozenset()


Step = Create | Call | Line


def made_by(steps: Sequence[Step], name: str) -> Call | None:
    """Return the call that gave ``name`` its value: the one whose result it is, or the last one that wrote to that
    result. None if the suite made it."""
    calls = [step for step in steps if isinstance(step, Call) and not step.refused]
    maker = next((k for k, step in enumerate(calls) if name in step.targets), None)
    if maker is None:
        return None
    writers = [step for step in calls[maker:] if name in step.mutates and not changes_metadata(step.operator)]
    return (writers or [calls[maker]])[-1]


def operands_of(steps: Sequence[Step], name: str) -> list[Array]:
    """Return the operands of the call that gave ``name``: numbers, tensors as they were built, and parts of these."""
    step = made_by(steps, name)
    if step is None:
        return []
    built = {s.target: s.source for s in steps if isinstance(s, Create)}

    def elements(value: Any) -> Any:
        if not isinstance(value, Name):
            return value
        if value.text in built:
            source = built[value.text]
            return source if isinstance(source, np.ndarray) else source.array
        maker = made_by(steps, value.text)
        if maker is None or maker.operator not in _PARTS:
            return None
        whole = elements(maker.args[0])
        return _PARTS[maker.operator](whole) if isinstance(whole, np.ndarray) else None

    given = [elements(value) for value in (*step.args, *step.kwargs.values())]
    return [np.asarray(v) for v in given if isinstance(v, np.ndarray | int | float | complex)]


def names_in(value: Any) -> Iterator[str]:
    """The variables that an argument mentions, through nested lists, tuples and slices."""
    if isinstance(value, Name):
        yield value.text
    elif isinstance(value, list | tuple):
        for item in value:
            yield from names_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from names_in(item)


def slice_steps(steps: list[Step], wanted: set[str]) -> list[Step]:
    """The steps that the variables ``wanted`` depend on, in order.

    A step counts when it makes a wanted variable or writes to one (a view's storage is its base's, so that writes
    through any variable derived from a wanted root count too), and always when it concerns the dispatcher, or changes
    what autograd or an allocator keeps: state that no variable holds. After a seed every call may be a draw,
    and where the log of hooks is read any may have written to it.
    """
    operators = [step.operator if isinstance(step, Call) else "" for step in steps]
    if "autograd_log" in operators:
        open_end = -1  # Any call may have written to the log.
    else:
        open_end = operators.index("manual_seed") if "manual_seed" in operators else len(steps)
    roots = _families(steps)
    families = {roots[n] for n in wanted if n in roots}
    while True:
        # A write may come after the call that first mentions what it writes to.
        before = set(families)
        kept = _kept(steps, wanted, roots, families, open_end)
        if families == before:
            return kept


def _kept(
    steps: list[Step], wanted: set[str], roots: dict[str, str], families: set[str], open_end: int
) -> list[Step]:
    """The steps that make or write to variables of ``families``, which grow by what these steps use."""
    needed = set(wanted)
    kept: list[Step] = []
    for place, step in reversed(list(enumerate(steps))):
        if isinstance(step, Create):
            if step.target in needed:
                kept.append(step)
            continue
        writes = {roots[n] for n in step.mutates if n in roots} & families
        if isinstance(step, Line):
            if writes or step.target in needed:
                kept.append(step)
                needed |= step.uses
                families |= {roots[n] for n in step.uses if n in roots}
            continue
        kept_always = step.operator in _STATEFUL or is_dispatch_call(step.operator) or place > open_end
        if writes or needed.intersection(step.targets) or kept_always:
            kept.append(step)
            used = {*names_in(step.args), *names_in(step.kwargs)}
            needed |= used
            families |= {roots[n] for n in used if n in roots}
    return kept[::-1]


def _families(steps: list[Step]) -> dict[str, str]:
    """Variable -> a root variable whose storage it may share."""
    roots: dict[str, str] = {}
    for step in steps:
        if isinstance(step, Create):
            roots[step.target] = step.target
        elif isinstance(step, Line):
            if step.target:
                roots[step.target] = next((roots[n] for n in sorted(step.uses) if n in roots), step.target)
        else:
            first = next((roots[n] for n in names_in(step.args) if n in roots), None)
            for target in step.targets:
                roots.setdefault(target, first or target)
    return roots


def render(steps: list[Step], dialect: Dialect, conclusion: list[str], wanted: set[str] | None) -> str:
    """A snippet: imports, the needed steps (all if ``wanted`` is None), and ``conclusion``, its assertion lines."""
    body: list[str] = []
    for step in steps if wanted is None else slice_steps(steps, wanted):
        if isinstance(step, Create):
            body += dialect.create(step.target, step.source)
        elif isinstance(step, Line):
            body.append(step.text)
        elif step.refused:
            body += ["try:", f"    {dialect.statement(step)}", "except Exception:", "    pass"]
        else:
            body.append(dialect.statement(step))
    text = "\n".join([*body, *conclusion])
    return "\n".join([*dialect.imports(text), text]) + "\n"
