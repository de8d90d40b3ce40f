"""Generated bindings: overloads, keywords, operators, errors."""

from __future__ import annotations

import traceback
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.calls.overloads import functions, methods
from gaugeblock_tools.stub import PLACE, text


def test_every_function_and_method_of_the_spec_exists() -> None:
    missing = [name for name in functions() if not callable(getattr(gb, name))]
    missing += [f"Tensor.{name}" for name in methods() if not hasattr(gb.Tensor, name)]
    assert missing == []
    assert set(functions()) <= set(dir(gb))


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="'nonsense'"):
        gb.nonsense  # noqa: B018
    assert not hasattr(gb, "nonsense") and not hasattr(gb.Tensor, "nonsense")


@pytest.mark.parametrize("call", [
    lambda x, y: gb.add(x, y), lambda x, y: gb.add(input=x, other=y), lambda x, y: x.add(other=y), lambda x, y: x + y,
    lambda x, y: gb.add(x, other=y, alpha=1), lambda x, y: x.__add__(y), lambda x, y: gb.add(x, y, out=gb.empty(2)),
])  # fmt: skip
def test_all_spellings_of_one_call(call: object) -> None:
    assert call(gb.tensor([1.0, 2.0]), gb.tensor([3.0, 4.0])).tolist() == [4.0, 6.0]  # type: ignore[operator]


@pytest.mark.parametrize(("expression", "expected"), [
    ("x + 1", [3, 4]), ("1 + x", [3, 4]), ("x - 1", [1, 2]), ("1 - x", [-1, -2]), ("x * 3", [6, 9]),
    ("3 * x", [6, 9]), ("x / 2", [1.0, 1.5]), ("6 / x", [3.0, 2.0]), ("x // 2", [1, 1]), ("7 // x", [3, 2]),
    ("x % 2", [0, 1]), ("7 % x", [1, 1]), ("x ** 2", [4, 9]), ("2 ** x", [4, 8]), ("x & 1", [0, 1]),
    ("1 & x", [0, 1]), ("x | 4", [6, 7]), ("x ^ 1", [3, 2]), ("x << 1", [4, 6]), ("x >> 1", [1, 1]),
    ("1 << x", [4, 8]), ("-x", [-2, -3]), ("+x", [2, 3]), ("~x", [-3, -4]), ("abs(-x)", [2, 3]),
    ("x == 2", [True, False]), ("x != 2", [False, True]), ("x < 3", [True, False]), ("3 > x", [True, False]),
    ("x <= 2", [True, False]), ("x >= 3", [False, True]), ("x == 'a'", False), ("x != None", True),
])  # fmt: skip
def test_operators(expression: str, expected: object) -> None:
    for _ in range(3):
        found = eval(expression, {"x": gb.tensor([2, 3])})
        assert (found.tolist() if isinstance(found, gb.Tensor) else found) == expected


@pytest.mark.parametrize("statement", ["x += y", "x -= y", "x *= y", "x /= y", "x //= y", "x %= y", "x **= y"])
def test_augmented_assignment_keeps_the_object(statement: str) -> None:
    space = {"x": gb.tensor([2.0, 8.0]), "y": gb.tensor([2.0, 3.0])}
    before, expected = space["x"], np.array([2.0, 8.0])
    names = {"x": expected, "y": np.array([2.0, 3.0])}
    for count in (1, 2, 3):
        exec(statement, space)
        exec(statement, names)
        assert space["x"] is before and before._version == count
    assert np.allclose(before.numpy(), names["x"])


def test_a_tensor_is_hashable_by_identity() -> None:
    x, y = gb.zeros(2), gb.zeros(2)
    assert len({x, y, x}) == 2


