"""complex32: it holds data, it is moved, viewed and converted; few operators compute in it and the others refuse."""

from __future__ import annotations

import copy
import io
import pickle
import struct
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.core.dtype import ALL_DTYPES, DType
from gaugeblock.operators.rows import rows

C = gb.complex32
X = [1 + 2j, 3 - 4.5j]
INF, NAN = float("inf"), float("nan")


def x() -> Any:
    return gb.tensor(X, dtype=C)


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_elements_are_pairs_of_half_floats() -> None:
    assert (C.itemsize, C.is_complex, C.is_signed, C.is_floating_point, gb.chalf) == (4, True, True, False, C)
    assert bytes(x().view(gb.uint8).tolist()) == struct.pack("<4e", 1, 2, 3, -4.5)
    assert gb.frombuffer(bytearray(struct.pack("<2e", 1, -2)), dtype=C).tolist() == [1 - 2j]
    assert x().storage().tolist() == X and x().untyped_storage().nbytes() == 8
    assert (x().type(), x().element_size()) == ("gaugeblock.ComplexHalfTensor", 4)


@pytest.mark.parametrize(
    ("made", "values"),
    [
        (lambda: gb.zeros(2, dtype=C), [0, 0]),
        (lambda: gb.ones(2, dtype=C), [1, 1]),
        (lambda: gb.ones(2000, dtype=C)[1998:], [1, 1]),
        (lambda: gb.full((2,), 1 - 2j, dtype=C), [1 - 2j] * 2),
        (lambda: gb.full((2000,), 1 - 2j, dtype=C)[:1], [1 - 2j]),
        (lambda: gb.tensor([True, 2.5, 3j], dtype=C), [1, 2.5, 3j]),
        (lambda: gb.tensor([70000.0, 2049j], dtype=C), [INF, 2048j]),
        (lambda: gb.tensor([x()[0], 3 - 4.5j], dtype=C), X),
        (lambda: gb.as_tensor(np.array(X, np.complex64), dtype=C), X),
        (lambda: gb.as_tensor(x(), dtype=gb.complex128), X),
        (lambda: gb.asarray([1j], dtype=C), [1j]),
        (lambda: x().new_zeros(1), [0]),
        (lambda: gb.full_like(x(), 2j), [2j, 2j]),
        (lambda: gb.empty(2, dtype=C).fill_(1j), [1j, 1j]),
        (lambda: gb.empty(2, dtype=C).copy_(gb.tensor([1.0, NAN])).real, [1, NAN]),
        (lambda: gb.complex(gb.tensor([1.0, 2.0]).half(), gb.tensor([3.0, -0.0]).half()), [1 + 3j, 2]),
        (lambda: gb.view_as_complex(gb.tensor([[1.0, 2.0], [3.0, -4.5]]).half()), X),
    ],
)
def test_made_from_numbers_arrays_and_tensors(made: Callable[[], Any], values: list[complex]) -> None:
    np.testing.assert_array_equal(made().tolist(), values)


def test_numbers_that_do_not_fit_are_refused() -> None:
    mask = gb.tensor([True, False])
    for call in (lambda: gb.full((1,), 70000, dtype=C), lambda: x().fill_(7e4j), lambda: x().masked_fill(mask, 7e4)):
        with pytest.raises(RuntimeError, match="complex32 without overflow"):
            call()


def test_views_show_components_and_conjugates() -> None:
    a = x()
    assert gb.view_as_real(a).tolist() == [[1, 2], [3, -4.5]] and gb.view_as_real(a).dtype is gb.float16
    assert (a.real.tolist(), a.imag.tolist(), a.imag.stride()) == ([1, 3], [2, -4.5], (2,))
    a.imag[0] = 7
    assert a[0].item() == 1 + 7j
    assert a.conj().tolist() == [1 - 7j, 3 + 4.5j] and a.conj().is_conj() and a.conj().imag.is_neg()
    assert a.conj().resolve_conj().tolist() == a.conj_physical().tolist() == [1 - 7j, 3 + 4.5j]
    assert a.conj().clone().tolist() == [1 - 7j, 3 + 4.5j]
    assert a.view(gb.int32).dtype is gb.int32 and a.view(gb.float16).tolist() == [1, 7, 3, -4.5]
    assert gb.ones(4).half().view(C).tolist() == [1 + 1j, 1 + 1j]
    assert a.expand(2, 2).t().stride() == (1, 0)


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=lambda dtype: dtype.name)
@pytest.mark.filterwarnings("ignore:Casting complex")
def test_conversions_to_and_from_every_dtype(dtype: DType) -> None:
    there = gb.tensor([3 + 2j, 0j, 1j], dtype=C).to(dtype)
    expected = {"bool": [True, False, True], "complex": [3 + 2j, 0, 1j]}.get(dtype.category, [3, 0, 0])
    assert there.dtype is dtype and there.tolist() == expected
    back = gb.tensor([1, 0, 1], dtype=dtype).to(C)
    assert back.dtype is C and back.tolist() == [1, 0, 1]


