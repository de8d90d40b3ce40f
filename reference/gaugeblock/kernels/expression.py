"""Symbolic lanes: typed expression nodes that a formula builds and `lower` turns into LLVM IR.

A `Lane` stands for one number per loop iteration. Operators on lanes record nodes; Python numbers become constants of
the other operand's type. Both operands of an operator must have the same lane type: conversions are explicit.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple, Union

Number = Union[bool, int, float]  # noqa: UP007


class LaneType(NamedTuple):
    """Type of a lane: kind "bool", "int" (signed), "uint" or "float", width in bits, name in LLVM IR."""

    kind: str
    bits: int
    ir: str

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_int(self) -> bool:
        return self.kind in ("int", "uint")


BOOL = LaneType("bool", 1, "i1")
INT = {bits: LaneType("int", bits, f"i{bits}") for bits in (8, 16, 32, 64)}
UINT = {bits: LaneType("uint", bits, f"i{bits}") for bits in (8, 16, 32, 64)}
F32 = LaneType("float", 32, "float")
F64 = LaneType("float", 64, "double")


_SERIALS = count()


class Lane:
    """One recorded expression: an opcode, its argument lanes, an attribute (constant, callee, index) and a type.

    Lanes that are recorded later have higher serial numbers.
    """

    __slots__ = ("arguments", "attribute", "opcode", "serial", "type")

    def __init__(self, opcode: str, type: LaneType, arguments: tuple[Lane, ...] = (), attribute: Any = None) -> None:
        self.opcode = opcode
        self.type = type
        self.arguments = arguments
        self.attribute = attribute
        self.serial = next(_SERIALS)

    def __repr__(self) -> str:
        inside = ", ".join(map(repr, self.arguments)) or repr(self.attribute)
        return f"{self.opcode}({inside})"

    def __bool__(self) -> bool:
        raise TypeError("a lane has no truth value while a formula is recorded: use select(condition, a, b)")

    __hash__ = object.__hash__

    def __add__(self, other: Operand) -> Lane:
        return arithmetic("or" if self.type is BOOL else "add", self, other)

    def __radd__(self, other: Operand) -> Lane:
        return self + other

    def __sub__(self, other: Operand) -> Lane:
        return arithmetic("sub", self, other)

    def __rsub__(self, other: Operand) -> Lane:
        return arithmetic("sub", other, self)

    def __mul__(self, other: Operand) -> Lane:
        return arithmetic("and" if self.type is BOOL else "mul", self, other)

    def __rmul__(self, other: Operand) -> Lane:
        return self * other

    def __truediv__(self, other: Operand) -> Lane:
        return arithmetic("fdiv", self, other)

    def __rtruediv__(self, other: Operand) -> Lane:
        return arithmetic("fdiv", other, self)

    def __neg__(self) -> Lane:
        if self.type.is_float:
            return Lane("fneg", self.type, (self,))
        return arithmetic("sub", 0, self)

    def __abs__(self) -> Lane:
        if self.type.is_float:
            return Lane("intrinsic", self.type, (self,), "fabs")
        return select(self < 0, -self, self) if self.type.kind == "int" else self

    def __and__(self, other: Operand) -> Lane:
        return arithmetic("and", self, other)

    def __or__(self, other: Operand) -> Lane:
        return arithmetic("or", self, other)

    def __xor__(self, other: Operand) -> Lane:
        return arithmetic("xor", self, other)

    def __invert__(self) -> Lane:
        return arithmetic("xor", self, True if self.type is BOOL else -1)

    def __lshift__(self, other: Operand) -> Lane:
        return arithmetic("shl", self, other)

    def __rshift__(self, other: Operand) -> Lane:
        return arithmetic("ashr" if self.type.kind == "int" else "lshr", self, other)

    def __eq__(self, other: Operand) -> Lane:  # type: ignore[override]
        return compare("eq", self, other)

    def __ne__(self, other: Operand) -> Lane:  # type: ignore[override]
        return compare("ne", self, other)

    def __lt__(self, other: Operand) -> Lane:
        return compare("lt", self, other)

    def __le__(self, other: Operand) -> Lane:
        return compare("le", self, other)

    def __gt__(self, other: Operand) -> Lane:
        return compare("gt", self, other)

    def __ge__(self, other: Operand) -> Lane:
        return compare("ge", self, other)


Operand = Union[Lane, bool, int, float]  # noqa: UP007


def constant(value: Number, type: LaneType) -> Lane:
    """A constant lane; ints wrap to the type's width. Raises TypeError for a fraction in an integer lane."""
    if type.kind == "bool":
        return Lane("constant", type, (), bool(value))
    if type.is_float:
        return Lane("constant", type, (), float(value))
    if isinstance(value, float) and not value.is_integer():
        raise TypeError(f"constant {value} does not fit a lane of {type.kind}{type.bits}")
    return Lane("constant", type, (), int(value) & ((1 << type.bits) - 1))


