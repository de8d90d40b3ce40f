"""An unpickler that builds values, containers and what a table of names allows, and calls nothing else."""

from __future__ import annotations

import collections
import pickle
import struct
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

MOST_HASHED = 100_000_000
"""Limit on the tuple items that hashing every object once may visit, nested tuples included: a few seconds."""

MOST_NESTED = 10_000
"""Limit on the depth of tuples in tuples, which C code hashes without looking at the depth of its stack."""


class Function:
    """A function that pickles may call: ``call(unpickler, *arguments)``."""

    __slots__ = ("call", "name")

    def __init__(self, name: str, call: Callable[..., Any]) -> None:
        self.name = name
        self.call = call

    def __repr__(self) -> str:
        return f"<{self.name} in a file>"


class Unpickler:
    """Reads the pickle `data` of protocol 2 or later.

    `names` has what (module, name) stands for: a constant or a Function. `persistent_load` gives the object of a
    persistent id. Memory and time are bounded by the length of `data`.
    """

    def __init__(
        self, data: bytes, names: Mapping[tuple[str, str], Any], persistent_load: Callable[[Any], Any]
    ) -> None:
        self._data = data
        self._names = names
        self._persistent_load = persistent_load
        self.copies: dict[int, list[Any]] = {}
        """Id of an object -> the copies of it that loaded tensors share."""
        self._place = 0
        self._opcode = 0
        self._stack: list[Any] = []
        self._marked: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        self._sizes: dict[int, int] = {}
        self._depths: dict[int, int] = {}
        self._kept: list[Any] = []
        self._members_left = len(data)
        self._hashes_left = MOST_HASHED + 100 * len(data)

    def load(self) -> Any:
        """Return the object.

        Raises:
            UnpicklingError: the pickle does what is not allowed, or ends too early.
            ValueError, TypeError, LookupError, struct.error: the pickle is malformed.
        """
        data, steps = self._data, _STEPS
        while self._place < len(data):
            self._opcode = data[self._place]
            self._place += 1
            if self._opcode == _STOP:
                return self._stack.pop()
            step = steps.get(self._opcode)
            if step is None:
                name = _NAMES_OF_REFUSED.get(self._opcode, f"the byte {self._opcode:#04x}")
                self._refuse(f"has {name} at byte {self._place - 1}, which is not allowed")
            step(self)
        raise pickle.UnpicklingError("load(): the pickle in the file has no end")

    def count(self, number: int) -> None:
        """Raise UnpicklingError once functions have made containers with more members than the pickle has bytes."""
        self._members_left -= number
        if self._members_left < 0:
            self._refuse("asks for containers with more members than it has bytes")

    def _refuse(self, what: str) -> NoReturn:
        raise pickle.UnpicklingError(f"load(): the file {what}")

    def _take(self, length: int) -> bytes:
        begin, end = self._place, self._place + length
        if length < 0 or end > len(self._data):
            self._refuse(f"has a value of {length} bytes at byte {begin}, beyond the end of its pickle")
        self._place = end
        return self._data[begin:end]

    def _number(self, form: struct.Struct) -> Any:
        (number,) = form.unpack_from(self._data, self._place)
        self._place += form.size
        return number

    def _line(self) -> str:
        end = self._data.index(b"\n", self._place)
        line = self._data[self._place : end].decode()
        self._place = end + 1
        return line

    def _members(self) -> list[Any]:
        """Pop everything above the last mark."""
        members, self._stack = self._stack, self._marked.pop()
        return members

    def _top(self, *kinds: type) -> Any:
        found = self._stack[-1]
        if type(found) not in kinds:
            self._refuse(f"adds members to a {type(found).__name__} at byte {self._place - 1}")
        return found

    def _push_tuple(self, members: list[Any]) -> None:
        """Push a tuple; refuse those whose nesting makes hashing them take exponential time."""
        sizes, depths = self._sizes, self._depths
        made = tuple(members)
        size = 1 + sum([sizes.get(id(one), 1) for one in members])
        self._visit(size)
        depth = 1 + max([depths.get(id(one), 0) for one in members], default=0)
        if depth > MOST_NESTED:
            self._refuse(f"has tuples nested deeper than {MOST_NESTED} at byte {self._place - 1}")
        sizes[id(made)] = size
        depths[id(made)] = depth
        self._kept.append(made)  # so that no other object gets its id
        self._stack.append(made)

    def _visit(self, size: int) -> None:
        self._hashes_left -= size
        if self._hashes_left < 0:
            self._refuse(f"has tuples at byte {self._place - 1} that cannot be hashed in time")

    def _hashed(self, key: Any) -> Any:
        self._visit(self._sizes.get(id(key), 1))
        return key

    def _set_items(self, items: list[Any]) -> None:
        target = self._top(dict, collections.OrderedDict, collections.Counter)
        if len(items) % 2:
            self._refuse(f"has a key without a value at byte {self._place - 1}")
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[self._hashed(key)] = value

    def _global(self, module: Any, name: Any) -> None:
        try:
            self._stack.append(self._names[module, name])
        except (KeyError, TypeError):
            self._refuse(f"names {module}.{name}, which is not allowed")

    def _call(self) -> None:
        arguments = self._stack.pop()
        function = self._stack.pop()
        if type(function) is not Function or type(arguments) is not tuple:
            self._refuse(f"calls {function!r}, which is not allowed")
        self._stack.append(function.call(self, *arguments))

    def _build(self) -> None:
        """Set the attributes of an OrderedDict, as modules' state dicts have some."""
        state = self._stack.pop()
        target = self._stack[-1]
        if type(target) is not collections.OrderedDict:
            kind = type(target).__name__
            self._refuse(f"has BUILD at byte {self._place - 1} on a {kind}, which is not allowed")
        if type(state) is not dict or not all(isinstance(name, str) for name in state):
            self._refuse(f"has attributes that are not a dict at byte {self._place - 1}")
        self.count(len(state))
        target.__dict__.update(state)


