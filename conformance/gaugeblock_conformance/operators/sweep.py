"""A property tried on many operators, a few seeded examples each, without the cost of a search for every operator."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from ..backend import NOT_OFFERED, Unsupported
from ..budget import STANDARD
from ..failure import ConformanceError
from ..session import Session
from .calls import OperatorCall, forms_of
from .plan import Plan, quick
from .wishes import CODE_LENGTH, Wish

Make = Callable[[str, bytes], OperatorCall | None]
Body = Callable[[Session, OperatorCall], None]

_SHRINKS = 150
_SIZES = (32, 8, 4, 2, 1)
# So many codes are tried for a wish, then so many without any.
_TRIES, _FREE = 3, 2
# How many times as many calls may be drawn as are wanted, as long as conditions are not met.
_LONGER = 6
# An operator of which so many calls in a row are not offered is left.
_PATIENCE = 8
_AHEAD = 16


def sweep(
    s: Session, names: Iterable[str], make: Make, body: Body, weight: float = 0.1, *, writable: bool = False,
    whole: bool = False,
) -> None:  # fmt: skip
    """Run ``body`` on ``make(name, code)`` for every operator of ``names`` and some codes.

    What the calls of an operator have to meet is planned by :class:`.plan.Plan`; ``whole`` asks for enough of them that
    each dtype and each layout is met under any budget. ``make`` may give None for a code that stands for no call: other
    codes are taken, a few times. A call that the backend does not offer is noted and another one takes its place; an
    operator that it does not offer at all is left. The first failure of an operator is made simpler, byte by byte.
    """

    def judge(name: str) -> None:
        least = quick(name) if whole else len(forms_of(name))
        count = max(2, round(s.budget.examples * weight), least)
        codes = _codes((s.seed, zlib.crc32(f"{body.__name__}/{name}".encode())))
        plan = Plan(name, (s.seed, zlib.crc32(body.__name__.encode())), count, writable)
        thorough, k, refused, in_a_row = s.budget.examples >= STANDARD.examples, 0, 0, 0
        while k < count or (whole and k < _LONGER * count and plan.lacks(thorough)):
            k += 1
            code, call = _made(name, plan.next(), make, codes)
            if call is None:
                continue
            before = s.outcome.examples
            try:
                _example(s, body, call)
            except ConformanceError as error:
                raise _simplest(s, name, code, make, body, error) from None
            if s.outcome.examples > before or s.outcome.misbuilt is not None:
                plan.note(call)
                in_a_row = 0
                continue
            refused, in_a_row = refused + 1, in_a_row + 1
            if in_a_row == max(_PATIENCE, count // 4) or s.outcome.unsupported.get(name) == NOT_OFFERED:
                break
            if refused <= count:
                k -= 1

    s.each(names, judge)


def _codes(seed: Sequence[int]) -> Iterator[bytes]:
    """Codes without an end; many at once, for one request of NumPy costs as much as a small call."""
    random = np.random.default_rng(seed)
    while True:
        several = random.bytes(CODE_LENGTH * _AHEAD)
        yield from (several[k : k + CODE_LENGTH] for k in range(0, len(several), CODE_LENGTH))


def _made(name: str, wish: Wish, make: Make, codes: Iterator[bytes]) -> tuple[bytes, OperatorCall | None]:
    """A code for the wish and its call; without the wish where no call meets it."""
    code, call = b"", None
    for k in range(_TRIES + _FREE):
        code = next(codes) + (wish.code(name) if k < _TRIES else b"")
        call = make(name, code)
        if call is not None:
            break
    return code, call


def _example(s: Session, body: Body, call: OperatorCall) -> None:
    # Where strides are seen and views cannot be built, contiguous operands are still to be judged.
    built = call.packed() if "strided" in s.capabilities and "as_strided" not in s.capabilities else call
    s.run_example(lambda s, call: body(s, call), {"call": built})


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
    if call is None:
        raise Unsupported(name, "the call is no longer drawn")
    _example(s, body, call)
