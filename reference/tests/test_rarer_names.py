"""Less common names: legacy classes and factories, checkpoint, gradcheck, func, and names out of scope."""

from __future__ import annotations

import warnings
from typing import Any

import gaugeblock as gb
import pytest

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated", "ignore:range\\(\\) is deprecated")


def test_legacy_classes_make_tensors_and_check_instances() -> None:
    assert gb.FloatTensor([1, 2]).tolist() == [1.0, 2.0]
    assert gb.LongTensor([1.5, 2]).tolist() == [1, 2]
    assert gb.LongTensor((2, 3)).tolist() == [2, 3]
    assert (gb.FloatTensor(2, 3).shape, gb.ByteTensor().shape) == ((2, 3), (0,))
    assert gb.LongTensor(gb.Size([2])).shape == (2,)
    names = "Bool Byte Char Short Int Long Half BFloat16 Float Double".split()
    kinds = [gb.bool, gb.uint8, gb.int8, gb.int16, gb.int32, gb.int64, gb.float16, gb.bfloat16, gb.float32, gb.float64]
    assert [getattr(gb, f"{name}Tensor")([1]).dtype for name in names] == kinds
    x = gb.ones(2)
    assert isinstance(x, gb.FloatTensor) and not isinstance(x, gb.LongTensor)
    assert x.type(gb.LongTensor).dtype is gb.int64 and x.type(gb.FloatTensor) is x
    for wrong in (gb.tensor([1]), 1.5, "a"):
        with pytest.raises(TypeError, match="FloatTensor"):
            gb.FloatTensor(wrong)
    with pytest.raises(AttributeError, match="ComplexTensor"):
        _ = gb.ComplexTensor


def test_typed_storages_are_read_and_written() -> None:
    x = gb.arange(6.0).reshape(2, 3)
    storage = x._typed_storage()
    storage[0] = 7
    assert x[0, 0].item() == 7
    assert (len(storage), storage.nbytes(), storage[-1], storage.dtype) == (6, 24, 5.0, gb.float32)
    assert storage.untyped() == x.untyped_storage() and storage.data_ptr() == x.data_ptr()
    assert gb.tensor([]).set_(storage, 1, (2,), (2,)).tolist() == [1.0, 3.0]
    assert gb.LongStorage([1, 2]).tolist() == gb.TypedStorage([1, 2], dtype=gb.int32).tolist() == [1, 2]
    assert isinstance(storage, gb.FloatStorage) and not isinstance(storage, gb.LongStorage)
    assert gb.is_storage(storage) and gb.is_storage(x.untyped_storage()) and not gb.is_storage(x)
    assert storage.long().tolist() == [7, 1, 2, 3, 4, 5] and storage.double().dtype is gb.float64
    assert storage.float() is storage and storage.bool()[0] is True
    with pytest.raises(RuntimeError, match="slices"):
        _ = storage[:2]
    with pytest.raises(IndexError, match="size 6"):
        _ = storage[6]


def test_empty_permuted_lays_dims_out_in_an_order() -> None:
    x = gb.empty_permuted((2, 3, 4), (0, 2, 1), dtype=gb.int32)
    assert (x.shape, x.stride(), x.dtype, x.is_leaf) == ((2, 3, 4), (12, 1, 3), gb.int32, True)
    for order in ((0, 0, 1), (0, 1), (0, 1, 3), (0, 1, -1)):
        with pytest.raises(RuntimeError, match="physical_layout"):
            gb.empty_permuted((2, 3, 4), order)


def test_range_includes_its_end() -> None:
    assert gb.range(0, 3).tolist() == gb.range(0, 3.5).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert gb.range(1, 2, 0.5).tolist() == [1.0, 1.5, 2.0]
    assert gb.range(3, 0, -1, dtype=gb.int64).tolist() == [3, 2, 1, 0]
    assert gb.range(0, 3, out=gb.empty(4, dtype=gb.float64)).dtype is gb.float64
    for bounds in ((0, 3, 0), (3, 0), (-1e300, 1.5, 1e-300)):
        with pytest.raises(RuntimeError, match=r"range\(\)"):
            gb.range(*bounds)
    with pytest.raises(TypeError, match="end"):
        gb.range(3)
    with pytest.raises(TypeError, match="argument 'end' must be a real number, not list"):
        gb.range(0, [2, 3])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        gb.range(0, 1)
    assert [w.category for w in seen] == [UserWarning]


def test_hash_tensor_is_the_exclusive_or_of_the_bits() -> None:
    assert gb.hash_tensor(gb.ones(3)).item() == 4607182418800017408
    assert gb.hash_tensor(gb.tensor([1.5, -2.0])).item() == 18444492273895866368
    assert gb.hash_tensor(gb.tensor([[1, 2], [3, 4]]), 1, keepdim=True).tolist() == [[3], [7]]
    assert gb.hash_tensor(gb.tensor([1, 2, 3], dtype=gb.int8)).dtype is gb.uint64
    with pytest.raises(RuntimeError, match="mode"):
        gb.hash_tensor(gb.ones(2), mode=1)
    with pytest.raises(RuntimeError, match="dims"):
        gb.hash_tensor(gb.tensor([]))
    with pytest.raises(NotImplementedError, match="ComplexFloat"):
        gb.hash_tensor(gb.tensor([1j]))


