"""Checks of pickles before they are loaded: which opcodes they use, and how much work they would cause."""

from __future__ import annotations

import pickle
import pickletools
from typing import Any

OPCODES = frozenset(
    """PROTO FRAME STOP MARK POP POP_MARK MEMOIZE BINGET LONG_BINGET GET PUT BINPUT LONG_BINPUT NONE NEWTRUE NEWFALSE
    BININT BININT1 BININT2 INT LONG LONG1 LONG4 BINFLOAT FLOAT UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES
    SHORT_BINBYTES BINBYTES8 BYTEARRAY8 EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_LIST LIST APPEND APPENDS EMPTY_DICT
    DICT SETITEM SETITEMS EMPTY_SET ADDITEMS FROZENSET GLOBAL STACK_GLOBAL REDUCE BINPERSID""".split()
)
"""Opcodes that save and older protocols use; none of them sets attributes of existing objects."""

MOST_HASHED = 100_000_000
"""Limit on the tuple items that hashing every object once may visit, nested tuples included: a few seconds."""

_MARK = 0


def _effect(opcode: pickletools.OpcodeInfo) -> tuple[str, int, bool, bool, bool]:
    """Return what an opcode does to the stack: its kind, if it does more than pop and push; how many objects it pops,
    below a mark or not; whether it pushes one, and whether that is a tuple of those popped."""
    name, before = opcode.name, opcode.stack_before
    kinds = ("MEMOIZE", "PUT", "GET", "MARK", "POP")
    kind = next((kind for kind in kinds if name in (kind, f"BIN{kind}", f"LONG_BIN{kind}")), "")
    to_mark = pickletools.markobject in before
    number = before.index(pickletools.markobject) if to_mark else len(before)
    return kind, number, to_mark, bool(opcode.stack_after), name.startswith("TUPLE")


_EFFECTS = {opcode.name: _effect(opcode) for opcode in pickletools.opcodes if opcode.name in OPCODES}


def check_pickle(data: bytes) -> None:
    """Raise UnpicklingError for a pickle that does more than build values, containers and storages.

    A memo index beyond the length of the pickle, for which the unpickler would allocate memory, is refused too, and so
    are tuples nested so that hashing them, as keys of a dict, would take exponential time.

    Raises:
        UnpicklingError: the pickle is not allowed.
        ValueError, LookupError: the pickle is malformed.
    """
    stack: list[int] = []  # marks, and the number of items that hashing each object visits
    memo: dict[int, int] = {}
    left = MOST_HASHED + 100 * len(data)
    argument: Any
    for opcode, argument, place in pickletools.genops(data):
        effect = _EFFECTS.get(opcode.name)
        if effect is None:
            raise pickle.UnpicklingError(f"load(): the file has {opcode.name} at byte {place}, which is not allowed")
        kind, number, to_mark, pushes, makes_tuple = effect
        if kind == "MEMOIZE":
            memo[len(memo)] = stack[-1]
            continue
        if kind == "PUT":
            if argument > len(data):
                raise pickle.UnpicklingError(f"load(): the file has the memo index {argument} at byte {place}")
            memo[argument] = stack[-1]
            continue
        size = 1
        if kind == "GET":
            size = memo[argument]
        elif kind == "MARK":
            size = _MARK
        elif to_mark or (kind == "POP" and stack[-1] == _MARK):
            while member := stack.pop():
                size += member
            number = number if to_mark else 0
        for _ in range(number):
            size += stack.pop()
        if pushes:
            size = size if makes_tuple or kind else 1
            stack.append(size)
            left -= size
            if left < 0:
                raise pickle.UnpicklingError(f"load(): tuples at byte {place} cannot be hashed in time")