def pair(a: Operand, b: Operand) -> tuple[Lane, Lane]:
    """Both operands as lanes of one type. Raises TypeError when two lanes differ in type."""
    if isinstance(a, Lane):
        if isinstance(b, Lane):
            if a.type is not b.type:
                raise TypeError(f"formula mixes lane types {a.type.kind}{a.type.bits} and {b.type.kind}{b.type.bits}")
            return a, b
        return a, constant(b, a.type)
    if isinstance(b, Lane):
        return constant(a, b.type), b
    raise TypeError(f"expected at least one lane, got {a!r} and {b!r}")


_FLOAT_OPCODES = {"add": "fadd", "sub": "fsub", "mul": "fmul", "fdiv": "fdiv"}


def arithmetic(opcode: str, a: Operand, b: Operand) -> Lane:
    """Binary node of the operands' type; add, sub and mul become their float forms on float lanes."""
    left, right = pair(a, b)
    if left.type.is_float:
        if opcode not in _FLOAT_OPCODES:
            raise TypeError(f"operation {opcode!r} is not defined on float lanes")
        opcode = _FLOAT_OPCODES[opcode]
    elif opcode == "fdiv":
        raise TypeError("true division is not defined on integer lanes: convert first")
    return Lane(opcode, left.type, (left, right))


_FLOAT_PREDICATES = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}


def compare(relation: str, a: Operand, b: Operand) -> Lane:
    """Comparison giving a bool lane; ordered on floats (False with NaN) but for "ne" (True with NaN)."""
    left, right = pair(a, b)
    if left.type.is_float:
        return Lane("fcmp", BOOL, (left, right), _FLOAT_PREDICATES[relation])
    if relation not in ("eq", "ne"):
        relation = ("s" if left.type.kind == "int" else "u") + relation
    return Lane("icmp", BOOL, (left, right), relation)


def select(condition: Lane, a: Operand, b: Operand) -> Lane:
    """a where the bool lane is true, else b."""
    left, right = pair(a, b)
    return Lane("select", left.type, (condition, left, right))


def guard(value: Lane, fault: Lane) -> Lane:
    """`value`, with the call failing (ZeroDivisionError) when `fault` is true in any lane."""
    return Lane("guard", value.type, (value, fault))


def literal(value: bool | int | float, type: LaneType) -> str:
    """A scalar constant in IR syntax."""
    if type is BOOL:
        return "true" if value else "false"
    if type.is_float:
        if type is F32:
            value = round_to_float32(float(value))
        return "0x" + struct.pack(">d", value).hex().upper()
    return str(value)