def test_float64_is_rounded_once() -> None:
    near = 1 + 2.0**-11 + 2.0**-40
    assert gb.tensor([complex(near, -near)], dtype=gb.complex128).to(C).tolist() == [complex(1 + 2**-10, -1 - 2**-10)]
    assert gb.tensor([complex(near, 1e6)], dtype=C).tolist() == [complex(1 + 2**-10, INF)]


def test_text() -> None:
    assert repr(x()) == "tensor([1.+2.0000j, 3.-4.5000j], dtype=gaugeblock.complex32)"
    assert repr(x()[0].conj()) == "tensor(1.-2.j, dtype=gaugeblock.complex32)"
    assert repr(gb.tensor([-3 + 4j, -11.25 - 27j])) == "tensor([ -3.0000+4.j, -11.2500-27.j])"


def test_files_pickles_copies_and_capsules_keep_it() -> None:
    for tensor, values in ((x(), X), (x().conj(), [1 - 2j, 3 + 4.5j])):
        file = io.BytesIO()
        gb.save(tensor, file)
        file.seek(0)
        for again in (gb.load(file), pickle.loads(pickle.dumps(tensor)), copy.deepcopy(tensor)):
            assert again.dtype is C and again.tolist() == values
    assert gb.from_dlpack(x()).tolist() == X and gb.from_dlpack(x()).dtype is C


def test_numpy_has_no_such_dtype() -> None:
    with pytest.raises(TypeError, match="Got unsupported ScalarType ComplexHalf"):
        x().numpy()
    with pytest.raises(TypeError, match="ComplexHalf"):
        np.asarray(x())
    with pytest.raises(RuntimeError, match="conjugate bit"):
        x().conj().numpy()
    with pytest.raises(TypeError, match="can't convert np"):
        gb.from_numpy(np.zeros(2, C.numpy))


PROMOTED = {
    "bool": C, "uint8": C, "int8": C, "int16": C, "int32": C, "int64": C, "float16": C, "bfloat16": gb.complex64,
    "float32": gb.complex64, "float64": gb.complex128, "complex32": C, "complex64": gb.complex64,
    "complex128": gb.complex128,
}  # fmt: skip


@pytest.mark.parametrize("name", PROMOTED)
def test_promotion(name: str) -> None:
    other, wanted = getattr(gb, name), PROMOTED[name]
    assert gb.promote_types(C, other) is gb.promote_types(other, C) is wanted
    assert (x() * gb.ones(2, dtype=other)).dtype is wanted
    assert (x() * gb.ones((), dtype=other)).dtype is C
    assert gb.can_cast(other, C) and gb.can_cast(C, other) is other.is_complex


def test_half_floats_meet_complex_numbers_in_it() -> None:
    half = gb.ones(2, dtype=gb.float16)
    assert (half + 1j).dtype is (1j * half).dtype is gb.result_type(half, 1j) is C
    assert (half + 1j).tolist() == [1 + 1j] * 2
    assert (half * gb.tensor(2j, dtype=gb.complex128)).dtype is C
    assert (half * gb.ones(2, dtype=gb.complex64)).dtype is gb.complex64
    assert (gb.ones(2, dtype=gb.bfloat16) + 1j).dtype is gb.complex64
    with pytest.raises(RuntimeError, match="result type ComplexHalf can't be cast to the desired output type Half"):
        half.add_(1j)


