"""DispatchKey: the name of a runtime or alias key, with torch's spelling ``DispatchKey.AutogradCPU``."""

from __future__ import annotations

from collections.abc import Iterator

from .keys import ALIASES, FUNCTIONALITIES, RUNTIME_KEYS, check_key

NAMES = tuple(dict.fromkeys((*RUNTIME_KEYS, *FUNCTIONALITIES, *ALIASES)))


class _Members(type):
    """Makes keys attributes of the class, and the class iterable over all of them."""

    def __getattr__(cls, name: str) -> DispatchKey:
        if name in NAMES:
            return DispatchKey(name)
        raise AttributeError(f"there is no DispatchKey {name!r}")

    def __iter__(cls) -> Iterator[DispatchKey]:
        return (DispatchKey(name) for name in NAMES)

    def __dir__(cls) -> list[str]:
        return [*type.__dir__(cls), *NAMES]


class DispatchKey(str, metaclass=_Members):
    """A key; it equals its name, so either may be given. ValueError for a name that is no key."""

    __slots__ = ()

    def __new__(cls, name: str) -> DispatchKey:
        if name not in NAMES:
            check_key(str(name))
        return super().__new__(cls, name)

    @property
    def name(self) -> str:
        """The key's name as a plain string."""
        return str.__str__(self)

    def __str__(self) -> str:
        return f"DispatchKey.{self.name}"

    def __repr__(self) -> str:
        return f"<DispatchKey.{self.name}>"