@pytest.mark.parametrize(("call", "message"), [
    (lambda x: gb.add(x), r'add\(\).*"other"'),
    (lambda x: gb.add(x, "a"), r"(?s)add\(\).*argument 'other' \(position 2\) must be Number, not str"),
    (lambda x: x.add("a"), r"argument 'other' \(position 1\) must be Number, not str"),
    (lambda x: gb.exp(3.0), r"exp\(\): argument 'input' \(position 1\) must be Tensor, not float"),
    (lambda x: gb.add(x, x, out=3), r"add\(\): argument 'out' must be Tensor, not int"),
    (lambda x: gb.add(x, 1, foo=2), r"add\(\).*unexpected keyword argument 'foo'"),
    (lambda x: gb.index_select(x, "a", x), r"argument 'dim' \(position 2\) must be int, not str"),
    (lambda x: gb.flip(x, 1.5), r"argument 'dims' \(position 2\) must be tuple of ints, not float"),
    (lambda x: gb.flip(x, (0, 1.5)), r"'dims' \(position 2\) must be tuple of ints, but found float at index 1"),
    (lambda x: x.permute(0, "a"), r"'dims' \(position 1\) must be tuple of ints, but found str at index 1"),
    (lambda x: gb.zeros((True, 2)), r"'size' \(position 1\) must be tuple of ints, but found bool at index 0"),
    (lambda x: gb.cat([x, 1]), r"'tensors' \(position 1\) must be tuple of Tensors, but found int at index 1"),
    (lambda x: x + "a", r"unsupported operand type"),
    (lambda x: x < "a", r"'<' not supported"),
    (lambda x: gb.cat(x), r"cat\(\).*'tensors'.*must be tuple of Tensors, not Tensor"),
    (lambda x: gb.maximum(x, 2), r"maximum\(\): argument 'other' \(position 2\) must be Tensor, not int"),
    (lambda x: gb.clamp(x, "a"), r"clamp\(\) received an invalid combination of arguments - got \(Tensor, str\)"),
])  # fmt: skip
def test_wrong_arguments_are_type_errors(call: object, message: str) -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match=message):
            call(gb.zeros(2))  # type: ignore[operator]


def test_numpy_spellings_of_keywords() -> None:
    x = gb.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert gb.sum(x, axis=0).tolist() == gb.sum(x, dim=0).tolist() == [4.0, 6.0]
    assert x.sum(axis=1, keepdims=True).shape == (2, 1)
    with pytest.raises(TypeError, match="multiple values"):
        x.sum(dim=0, axis=0)


def test_numbers_of_other_libraries_are_numbers() -> None:
    x = gb.tensor([1.0, 2.0])
    assert (x + np.float64(1.0)).tolist() == [2.0, 3.0]
    assert (x * np.int64(2)).dtype is gb.float32
    assert gb.add(x, x, alpha=gb.tensor(2)).tolist() == [3.0, 6.0]
    assert gb.flip(x, [np.int64(0)]).tolist() == [2.0, 1.0]


def test_sizes_one_by_one_or_as_a_sequence() -> None:
    x = gb.arange(6)
    assert x.view(2, 3).permute(1, 0).shape == x.view((2, 3)).permute((1, 0)).shape == (3, 2)
    assert x.reshape(3, 2).shape == x.reshape([3, 2]).shape == (3, 2)
    assert x.repeat(2, 1).shape == (2, 6)


def test_one_number_stands_for_a_list_of_its_length() -> None:
    x = gb.arange(16.0).view(1, 4, 4)
    adaptive = gb.ops.aten.adaptive_max_pool2d
    assert adaptive(x, 2)[0].tolist() == adaptive(x, (2, 2))[0].tolist() == [[[5.0, 7.0], [13.0, 15.0]]]
    assert gb.ops.aten.avg_pool2d(x, 2).tolist() == [[[2.5, 4.5], [10.5, 12.5]]]
    with pytest.raises(RuntimeError, match="output_size must be 2"):
        adaptive(x, (2,))


def test_the_same_types_may_mean_another_overload_later() -> None:
    x = gb.tensor([3.0, 1.0, 2.0])
    assert gb.where(x > 1, x, 0.0).tolist() == [3.0, 0.0, 2.0]
    assert gb.clamp(x, 1.5, None).tolist() == [3.0, 1.5, 2.0]
    assert gb.clamp(x, None, 1.5).tolist() == [1.5, 1.0, 1.5]
    assert gb.clamp(x, min=gb.tensor(2.0)).tolist() == [3.0, 2.0, 2.0]


def test_a_tuple_of_outs_is_counted_in_every_call() -> None:
    x = gb.tensor([[1.0, 5.0], [2.0, 0.0]])
    for _ in range(2):
        assert gb.max(x, 1, out=(gb.empty(0), gb.empty(0, dtype=gb.int64))).values.tolist() == [5.0, 2.0]
        with pytest.raises(TypeError, match="'out' must be tuple of 2 Tensors"):
            gb.max(x, 1, out=(gb.empty(0),))
        with pytest.raises(TypeError, match="'out' must be tuple of 2 Tensors"):
            gb.max(x, 1, out=gb.empty(0))


