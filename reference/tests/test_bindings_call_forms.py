"""Forms of a call: sizes as other integer types, None for defaults, deprecated argument orders."""

from __future__ import annotations

import subprocess
import sys
import warnings
import weakref
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest


class Three:
    """An object with ``__index__`` and nothing else."""

    def __index__(self) -> int:
        return 3


TWO: list[Any] = [np.int64(2), np.uint8(2), gb.tensor(2), gb.tensor(2, dtype=gb.uint8), np.array(2)]


@pytest.mark.parametrize("two", TWO)
def test_sizes_are_any_integers(two: Any) -> None:
    x = gb.arange(6.0).reshape(2, 3)
    found = [
        gb.randn(two, 3), gb.rand(two, 3), gb.zeros(two, 3), gb.ones(2, Three()), gb.empty((two, 3)),
        gb.full((two, Three()), 1), gb.ones(1, 3).expand(two, 3), gb.ones(1, 3).expand((two, 3)), x.view(two, 3),
        x.view(-1).view(two, Three()), x.reshape(two, 3), gb.randint(0, two, (two, 3)), x.new_zeros(two, 3),
        gb.ones(1, 3).repeat(two, 1), gb.ones(1, 3).tile(two, 1), x.permute(two - 2, 1), x.flip(two - 1),
        gb.rand(two, 3, dtype=gb.float64), gb.randn(2, Three(), requires_grad=True), gb.broadcast_to(x, (two, 3)),
    ]  # fmt: skip
    assert [tuple(one.shape) for one in found] == [(2, 3)] * len(found)


def test_a_view_does_not_keep_the_tensor_that_gave_its_size() -> None:
    x, size = gb.arange(12.0), gb.tensor(2)
    found = [x.view(size, -1), x.reshape(size, -1), x.unfold(0, size, 1)]
    size.add_(1)
    assert [tuple(one.shape) for one in found] == [(2, 6), (2, 6), (11, 2)]
    assert (x.view(size, -1).shape, x.reshape(size, -1).shape, x.unfold(0, size, 1).shape) == ((3, 4), (3, 4), (10, 3))
    place, m = gb.tensor(1, dtype=gb.int16), gb.arange(6.0).reshape(2, 3)
    assert m.diagonal(place, place - 1, place).tolist() == [1.0, 5.0]
    seen = weakref.ref(size)
    del size
    assert seen() is None


@pytest.mark.parametrize("two", TWO)
def test_one_size_is_any_integer(two: Any) -> None:
    found = [gb.randn(two), gb.rand(two), gb.zeros(two), gb.ones(1).expand(two), gb.ones(1).repeat(two)]
    found += [gb.ones(2).reshape(two), gb.ones(2).view(two), gb.ones(1).tile(two)]
    assert [tuple(one.shape) for one in found] == [(2,)] * len(found)


def test_the_first_size_is_no_bool_and_the_others_may_be() -> None:
    x = gb.arange(6.0).reshape(2, 3)
    assert gb.zeros(2, True).shape == gb.zeros((2, True)).shape == (2, 1)
    assert x.sum((0, True)).item() == 15
    assert x.permute(1, False).shape == (3, 2)
    for call in (lambda: gb.zeros(True, 2), lambda: gb.randn(True, 2), lambda: x.view(True, 6), lambda: x.sum((True,))):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize("bad", [2.0, np.float64(2), gb.tensor(2.0), gb.tensor([2, 3]), "2", None])
def test_sizes_that_are_no_integers_are_refused(bad: Any) -> None:
    for call in (gb.randn, gb.zeros, gb.ones(1, 3).expand, gb.ones(1, 3).repeat, gb.ones(6).view):
        with pytest.raises(TypeError):
            call(2, bad)


def test_a_size_beyond_64_bits_is_named() -> None:
    with pytest.raises(TypeError, match=r"repeat\(\).*9223372036854775808 does not fit 64 bits"):
        gb.ones(2).repeat(2**63, 1)
    with pytest.raises(ValueError, match=r"sum\(\).*does not fit 64 bits"):
        gb.ones(2).sum(2**63)


def test_none_means_an_empty_default() -> None:
    x = gb.arange(6.0).reshape(2, 3)
    assert gb.amax(x, dim=None).item() == x.amax(None).item() == 5.0
    assert x.amin(dim=None, keepdim=True).tolist() == [[0.0]]
    rolled = [[5.0, 0.0, 1.0], [2.0, 3.0, 4.0]]
    assert x.roll(1, dims=None).tolist() == gb.roll(x, 1, None).tolist() == rolled
    assert gb.nn.functional.avg_pool1d(x, 2, stride=None).tolist() == [[0.5], [3.5]]
    assert gb.nn.functional.avg_pool2d(x[None], 2, None, divisor_override=None).tolist() == [[[2.0]]]
    with pytest.raises(RuntimeError, match="align"):
        gb.roll(x, (1, 1), None)


