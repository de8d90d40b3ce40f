"""Pickles of plain data, read without executing anything.

The machine here knows only the opcodes that build dicts with string keys, lists, tuples, strings, bytes, numbers,
booleans and None, of every protocol. It has no way to look up a name or to call something, so that a hostile pickle
is refused at its first opcode of another kind. Every length is held against the bytes that are there before anything
is made of it, and hashes are taken of strings only.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from ..problem import SnapshotProblem, shown

NEWEST_PROTOCOL: Final = 5
WIDEST_INTEGER: Final = 32
"""Bytes of an integer: addresses and times take 8."""

REFUSED: Final = {
    b"c": "GLOBAL names an object to import",
    b"\x93": "STACK_GLOBAL names an object to import",
    b"i": "INST makes an object of a class",
    b"o": "OBJ makes an object of a class",
    b"\x81": "NEWOBJ makes an object of a class",
    b"\x92": "NEWOBJ_EX makes an object of a class",
    b"R": "REDUCE calls a function",
    b"b": "BUILD sets an object's state",
    b"P": "PERSID names an object outside",
    b"Q": "BINPERSID names an object outside",
    b"\x82": "EXT1 names a registered object",
    b"\x83": "EXT2 names a registered object",
    b"\x84": "EXT4 names a registered object",
    b"\x8f": "EMPTY_SET makes a set",
    b"\x90": "ADDITEMS fills a set",
    b"\x91": "FROZENSET makes a set",
    b"\x96": "BYTEARRAY8 makes a bytearray",
    b"\x97": "NEXT_BUFFER wants a buffer from outside",
    b"\x98": "READONLY_BUFFER wants a buffer from outside",
}
CONSTANTS: Final[dict[int, Any]] = {ord("N"): None, 0x88: True, 0x89: False, ord(")"): ()}
NUMBERS: Final = {ord("J"): ("<i", 4), ord("M"): ("<H", 2), ord("G"): (">d", 8)}
LENGTHS: Final = {ord("X"): 4, 0x8D: 8, 0x8C: 1, ord("T"): 4, ord("U"): 1, ord("B"): 4, ord("C"): 1, 0x8E: 8}
"""Opcodes followed by so many bytes of a length, and then by text or bytes."""
BYTES: Final = frozenset({ord("B"), ord("C"), 0x8E})
LINES: Final = frozenset(b"FILSVgp")
"""Opcodes followed by a line of text."""
TUPLES: Final = {0x85: 1, 0x86: 2, 0x87: 3}


def loads(data: bytes) -> Any:
    """The value of a pickle of plain data.

    Raises:
        SnapshotProblem: it is cut off, malformed, or holds what is not plain data; the message says at which byte.
    """
    machine = _Machine(data)
    try:
        return machine.run()
    except SnapshotProblem:
        raise
    except (IndexError, KeyError, ValueError, struct.error, TypeError, OverflowError) as error:
        how = "is cut off" if machine.cut else "is malformed"
        raise SnapshotProblem(f"the pickle {how} at byte {machine.place} of {len(data)}") from error


class _Machine:
    """The stack, the memo, the place of the next byte, and whether it lay behind the end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0
        self.cut = False
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        data, stack, marks, memo = self.data, self.stack, self.marks, self.memo
        push = stack.append
        at = code = 0
        try:
            while True:
                code = data[at]
                at += 1
                if code == 0x68:  # BINGET
                    push(memo[data[at]])
                    at += 1
                elif code == 0x94:  # MEMOIZE
                    memo[len(memo)] = stack[-1]
                elif code == 0x6A:  # LONG_BINGET
                    push(memo[int.from_bytes(data[at : at + 4], "little")])
                    at += 4
                elif code == 0x4B:  # BININT1
                    push(data[at])
                    at += 1
                elif code == 0x28:  # MARK
                    marks.append(len(stack))
                elif code == 0x7D:  # EMPTY_DICT
                    push({})
                elif code == 0x75:  # SETITEMS
                    self.place = at
                    self._set_items(marks.pop())
                elif code == 0x5D:  # EMPTY_LIST
                    push([])
                elif code == 0x71:  # BINPUT
                    memo[data[at]] = stack[-1]
                    at += 1
                elif code == 0x72:  # LONG_BINPUT
                    memo[int.from_bytes(data[at : at + 4], "little")] = stack[-1]
                    at += 4
                elif code == 0x2E:  # STOP
                    self.place = at
                    if len(stack) != 1 or marks:
                        raise ValueError("values are left over")
                    return stack[0]
                else:
                    self.place = at
                    self._other(code)
                    at = self.place
        except (IndexError, KeyError):
            self.place = max(at, self.place)
            self.cut = self.cut or (at >= len(data) and code != 0x2E)
            raise

    def _other(self, code: int) -> None:
        stack, marks = self.stack, self.marks
        if code == 0x8A:  # LONG1
            self._long(self._count(1))
        elif code in NUMBERS:
            form, width = NUMBERS[code]
            stack.append(struct.unpack(form, self._take(width))[0])
        elif code in CONSTANTS:
            stack.append(CONSTANTS[code])
        elif code in LENGTHS:
            raw = self._take(self._count(LENGTHS[code]))
            stack.append(raw if code in BYTES else raw.decode("utf-8", "surrogatepass"))
        elif code in TUPLES:
            start = self._depth(TUPLES[code])
            stack[start:] = [tuple(stack[start:])]
        elif code == 0x65:  # APPENDS
            start = marks.pop()
            items = stack[start:]
            del stack[start:]
            self._target(list).extend(items)
        elif code == 0x61:  # APPEND
            value = stack.pop()
            self._target(list).append(value)
        elif code == 0x73:  # SETITEM
            self._set_items(self._depth(2))
        elif code in b"tld":
            self._gather(code, marks.pop())
        elif code in LINES:
            self._line(code)
        elif code == 0x80:  # PROTO
            if (protocol := self._count(1)) > NEWEST_PROTOCOL:
                raise SnapshotProblem(f"the pickle has protocol {protocol}; 0 to {NEWEST_PROTOCOL} are allowed")
        elif code == 0x95:  # FRAME
            if self._count(8) > len(self.data) - self.place:
                raise self._end()
        elif code == 0x8B:  # LONG4
            self._long(self._count(4))
        elif code == 0x30:  # POP
            stack.pop()
        elif code == 0x31:  # POP_MARK
            del stack[marks.pop() :]
        elif code == 0x32:  # DUP
            stack.append(stack[-1])
        else:
            what = REFUSED.get(bytes([code]))
            if what is None:
                raise ValueError("no such opcode")
            raise SnapshotProblem(
                f"the pickle is refused at byte {self.place - 1}: {what}; only dicts, lists, tuples, strings, "
                "numbers, booleans and None are allowed"
            )

    def _take(self, count: int) -> bytes:
        end = self.place + count
        if end > len(self.data):
            raise self._end()
        raw = self.data[self.place : end]
        self.place = end
        return raw

    def _end(self) -> IndexError:
        """The error of a length that leads behind the last byte."""
        self.place = len(self.data)
        self.cut = True
        return IndexError()

    def _count(self, width: int) -> int:
        return int.from_bytes(self._take(width), "little")

    def _depth(self, count: int) -> int:
        """Return where the last `count` values begin."""
        start = len(self.stack) - count
        if start < (self.marks[-1] if self.marks else 0):
            raise IndexError
        return start

    def _target(self, kind: type) -> Any:
        target = self.stack[-1]
        if type(target) is not kind:
            raise ValueError(f"not a {kind.__name__}")
        return target

    def _set_items(self, start: int) -> None:
        stack = self.stack
        keys, values = stack[start::2], stack[start + 1 :: 2]
        del stack[start:]
        target = self._target(dict)
        self._fill(target, keys, values)

    def _fill(self, target: dict[str, Any], keys: list[Any], values: list[Any]) -> None:
        if len(keys) != len(values):
            raise ValueError("a key without a value")
        for key in keys:
            if type(key) is not str:
                raise SnapshotProblem(f"the pickle has {shown(key)} as a key; only strings are allowed")
        target.update(zip(keys, values, strict=True))

    def _gather(self, code: int, start: int) -> None:
        items = self.stack[start:]
        del self.stack[start:]
        if code == 0x64:  # DICT
            made: dict[str, Any] = {}
            self._fill(made, items[::2], items[1::2])
            self.stack.append(made)
        else:
            self.stack.append(tuple(items) if code == 0x74 else items)

    def _long(self, width: int) -> None:
        if width > WIDEST_INTEGER:
            raise SnapshotProblem(f"the pickle has an integer of {width} bytes; {WIDEST_INTEGER} are allowed")
        self.stack.append(int.from_bytes(self._take(width), "little", signed=True))

    def _line(self, code: int) -> None:
        end = self.data.find(b"\n", self.place)
        if end < 0:
            raise self._end()
        raw = self.data[self.place : end]
        self.place = end + 1
        if code == 0x67:  # GET
            self.stack.append(self.memo[int(raw)])
        elif code == 0x70:  # PUT
            self.memo[int(raw)] = self.stack[-1]
        elif code == 0x49:  # INT
            self.stack.append(raw == b"01" if raw in (b"00", b"01") else int(raw))
        elif code == 0x4C:  # LONG
            self.stack.append(int(raw.removesuffix(b"L")))
        elif code == 0x46:  # FLOAT
            self.stack.append(float(raw))
        elif code == 0x56:  # UNICODE
            self.stack.append(raw.decode("raw-unicode-escape"))
        else:
            self.stack.append(_quoted(raw))


def _quoted(raw: bytes) -> str:
    """A string in quotes, as protocol 0 of Python 2 writes it."""
    if len(raw) < 2 or raw[:1] not in (b"'", b'"') or raw[-1] != raw[0]:
        raise ValueError("not in quotes")
    return raw[1:-1].decode("unicode-escape")
