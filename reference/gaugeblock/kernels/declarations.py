"""What a module declares or defines beside its loops: intrinsics, C functions, routines, tables."""

from __future__ import annotations

from collections.abc import Sequence

from .code import NAME, PLAIN
from .runtime import PLAIN_ROUTINES, ROUTINES


class Declarations(dict[str, str]):
    """What a module must declare or define, by name; `plain` in its part without optimisation.

    `vector_bytes` are those of the widest vectors that it is compiled for; `space` follows `ptr` for tables.
    """

    space = ""

    def __init__(self, vector_bytes: int = 0) -> None:
        super().__init__()
        self.vector_bytes = vector_bytes
        self.plain: dict[str, str] = {}

    def routine(self, name: str, type: str, arguments: Sequence[str]) -> str:
        """Declare a scalar function, one of ours or of C; its name in the module."""
        if name in ROUTINES:
            self[f"@{name}"] = ROUTINES[name]
            return f"@{name}"
        inside = f"@{NAME}_{name}" if name in PLAIN_ROUTINES else f"@{name}"
        self[inside] = f"declare {type} {inside}({', '.join(arguments)})"
        if name in PLAIN_ROUTINES:
            self.plain[inside] = PLAIN_ROUTINES[name]
        return inside

    def text(self, attributes: str, plain: Sequence[str] = ()) -> str:
        """The rest of a module: declarations, the attributes of its functions, and the second part, with `plain`."""
        closing = f"attributes #0 = {{ {attributes} }}"
        second = [*plain, *self.plain.values()]
        return "\n".join([*self.values(), closing, *([PLAIN, *second, closing] if second else []), ""])