def test_swapdims_names_its_dims() -> None:
    x = gb.arange(6.0).reshape(2, 3)
    assert gb.swapdims(x, dim0=0, dim1=1).tolist() == x.swapdims(dim0=0, dim1=1).tolist() == x.T.tolist()
    assert x.swapaxes(axis0=0, axis1=1).tolist() == x.T.tolist()
    assert x.clone().swapdims_(dim0=0, dim1=1).shape == (3, 2)


def test_copies_of_parts_are_written_to_a_list() -> None:
    x = gb.arange(6.0).reshape(2, 3)
    rows = [gb.empty(1, 3), gb.empty(1, 3, dtype=gb.float64)]
    assert gb.split_copy(x, 1, out=rows) is None
    assert [row.tolist() for row in rows] == [[[0.0, 1.0, 2.0]], [[3.0, 4.0, 5.0]]]
    resized = (gb.empty(0), gb.empty(0))
    gb.unbind_copy(x, 0, out=resized)
    gb.split_with_sizes_copy(x, [1, 1], out=(rows[0], gb.empty(0)))
    assert [row.tolist() for row in resized] == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


@pytest.mark.parametrize(
    ("out", "error", "said"),
    [
        ((gb.empty(3),), RuntimeError, "2 tensors, got 1"), (3, TypeError, "tuple of Tensors"),
        ((gb.empty(3), 3), TypeError, "tuple of Tensors"),
        ((gb.empty(3), gb.empty(3, dtype=gb.int64)), RuntimeError, "float32, got gaugeblock.int64"),
        ((gb.empty(3), gb.empty(3, requires_grad=True)), RuntimeError, "requires a gradient"),
    ],
)  # fmt: skip
def test_a_list_that_cannot_take_the_parts_is_refused(out: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        gb.unbind_copy(gb.zeros(2, 3), out=out)


def test_deprecated_orders_of_arguments_are_taken() -> None:
    a, m, b = gb.ones(3), gb.ones(2, 2), gb.ones(2, 2, 2)
    v = m[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [
            (gb.add(a, 2, a), 3), (a.add(2, a), 3), (a.clone().add_(2, a), 3), (gb.sub(a, 2, a), -1),
            (a.clone().sub_(2, a), -1), (gb.add(a, 2.5, a, out=gb.empty(3)), 3.5), (gb.add(a, 1, 1), 2),
            (gb.addcmul(a, 2, a, a), 3), (a.addcdiv(2, a, a), 3), (a.clone().addcmul_(2, a, a), 3),
            (gb.addmm(2, m, 3, m, m), 8), (gb.addmm(2, m, m, m, out=gb.empty(2, 2)), 4), (m.addmm(2, 3, m, m), 8),
            (m.clone().addmm_(2, m, m), 4), (gb.addmv(2, v, 3, m, v), 8), (v.clone().addmv_(2, m, v), 4),
            (gb.addr(2, m, 3, v, v), 5), (m.clone().addr_(2, v, v), 3), (gb.addbmm(2, m, 3, b, b), 14),
            (m.clone().addbmm_(1, b, b), 5), (gb.baddbmm(2, b, 3, b, b), 8), (b.clone().baddbmm_(2, b, b), 4),
        ]  # fmt: skip
    for result, value in found:
        assert result.unique().tolist() == [value]


@pytest.mark.parametrize("values", [(gb.ones(3), gb.ones(3), gb.ones(3)), (gb.ones(3), 2, gb.ones(3), 1)])
def test_other_orders_are_refused(values: tuple[Any, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(TypeError, match=r"add\(\)"):
            gb.add(*values)
        with pytest.raises(TypeError, match=r"addcmul\(\)"):
            gb.addcmul(gb.ones(3), gb.ones(3), gb.ones(3), 2)


def test_a_deprecated_order_warns_once() -> None:
    program = (
        "import warnings, gaugeblock as gb\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    gb.add(gb.ones(2), 2, gb.ones(2)); gb.ones(2).sub(2, gb.ones(2))\n"
        "print([(w.category.__name__, str(w.message).partition(';')[0]) for w in seen])\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[('UserWarning', 'This overload is deprecated: add(self, alpha, other)')]"


def test_an_operand_with_index_alone_gets_its_reflected_operator_called() -> None:
    class Other:
        def __index__(self) -> int:
            return 1

        def __radd__(self, other: Any) -> str:
            return "mine"

    assert gb.ones(2) + Other() == "mine"


@pytest.mark.parametrize("name", ["set_", "to", "t", "narrow", "squeeze_"])
def test_a_second_self_is_refused_by_name(name: str) -> None:
    x = gb.zeros(2, 3)
    with pytest.raises(TypeError, match=rf"{name}\(\)"):
        getattr(gb.Tensor, name)(x, x, self=x)
