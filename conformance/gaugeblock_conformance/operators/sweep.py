"""A property tried on many operators, a few seeded examples each, without the cost of a search for every operator."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable

import numpy as np

from ..failure import ConformanceError
from ..session import Session
from .calls import OperatorCall, forms_of
from .drawing import APART, CODE_LENGTH, FORM, GIVEN

Make = Callable[[str, bytes], OperatorCall | None]
Body = Callable[[Session, OperatorCall], None]

_SHRINKS = 150
_SIZES = (32, 8, 4, 2, 1)
_FEW = 3
# What the first codes of an operator ask for; those behind them ask for anything.
_ASKED = (APART, APART | GIVEN, GIVEN)
_TRIES = 4
# A byte holds no higher number.
_FORMS = 64


def sweep(
    s: Session, names: Iterable[str], make: Make, body: Body, weight: float = 0.1
) -> None:
    """Run ``body`` on ``make(name, code)`` for every operator of ``names`` and some codes.

    The first codes ask for operands that lie apart, for arguments beside their default, and for both, and each for the
    next form of the operator's samples, until all were met; with more than a few there is also one of zeros. ``make``
    may give None for a code that stands for no call: the next is taken, a few times. An operator that the backend does
    not offer is noted and left at its first example. The first failure of an operator is made simpler, byte by byte.
    """

    def judge(name: str) -> None:
        count = max(2, round(s.budget.examples * weight), len(forms_of(name)))
        random = np.random.default_rng((s.seed, zlib.crc32(f"{body.__name__}/{name}".encode())))
        for k in range(count):
            code, call = _made(name, k if count <= _FEW else k - 1, make, random)
            if call is None:
                continue
            before = s.outcome.examples
            try:
                _example(s, body, call)
            except ConformanceError as error:
                raise _simplest(s, name, code, make, body, error) from None
            if s.outcome.examples == before and s.outcome.misbuilt is None:
                break

    s.each(names, judge)


def _made(name: str, k: int, make: Make, random: np.random.Generator) -> tuple[bytes, OperatorCall | None]:
    """The ``k``-th code and its call; zeros before the first."""
    if k < 0:
        return bytes(CODE_LENGTH), make(name, bytes(CODE_LENGTH))
    code, call = b"", None
    for _ in range(_TRIES):
        asked = _ASKED[k] if k < len(_ASKED) else int(random.integers(0, 4))
        code = random.bytes(CODE_LENGTH) + bytes([asked + FORM * (k % _FORMS)])
        call = make(name, code)
        if call is not None:
            break
    return code, call


def _example(s: Session, body: Body, call: OperatorCall) -> None:
    s.run_example(lambda s, call: body(s, call), {"call": call})


def _simplest(
    s: Session, name: str, code: bytes, make: Make, body: Body, error: ConformanceError
) -> ConformanceError:
    """The failure of the simplest code found: bytes are set to zero, many at once and then fewer, as long as the cause
    stays."""
    tried = 0 if s.shrink else _SHRINKS
    for size in _SIZES:
        for start in range(0, len(code), size):
            if not any(code[start : start + size]) or tried >= _SHRINKS or s.simpler <= 0:
                continue
            shorter = code[:start] + bytes(len(code[start : start + size])) + code[start + size :]
            call = make(name, shorter)
            if call is None:
                continue
            tried += 1
            s.simpler -= 1
            try:
                _example(s, body, call)
            except ConformanceError as found:
                if found.cause == error.cause:
                    code, error = shorter, found
    error.again = lambda other: _once_more(other, name, code, make, body)
    return error


def _once_more(s: Session, name: str, code: bytes, make: Make, body: Body) -> None:
    call = make(name, code)
    assert call is not None
    _example(s, body, call)