@pytest.mark.parametrize(
    ("call", "values"),
    [
        (lambda a: a + a, [2 + 4j, 6 - 9j]),
        (lambda a: a - 1, [2j, 2 - 4.5j]),
        (lambda a: 1j - a, [-1 - 1j, -3 + 5.5j]),
        (lambda a: a * a, [-3 + 4j, -11.25 - 27j]),
        (lambda a: a * a.conj(), [5, 29.25]),
        (lambda a: a.add(a, alpha=2j), [-3 + 4j, 12 + 1.5j]),
        (lambda a: a.clone().mul_(2), [2 + 4j, 6 - 9j]),
        (lambda a: -a, [-1 - 2j, -3 + 4.5j]),
        (lambda a: gb.tensor([3 + 4j], dtype=C).abs(), [5.0]),
        (lambda a: gb.tensor([4j, 0], dtype=C).sgn(), [1j, 0]),
        (lambda a: gb.addcmul(a, a, a, value=2), [-5 + 10j, -19.5 - 58.5j]),
        (lambda a: a == 1 + 2j, [True, False]),
        (lambda a: a != a.conj(), [True, True]),
        (lambda a: gb.tensor([complex(NAN, 1), complex(1, INF), 1], dtype=C).isfinite(), [False, False, True]),
        (lambda a: gb.where(a == 1 + 2j, a, 7), [1 + 2j, 7]),
        (lambda a: a.isreal(), [False, False]),
        (lambda a: gb.outer(a, a)[0], [-3 + 4j, 12 + 1.5j]),
        (lambda a: a.float_power(2), [-3 + 4j, -11.25 - 27j]),
        (lambda a: gb.linalg.vector_norm(gb.tensor([3 + 4j, 12j], dtype=C)), 13.0),
        (lambda a: a.sum(dtype=gb.complex64), 4 - 2.5j),
        (lambda a: a.all(), True),
        (lambda a: a.count_nonzero(), 2),
        (lambda a: gb.tensor([-0.0, 1j], dtype=C).nonzero(), [[1]]),
    ],
)
def test_operators_that_compute_in_it(call: Callable[[Any], Any], values: Any) -> None:
    result = call(x())
    found = np.array(result.tolist())
    np.testing.assert_allclose(found, values, rtol=1e-14)
    if result.dtype.kind >= 2:
        assert result.dtype in (C, gb.float16, gb.complex64, gb.complex128)


def test_results_are_those_of_complex64_rounded() -> None:
    rng = np.random.default_rng(3)
    left, right = (gb.tensor((rng.normal(size=999) + 1j * rng.normal(size=999)).tolist(), dtype=C) for _ in range(2))
    for name in ("add", "sub", "mul"):
        narrow, wide = (getattr(gb, name)(a, b) for a, b in ((left, right), (left.cfloat(), right.cfloat())))
        assert narrow.dtype is C and gb.view_as_real(narrow).equal(gb.view_as_real(wide.to(C)))


@pytest.mark.parametrize(
    ("call", "values"),
    [
        (lambda a: a[[1, 0]], [X[1], X[0]]),
        (lambda a: a.conj()[gb.tensor([1])], [3 + 4.5j]),
        (lambda a: a[gb.tensor([False, True])], [X[1]]),
        (lambda a: gb.cat([a, a[:1]]), [*X, X[0]]),
        (lambda a: gb.stack([a, a])[:, 0], [X[0]] * 2),
        (lambda a: a.roll(1), X[::-1]),
        (lambda a: a.conj().roll(1), [3 + 4.5j, 1 - 2j]),
        (lambda a: a.repeat(2), X * 2),
        (lambda a: a.repeat_interleave(2), [X[0], X[0], X[1], X[1]]),
        (lambda a: a.index_select(0, gb.tensor([1, 1])), [X[1]] * 2),
        (lambda a: a.masked_select(a == X[0]), X[:1]),
        (lambda a: a.index_add(0, gb.tensor([0]), a[1:]), [4 - 2.5j, X[1]]),
        (lambda a: a.index_copy(0, gb.tensor([0]), a[1:]), [X[1]] * 2),
        (lambda a: a.index_put((gb.tensor([0]),), a[1:], accumulate=True), [4 - 2.5j, X[1]]),
        (lambda a: a.masked_fill(a == X[0], 1j), [1j, X[1]]),
        (lambda a: gb.diag(gb.diag(a)), X),
        (lambda a: a.expand(2, 2).tril()[0], [X[0], 0]),
        (lambda a: gb.nn.functional.pad(a, (1, 0), value=2.5), [2.5, *X]),
        (lambda a: gb.cartesian_prod(a, a)[1], X),
        (lambda a: gb.index_select(a, 0, gb.tensor([1]), out=gb.empty(0, dtype=C)), X[1:]),
        (lambda a: gb.index_add(a, 0, gb.tensor([0]), a[1:], out=gb.empty(2, dtype=C)), [4 - 2.5j, X[1]]),
    ],
)
def test_operators_that_move_it(call: Callable[[Any], Any], values: list[complex]) -> None:
    result = call(x())
    assert result.dtype is C and result.tolist() == values


