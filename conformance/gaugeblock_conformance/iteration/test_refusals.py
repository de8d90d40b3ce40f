"""What every pointwise operator of the table must refuse, and leave untouched when it does."""

from __future__ import annotations

from typing import Any

from gaugeblock_spec import operators
from gaugeblock_spec.schema import parse

from ..operators.calls import call_on
from ..operators.numbers import choices, settled
from ..oracles.pointwise import operators_with_oracle
from ..requirement import requirement
from ..session import Handle, Session

_DATA = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def _operators(form: str) -> list[str]:
    """Rows with this form (``"inplace"`` or ``"out"``) whose result is a float for floats."""
    rows = [operators.load()[name] for name in operators_with_oracle()]
    kept = [
        row for row in rows if getattr(row, form) is not None and "float32" in row.dtypes and row.result == "common"
    ]
    return [row.name for row in kept if row.out_cast == "can_cast"]


def _arguments(name: str, tensors: list[Handle]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of a call with ``tensors`` in turn as its operands, the last one again where more are wanted."""
    numbers: dict[str, Any] = {}
    places: list[Handle] = []
    for argument in parse(operators.load()[name].schema).arguments:
        if argument.type.startswith("Tensor"):
            places.append(tensors[min(len(places), len(tensors) - 1)])
            continue
        options = None if argument.default is not None else choices(argument, "float32")
        if options is not None:
            numbers[argument.name] = options[0]
    call = call_on(name, places, settled(numbers, "float32")[0], "float32")
    return call.bind(lambda case: case)


def _operands(name: str) -> int:
    return sum(argument.type.startswith("Tensor") for argument in parse(operators.load()[name].schema).arguments)


@requirement("iteration/checks-come-before-writes", needs=("out",))
def test_out_of_a_lower_kind(s: Session) -> None:
    def body(s: Session, name: str) -> None:
        for dtype in ("int32", "bool"):
            x, out = s.tensor(_DATA), s.tensor([1, 0, 1, 0, 1, 0], dtype)
            positional, keywords = _arguments(name, [x])
            s.expect_raises(RuntimeError, str(operators.load()[name].out_name), *positional, out=out, **keywords)
            s.expect_values(out, [1, 0, 1, 0, 1, 0], dtype=dtype)

    s.table([name for name in _operators("out") if not name.startswith("where")], body)


@requirement("views/partial-overlap-raises", needs=("out",))
def test_out_over_a_part_of_an_input(s: Session) -> None:
    def body(s: Session, name: str) -> None:
        x = s.tensor(_DATA)
        front, back = s.call("__getitem__", x, slice(0, 4)), s.call("__getitem__", x, slice(2, 6))
        positional, keywords = _arguments(name, [front])
        s.expect_raises(RuntimeError, str(operators.load()[name].out_name), *positional, out=back, **keywords)
        s.expect_values(x, _DATA)

    s.table([name for name in _operators("out") if not name.startswith("where")], body)


@requirement("views/partial-overlap-raises", needs=("inplace",))
def test_inplace_over_a_part_of_an_input(s: Session) -> None:
    def body(s: Session, name: str) -> None:
        x = s.tensor(_DATA)
        front, back = s.call("__getitem__", x, slice(0, 4)), s.call("__getitem__", x, slice(2, 6))
        positional, keywords = _arguments(name, [front, back])
        s.expect_raises(RuntimeError, str(operators.load()[name].inplace_name), *positional, **keywords)
        s.expect_values(x, _DATA)

    # ldexp_ multiplies by a power of two that it has computed from its other operand before.
    s.table([n for n in _operators("inplace") if _operands(n) > 1 and not n.startswith("ldexp")], body)


@requirement("iteration/destination-is-never-broadcast")
def test_destination_that_would_grow(s: Session) -> None:
    def body(s: Session, name: str) -> None:
        x, other = s.tensor([[1.0], [2.0]]), s.tensor([[1.0, 2.0, 3.0]] * 2)
        positional, keywords = _arguments(name, [x, other])
        s.expect_raises(RuntimeError, str(operators.load()[name].inplace_name), *positional, **keywords)
        s.expect_geometry(x, (2, 1), (1, 1)) if "strided" in s.capabilities else s.expect_shape(x, (2, 1))
        s.expect_values(x, [[1.0], [2.0]])

    s.table([name for name in _operators("inplace") if _operands(name) > 1], body)


@requirement("dtypes/inplace-result-must-cast-to-self")
def test_integers_do_not_take_floats(s: Session) -> None:
    def body(s: Session, name: str) -> None:
        for dtype in ("int32", "bool"):
            x, other = s.tensor([1, 0, 1], dtype), s.tensor([1.0, 2.0, 3.0])
            positional, keywords = _arguments(name, [x, other])
            s.expect_raises(RuntimeError, str(operators.load()[name].inplace_name), *positional, **keywords)
            s.expect_values(x, [1, 0, 1], dtype=dtype)

    def promotes(name: str) -> bool:
        return _operands(name) == 2 and operators.load()[name].promotion in ("default", "int_to_float")

    s.table([name for name in _operators("inplace") if promotes(name)], body)
