"""Operators that a test defines for itself, taken away when it ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..backend_dispatch import Kernel
from ..session import Handle, Session


@contextmanager
def suite_operators(s: Session, *schemas: str) -> Iterator[None]:
    """The operators of ``schemas`` in namespace ``suite``, with nothing left of them or of earlier ones afterwards."""
    release(s)
    try:
        for schema in schemas:
            s.call("define_operator", schema)
        yield
    finally:
        release(s)


def release(s: Session) -> None:
    """Take away what the suite registered, without a word in the snippet."""
    s.guard("release_operators", lambda: s.backend.call("release_operators"))


def kernels(s: Session, operator: str, *keys: str, action: str = "scale", argument: object = 2) -> None:
    """For each key a kernel that writes the key into the log and then does ``action``."""
    for key in keys:
        s.call("register_kernel", operator, key, Kernel(key, action, argument))


def expect_log(s: Session, want: Sequence[str], what: str = "kernels entered") -> None:
    """Expect these entries in the log since it was last asked for."""
    s.expect(s.call("dispatch_log"), tuple(want), what)


def meta(s: Session, *sizes: int) -> Handle:
    """A tensor on the meta device; from here on the example compares no values."""
    s.without_data()
    made: Handle = s.call("empty.memory_format", sizes, device="meta")
    return made