def test_assignment() -> None:
    a = gb.zeros(3, dtype=C)
    a[0] = 1j
    a[[1, 2]] = x()
    assert a.tolist() == [1j, *X]
    a[gb.tensor([True, False, True])] = 2
    a.conj()[[1]] = 5j
    assert a.tolist() == [2, -5j, 2]
    with pytest.raises(RuntimeError, match="source and destination dtypes match"):
        a[[0]] = gb.ones(1, dtype=gb.complex64)
    b = x().conj()
    b.index_add_(0, gb.tensor([0]), x()[1:])
    assert b.tolist() == [4 - 6.5j, 3 + 4.5j]


ON_ITSELF = """exp log sqrt sin tanh reciprocal angle logical_not square sum mean prod sort softmax cumsum cumprod
    flip""".split()
WITH_ANOTHER = "lt div pow dot matmul maximum logical_and".split()


@pytest.mark.parametrize("name", [*ON_ITSELF, *WITH_ANOTHER])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_other_operators_refuse(name: str, device: str) -> None:
    a = x().to(device)
    more: Any = {"softmax": (0,), "cumsum": (0,), "cumprod": (0,), "flip": ((0,),)}.get(name, ())
    with pytest.raises(NotImplementedError, match=f"{name}.* not implemented for 'ComplexHalf'"):
        getattr(gb, name)(a, *((a,) if name in WITH_ANOTHER else more))


@pytest.mark.parametrize(
    "call",
    [
        lambda a: a.gather(0, gb.tensor([0])),
        lambda a: a.scatter(0, gb.tensor([0]), a),
        lambda a: a.take(gb.tensor([0])),
        lambda a: a.unique(),
        lambda a: a.expand(2, 2).trace(),
        lambda a: a.cumsum_(0),
        lambda a: gb.sum(a, 0, out=gb.empty((), dtype=C)),
        lambda a: gb.sum(a.cfloat(), 0, dtype=C),
        lambda a: gb.fft.fft(a),
        lambda a: gb.linalg.det(a.expand(2, 2)),
        lambda a: gb.equal(a, a),
    ],
)
def test_other_calls_refuse(call: Callable[[Any], Any]) -> None:
    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexHalf'"):
        call(x())


def test_factories_that_compute_refuse() -> None:
    for call in (lambda: gb.arange(3, dtype=C), lambda: gb.linspace(0, 1, 3, dtype=C), lambda: gb.eye(2, dtype=C)):
        with pytest.raises(NotImplementedError, match="not implemented for"):
            call()


def test_no_row_lists_it() -> None:
    assert not [name for name, row in rows().items() if "complex32" in row.dtypes]


@pytest.mark.parametrize(
    ("call", "gradient"),
    [
        (lambda a: (a * a).backward(gb.ones(2, dtype=C)), [2 - 4j, 6 + 9j]),
        (lambda a: gb.cat([a, a]).conj().imag.backward(gb.ones(4).half()), [-2j, -2j]),
        (lambda a: a.roll(1).real.backward(gb.tensor([1.0, 2.0]).half()), [2, 1]),
        (lambda a: a.cfloat().imag.sum().backward(), [1j, 1j]),
        (lambda a: a[[1]].abs().backward(gb.tensor([5.408]).half()), [0, 3 - 4.5j]),
    ],
)
def test_gradients(call: Callable[[Any], Any], gradient: list[complex]) -> None:
    a = x().requires_grad_()
    call(a)
    assert a.grad.dtype is C
    np.testing.assert_allclose(a.grad.tolist(), gradient, rtol=2e-3)


def test_gradients_of_half_floats_that_became_complex() -> None:
    a = gb.tensor([1.0, 2.0], dtype=gb.float16, requires_grad=True)
    gb.view_as_real(a * 1j).backward(gb.tensor([[1.0, 3.0], [1.0, 4.0]]).half())
    assert a.grad.dtype is gb.float16 and a.grad.tolist() == [3, 4]