def test_histogramdd_counts_in_cells() -> None:
    points = gb.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0]])
    hist, edges = gb.histogramdd(points, bins=[3, 3])
    assert hist.tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0]]
    assert [edge.shape for edge in edges] == [(4,), (4,)]
    line = gb.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    assert gb.histogramdd(line, [2, 2], weight=gb.tensor([1.0, 2.0, 4.0])).hist.tolist() == [[1.0, 0.0], [0.0, 6.0]]
    given = (gb.tensor([0.0, 1.0, 2.0]), gb.tensor([0.0, 0.5, 3.0]))
    assert gb.histogramdd(line, given).hist.tolist() == [[1.0, 0.0], [0.0, 2.0]]
    density = gb.histogramdd(line, 2, range=[0.0, 1.0, 0.0, 1.0], density=True).hist
    assert density.tolist() == [[2.0, 0.0], [0.0, 2.0]]
    for bad in ((gb.ones(3), 2), (line, [2])):
        with pytest.raises(RuntimeError, match="histogramdd"):
            gb.histogramdd(*bad)


def test_modes_and_formats_have_their_older_names() -> None:
    assert gb.legacy_contiguous_format is gb.contiguous_format
    forward_ad = gb.autograd.forward_ad
    assert forward_ad._current_level == -1
    with forward_ad.dual_level():
        assert forward_ad._current_level == 0


def test_a_saved_tensor_is_packed_by_hooks() -> None:
    x = gb.ones(2, requires_grad=True)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda saved: saved * 2, lambda packed: packed)
    with pytest.raises(RuntimeError, match="already has hooks"):
        y.grad_fn._raw_saved_result.register_hooks(lambda saved: saved, lambda packed: packed)
    (slope,) = gb.autograd.grad(y.sum(), x)
    assert slope.tolist() == (2 * y).tolist()
    with pytest.raises(AttributeError, match="_raw_saved_other"):
        _ = y.grad_fn._raw_saved_other


def test_saved_tensors_may_be_written_to_in_a_block() -> None:
    x = gb.ones(2, requires_grad=True)
    with gb.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * 2
        z = (y**2).sum()
        y.mul_(5)
        assert gb.autograd.grad(z, x)[0].tolist() == [8.0, 8.0]
        late = (x**2).sum()
        with pytest.raises(RuntimeError, match="nested"), gb.autograd.graph.allow_mutation_on_saved_tensors():
            pass
    with pytest.raises(RuntimeError, match="outside"):
        late.backward()


def test_a_checkpoint_runs_again_with_the_same_random_numbers() -> None:
    from gaugeblock.utils.checkpoint import checkpoint

    runs = []

    def drop(x: Any) -> Any:
        runs.append(1)
        return (gb.nn.functional.dropout(x, 0.5) * x).sin()

    x = gb.arange(1.0, 9.0, requires_grad=True)
    gb.manual_seed(3)
    y = checkpoint(drop, x, use_reentrant=False)
    after = gb.rand(1)
    gb.manual_seed(3)
    expected = drop(x)
    assert (y.tolist(), after.tolist()) == (expected.tolist(), gb.rand(1).tolist())
    assert gb.autograd.grad(y.sum(), x)[0].tolist() == gb.autograd.grad(expected.sum(), x)[0].tolist()
    assert len(runs) == 3


def test_gradcheck_accepts_right_gradients_and_refuses_wrong_ones() -> None:
    class Wrong(gb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 3

    autograd = gb.autograd
    x = gb.rand(2, 2, dtype=gb.float64, requires_grad=True)
    z = gb.rand(3, dtype=gb.complex128, requires_grad=True)
    assert autograd.gradcheck(gb.sin, (x,), check_forward_ad=True)
    assert autograd.gradcheck(lambda a, b: (a @ b, a * b), (x, x.detach().clone().requires_grad_()))
    assert autograd.gradcheck(lambda a: a * a.conj(), (z,)) and autograd.gradcheck(gb.abs, (z,))
    assert autograd.gradgradcheck(gb.sin, (x,)) and autograd.gradgradcheck(lambda a: a**3, (z,))
    assert not autograd.gradcheck(Wrong.apply, (x,), raise_exception=False)
    with pytest.raises(autograd.GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        autograd.gradcheck(Wrong.apply, (x,))
    with pytest.raises(ValueError, match="at least one input"):
        autograd.gradcheck(gb.sin, (gb.ones(2),))


def test_derivatives_of_functions_are_functions() -> None:
    func, x = gb.func, gb.tensor([1.0, 2.0])
    assert func.grad(lambda v: (v**3).sum())(x).tolist() == [3.0, 12.0]
    assert func.grad(func.grad(lambda v: v**3))(gb.tensor(2.0)).item() == 12.0
    assert func.grad_and_value(lambda v: (v.sum(), "aux"), has_aux=True)(x)[1][1] == "aux"
    assert [one.item() for one in func.grad(lambda a, b: a * b, argnums=(0, 1))(x[0], x[1])] == [2.0, 1.0]
    value, pull = func.vjp(gb.sin, gb.zeros(2))
    assert (value.tolist(), pull(x)[0].tolist()) == ([0.0, 0.0], [1.0, 2.0])
    value, moved = func.jvp(lambda v: v**2, (x,), (gb.ones(2),))
    assert (value.tolist(), moved.tolist(), value.requires_grad) == ([1.0, 4.0], [2.0, 4.0], False)
    with pytest.raises(RuntimeError, match="scalar"):
        func.grad(gb.sin)(x)
    with pytest.raises(TypeError, match="tangents"):
        func.jvp(gb.sin, (x,), x)


@pytest.mark.parametrize("name", ["masked", "quasirandom", "jit", "linalg.ldl_factor", "func.linearize", "_neg_view"])
def test_names_out_of_scope_raise_with_a_reason(name: str) -> None:
    owner, _, last = name.rpartition(".")
    with pytest.raises(AttributeError, match=f"torch.{name} is out of scope, "):
        getattr(getattr(gb, owner) if owner else gb, last)


def test_unknown_names_are_not_called_out_of_scope() -> None:
    with pytest.raises(AttributeError, match=r"'gaugeblock' has no attribute 'nothing'$"):
        _ = gb.nothing
