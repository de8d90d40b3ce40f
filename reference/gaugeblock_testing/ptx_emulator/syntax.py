"""The parts of a PTX module: global tables, functions with their parameters, statements and labels."""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

_FUNCTION = re.compile(r"\.(?:entry|func)\s*(?:\([^)]*\))?\s*([\w$]+)\s*\(([^)]*)\)\s*(?:\.\w+[^{;]*)?([;{])")
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(\d+)\s+)?\.[busf](\d+)\s+(?:\.ptr\s[^,]*?\s)?([\w$]+)(?:\[(\d+)\])?\s*$"
)
_GLOBAL = re.compile(r"\.global\s+(?:\.align\s+\d+\s+)?\.[busf](\d+)\s+([\w$]+)(?:\[(\d+)\])?\s*=\s*\{?([^};]*)\}?\s*;")
_LABEL = re.compile(r"(\$[\w$]+):\s*")
_PARTS = re.compile(r"[^,\[\](){}]+|\{[^}]*\}|\[[^\]]*\]|\([^)]*\)")


class Statement(NamedTuple):
    """An instruction: the predicate that it waits for (with "!" before it when negated), opcode, operands."""

    guard: str
    opcode: tuple[str, ...]
    operands: tuple[str, ...]


class Function(NamedTuple):
    """A kernel or function: name, place of each parameter in their block, its size, statements, labels."""

    name: str
    parameters: dict[str, int]
    order: tuple[int, ...]
    size: int
    statements: tuple[Statement, ...]
    labels: dict[str, int]


class Module(NamedTuple):
    """Functions and the bytes of global tables, by name."""

    functions: dict[str, Function]
    tables: dict[str, bytes]


def parsed(text: str) -> Module:
    """The module of a PTX text."""
    text = re.sub(r"//[^\n]*", "", text)
    functions = {}
    for found in _FUNCTION.finditer(text):
        if found[3] == "{":
            functions[found[1]] = _function(found[1], found[2], _body(text, found.end()))
    return Module(functions, {found[2]: _table(found) for found in _GLOBAL.finditer(text)})


def _table(found: re.Match[str]) -> bytes:
    """The bytes of a table, whose zeros at the end are left out of the text."""
    nbytes = int(found[1]) // 8
    given = b"".join(_element(one.strip(), nbytes) for one in found[4].split(","))
    return given.ljust(nbytes * int(found[3] or 1), b"\0")


def _element(text: str, nbytes: int) -> bytes:
    if text[:2] in ("0d", "0f"):
        return struct.pack(">Q" if text[1] == "d" else ">I", int(text[2:], 16))[::-1]
    return (int(text, 0) & ((1 << 8 * nbytes) - 1)).to_bytes(nbytes, "little")


def _body(text: str, start: int) -> str:
    """From behind an opening brace to the one that closes it."""
    depth, place = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        place += 1
    return text[start : place - 1]


def _function(name: str, parameters: str, body: str) -> Function:
    places: dict[str, int] = {}
    order: list[int] = []
    size = 0
    for parameter in filter(str.strip, parameters.split(",")):
        found = _PARAMETER.search(parameter.strip())
        if found is None:
            raise ValueError(f"ptx emulation: parameter {parameter.strip()!r} is not understood")
        nbytes = int(found[2]) // 8
        align = int(found[1] or nbytes)
        size = -(-size // align) * align
        places[found[3]] = size
        order.append(size)
        size += nbytes * int(found[4] or 1)
    statements: list[Statement] = []
    labels: dict[str, int] = {}
    for piece in body.split(";"):
        piece = piece.strip().lstrip("{} \t\n")
        while found := _LABEL.match(piece):
            labels[found[1]] = len(statements)
            piece = piece[found.end() :].lstrip("{} \t\n")
        if piece and piece[0] != ".":
            statements.append(_statement(piece))
    return Function(name, places, tuple(order), size, tuple(statements), labels)


def _statement(text: str) -> Statement:
    guard = ""
    if text[0] == "@":
        guard, text = text[1:].split(None, 1)
    opcode, rest = [*text.split(None, 1), ""][:2]
    operands = tuple(part.strip() for part in _PARTS.findall(rest) if part.strip())
    return Statement(guard, tuple(opcode.split(".")), operands)
