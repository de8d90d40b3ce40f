"""DispatchKeySet: a thin immutable class over the 64-bit word; hot paths use the plain int."""

from __future__ import annotations

from collections.abc import Iterator

from .dispatch_key import DispatchKey
from .keys import (
    BACKEND_MASK,
    BACKENDS,
    FUNCTIONALITIES,
    FUNCTIONALITY_BIT,
    PER_BACKEND,
    RUNTIME_KEYS,
    check_key,
    runtime_key,
)


class DispatchKeySet:
    """A set of dispatch keys; made from keys, their names, other sets, or the raw word."""

    __slots__ = ("mask",)
    mask: int

    def __init__(self, *keys: str | DispatchKeySet, mask: int = 0) -> None:
        for key in keys:
            mask |= key.mask if isinstance(key, DispatchKeySet) else key_bits(key)
        object.__setattr__(self, "mask", mask)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a DispatchKeySet cannot be changed; use |, & and -")

    def has(self, key: str) -> bool:
        """Whether every bit of the runtime key is present."""
        bits = key_bits(key)
        return self.mask & bits == bits

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.has(key)

    def add(self, key: str) -> DispatchKeySet:
        """This set and one more key."""
        return DispatchKeySet(mask=self.mask | key_bits(key))

    def remove(self, key: str) -> DispatchKeySet:
        """This set without the functionality of `key`."""
        return self - DispatchKeySet(key)

    def highest_priority(self) -> str:
        return runtime_key(self.mask)

    def highestPriorityTypeId(self) -> DispatchKey:
        """The runtime key that a call with these keys is dispatched to."""
        return DispatchKey(runtime_key(self.mask))

    @staticmethod
    def from_raw_repr(mask: int) -> DispatchKeySet:
        """The set whose 64-bit word is `mask`."""
        return DispatchKeySet(mask=mask)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(mask=self.mask | other.mask)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(mask=self.mask & other.mask)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        """Without the functionalities of `other`; backend bits stay, since other functionalities may need them."""
        return DispatchKeySet(mask=self.mask & ~(other.mask & ~BACKEND_MASK))

    def __iter__(self) -> Iterator[str]:
        """Runtime keys, highest priority first."""
        backends = [name for index, name in enumerate(BACKENDS) if self.mask >> index & 1]
        for functionality in reversed(FUNCTIONALITIES):
            if self.mask & FUNCTIONALITY_BIT[functionality]:
                prefix = PER_BACKEND.get(functionality)
                if prefix is None:
                    yield functionality
                else:
                    yield from (prefix + backend for backend in reversed(backends))

    def __bool__(self) -> bool:
        return self.mask != 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self.mask == other.mask

    def __hash__(self) -> int:
        return hash(self.mask)

    def raw_repr(self) -> int:
        return self.mask

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(reversed(list(self)))})"


def key_bits(key: str) -> int:
    """The bits of a runtime key or of a functionality; ValueError for an unknown name or an alias key."""
    bits = RUNTIME_KEYS.get(key)
    if bits is None:
        bits = FUNCTIONALITY_BIT.get(key)
    if bits is not None:
        return bits
    check_key(key)
    raise ValueError(f"{key!r} is an alias key; a key set holds runtime keys only")
