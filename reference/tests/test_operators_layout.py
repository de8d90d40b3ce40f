"""Strides of results: golden literals, the same in PyTorch."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import pytest

# p is 5 by 7 with columns in a row of memory, g has gaps, c and v are row-major, r is a row of 7
STRIDES: dict[str, tuple[int, ...]] = {
    "m.complex(p, p)": (1, 5),
    "m.complex(p, r)": (1, 5),
    "m.polar(p, p)": (1, 5),
    "m.addr(p, v, r)": (1, 5),
    "m.addr(r, v, r)": (7, 1),
    "m.diff(p)": (1, 5),
    "m.diff(p, 2, 0)": (1, 3),
    "m.diff(p > 0)": (1, 5),
    "m.diff(p, n=0)": (1, 5),
    "m.masked_fill(p, p > 0, 3)": (7, 1),
    "m.masked_fill(p, r > 0, m.tensor(3.0))": (7, 1),
    "m.rot90(p, 0)": (7, 1),
    "m.rot90(p, -4)": (7, 1),
    "m.rot90(p, 2)": (1, 5),
    "m.rot90(p, 1)": (5, 1),
    "m.select_scatter(g, m.ones(3), 0, 1)": (6, 2),
    "m.slice_scatter(g, m.ones(2, 3), 0, 0, 2)": (6, 2),
    "m.diagonal_scatter(g, m.ones(3))": (6, 2),
    "m.as_strided_scatter(g, m.ones(2), (2,), (1,))": (6, 2),
    "m.select_scatter(m.ones(4, 1).expand(4, 3), m.ones(3), 0, 1)": (3, 1),
    "m.quantile(c, m.tensor([0.1, 0.2]), dim=0)": (1, 2),
    "m.quantile(c, m.tensor([0.1, 0.2]), dim=1, keepdim=True)": (1, 2, 2),
    "m.quantile(c, m.tensor([0.1, 0.2]), dim=0, keepdim=True)": (1, 10, 2),
    "m.nanquantile(c[None].expand(2, 3, 5), m.tensor([0.1, 0.2]), dim=1)": (1, 10, 2),
    "m.quantile(c, 0.5, dim=0)": (1,),
    "m.stft(m.ones(100), 10, window=m.ones(10), return_complex=True)": (1, 6),
    "m.stft(m.ones(2, 100), 10, window=m.ones(10), center=False, return_complex=True)": (276, 1, 6),
    "m.meshgrid(r, m.tensor(1.0), v, indexing='ij')[2]": (0, 5, 1),
    "m.meshgrid(r, m.tensor(1.0), indexing='xy')[0]": (7, 1),
    "m.view_copy(p, (35,))": (1,),
    "m.scatter(p, 0, i, 1.0)": (7, 1),
    "m.scatter_add(p, 0, i, m.ones(2, 2))": (7, 1),
    "p.scatter_reduce(0, i, m.ones(2, 2), 'amax')": (7, 1),
    "m.index_add(p, 0, i[0], m.ones(2, 7))": (7, 1),
    "m.index_copy(p, 0, i[0], m.ones(2, 7))": (7, 1),
    "m.index_fill(p, 0, i[0], 2.0)": (1, 5),
    "m.put(p, i[0], m.ones(2))": (1, 5),
    "m.renorm(p, 2, 0, 1.0)": (7, 1),
    "m.nn.functional.one_hot((p * 0).to(m.int64), 3)": (21, 3, 1),
    "m.unique(m.arange(24).view(2, 3, 4), dim=1)": (4, 8, 1),
    "m.unique(m.arange(24).view(2, 3, 4), dim=2)": (3, 1, 6),
    "m.unique_consecutive(m.arange(24).view(2, 3, 4), dim=2)": (3, 1, 6),
}


def space(module: Any) -> dict[str, Any]:
    return {
        "m": module, "p": module.ones(7, 5).t(), "g": module.ones(4, 6)[:, ::2], "c": module.ones(3, 5),
        "v": module.ones(5), "r": module.ones(7), "i": module.zeros(2, 2, dtype=module.int64),
    }  # fmt: skip


@pytest.mark.parametrize("text", STRIDES)
def test_strides_of_results(text: str) -> None:
    assert eval(text, space(gb)).stride() == STRIDES[text]


@pytest.mark.parametrize("text", STRIDES)
def test_strides_are_those_of_torch(text: str) -> None:
    torch = pytest.importorskip("torch")
    result = eval(text, space(torch))
    assert result.stride() == STRIDES[text]
    assert eval(text, space(gb)).resolve_conj().tolist() == result.tolist()


def test_a_part_is_replaced_where_the_storage_has_it() -> None:
    x = gb.arange(12).view(3, 4)[:, ::2]
    assert gb.as_strided_scatter(x, gb.tensor([-1, -2]), (2,), (2,), 4).tolist() == [[0, 2], [-1, -2], [8, 10]]
    assert gb.as_strided_scatter(x[1:], gb.tensor([-1, -2]), (2,), (2,), 4).tolist() == [[-1, -2], [8, 10]]


def test_sums_to_no_dims_are_sums() -> None:
    x = gb.tensor(True)
    assert x.sum_to_size(()).dtype is gb.int64
    assert gb.ones(2, 3).sum_to_size(()).item() == 6


def test_rows_without_elements_are_searched() -> None:
    assert gb.searchsorted(gb.zeros(0, 0), gb.zeros(0, 2)).shape == (0, 2)
    assert gb.searchsorted(gb.zeros(2, 0), gb.zeros(2, 3)).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_unravelled_places_are_int64_whatever_the_indices() -> None:
    rows, columns = gb.unravel_index(gb.tensor([1, 200], dtype=gb.uint8), (4, 2**30))
    assert rows.dtype is gb.int64
    assert (rows.tolist(), columns.tolist()) == ([0, 0], [1, 200])


def test_phases_of_running_logarithms_count_on() -> None:
    result = gb.logcumsumexp(gb.tensor([3.0 + 4j, 0j], dtype=gb.complex128), 0)
    assert result[1].item().imag == pytest.approx(4.0389267369, abs=1e-9)


@pytest.mark.parametrize("library", ["gaugeblock", "torch"])
def test_a_resized_out_of_a_factorization_has_columns_in_a_row(library: str) -> None:
    module = gb if library == "gaugeblock" else pytest.importorskip("torch")
    out = module.empty(0)
    module.linalg.inv(module.eye(3), out=out)
    assert (tuple(out.shape), out.stride()) == ((3, 3), (1, 3))
