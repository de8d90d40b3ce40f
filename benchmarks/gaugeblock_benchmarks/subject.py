"""What is timed: a backend's operators, as Python functions that call them on operands given in turn."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from gaugeblock_conformance.backend import Backend

from .cases import Case

Clock = Callable[[], float]
Loop = Callable[[Sequence[tuple[Any, ...]], int, Clock], float]
"""Calls the operator so often, on the operands in turn, and returns the seconds that went by on the clock."""

_TEMPLATE = """
def loop(turns, count, clock):
    rounds = islice(cycle(turns), count)
    start = clock()
    for {names} in rounds:
        {statement}
    return clock() - start
"""


def loop_of(case: Case, backend: Backend) -> Loop:
    """The loop of a case: in torch's syntax where the backend is a module of that style, else through its `call`."""
    module = getattr(backend, "module", None)
    if module is None:
        return call_loop(case, backend)
    return _loop(case.operator.operands, case.statement, xp=module)


def call_loop(case: Case, backend: Backend) -> Loop:
    """The loop of a case through the adapter."""
    return _loop(case.operator.operands, f"call({case.operator.call!r}, {_given(case)})", call=backend.call)


def statement_loop(statement: str, operands: Sequence[str], module: Any) -> Loop:
    """The loop of any statement over ``xp``."""
    return _loop(operands, statement, xp=module)


def _loop(operands: Sequence[str], statement: str, **scope: Any) -> Loop:
    names = ", ".join(operands) + ("," if len(operands) == 1 else "") if operands else "_"
    text = _TEMPLATE.format(names=names, statement=statement)
    scope |= {"islice": itertools.islice, "cycle": itertools.cycle}
    exec(compile(text, f"<benchmark {statement}>", "exec"), scope)
    loop: Loop = scope["loop"]
    return loop


def function_loop(
    function: Callable[..., Any], case: Case, finish: Callable[[Any], object] | None = None
) -> Loop:
    """The loop of a function with the arguments of a case; `finish` waits for each result."""
    call = f"function({_given(case)})"
    names = case.operator.operands
    if finish is None:
        return _loop(names, call, function=function)
    return _loop(names, f"finish({call})", function=function, finish=finish)


def steps_loop() -> Loop:
    """The loop whose operands are steps, functions without arguments."""
    return _loop(("step",), "step()")


def function_of(backend: Backend, operator: str) -> tuple[Callable[..., Any], bool]:
    """What runs an operator, and whether that is the backend's own function, without the adapter's ``call``.

    Raises Unsupported.
    """
    kind = type(backend)
    owners = [next((base for base in kind.__mro__ if name in vars(base)), None) for name in ("function", "call")]
    hands_out, calls = owners
    if hands_out is None or calls is None or not issubclass(hands_out, calls) or "call" in vars(backend):
        return functools.partial(backend.call, operator), False
    found: Callable[..., Any] = getattr(backend, "function")(operator)  # noqa: B009
    return found, True


def _given(case: Case) -> str:
    def text(argument: object) -> str:
        if isinstance(argument, tuple):
            return "(" + "".join(f"{text(part)}, " for part in argument) + ")"
        return str(argument)

    return ", ".join(text(argument) for argument in case.arguments)
