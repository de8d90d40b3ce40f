"""Hypothesis's own strategies as parts of a code: how what they draw is read off digits.

What a strategy consists of is no public API of Hypothesis's: where it is not found, or for a kind that is not listed
here, there is no part, and Hypothesis draws by itself, which only takes longer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod
from typing import Any
from weakref import WeakKeyDictionary

from hypothesis import strategies as st

from .code import Digits, Part, made

Strategy = st.SearchStrategy[Any]

# A range of more integers is read with a liking for its bounds and for small numbers.
_WIDE = 4096
# Most lists are at most this much longer than they must be.
_LONGER = 6


_parts: WeakKeyDictionary[Strategy, Part] = WeakKeyDictionary()


class Unreadable(BaseException):
    """A strategy met on the way cannot be read off a code; no failure of the property that is being tested."""


def part_of(strategy: Strategy) -> Part | None:
    """The strategy as a part of a code; None if it cannot be one."""
    try:
        return _part(strategy)
    except (Unreadable, AttributeError):
        return None


def _part(strategy: Strategy) -> Part:
    known = _parts.get(strategy)
    if known is not None:
        return known
    inner: Any = strategy
    while hasattr(inner, "wrapped_strategy"):
        inner = inner.wrapped_strategy
    make = _KINDS.get(type(inner).__name__)
    if make is None:
        raise Unreadable(repr(strategy))
    found = make(inner)
    _parts[strategy] = found
    return found


def draw_from(digits: Digits) -> Callable[..., Any]:
    """What stands for ``draw`` in a composite strategy."""

    def draw(strategy: Strategy, label: object = None) -> Any:
        return _part(strategy).read(digits)

    return draw


def _booleans(strategy: Any) -> Part:
    return Part(lambda digits: digits.below(2) == 1, 2)


def _sampled(strategy: Any) -> Part:
    elements: Sequence[Any] = strategy.elements
    transformations = strategy._transformations
    if any(kind != "map" for kind, *_ in transformations):
        raise Unreadable(repr(strategy))
    functions = [function for _, function, *_ in transformations]

    def read(digits: Digits) -> Any:
        value = elements[digits.below(len(elements))]
        for function in functions:
            value = function(value)
        return value

    return Part(read, len(elements))


def _integers(strategy: Any) -> Part:
    """From 0 or the nearest bound upwards, then what lies below it: the order in which Hypothesis prefers numbers."""
    if strategy.start is None or strategy.end is None:
        raise Unreadable(repr(strategy))
    low, high = int(strategy.start), int(strategy.end)
    count, target = high - low + 1, min(max(low, 0), high)

    def number(place: int) -> int:
        value = target + place
        return value if value <= high else high - value + target

    if count <= _WIDE:
        return Part(lambda digits: number(digits.below(count)), count)
    edges = tuple(value for value in (high, low, high - 1, low + 1, target + 1) if low <= value <= high)
    widths = tuple(range(1, (count - 1).bit_length()))

    def read(digits: Digits) -> int:
        form = digits.below(4)
        if form == 2:
            return number(digits.below(count))
        if form == 3:
            return digits.pick(edges)
        distance = digits.below(2 ** digits.pick(widths))
        return min(max(target - distance if digits.below(2) else target + distance, low), high)

    return Part(read)


def _bytes(strategy: Any) -> Part:
    length = strategy.min_size
    if length != strategy.max_size:
        raise Unreadable(repr(strategy))
    return Part(lambda digits: bytes([digits.below(256) for _ in range(length)]), 256**length)


def _tuples(strategy: Any) -> Part:
    items = [_part(item) for item in strategy.element_strategies]
    reads = [item.read for item in items]
    return Part(lambda digits: tuple([read(digits) for read in reads]), prod(item.values for item in items))


def _lists(strategy: Any) -> Part:
    """A length and the items, each of which may be left out again, so that lists shrink by any of their items."""
    item, least, most = _part(strategy.element_strategy), strategy.min_size, strategy.max_size
    if most == inf:
        raise Unreadable(repr(strategy))
    read_item, spread = item.read, most - least
    usual = min(spread, _LONGER)

    def read(digits: Digits) -> list[Any]:
        if not spread:
            return [read_item(digits) for _ in range(least)]
        if usual < spread and digits.below(4) == 3:
            return [read_item(digits) for _ in range(least + digits.below(spread + 1))]
        total = least + digits.below(usual + 1)
        taken, start = digits.taken, len(digits.taken)
        kept: list[Any] = []
        codes: list[bytes] = []
        for k in range(total):
            keep, place = digits.mostly(), len(taken)
            value = read_item(digits)
            if keep or len(kept) + total - k - 1 < least:
                kept.append(value)
                codes.append(b"\1" + taken[place:])
        if len(kept) < total:
            taken[start - 1 :] = bytes([len(kept) - least]) + b"".join(codes)
        return kept

    many = spread > _WIDE or item.values == inf
    return Part(read, inf if many else sum(item.values**length for length in range(least, most + 1)))


def _mapped(strategy: Any) -> Part:
    pack = strategy.pack
    if pack in made:
        return made[pack]
    inner = _part(strategy.mapped_strategy)
    return Part(lambda digits: pack(inner.read(digits)), inner.values)


def _flat_mapped(strategy: Any) -> Part:
    base, expand = _part(strategy.base), strategy.expand
    return Part(lambda digits: _part(expand(base.read(digits))).read(digits))


def _one_of(strategy: Any) -> Part:
    branches = [_part(branch) for branch in strategy.original_strategies]
    return Part(lambda digits: digits.pick(branches).read(digits), sum(branch.values for branch in branches))


def _permutations(strategy: Any) -> Part:
    values = strategy.values
    return Part(lambda digits: [values[k] for k in digits.order(len(values))], prod(range(1, len(values) + 1)))


def _built(strategy: Any) -> Part:
    target, items = strategy.target, [_part(item) for item in strategy.args]
    if strategy.kwargs:
        raise Unreadable(repr(strategy))
    return Part(lambda digits: target(*[item.read(digits) for item in items]), prod(item.values for item in items))


def _composite(strategy: Any) -> Part:
    definition, args, kwargs = strategy.definition, strategy.args, strategy.kwargs
    return Part(lambda digits: definition(draw_from(digits), *args, **kwargs))


_KINDS: dict[str, Callable[[Any], Part]] = {
    "BooleansStrategy": _booleans,
    "SampledFromStrategy": _sampled,
    "JustStrategy": _sampled,
    "IntegersStrategy": _integers,
    "BytesStrategy": _bytes,
    "TupleStrategy": _tuples,
    "ListStrategy": _lists,
    "MappedStrategy": _mapped,
    "FlatMapStrategy": _flat_mapped,
    "OneOfStrategy": _one_of,
    "PermutationStrategy": _permutations,
    "BuildsStrategy": _built,
    "CompositeStrategy": _composite,
}