def round_to_float32(value: float) -> float:
    """The float32 nearest to a Python float, as a Python float."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


ComplexOperand = Union["Complex", Lane, complex, float, int]


class Complex:
    """A complex lane: `re` and `im` are float lanes of one type."""

    __slots__ = ("im", "re")

    def __init__(self, re: Lane, im: Lane) -> None:
        self.re = re
        self.im = im

    @property
    def type(self) -> LaneType:
        """Lane type of the components."""
        return self.re.type

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"complex({self.re!r}, {self.im!r})"

    def lift(self, other: ComplexOperand) -> Complex:
        """`other` as a complex lane of this type."""
        if isinstance(other, Complex):
            return other
        if isinstance(other, Lane):
            return Complex(other, constant(0.0, self.type))
        number = complex(other)
        return Complex(constant(number.real, self.type), constant(number.imag, self.type))

    def __add__(self, other: ComplexOperand) -> Complex:
        other = self.lift(other)
        return Complex(self.re + other.re, self.im + other.im)

    def __sub__(self, other: ComplexOperand) -> Complex:
        other = self.lift(other)
        return Complex(self.re - other.re, self.im - other.im)

    def __rsub__(self, other: ComplexOperand) -> Complex:
        return self.lift(other) - self

    def __mul__(self, other: ComplexOperand) -> Complex:
        other = self.lift(other)
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: ComplexOperand) -> Complex:
        return divide(self, self.lift(other))

    def __rtruediv__(self, other: ComplexOperand) -> Complex:
        return divide(self.lift(other), self)

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def __eq__(self, other: ComplexOperand) -> Lane:  # type: ignore[override]
        other = self.lift(other)
        return (self.re == other.re) & (self.im == other.im)

    def __ne__(self, other: ComplexOperand) -> Lane:  # type: ignore[override]
        other = self.lift(other)
        return (self.re != other.re) | (self.im != other.im)


Value = Union[Lane, Complex]  # noqa: UP007


def divide(a: Complex, b: Complex) -> Complex:
    """a / b by Smith's scaling; division by zero gives infinities and NaN as the components' division does."""
    wide = abs(b.re) >= abs(b.im)
    big, small = select(wide, b.re, b.im), select(wide, b.im, b.re)
    both_zero = (b.re == 0.0) & (b.im == 0.0)
    ratio = small / big
    scale = big + small * ratio
    re = select(wide, a.re + a.im * ratio, a.re * ratio + a.im) / scale
    im = select(wide, a.im - a.re * ratio, a.im * ratio - a.re) / scale
    return Complex(select(both_zero, a.re / abs(b.re), re), select(both_zero, a.im / abs(b.re), im))


def choose(condition: Lane, a: Value, b: Value) -> Value:
    """select for real or complex lanes."""
    if isinstance(a, Complex) and isinstance(b, Complex):
        return Complex(select(condition, a.re, b.re), select(condition, a.im, b.im))
    if isinstance(a, Lane) and isinstance(b, Lane):
        return select(condition, a, b)
    raise TypeError(f"expected two real or two complex lanes, got {a!r} and {b!r}")


Lanes = tuple[Lane, ...]


class Loop(NamedTuple):
    """A recorded loop: the lanes that stand for its state, the condition to go round, and the state after a round."""

    state: Lanes
    condition: Lane
    following: Lanes

    @property
    def inside(self) -> Lanes:
        """The lanes that are evaluated in each round."""
        return (self.condition, *self.following)


def while_loop(
    condition: Callable[..., Lane], step: Callable[..., Sequence[Lane]], *initial: Lane
) -> tuple[Lane, ...]:
    """Return the state after `step` has been applied to `initial` as long as `condition` of the state holds.

    Both are called once, with lanes that stand for the state. Raises TypeError when a step changes types.
    """
    state = tuple(Lane("argument", lane.type) for lane in initial)
    loop = Loop(state, condition(*state), tuple(step(*state)))
    if [lane.type for lane in loop.following] != [lane.type for lane in initial]:
        raise TypeError(f"while_loop: expected a step from {initial} to lanes of the same types, got {loop.following}")
    outer = _outer(loop.inside, state[0].serial if state else 0)
    node = Lane("while", initial[0].type, (*initial, *outer), loop)
    return tuple(Lane("carried", lane.type, (node,), lane) for lane in state)


def when(condition: Lane, value: Callable[[], Lane], otherwise: Lane) -> Lane:
    """Return `value()` where the condition holds, else `otherwise`; nothing is computed where it holds in no lane."""
    return while_loop(lambda wanted, _: wanted, lambda *_: (constant(False, BOOL), value()), condition, otherwise)[1]


def _outer(inside: Lanes, first: int) -> Iterator[Lane]:
    """Yield the lanes from before the loop, whose first lane has the serial number `first`, that it needs."""
    seen: set[int] = set()
    stack = list(inside)
    while stack:
        lane = stack.pop()
        if lane.serial in seen:
            continue
        seen.add(lane.serial)
        if lane.serial < first:
            yield lane
        else:
            stack += lane.arguments


def all_lanes(results: Sequence[Lane]) -> Iterator[Lane]:
    """Yield every lane that `results` need, those inside of loops too."""
    seen: set[int] = set()
    stack = list(results)
    while stack:
        lane = stack.pop()
        if lane.serial not in seen:
            seen.add(lane.serial)
            yield lane
            stack += lane.arguments
            if lane.opcode == "while":
                stack += lane.attribute.inside
