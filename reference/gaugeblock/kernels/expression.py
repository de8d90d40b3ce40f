"""Symbolic expressions: typed nodes that a formula builds and `lower` turns into LLVM IR.

An `Expr` stands for one number per loop iteration. Operators on expressions record nodes; Python numbers become
constants of the other operand's type. Both operands must have the same scalar type: conversions are explicit. A
`Complex` is a pair of them.

Loops and branches inside a formula let each element go round until its condition fails:

    _, total = while_loop(lambda k, total: k < 12.0, lambda k, total: (k + 1.0, total + 1.0 / k), one, zero)

What the functions compute is evaluated inside the loop, expressions that exist before it are evaluated once. Vectors go
round while any of their lanes does; a lane that is done keeps its state, so vectors and scalars give the same bits.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple, Union

Number = Union[bool, int, float]  # noqa: UP007


class ScalarType(NamedTuple):
    """Type of an expression: kind "bool", "int" (signed), "uint" or "float", width in bits, name in LLVM IR."""

    kind: str
    bits: int
    ir: str

    @property
    def is_float(self) -> bool:
        return self.kind == "float"


BOOL = ScalarType("bool", 1, "i1")
INT = {bits: ScalarType("int", bits, f"i{bits}") for bits in (8, 16, 32, 64)}
UINT = {bits: ScalarType("uint", bits, f"i{bits}") for bits in (8, 16, 32, 64)}
F32 = ScalarType("float", 32, "float")
F64 = ScalarType("float", 64, "double")


_SERIALS = count()


class Expr:
    """One recorded expression: an opcode, its argument expressions, an attribute (constant, callee, index) and a type.
    Exprs that are recorded later have higher serial numbers."""

    __slots__ = ("arguments", "attribute", "opcode", "serial", "type")

    def __init__(self, opcode: str, type: ScalarType, arguments: tuple[Expr, ...] = (), attribute: Any = None) -> None:
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

    def __add__(self, other: Operand) -> Expr:
        return arithmetic("or" if self.type is BOOL else "add", self, other)

    def __sub__(self, other: Operand) -> Expr:
        return arithmetic("sub", self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return arithmetic("sub", other, self)

    def __mul__(self, other: Operand) -> Expr:
        return arithmetic("and" if self.type is BOOL else "mul", self, other)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Operand) -> Expr:
        return arithmetic("fdiv", self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return arithmetic("fdiv", other, self)

    def __neg__(self) -> Expr:
        return Expr("fneg", self.type, (self,)) if self.type.is_float else arithmetic("sub", 0, self)

    def __abs__(self) -> Expr:
        if self.type.is_float:
            return Expr("intrinsic", self.type, (self,), "fabs")
        return select(self < 0, -self, self) if self.type.kind == "int" else self

    def __and__(self, other: Operand) -> Expr:
        return arithmetic("and", self, other)

    def __or__(self, other: Operand) -> Expr:
        return arithmetic("or", self, other)

    def __xor__(self, other: Operand) -> Expr:
        return arithmetic("xor", self, other)

    def __invert__(self) -> Expr:
        return arithmetic("xor", self, True if self.type is BOOL else -1)

    def __lshift__(self, other: Operand) -> Expr:
        return arithmetic("shl", self, other)

    def __rshift__(self, other: Operand) -> Expr:
        return arithmetic("ashr" if self.type.kind == "int" else "lshr", self, other)

    def __eq__(self, other: Operand) -> Expr:  # type: ignore[override]
        return compare("eq", self, other)

    def __ne__(self, other: Operand) -> Expr:  # type: ignore[override]
        return compare("ne", self, other)

    def __lt__(self, other: Operand) -> Expr:
        return compare("lt", self, other)

    def __le__(self, other: Operand) -> Expr:
        return compare("le", self, other)

    def __gt__(self, other: Operand) -> Expr:
        return compare("gt", self, other)

    def __ge__(self, other: Operand) -> Expr:
        return compare("ge", self, other)


Operand = Union[Expr, bool, int, float]  # noqa: UP007


def constant(value: Number, type: ScalarType) -> Expr:
    """A constant expression; ints wrap to the type's width. Raises TypeError for a fraction as an integer."""
    if type.kind == "bool":
        return Expr("constant", type, (), bool(value))
    if type.is_float:
        return Expr("constant", type, (), float(value))
    if isinstance(value, float) and not value.is_integer():
        raise TypeError(f"constant {value} does not fit a lane of {type.kind}{type.bits}")
    return Expr("constant", type, (), int(value) & ((1 << type.bits) - 1))


def pair(a: Operand, b: Operand) -> tuple[Expr, Expr]:
    """Both operands as expressions of one type. Raises TypeError when two expressions differ in type."""
    if isinstance(a, Expr):
        if isinstance(b, Expr):
            if a.type is not b.type:
                raise TypeError(f"formula mixes lane types {a.type.kind}{a.type.bits} and {b.type.kind}{b.type.bits}")
            return a, b
        return a, constant(b, a.type)
    if isinstance(b, Expr):
        return constant(a, b.type), b
    raise TypeError(f"expected at least one lane, got {a!r} and {b!r}")


_FLOAT_OPCODES = {"add": "fadd", "sub": "fsub", "mul": "fmul", "fdiv": "fdiv"}