def test_source_is_shown_and_stands_in_tracebacks() -> None:
    source = gb.show_binding("add.Tensor")
    assert source.startswith("def add(input=UNSET, other=UNSET, *more, alpha=UNSET, out=UNSET")
    assert "meta.calls.get" in source and "general(" in source
    assert "def __iadd__" in gb.show_binding("Tensor.__iadd__")
    assert "def exp_" in gb.show_binding("exp_")
    assert "fill(result)" in gb.show_binding("zeros") and "fill(result)" in gb.show_binding("Tensor.new_zeros")
    with pytest.raises(ValueError, match="nonsense"):
        gb.show_binding("nonsense")
    try:
        gb.add(gb.zeros(2), gb.zeros(3))
    except RuntimeError:
        text = traceback.format_exc()
    assert "<gaugeblock binding add>" in text and "return general((input, other" in text


def test_where_as_a_method_puts_self_second() -> None:
    x = gb.tensor([1.0, 2.0])
    assert x.where(x > 1, 0.0).tolist() == [0.0, 2.0]
    assert x.where(condition=x > 1, other=-x).tolist() == [-1.0, 2.0]


def test_the_stub_is_in_step_with_the_operator_table() -> None:
    assert PLACE.read_text() == text(), "run python -m gaugeblock_tools.stub"


@pytest.mark.parametrize(
    "text",
    ["gb.neg(x=x)", "gb.add(x1=x, x2=x)", "gb.add(x, x2=x)", "gb.exp(x=x, out=gb.empty(2))", "gb.sum(x=x)",
     "gb.matmul(x1=x, x2=x)", "gb.where(condition=x > 0, input=x, other=x)", "gb.where(x > 0, input=x, other=x)",
     "gb.clone(x=x)", "gb.cat(tensors=[x])", "gb.sum(x, axis=0, keepdims=True)"],
)  # fmt: skip
def test_operands_by_their_other_names(text: str) -> None:
    for _ in range(2):
        assert isinstance(eval(text, {"gb": gb, "x": gb.ones(2)}), gb.Tensor)


@pytest.mark.parametrize("text", ["gb.exp()", "gb.exp(x, x=x)", "gb.add(x, x, x1=x)", "gb.sum()", "gb.clone(x, x=x)"])
def test_an_operand_is_given_once(text: str) -> None:
    with pytest.raises(TypeError):
        eval(text, {"gb": gb, "x": gb.ones(2)})


@pytest.mark.parametrize(
    "text",
    ["gb.add(x=x, other=x)", "gb.mul(a=x, x2=x)", "gb.exp(a=x)", "gb.clone(a=x)", "gb.chunk(x=x, chunks=2)[0]",
     "gb.diagonal(x=x[None])", "gb.broadcast_to(x=x, size=(2, 2))", "gb.conj(x=x)", "gb.frexp(a=x)[0]",
     "gb.detach(input=x)", "gb.permute(input=x, dims=(0,))"],
)  # fmt: skip
def test_every_function_takes_the_other_names_of_its_operands(text: str) -> None:
    torch = pytest.importorskip("torch")
    expected = eval(text, {"gb": torch, "x": torch.ones(2)})
    for _ in range(2):
        assert eval(text, {"gb": gb, "x": gb.ones(2)}).tolist() == expected.tolist()


@pytest.mark.parametrize("text", ["gb.add(x, x, x=x)", "gb.exp(x, a=x)", "gb.chunk(x, 2, x=x)", "gb.exp(x, foo=1)"])
def test_a_surplus_name_is_refused_after_fast_calls_too(text: str) -> None:
    x = gb.ones(2)
    for _ in range(2):
        gb.add(x, x), gb.exp(x), gb.chunk(x, 2)
        with pytest.raises(TypeError):
            eval(text, {"gb": gb, "x": x})


@pytest.mark.parametrize(
    ("text", "value", "dtype"),
    [
        ("m.add(True, True)", True, "bool"), ("m.add(1, 2)", 3, "int64"), ("m.add(1.5, 2)", 3.5, "float32"),
        ("m.mul(True, 2)", 2, "int64"), ("m.div(7, 2)", 3.5, "float32"), ("m.floor_divide(-8, 3)", -3, "int64"),
        ("m.div(-8, 6, rounding_mode='trunc')", -1, "int64"), ("m.sub(5, 1, alpha=2)", 3, "int64"),
        ("m.add(1j, 2)", 2 + 1j, "complex64"), ("m.add(1, 2, out=m.empty(()))", 3.0, "float32"),
        ("m.true_divide(1, 2)", 0.5, "float32"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("library", ["gaugeblock", "torch"])
def test_arithmetic_on_two_numbers_gives_a_tensor(text: str, value: Any, dtype: str, library: str) -> None:
    module = gb if library == "gaugeblock" else pytest.importorskip("torch")
    for _ in range(2):
        result = eval(text, {"m": module})
        assert result.item() == value
        assert result.dtype is getattr(module, dtype)
