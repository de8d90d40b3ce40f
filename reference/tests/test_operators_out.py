"""out= is written by the kernel itself, not copied from the result of the functional form."""

from __future__ import annotations

import warnings
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.operators import plan, registration, rows
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.operators.drawing import drawable
from gaugeblock_spec import operators

from .peer_calls import calls, elements

CALLS, DTYPES = 3, ("float64", "int64", "bool", "complex128")
BACKEND = ReferenceBackend()
UNCALLABLE = frozenset(
    """hardtanh elu leaky_relu silu mish hardsigmoid hardswish glu im2col col2im max_pool2d_with_indices
    adaptive_avg_pool2d max_pool3d_with_indices adaptive_avg_pool3d tensordot block_diag chain_matmul""".split()
)
"""Operators whose public functions have no out=, or other arguments than the operator."""
NAMES = [
    name
    for name, row in operators.load().items()
    if rows.rows()[name].out_name is not None and drawable(name) and name not in UNCALLABLE
]


def copies_of(name: str, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return whether out= was a copy, of each call with a result of the dtype, sizes and strides of its out=, and of
    the call that is kept for the next ones."""
    row, rng, found = operators.load()[name], np.random.default_rng(3), list[bool]()
    given, copied = list[Any](), list[Any]()
    for module, function in ((registration, "_store"), (plan, "_copied")):
        inner = getattr(module, function)

        def copying(*args: Any, inner: Any = inner) -> Any:
            copied.append(not any(one is args[-1] for one in given))
            return inner(*args)

        monkeypatch.setattr(module, function, copying)
    for dtype in DTYPES:
        for call in calls(name, dtype, CALLS) if dtype in row.dtypes else ():
            arrays = {id(case): elements(case, rng, row, "", ties=False) for case in call.tensors}
            positional, keywords = call.bind(lambda case, of=arrays: BACKEND.from_numpy(np.array(of[id(case)])))
            try:
                result = BACKEND.call(name, *positional, **keywords)
            except (RuntimeError, IndexError, ValueError):
                continue
            parts = result if isinstance(result, tuple) else (result,)
            if not any(part.numel() for part in parts) or any(part.is_conj() for part in parts):
                continue
            given[:] = positional
            for _ in range(3):
                outs = tuple([gb.empty_strided(part.shape, part.stride(), dtype=part.dtype) for part in parts])
                copied.clear()
                BACKEND.call(name, *positional, **keywords, out=outs if isinstance(result, tuple) else outs[0])
                found.append(any(copied))
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_out_is_written_by_the_kernel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = copies_of(name, monkeypatch)
    assert found and not any(found)


@pytest.mark.parametrize("strides", [(1, 3), (8, 2)])
def test_an_out_with_other_strides_than_the_result_gets_its_elements(strides: tuple[int, int]) -> None:
    x = gb.arange(12.0).reshape(3, 4)
    for call in (lambda **out: gb.softmax(x, 1, **out), lambda **out: gb.mm(x, x.t(), **out)):
        wanted = call()
        out = gb.full((64,), -1.0).as_strided(wanted.shape, strides)
        assert call(out=out) is out
        assert out.tolist() == wanted.tolist() and out.stride() == strides


def test_an_out_that_is_an_operand_is_read_before_it_is_written() -> None:
    x = gb.tensor([[3.0, 1.0], [2.0, 4.0]])
    wanted = gb.mm(x, x).tolist()
    assert gb.mm(x, x, out=x).tolist() == wanted == [[11.0, 7.0], [14.0, 18.0]]
    y = gb.tensor([3.0, 1.0, 2.0])
    values, indices = gb.sort(y, out=(y, gb.empty(3, dtype=gb.int64)))
    assert values is y and y.tolist() == [1.0, 2.0, 3.0] and indices.tolist() == [1, 2, 0]


def test_two_outs_on_one_storage_both_get_their_result() -> None:
    x = gb.tensor([[1, 5], [7, 2]])
    memory = gb.zeros(4, dtype=gb.int64)
    values, indices = gb.max(x, 1, out=(memory[:2], memory[2:]))
    assert memory.tolist() == [5, 7, 1, 0] and values.tolist() == [5, 7] and indices.tolist() == [1, 0]


def test_each_out_counts_one_change() -> None:
    x, out = gb.ones(2, 3), gb.empty(2)
    for count in range(1, 5):
        gb.sum(x, 1, out=out)
        assert out._version == count and out.tolist() == [3.0, 3.0]


def test_a_place_outside_leaves_out_alone() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = gb.full((2,), 7.0)
        for call in (
            lambda: gb.gather(gb.ones(3), 0, gb.tensor([0, 3]), out=out),
            lambda: gb.index_select(gb.ones(3), 0, gb.tensor([0, -1]), out=out),
        ):
            with pytest.raises((RuntimeError, IndexError), match="index"):
                call()
            assert out.tolist() == [7.0, 7.0] and out._version == 0
        warnings.simplefilter("ignore")
        longer = gb.full((3,), 7.0)
        with pytest.raises(IndexError, match="index"):
            gb.index_select(gb.ones(3), 0, gb.tensor([0, -1]), out=longer)
        with pytest.raises(RuntimeError, match="singular"):
            gb.linalg.inv(gb.zeros(2, 2), out=longer)
        assert longer.tolist() == [7.0] * 3 and longer._version == 0


def test_kept_calls_look_at_all_places_before_they_write() -> None:
    x, out = gb.zeros(3), gb.empty(2)
    for place in (0, 1, 2, 0):  # the elements are zeros
        assert gb.gather(x, 0, gb.tensor([place, 2]), out=out) is out and out.tolist() == [0.0, 0.0]
    x, out = gb.tensor([5.0, 6.0, 7.0]), gb.empty(2)
    for call in (
        lambda index: gb.gather(x, 0, index, out=out),
        lambda index: gb.index_select(x, 0, index, out=out),
        lambda index: gb.take(x, index, out=out),
        lambda index: gb.index_add(out.clone().fill_(9.0), 0, index, gb.ones(2), out=out),
    ):
        for _ in range(3):
            call(gb.tensor([1, 0]))
        kept, version = out.tolist(), out._version
        with pytest.raises((RuntimeError, IndexError)):
            call(gb.tensor([0, 8]))
        assert out.tolist() == kept and out._version == version


def test_calls_that_would_lose_a_gradient_are_refused() -> None:
    x, out = gb.ones(2, 2, requires_grad=True), gb.empty(2, 2)
    one = gb.ones(1, 1)
    for call in (lambda: gb.mm(x, x, out=out), lambda: gb.diff(x, n=0, out=out), lambda: gb.kron(x, one, out=out)):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            call()
        with gb.no_grad():
            assert call() is out and not out.requires_grad
    assert gb.eq(x, x, out=gb.empty(2, 2, dtype=gb.bool)).all()  # without a derivative nothing is lost
    assert gb.searchsorted(gb.tensor([0.5, 2.0]), x, out=gb.empty(2, 2, dtype=gb.int64)).tolist() == [[1, 1], [1, 1]]
