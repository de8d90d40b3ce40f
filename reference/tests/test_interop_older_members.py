"""Members that older programs ask a tensor for."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import numpy as np
import pytest


def test_type_names_the_class_and_converts() -> None:
    x = gb.tensor([1.5, -2.5])
    assert x.type() == "gaugeblock.FloatTensor" and x.long().type() == "gaugeblock.LongTensor"
    assert x.type(gb.float64).dtype is gb.float64 and x.type(gb.float32) is x
    assert x.type("torch.IntTensor").tolist() == [1, -2] and x.type("gaugeblock.BoolTensor").dtype is gb.bool
    assert x.type("DoubleTensor").type() == "gaugeblock.DoubleTensor"
    with pytest.raises(ValueError, match="invalid type 'FooTensor'"):
        x.type("FooTensor")
    with pytest.raises(TypeError, match="dtype"):
        x.type(3)


def test_new_has_the_dtype_and_device() -> None:
    x = gb.ones(2, dtype=gb.float64)
    assert x.new().shape == (0,) and x.new(2, 3).shape == (2, 3) and x.new(gb.Size([4])).shape == (4,)
    made = x.new([1, 2])
    assert made.tolist() == [1.0, 2.0] and made.dtype is gb.float64
    assert x.new(x).data_ptr() == x.data_ptr() and x.new(3, device="meta").device.type == "meta"
    with pytest.raises(TypeError, match=r"expected gaugeblock\.float64"):
        x.new(gb.ones(2))


def test_functions_of_elements() -> None:
    x = gb.arange(6).view(2, 3).t()
    version = x._version
    assert x.apply_(lambda v: v * 2) is x and x.tolist() == [[0, 6], [2, 8], [4, 10]] and x._version > version
    assert x.map_(gb.tensor([1, 2]), lambda v, w: v + w).tolist() == [[1, 8], [3, 10], [5, 12]]
    assert x.map2_(x, gb.tensor(1), lambda u, v, w: u - v + w).tolist() == [[1, 1]] * 3
    assert gb.empty(0).apply_(abs).shape == (0,) and gb.tensor(2.0).apply_(lambda v: v + 1).item() == 3.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gb.ones(2, requires_grad=True).apply_(abs), "requires grad"),
        (lambda: gb.ones(2).map_(gb.ones(2, device="meta"), max), "only tensors on the CPU"),
        (lambda: gb.ones(2).map_(3, max), "argument 'tensor'"),
    ],
)
def test_functions_of_elements_refuse(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


def test_order_of_dims() -> None:
    x = gb.ones(2, 3, 4, 5)
    assert x.dim_order() == (0, 1, 2, 3) and x.transpose(0, 1).dim_order() == (1, 0, 2, 3)
    assert x.contiguous(memory_format=gb.channels_last).dim_order() == (0, 2, 3, 1) and gb.tensor(1).dim_order() == ()


def test_what_no_tensor_is() -> None:
    x = gb.ones(2)
    assert not any((x.is_sparse, x.is_sparse_csr, x.is_quantized, x.is_mkldnn, x.is_nested, x.is_mps, x.is_xpu))
    assert x.to_dense() is x and x.to_dense(gb.float64).dtype is gb.float64


def test_reversed_flips_the_first_dim() -> None:
    assert reversed(gb.tensor([[1, 2], [3, 4]])).tolist() == [[3, 4], [1, 2]] and reversed(gb.tensor(1)).item() == 1


def test_functions_of_numpy_give_tensors() -> None:
    x = gb.tensor([1.0, 4.0])
    for made, elements in (
        (np.sqrt(x), [1.0, 2.0]), (np.add(x, 1), [2.0, 5.0]), (x * np.ones(2), [1.0, 4.0]),
        (np.multiply(np.ones(2), x), [1.0, 4.0]), (np.greater(x, 2), [False, True]), (np.add.reduce(x), 5.0),
    ):  # fmt: skip
        assert isinstance(made, gb.Tensor) and made.tolist() == elements
    assert (x * np.ones(2)).dtype is gb.float64 and isinstance(np.asarray(x), np.ndarray)


def test_data_may_be_of_another_dtype() -> None:
    x = gb.ones(3, requires_grad=True)
    earlier = (x * 2).sum()
    x.data = x.data.double()
    assert x.dtype is gb.float64 and x.is_leaf and x.requires_grad
    (x * 3).sum().backward()
    assert x.grad.dtype is gb.float64 and x.grad.tolist() == [3.0] * 3 and earlier.item() == 6.0
    for value, error, message in (
        ([1], TypeError, "has to be a tensor"),
        (gb.ones(3, dtype=gb.int64), RuntimeError, "floating point or complex"),
        (gb.ones(3, device="meta"), RuntimeError, "cannot be the data of"),
    ):
        with pytest.raises(error, match=message):
            x.data = value
    assert x.dtype is gb.float64


def test_sizes_of_what_is_an_integer() -> None:
    assert gb.Size([2, gb.tensor(3), np.int64(4)]) == (2, 3, 4)
    assert all(type(size) is int for size in gb.Size([gb.tensor(3), np.int64(4)]))
    for wrong in ([2.0], ["2"], [gb.tensor(1.5)], [gb.ones(2)]):
        with pytest.raises(TypeError, match="item 0"):
            gb.Size(wrong)
