"""Wishes for a call: what its drawing is asked to meet, written as bytes behind the code of the call.

A byte of zero is no wish, so that a failure is made simpler by taking wishes back one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .calls import schema_arguments

# Bytes of the code that a wish stands behind.
CODE_LENGTH = 200
# Sizes of the operand that the others follow: a number of dims of two elements and more, one dim of a length at a
# threshold of loops, no dims, dims among which one is 1, or one is 0.
SHAPES = ("2", "3", "1", "4", "5", "long", "0", "ones", "empty")
# Shapes in which every layout can be told from the others.
RANKED = ("2", "3", "4", "5")
# Sizes of all operands: alike, or such that some are broadcast.
RELATIONS = ("equal", "broadcast")
# Of any argument: left out, or given beside its default; of the dtype: two of them.
LEFT_OUT, GIVEN = 255, 254
MIXED = 254
_HEAD = 5


@dataclass(frozen=True)
class Wish:
    """``form`` is the number of the samples' form, ``dtype`` the place among the dtypes of the row, ``turn`` tells
    which sizes stand first; ``arguments`` has the layout of a tensor, or the place of another value, by name. All count
    from 1, and 0 is no wish."""

    form: int = 0
    shape: int = 0
    dtype: int = 0
    relation: int = 0
    turn: int = 0
    arguments: dict[str, int] = field(default_factory=dict)

    def code(self, operator: str) -> bytes:
        """The bytes that :func:`read` takes."""
        names = [argument.name for argument in schema_arguments(operator)]
        head = (self.form, self.shape, self.dtype, self.relation, self.turn)
        return bytes([*head, *(self.arguments.get(name, 0) for name in names)])


def read(operator: str, code: bytes) -> Wish:
    """The wish that ``code`` stands for; none at all if it is empty."""
    head = code[:_HEAD].ljust(_HEAD, b"\0")
    names = [argument.name for argument in schema_arguments(operator)]
    form, shape, dtype, relation, turn = head
    return Wish(form, shape, dtype, relation, turn, dict(zip(names, code[_HEAD:], strict=False)))
