"""Lines of Python's and NumPy's own in a conversation: objects beside the backend's, which its calls are given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from . import dlpack
from .failure import ConformanceError, NoReproducer
from .handle import Handle
from .trace import Line, Name, Step

NAMESPACE: dict[str, Any] = {"np": np, **{name: getattr(dlpack, name) for name in dlpack.PARTS}}
"""What the lines may name; snippets import the same."""


class PythonLines(ABC):
    """Mixed into :class:`~gaugeblock_conformance.conversation.Conversation`: steps that are no calls of the backend.

    What runs is the very text that the snippet has.
    """

    _steps: list[Step]
    _opaque: dict[int, tuple[Any, str]]

    def bind(self, expression: str, *things: Any) -> Any:
        """Return what an expression of Python's or NumPy's own gives, and bind it to a variable of the snippet.

        The variables of ``things``, which earlier steps gave, stand for the braces. It may name NumPy and
        the suite's producers of DLPack tensors. The value lives until the example ends or :meth:`forget` is told of it.
        """
        text, known = self._filled(expression, things)
        value = eval(text, {**NAMESPACE, **known})
        name = self._fresh("a")
        self._steps.append(Line(name, f"{name} = {text}", frozenset(known)))
        self._opaque[id(value)] = (value, name)
        return value

    def execute(self, statement: str, *things: Any) -> None:
        """Run a statement of Python's or NumPy's own, which may write to ``things``; these stand for the braces."""
        text, known = self._filled(statement, things)
        self._steps.append(Line("", text, frozenset(known), frozenset(known)))
        self._evaluated(text, known, exec, [])

    def forget(self, *things: Any) -> None:
        """Delete the variables of ``things``: the names of tensors, or objects that are no tensors."""
        for thing in things:
            name = thing if isinstance(thing, str) else self._opaque.pop(id(thing))[1]
            self._steps.append(Line("", f"del {name}", frozenset({name}), frozenset({name})))

    def expect_python(self, expression: str, want: Any, what: str, *things: Any) -> None:
        """Expect a plain value of an expression of Python's or NumPy's own, in which ``things`` stand for the braces.
        """
        text, known = self._filled(expression, things)
        got = self._evaluated(text, known, eval, [f"got = {text}", f"assert repr(got) == {repr(want)!r}, got"])
        self.expect(got, want, what, text, [Handle(None, name) for name in known])

    def _evaluated(self, text: str, known: dict[str, Any], run: Callable[..., Any], lines: list[str]) -> Any:
        """Run a text and return its value. An exception is a failure of the backend, whose objects it uses."""
        try:
            return run(text, {**NAMESPACE, **known})
        except Exception as error:
            got = f"{type(error).__name__}: {error}"
            raise self.failure(f"{text} raises {got}", "no exception", got, lines, set(known)) from error

    def _filled(self, text: str, things: tuple[Any, ...]) -> tuple[str, dict[str, Any]]:
        """Return a text with variables in the place of its braces, and the values of these variables."""
        names = [self._named(thing) for thing in things]
        known = {name.text: thing for name, thing in zip(names, things, strict=True) if isinstance(name, Name)}
        return text.format(*names), known

    @abstractmethod
    def failure(
        self, message: str, expected: str, got: str, lines: list[str] | NoReproducer, wanted: Collection[str] = (),
        cause: str | None = None,
    ) -> ConformanceError:  # fmt: skip
        """Return a failure of the backend with its snippet."""

    @abstractmethod
    def expect(
        self, got: Any, want: Any, what: str, expression: str | NoReproducer | None = None,
        names: Sequence[Handle] = (),
    ) -> None:  # fmt: skip
        """Expect a plain value."""

    @abstractmethod
    def _fresh(self, letter: str) -> str:
        """Return a name that no variable of the snippet has."""

    @abstractmethod
    def _named(self, value: Any) -> Any:
        """Return a value with the names of variables in the place of what they hold."""
