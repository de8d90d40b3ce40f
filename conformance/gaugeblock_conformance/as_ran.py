"""Records the call that an adapter really made, so that snippets show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from .backend import Ran, TellsWhatRan
from .exact import ExactBackend
from .trace import Call, Name


def telling(backend: Any) -> TellsWhatRan | None:
    """Return the adapter, if it is one of its author's own that tells what ran."""
    while isinstance(backend, ExactBackend):
        backend = backend.inner
    own = getattr(backend, "adapter_dialect", None) is not None
    return cast("TellsWhatRan", backend) if own and getattr(type(backend), "ran", backend) is None else None


@contextmanager
def learning(
    adapter: TellsWhatRan, step: Call, asked: Ran, is_tensor: Callable[[Any], bool]
) -> Iterator[None]:
    """Around the call ``asked``, note in ``step`` the call that the adapter makes, if it is one call and another one.

    ``asked`` has the backend's own values, and so has what ran; in the step they have names. A call with a tensor that
    the step does not know cannot be shown.
    """
    ran: list[Ran] = []
    adapter.ran = ran
    try:
        yield
    finally:
        adapter.ran = None
        if len(ran) == 1 and not _same(ran[0], asked):
            known = dict(_named(asked[1:], (step.args, step.kwargs)))
            operator, *given = ran[0]
            (args, kwargs), unknown = _in_names(tuple(given), known, is_tensor)
            step.ran = None if unknown else (operator, args, kwargs)


def _same(ran: Ran, asked: Ran) -> bool:
    """Return whether two calls have identical arguments."""
    (operator, args, kwargs), (wanted, given, named) = ran, asked
    if operator != wanted or len(args) != len(given) or kwargs.keys() != named.keys():
        return False
    return all(a is b for a, b in zip(args, given, strict=True)) and all(kwargs[key] is named[key] for key in named)


def _named(raw: Any, named: Any) -> Iterator[tuple[int, Name]]:
    """The identity of each value that has a name, and the name."""
    if isinstance(named, Name):
        yield id(raw), named
    elif isinstance(named, list | tuple):
        for one, other in zip(raw, named, strict=True):
            yield from _named(one, other)
    elif isinstance(named, dict):
        for key, other in named.items():
            yield from _named(raw[key], other)


def _in_names(value: Any, known: dict[int, Name], is_tensor: Callable[[Any], bool]) -> tuple[Any, bool]:
    """The value with names in the place of what is known, and whether it holds a tensor that is not."""
    if id(value) in known:
        return known[id(value)], False
    if type(value) in (list, tuple):
        parts = [_in_names(part, known, is_tensor) for part in value]
        return type(value)([part for part, _ in parts]), any(unknown for _, unknown in parts)
    if type(value) is dict:
        found = {key: _in_names(part, known, is_tensor) for key, part in value.items()}
        return {key: part for key, (part, _) in found.items()}, any(unknown for _, unknown in found.values())
    return value, is_tensor(value)
