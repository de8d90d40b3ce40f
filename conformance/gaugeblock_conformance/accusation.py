"""Failures of the checks that every call gets, told with their snippets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from .assertion import assert_value, plain
from .backend import Array
from .trace import Call, Name, names_in

if TYPE_CHECKING:
    from .conversation import Conversation
    from .handle import Handle
    from .purity import Root


def wrong_sharing(s: Conversation, x: Handle, y: Handle, want_shared: bool, message: str) -> NoReturn:
    """``x`` and ``y`` are on one storage and must not be, or the other way round."""
    sign = "==" if want_shared else "!="
    left, right = (s.dialect.observe("storage_id", h.name) for h in (x, y))
    texts = ("one storage", "two storages") if want_shared else ("two storages", "one storage")
    raise s.failure(message, *texts, [f"assert {left} {sign} {right}"], {x.name, y.name})


def broken_promise(s: Conversation, operator: str, result: Handle, first: Handle, shared: bool) -> NoReturn:
    """The result shares, or does not share, storage against what the operator's schema says."""
    says = "shares storage with an input" if shared else f"is not on the storage of {first.name}"
    wrong_sharing(s, result, first, not shared, f"{operator}'s result {says}, against its schema")


def not_repeatable(s: Conversation, operator: str, result: Handle, first: Array, second: Array) -> NoReturn:
    """The same call gave another result the second time."""
    step = next(t for t in reversed(s.steps()) if isinstance(t, Call) and result.name in t.targets)
    strided = getattr(s.backend, "is_strided", lambda tensor: True)(result.raw)
    names = (result.name, "again")
    read = names if strided else [s.dialect.expression("to_dense", (Name(name),), {}) for name in names]
    once, twice = map(s.dialect.whole, read)
    lines = [f"again = {s.dialect.expression(*step.shown)}", f"assert repr({once}) == repr({twice})"]
    wanted = {result.name, *names_in(step.args), *names_in(step.kwargs)}
    message = f"{operator} gave another result when it was called again"
    raise s.failure(message, str(first), str(second), lines, wanted, cause=f"{operator} not repeatable")


def not_a_tensor(s: Conversation, operator: str, result: Any, tensor: type, name: str) -> NoReturn:
    """The result, called ``name`` in the snippet, is not the tensor that the operator's schema promises."""
    got, wanted = type(result).__name__, tensor.__name__
    message = f"{operator} gave an object of type {got}, not a tensor ({wanted})"
    lines = [f"got = type({name}).__name__", f"assert got == {wanted!r}, got"]
    raise s.failure(message, wanted, got, lines, {name}, cause=f"operators give {got}, not {wanted}")


def wrong_cell(s: Conversation, root: Root, cell: int, want: Any, got: Any, message: str, cause: str) -> NoReturn:
    """A storage element changed that no call may have written."""
    name = next((n for n, r in s.created() if r is root), "x1")
    lines = [f"got = {s.dialect.cell(name, cell)}", *assert_value(want, 0, True)]
    everything = {name, *(t for step in s.steps() if isinstance(step, Call) for t in step.targets)}
    message = f"{message} (storage element {cell})"
    raise s.failure(message, repr(plain(want)), repr(plain(got)), lines, everything, cause=cause)


def wrong_size(s: Conversation, root: Root, want: int, got: int, message: str, cause: str) -> NoReturn:
    """A storage changed its byte size."""
    name = next((n for n, r in s.created() if r is root), "x1")
    lines = [f"got = {s.dialect.observe('storage_nbytes', name)}", f"assert got == {want}, got"]
    everything = {name, *(t for step in s.steps() if isinstance(step, Call) for t in step.targets)}
    raise s.failure(message, f"{want} bytes", f"{got} bytes", lines, everything, cause=cause)
