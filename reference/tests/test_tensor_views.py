"""View operators: metadata by golden tables, errors, bases, sharing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

Case = tuple[Callable[[Any], Any], tuple[int, ...], tuple[int, ...], int]

GOLDENS: list[Case] = [
    (lambda x: x[1:], (1, 3, 4), (12, 4, 1), 12),
    (lambda x: x[1], (3, 4), (4, 1), 12),
    (lambda x: x[:, 0], (2, 4), (12, 1), 0),
    (lambda x: x[..., -1], (2, 3), (12, 4), 3),
    (lambda x: x[None], (1, 2, 3, 4), (24, 12, 4, 1), 0),
    (lambda x: x[:, ::2, 1:9:3], (2, 2, 1), (12, 8, 3), 1),
    (lambda x: x[gb.tensor(1), ..., None], (3, 4, 1), (4, 1, 1), 12),
    (lambda x: x.t_ and x[0].t(), (4, 3), (1, 4), 0),
    (lambda x: x.transpose(0, -1), (4, 3, 2), (1, 4, 12), 0),
    (lambda x: x.permute(2, 0, 1), (4, 2, 3), (1, 12, 4), 0),
    (lambda x: x.movedim(0, 2), (3, 4, 2), (4, 1, 12), 0),
    (lambda x: x.T, (4, 3, 2), (1, 4, 12), 0),
    (lambda x: x.mT, (2, 4, 3), (12, 1, 4), 0),
    (lambda x: x.view(6, 4), (6, 4), (4, 1), 0),
    (lambda x: x.view(-1), (24,), (1,), 0),
    (lambda x: x[:, :1].expand(2, 3, 4), (2, 3, 4), (12, 0, 1), 0),
    (lambda x: x.expand(5, -1, -1, -1), (5, 2, 3, 4), (0, 12, 4, 1), 0),
    (lambda x: x[:, 1:2].squeeze(), (2, 4), (12, 1), 4),
    (lambda x: x.unsqueeze(-1), (2, 3, 4, 1), (12, 4, 1, 1), 0),
    (lambda x: x.narrow(1, -2, 2), (2, 2, 4), (12, 4, 1), 4),
    (lambda x: x.select(2, -1), (2, 3), (12, 4), 3),
    (lambda x: x.unfold(2, 2, 1), (2, 3, 3, 2), (12, 4, 1, 1), 0),
    (lambda x: x.diagonal(1, 1, 2), (2, 3), (12, 5), 1),
    (lambda x: x.diagonal(-1, 1, 2), (2, 2), (12, 5), 4),
    (lambda x: x.split(2, 1)[1], (2, 1, 4), (12, 4, 1), 8),
    (lambda x: x.split([1, 3], 2)[1], (2, 3, 3), (12, 4, 1), 1),
    (lambda x: x.chunk(3, 2)[1], (2, 3, 2), (12, 4, 1), 2),
    (lambda x: x.tensor_split(3, 2)[0], (2, 3, 2), (12, 4, 1), 0),
    (lambda x: x.unbind(1)[2], (2, 4), (12, 1), 8),
    (lambda x: x.flatten(1), (2, 12), (12, 1), 0),
    (lambda x: x.unflatten(2, (2, -1)), (2, 3, 2, 2), (12, 4, 2, 1), 0),
    (lambda x: x.as_strided((2, 2), (5, 0), 3), (2, 2), (5, 0), 3),
    (lambda x: x.view(gb.int32), (2, 3, 8), (24, 8, 1), 0),
    (lambda x: x.view(gb.complex128), (2, 3, 2), (6, 2, 1), 0),
]


@pytest.mark.parametrize("case", range(len(GOLDENS)))
def test_metadata(case: int) -> None:
    make, sizes, strides, offset = GOLDENS[case]
    x = gb.arange(24).view(2, 3, 4)
    base = x._base
    y = make(x)
    assert (y.shape, y.stride(), y.storage_offset()) == (sizes, strides, offset)
    assert y._base is base
    assert y.untyped_storage() == x.untyped_storage()
    assert y._version == x._version == 0


ERRORS: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda x: x.t(), RuntimeError, "2 dimensions"),
    (lambda x: x.transpose(0, 3), IndexError, r"\[-3, 2\]"),
    (lambda x: x.permute(0, 1), RuntimeError, "permute"),
    (lambda x: x.permute(0, 1, 1), RuntimeError, "more than once"),
    (lambda x: x.movedim((0,), (0, 1)), RuntimeError, "movedim"),
    (lambda x: x.view(5, 5), RuntimeError, "invalid for input of size 24"),
    (lambda x: x.view(-1, -1), RuntimeError, "only one dimension"),
    (lambda x: x.view(-2, 12), RuntimeError, "invalid shape dimension"),
    (lambda x: x.T.view(24), RuntimeError, "not compatible"),
    (lambda x: x[:0].view(-1, 0), RuntimeError, "ambiguous"),
    (lambda x: x.expand(3, 4), RuntimeError, "greater or equal"),
    (lambda x: x.expand(2, 3, 5), RuntimeError, "must match the existing size"),
    (lambda x: x.expand(-1, 2, 3, 4), RuntimeError, "leading"),
    (lambda x: x.squeeze(3), IndexError, "out of range"),
    (lambda x: x.unsqueeze(4), IndexError, r"\[-4, 3\]"),
    (lambda x: x.narrow(0, 3, 0), IndexError, "start out of range"),
    (lambda x: x.narrow(0, 1, 2), RuntimeError, "exceeds dimension size"),
    (lambda x: x.narrow(0, 1, -1), RuntimeError, "non-negative"),
    (lambda x: x.select(0, 2), IndexError, "out of range"),
    (lambda x: x.unfold(0, 3, 1), RuntimeError, "maximum size"),
    (lambda x: x.unfold(0, 1, 0), RuntimeError, "must be > 0"),
    (lambda x: x.diagonal(0, 1, 1), RuntimeError, "identical"),
    (lambda x: x.split(-1), RuntimeError, "non-negative"),
    (lambda x: x.split([1, 2]), RuntimeError, "sum exactly to 2"),
    (lambda x: x.chunk(0), RuntimeError, "greater than 0"),
    (lambda x: x.flatten(2, 1), RuntimeError, "start_dim"),
    (lambda x: x.unflatten(0, (3, -1)), RuntimeError, "invalid for input of size 2"),
    (lambda x: x.as_strided((2,), (1, 1)), RuntimeError, "mismatch in length"),
    (lambda x: x.as_strided((2,), (-1,)), RuntimeError, "Negative strides"),
    (lambda x: x.as_strided((2,), (1,), -1), RuntimeError, "invalid storage offset"),
    (lambda x: x.as_strided((2,), (1,), 23), RuntimeError, "out of bounds for storage of size 192"),
    (lambda x: x[:, :, 1:].view(gb.complex128), RuntimeError, r"self.size\(-1\)"),
    (lambda x: x[:, :, 1:3].view(gb.complex128), RuntimeError, r"storage_offset"),
    (lambda x: x[0, 0, 0].view(gb.int32), RuntimeError, "cannot be 0"),
    (lambda x: x.imag, RuntimeError, "non-complex"),
    (lambda x: x[:, :, ::2].contiguous(memory_format=gb.channels_last), RuntimeError, "rank 4"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case: int) -> None:
    make, kind, message = ERRORS[case]
    x = gb.arange(24).view(2, 3, 4)
    with pytest.raises(kind, match=message):
        make(x)


def test_a_view_of_a_view_reports_the_root() -> None:
    x = gb.arange(24)
    y = x.view(4, 6)[1:].t()
    assert y._base is x and x._base is None
    assert y.detach()._base is None
    assert y.clone()._base is None


def test_data_has_its_own_version() -> None:
    x = gb.zeros(3)
    data = x.data
    data.add_(1)
    assert (x._version, data._version, x.tolist()) == (0, 1, [1.0] * 3)
    x.mul_(2)
    assert (x._version, data._version, x.detach()._version) == (1, 1, 1)
    assert data[1:]._version == 1


def test_contiguous_is_self_or_a_packed_copy() -> None:
    x = gb.arange(12).view(3, 4)
    assert x.contiguous() is x
    y = x[:, 1:]
    packed = y.contiguous()
    assert packed.stride() == (3, 1)
    assert packed.untyped_storage().nbytes() == 72
    assert packed.tolist() == y.tolist()
    images = gb.arange(120).view(2, 3, 4, 5)
    last = images.contiguous(memory_format=gb.channels_last)
    assert last.stride() == (60, 1, 15, 3)
    assert last.tolist() == images.tolist()
    assert not last.is_contiguous()
    assert last.is_contiguous(memory_format=gb.channels_last)


def test_reshape_copies_only_where_view_cannot() -> None:
    x = gb.arange(12).view(3, 4)
    assert x.reshape(2, 6)._base is x._base
    y = x.T.reshape(12)
    assert y._base is None
    assert y.tolist() == x.numpy().T.reshape(12).tolist()


def test_complex_parts_write_through() -> None:
    z = gb.tensor([1 + 2j, 3 - 4j])
    z.imag[0] = 7.0
    z.real.mul_(2)
    assert z.tolist() == [2 + 7j, 6 - 4j]
    assert (z.imag.stride(), z.imag.storage_offset()) == ((2,), 1)
    pairs = gb.view_as_real(z)
    assert pairs.tolist() == [[2.0, 7.0], [6.0, -4.0]]
    assert gb.view_as_complex(pairs).untyped_storage() == z.untyped_storage()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int64"])
def test_whole_numbers_are_written_through_a_lazy_negative(dtype: str) -> None:
    z = gb.zeros(2, dtype=gb.complex64)
    z.conj().imag.copy_(gb.tensor([0, 1], dtype=getattr(gb, dtype)))
    assert [str(v) for v in z.imag.tolist()] == ["-0.0", "-1.0"]
    assert z.conj().imag.tolist() == [0.0, 1.0]


def test_conj_is_lazy() -> None:
    z = gb.tensor([1 + 2j, 3 - 4j])
    c = z.conj()
    assert c.is_conj() and not z.is_conj() and c._base is z
    assert c.tolist() == [1 - 2j, 3 + 4j]
    assert c[0].item() == 1 - 2j
    assert c.imag.tolist() == [-2.0, 4.0]
    assert c.imag.is_neg()
    assert not c.conj().is_conj()
    solid = c.resolve_conj()
    assert not solid.is_conj() and solid._base is None and solid.tolist() == c.tolist()
    assert z.resolve_conj() is z
    z.mul_(2)
    assert c.tolist() == [2 - 4j, 6 + 8j]
    assert z.view(1, 2).H.tolist() == [[2 - 4j], [6 + 8j]]
    for refused in (lambda: gb.view_as_real(c), lambda: c.numpy()):
        with pytest.raises(RuntimeError, match="conj"):
            refused()


@given(st.data())
def test_basic_indexing_reads_what_numpy_reads(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=3)))
    array = np.arange(int(np.prod(shape))).reshape(shape)
    x = gb.from_numpy(array)
    items: list[Any] = []
    for size in shape[: data.draw(st.integers(0, len(shape)))]:
        bounds = st.none() | st.integers(-5, 5)
        part = st.builds(slice, bounds, bounds, st.none() | st.integers(1, 3))
        items.append(data.draw(part | st.integers(-size, size - 1) if size else part))
    for extra in data.draw(st.lists(st.sampled_from((None, Ellipsis)), max_size=2, unique=True)):
        items.insert(data.draw(st.integers(0, len(items))), extra)
    index = tuple(items)
    try:
        expected = array[index]
    except IndexError:
        with pytest.raises(IndexError):
            x[index]
        return
    view = x[index]
    assert view.shape == expected.shape
    assert view.tolist() == expected.tolist()
    assert view.untyped_storage() == x.untyped_storage()


def test_index_errors() -> None:
    x = gb.zeros(2, 3)
    for index in (2, -3, (0, 3), (0, 0, 0), 1.5, "a", gb.tensor(5)):
        with pytest.raises(IndexError):
            x[index]
    for step in (0, -1):
        with pytest.raises(ValueError, match="step"):
            x[::step]
        with pytest.raises(ValueError, match="step"):
            x[0, ::step]
    for index in (0, slice(None)):
        with pytest.raises(IndexError, match="0-dim"):
            gb.tensor(1.0)[index]
    assert x[5:9].shape == (0, 3)


def test_assignment_writes_into_the_tensor() -> None:
    x = gb.zeros(2, 3)
    x[0] = 1
    x[:, 1] = gb.tensor([[5, 6]])
    x[1, 2] = gb.tensor(7.5)
    assert x.tolist() == [[1.0, 5.0, 1.0], [0.0, 6.0, 7.5]]
    for wrong in ([1, 2, 3], None, "a"):
        with pytest.raises(TypeError, match="can't assign"):
            x[0] = wrong
    with pytest.raises(RuntimeError):
        x[0] = gb.zeros(4)


def test_many_metas_are_forgotten() -> None:
    x = gb.zeros(40, 40)
    for start in range(40):
        for stop in range(start, 40):
            assert x[start:stop].shape == (stop - start, 40)
    assert len(x.meta.views) <= 256


def test_cached_views_of_one_meta_do_not_meet() -> None:
    x = gb.arange(8).view(8, 1)
    for _ in range(2):
        assert x[0:3].shape == (3, 1)
        assert x.expand(8, 3).shape == (8, 3)
        assert x[0:8:2].shape == (4, 1)
        assert x.expand(8, 1).shape == (8, 1)
        assert x[:1].expand(4, 2).shape == (4, 2)
        assert x.view(4, 2).shape == (4, 2)
        assert x[7].shape == (1,)
