"""A property tried on many operators, a few seeded examples each, without the cost of a search for every operator."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable

import numpy as np

from ..failure import ConformanceError
from ..session import Session
from .calls import OperatorCall

Make = Callable[[str, bytes], OperatorCall | None]
Body = Callable[[Session, OperatorCall], None]

_SHRINKS = 150
_FEW = 3


def sweep(
    s: Session, names: Iterable[str], make: Make, body: Body, weight: float = 0.1, length: int = 200
) -> None:
    """Run ``body`` on ``make(name, code)`` for every operator of ``names`` and some codes of ``length`` bytes.

    The first code of an operator, if there are more than a few, is all zeros; ``make`` may give None for a code that
    stands for no call. An operator that the backend does not offer is noted and left at its first example. The first
    failure is made simpler, byte by byte, and raised.
    """
    count = max(2, round(s.budget.examples * weight))
    for name in s.in_order(names):
        random = np.random.default_rng((s.seed, zlib.crc32(f"{body.__name__}/{name}".encode())))
        for k in range(count):
            code = bytes(length) if k == 0 and count > _FEW else random.bytes(length)
            call = make(name, code)
            if call is None:
                continue
            before = s.outcome.examples
            try:
                _example(s, body, call)
            except ConformanceError as error:
                raise _simplest(s, name, code, make, body, error) from None
            if s.outcome.examples == before:
                break


def _example(s: Session, body: Body, call: OperatorCall) -> None:
    s.run_example(lambda s, call: body(s, call), {"call": call})


def _simplest(
    s: Session, name: str, code: bytes, make: Make, body: Body, error: ConformanceError
) -> ConformanceError:
    """The failure of the simplest code found: bytes set to zero from the front as long as the cause stays."""
    if not s.shrink:
        return error
    tried = 0
    for place in range(len(code)):
        if not code[place] or tried >= _SHRINKS:
            continue
        shorter = code[:place] + b"\0" + code[place + 1 :]
        call = make(name, shorter)
        if call is None:
            continue
        tried += 1
        try:
            _example(s, body, call)
        except ConformanceError as found:
            if found.cause == error.cause:
                code, error = shorter, found
    return error