def arithmetic(opcode: str, a: Operand, b: Operand) -> Expr:
    """Binary node of the operands' type; add, sub and mul become their float forms on float expressions."""
    left, right = pair(a, b)
    if left.type.is_float:
        if opcode not in _FLOAT_OPCODES:
            raise TypeError(f"operation {opcode!r} is not defined on float lanes")
        opcode = _FLOAT_OPCODES[opcode]
    elif opcode == "fdiv":
        raise TypeError("true division is not defined on integer lanes: convert first")
    return Expr(opcode, left.type, (left, right))


_FLOAT_PREDICATES = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}


def compare(relation: str, a: Operand, b: Operand) -> Expr:
    """Comparison giving a bool expression; ordered on floats (False with NaN) but for "ne" (True with NaN)."""
    left, right = pair(a, b)
    if left.type.is_float:
        return Expr("fcmp", BOOL, (left, right), _FLOAT_PREDICATES[relation])
    if relation not in ("eq", "ne"):
        relation = ("s" if left.type.kind == "int" else "u") + relation
    return Expr("icmp", BOOL, (left, right), relation)


def select(condition: Expr, a: Operand, b: Operand) -> Expr:
    """a where the bool expression is true, else b."""
    left, right = pair(a, b)
    return Expr("select", left.type, (condition, left, right))


def guard(value: Expr, fault: Expr) -> Expr:
    """`value`, with the call failing (ZeroDivisionError) when `fault` is true in any expression."""
    return Expr("guard", value.type, (value, fault))


def literal(value: bool | int | float, type: ScalarType) -> str:
    """A scalar constant in IR syntax."""
    if type is BOOL:
        return "true" if value else "false"
    if type.is_float:
        if type is F32:
            value = ctypes.c_float(value).value
        return "0x" + struct.pack(">d", value).hex().upper()
    return str(value)


ComplexOperand = Union["Complex", Expr, complex, float, int]


class Complex:
    """A complex expression: `re` and `im` are float expressions of one type."""

    __slots__ = ("im", "re")

    def __init__(self, re: Expr, im: Expr) -> None:
        self.re = re
        self.im = im

    @property
    def type(self) -> ScalarType:
        """Expr type of the components."""
        return self.re.type

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"complex({self.re!r}, {self.im!r})"

    def lift(self, other: ComplexOperand) -> Complex:
        """`other` as a complex expression of this type."""
        if isinstance(other, Complex):
            return other
        if isinstance(other, Expr):
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

    def __eq__(self, other: ComplexOperand) -> Expr:  # type: ignore[override]
        other = self.lift(other)
        return (self.re == other.re) & (self.im == other.im)

    def __ne__(self, other: ComplexOperand) -> Expr:  # type: ignore[override]
        other = self.lift(other)
        return (self.re != other.re) | (self.im != other.im)


Value = Union[Expr, Complex]  # noqa: UP007


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


def choose(condition: Expr, a: Value, b: Value) -> Value:
    """select for real or complex expressions."""
    if isinstance(a, Complex) and isinstance(b, Complex):
        return Complex(select(condition, a.re, b.re), select(condition, a.im, b.im))
    if isinstance(a, Expr) and isinstance(b, Expr):
        return select(condition, a, b)
    raise TypeError(f"expected two real or two complex lanes, got {a!r} and {b!r}")


Exprs = tuple[Expr, ...]


class Loop(NamedTuple):
    """A recorded loop: what stands for its state, the condition to go round, and the state after a round."""

    state: Exprs
    condition: Expr
    following: Exprs

    @property
    def inside(self) -> Exprs:
        """The expressions that are evaluated in each round."""
        return (self.condition, *self.following)


def while_loop(condition: Callable[..., Expr], step: Callable[..., Sequence[Expr]], *initial: Expr) -> tuple[Expr, ...]:
    """Return the state after `step` has been applied to `initial` as long as `condition` of the state holds. Both are
    called once, with expressions that stand for the state. Raises TypeError when a step changes types."""
    state = tuple(Expr("argument", expr.type) for expr in initial)
    loop = Loop(state, condition(*state), tuple(step(*state)))
    if [expr.type for expr in loop.following] != [expr.type for expr in initial]:
        raise TypeError(f"while_loop: expected a step from {initial} to lanes of the same types, got {loop.following}")
    outer = _outer(loop.inside, state[0].serial if state else 0)
    node = Expr("while", initial[0].type, (*initial, *outer), loop)
    return tuple(Expr("carried", expr.type, (node,), expr) for expr in state)


def when(condition: Expr, value: Callable[[], Expr], otherwise: Expr) -> Expr:
    """Return `value()` where the condition holds, else `otherwise`; nothing is computed where it holds nowhere."""
    return while_loop(lambda wanted, _: wanted, lambda *_: (constant(False, BOOL), value()), condition, otherwise)[1]


def _outer(inside: Exprs, first: int) -> Iterator[Expr]:
    """Yield what a loop needs from before it; its first expression has the serial number `first`."""
    seen: set[int] = set()
    stack = list(inside)
    while stack:
        expr = stack.pop()
        if expr.serial in seen:
            continue
        seen.add(expr.serial)
        if expr.serial < first:
            yield expr
        else:
            stack += expr.arguments


def all_nodes(results: Sequence[Expr]) -> Iterator[Expr]:
    """Yield every expression that `results` need, those inside of loops too."""
    seen: set[int] = set()
    stack = list(results)
    while stack:
        expr = stack.pop()
        if expr.serial not in seen:
            seen.add(expr.serial)
            yield expr
            stack += expr.arguments
            if expr.opcode == "while":
                stack += expr.attribute.inside