def _constant(value: Any) -> Callable[[Unpickler], None]:
    return lambda self: self._stack.append(value)


def _number(form: str) -> Callable[[Unpickler], None]:
    read = struct.Struct(form)
    return lambda self: self._stack.append(self._number(read))


def _counted(form: str, convert: Callable[[bytes], Any]) -> Callable[[Unpickler], None]:
    """A step that pushes the bytes after their number, converted."""
    read = struct.Struct(form)
    return lambda self: self._stack.append(convert(self._take(self._number(read))))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _integer(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


def _get(form: str) -> Callable[[Unpickler], None]:
    read = struct.Struct(form)

    def step(self: Unpickler) -> None:
        found = self._memo[self._number(read)]
        self._visit(self._sizes.get(id(found), 1))
        self._stack.append(found)

    return step


def _put(form: str) -> Callable[[Unpickler], None]:
    read = struct.Struct(form)

    def step(self: Unpickler) -> None:
        self._memo[self._number(read)] = self._stack[-1]

    return step


def _memoize(self: Unpickler) -> None:
    self._memo[len(self._memo)] = self._stack[-1]


def _mark(self: Unpickler) -> None:
    self._marked.append(self._stack)
    self._stack = []


def _pop(self: Unpickler) -> None:
    """Pop an object, or the mark if there is none above it."""
    if self._stack:
        self._stack.pop()
    else:
        self._members()


def _pop_to_mark(self: Unpickler) -> None:
    self._members()


def _skip_protocol(self: Unpickler) -> None:
    self._take(1)


def _skip_frame(self: Unpickler) -> None:
    self._take(8)


def _tuple_of(number: int) -> Callable[[Unpickler], None]:
    def step(self: Unpickler) -> None:
        stack = self._stack
        if len(stack) < number:
            self._refuse(f"lacks the members of a tuple at byte {self._place - 1}")
        members = stack[len(stack) - number :]
        del stack[len(stack) - number :]
        self._push_tuple(members)

    return step


def _append(self: Unpickler) -> None:
    member = self._stack.pop()
    self._top(list).append(member)


def _append_all(self: Unpickler) -> None:
    members = self._members()
    self._top(list).extend(members)


def _set_item(self: Unpickler) -> None:
    value, key = self._stack.pop(), self._stack.pop()
    self._set_items([key, value])


def _add_all(self: Unpickler) -> None:
    members = self._members()
    self._top(set).update([self._hashed(one) for one in members])


def _frozen_set(self: Unpickler) -> None:
    members = self._members()
    self._stack.append(frozenset([self._hashed(one) for one in members]))


def _named(self: Unpickler) -> None:
    module = self._line()
    self._global(module, self._line())


def _named_on_stack(self: Unpickler) -> None:
    name, module = self._stack.pop(), self._stack.pop()
    self._global(module, name)


def _persistent(self: Unpickler) -> None:
    self._stack.append(self._persistent_load(self._stack.pop()))


_BY_OPCODE: dict[bytes, Callable[[Unpickler], None]] = {
    pickle.PROTO: _skip_protocol,
    pickle.FRAME: _skip_frame,
    pickle.MARK: _mark,
    pickle.POP: _pop,
    pickle.POP_MARK: _pop_to_mark,
    pickle.NONE: _constant(None),
    pickle.NEWTRUE: _constant(True),
    pickle.NEWFALSE: _constant(False),
    pickle.BININT: _number("<i"),
    pickle.BININT1: _number("<B"),
    pickle.BININT2: _number("<H"),
    pickle.BINFLOAT: _number(">d"),
    pickle.LONG1: _counted("<B", _integer),
    pickle.LONG4: _counted("<i", _integer),
    pickle.SHORT_BINUNICODE: _counted("<B", _text),
    pickle.BINUNICODE: _counted("<I", _text),
    pickle.BINUNICODE8: _counted("<Q", _text),
    pickle.SHORT_BINBYTES: _counted("<B", bytes),
    pickle.BINBYTES: _counted("<I", bytes),
    pickle.BINBYTES8: _counted("<Q", bytes),
    pickle.BYTEARRAY8: _counted("<Q", bytearray),
    pickle.EMPTY_TUPLE: lambda self: self._push_tuple([]),
    pickle.TUPLE1: _tuple_of(1),
    pickle.TUPLE2: _tuple_of(2),
    pickle.TUPLE3: _tuple_of(3),
    pickle.TUPLE: lambda self: self._push_tuple(self._members()),
    pickle.EMPTY_LIST: lambda self: self._stack.append([]),
    pickle.APPEND: _append,
    pickle.APPENDS: _append_all,
    pickle.EMPTY_DICT: lambda self: self._stack.append({}),
    pickle.SETITEM: _set_item,
    pickle.SETITEMS: lambda self: self._set_items(self._members()),
    pickle.EMPTY_SET: lambda self: self._stack.append(set()),
    pickle.ADDITEMS: _add_all,
    pickle.FROZENSET: _frozen_set,
    pickle.MEMOIZE: _memoize,
    pickle.BINPUT: _put("<B"),
    pickle.LONG_BINPUT: _put("<I"),
    pickle.BINGET: _get("<B"),
    pickle.LONG_BINGET: _get("<I"),
    pickle.GLOBAL: _named,
    pickle.STACK_GLOBAL: _named_on_stack,
    pickle.REDUCE: Unpickler._call,
    pickle.BUILD: Unpickler._build,
    pickle.BINPERSID: _persistent,
}
"""What each opcode does. Those that name classes to make instances of (NEWOBJ, INST, OBJ) are not among them."""

_STEPS = {opcode[0]: step for opcode, step in _BY_OPCODE.items()}
_STOP = pickle.STOP[0]
_NAMES_OF_REFUSED = {
    value[0]: name
    for name, value in vars(pickle).items()
    if name.isupper() and isinstance(value, bytes) and len(value) == 1 and value[0] not in _STEPS
}
