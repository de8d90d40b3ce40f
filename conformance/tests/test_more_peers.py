"""Adapters of MLX, Paddle, ndonnx, sparse and HIPS autograd, where they are installed."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance.backend import DType, Unsupported, numpy_dtype
from gaugeblock_conformance.backends.mlx_table import MLX
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.backends.paddle_table import PADDLE
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.case import TensorCase
from gaugeblock_conformance.dialect import at_path
from gaugeblock_conformance.gradcheck.recorded import recording
from gaugeblock_conformance.own_rules import checked
from gaugeblock_conformance.runner.execute import run_requirement
from gaugeblock_conformance.session import Session
from gaugeblock_conformance.trace import Name

ADAPTERS = {
    "mlx.core": ("mlx", "MlxBackend"),
    "paddle": ("paddle", "PaddleBackend"),
    "ndonnx": ("ndonnx", "NdonnxBackend"),
    "sparse": ("sparse", "SparseBackend"),
    "autograd.numpy": ("autograd", "AutogradBackend"),
}


def adapter_of(module: str) -> Any:
    name, cls = ADAPTERS[module]
    return getattr(importlib.import_module(f"gaugeblock_conformance.backends.{name}"), cls)


def made(module: str) -> Any:
    pytest.importorskip(module)
    return adapter_of(module)()


@pytest.mark.parametrize("module", ADAPTERS)
def test_another_device_is_refused(module: str) -> None:
    name, _ = ADAPTERS[module]
    with pytest.raises(ValueError, match=f"{name}: device must be 'cpu', not 'tpu'"):
        adapter_of(module)("tpu")


@pytest.mark.parametrize("module", ADAPTERS)
def test_every_function_of_the_table_is_there(module: str) -> None:
    backend = made(module)
    missing = [
        f"{operator}: {path}"
        for operator, row in {**backend.table, **backend.unjudged}.items()
        for path in row.functions
        if at_path(backend.namespace, path) is None
    ]
    assert missing == []


@pytest.mark.parametrize("module", ADAPTERS)
def test_a_round_trip_and_a_sum(module: str) -> None:
    backend = made(module)
    for name in backend.dtypes:
        array = (np.arange(6).reshape(2, 3) % 2).astype(numpy_dtype(name))
        x = backend.from_numpy(array)
        assert backend.dtype(x) == name and tuple(backend.shape(x)) == (2, 3)
        assert backend.to_numpy(x).tobytes() == array.tobytes()
    x = backend.from_numpy(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32))
    y = backend.call("sum.dim_IntList", x, [1], keepdim=True)
    assert backend.to_numpy(y).tolist() == [[3.0], [7.0]] and backend.dtype(y) == "float32"
    assert backend.to_numpy(backend.call("__getitem__", x, (0, slice(1, 2)))).tolist() == [2.0]
    with pytest.raises(Unsupported, match="no_operator: not offered"):
        backend.call("no_operator", x)
    with pytest.raises(Unsupported, match="requires_grad"):
        backend.from_numpy(np.zeros(2), requires_grad=True)


@pytest.mark.parametrize("module", ADAPTERS)
def test_snippets_run_with_the_library_alone(module: str) -> None:
    dialect = made(module).dialect
    lines = [f"x = {dialect.shaped('[3.0, 1.0]', 'float32', (2, 1))}",
             f"y = {dialect.expression('add.Tensor', (Name('x'), Name('x')), {})}",
             f"whole, one = {dialect.whole('y')}, {dialect.element('y', (1, 0))}"]  # fmt: skip
    space: dict[str, Any] = {}
    exec("\n".join([*dialect.imports("\n".join(lines)), *lines]), space)
    assert space["whole"] == [[6.0], [2.0]] and space["one"] == 2.0


@pytest.mark.parametrize("module", ["mlx.core", "paddle"])
def test_operands_of_any_strides_are_built(module: str) -> None:
    backend = made(module)
    case = TensorCase("float32", (2, 2), (3, 1), 1, 8, "distinct", 0)
    built = Session(backend).build(case)
    assert backend.to_numpy(built.raw).tolist() == case.array.tolist()


@pytest.mark.parametrize("module", ["mlx.core", "autograd.numpy"])
def test_functions_are_differentiated(module: str) -> None:
    backend = recording(made(module))
    x, y = (backend.from_numpy(np.array(values), requires_grad=True) for values in ([1.0, 2.0], [0.5, 0.25]))
    product = backend.call("mul.Tensor", backend.call("square", x), y)
    seed = backend.from_numpy(np.array([1.0, 10.0]))
    by_x, by_y = backend.call("gradients", [product], [x, y], [seed])
    np.testing.assert_allclose(backend.to_numpy(by_x), [1.0, 10.0])
    np.testing.assert_allclose(backend.to_numpy(by_y), [1.0, 40.0])


@pytest.mark.parametrize("module", ADAPTERS)
def test_the_rules_of_adapters_are_rules(module: str) -> None:
    rules = adapter_of(module).rules
    assert checked(rules) == rules and len(rules) > 5


def test_mlx_counts_in_arrays_of_the_suite_alone() -> None:
    """Its as_strided takes any array as if it were row contiguous, as documented."""
    backend = made("mlx.core")
    x = backend.from_numpy(np.arange(6, dtype=np.int64))
    y = backend.call("as_strided", x, (2, 2), (1, 2), 1)
    assert backend.to_numpy(y).tolist() == [[1, 3], [2, 4]]
    assert backend.call("as_strided", x, (0, 2), (1, 2)).shape == (0, 2)
    with pytest.raises(Unsupported, match="counts in the elements of the array"):
        backend.call("as_strided", y, (2,), (1,))
    with pytest.raises(Unsupported, match="ddof is an integer"):
        backend.call("std.correction", backend.from_numpy(np.ones(2, np.float32)), correction=0.5)
    with pytest.raises(Unsupported, match="has no complex128"):
        backend.call("fft_rfft", backend.from_numpy(np.ones(2)))
    assert len(backend._given) == 1


PADDLE_LEAVES_OPEN: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    # Operator, arguments of which the first is [[1, 2]] in the dtype after it, keywords, and why it is not asked.
    ("eq.Tensor", ("bfloat16",), {}, "does not list bfloat16"),
    ("to.dtype", ("float32", DType("bfloat16")), {}, "does not list bfloat16"),
    ("reshape", ("float32", (0, 2)), {}, "0 stands for the size"),
    ("sum", ("float32",), {"dtype": DType("int32")}, "whether sum converts before or after"),
    ("diff", ("float32", 0), {}, "n is a positive integer"),
    ("rot90", ("float32", 4, (0, 1)), {}, "whether no turn copies"),
    ("shape", ("float32",), {}, "shapes are lists"),
]


@pytest.mark.parametrize(("operator", "args", "kwargs", "why"), PADDLE_LEAVES_OPEN)
def test_paddle_is_not_asked_what_its_pages_do_not_say(
    operator: str, args: tuple[Any, ...], kwargs: dict[str, Any], why: str
) -> None:
    backend = made("paddle")
    x = backend.from_numpy(np.array([[1, 2]], numpy_dtype(args[0])))
    rest = (x,) if operator == "eq.Tensor" else args[1:]
    with pytest.raises(Unsupported, match=why):
        backend.call(operator, x, *rest, **kwargs)


def test_paddle_is_asked_what_its_pages_say() -> None:
    backend = made("paddle")
    x = backend.from_numpy(np.array([[1.0, 2.0]], np.float32))
    assert backend.to_numpy(backend.call("reshape", x, (2, 1))).tolist() == [[1.0], [2.0]]
    assert backend.call("reshape", backend.from_numpy(np.zeros((0, 2), np.float32)), (0, 2)).shape == [0, 2]
    assert backend.to_numpy(backend.call("rot90", x, 1, (0, 1))).tolist() == [[2.0], [1.0]]
    with pytest.raises(Unsupported, match="float32"):
        backend.call("full", (2,), 7)


def test_ndonnx_is_not_asked_for_values_that_it_does_not_propagate() -> None:
    backend = made("ndonnx")
    x = backend.from_numpy(np.array([[1.0, 2.0, 3.0]], np.float32))
    index = backend.from_numpy(np.array([[0], [7]], np.int64))
    with pytest.raises(Unsupported, match=r"does not propagate its values|left open"):
        backend.call("take_along_dim", x, index, 1)


def test_mlx_writes_through_an_index_and_is_not_asked_for_what_it_leaves_open() -> None:
    backend = made("mlx.core")
    x, mask = backend.from_numpy(np.zeros(3, np.float32)), backend.from_numpy(np.array([True, False, True]))
    backend.call("__setitem__", x, (slice(1, None),), backend.from_numpy(np.array([1.0, 2.0], np.float32)))
    backend.call("__setitem__", x, (mask,), backend.from_numpy(np.array([5.0, 6.0], np.float32)))
    assert backend.to_numpy(x).tolist() == [5.0, 1.0, 6.0]
    with pytest.raises(Unsupported, match="an element for each True"):
        backend.call("__setitem__", x, (mask,), backend.from_numpy(np.array([5.0], np.float32)))
    with pytest.raises(Unsupported, match="masks as indices are not yet supported"):
        backend.call("__getitem__", x, (mask,))
    with pytest.raises(Unsupported, match="indices outside are left open"):
        backend.call("__getitem__", x, 3)


def test_paddle_tells_offsets_in_elements_and_storages_apart() -> None:
    backend = made("paddle")
    x = backend.from_numpy(np.arange(4, dtype=np.float32))
    y = backend.call("__getitem__", x, slice(1, None))
    empty, other = (backend.from_numpy(np.zeros((0, 2), np.float32)) for _ in range(2))
    assert backend.storage_offset(y) == 1 and backend.storage_id(x) == backend.storage_id(y)
    assert backend.storage_id(empty) != backend.storage_id(other)
    assert backend.storage_id(empty) == backend.storage_id(backend.call("permute", empty, (1, 0)))
    assert backend.call("add_.Tensor", x, x) is not None and backend.to_numpy(x).tolist() == [0.0, 2.0, 4.0, 6.0]


def test_paddle_is_not_asked_where_it_has_no_kernel() -> None:
    backend = made("paddle")
    with pytest.raises(Unsupported, match="uint16"):
        backend.call("to.dtype", backend.from_numpy(np.zeros(2)), DType("uint16"))


def test_tables_name_operators_in_place_by_their_schema() -> None:
    assert [a.name for a in PADDLE["add_.Tensor"].arguments] == ["self", "other", "alpha"]
    assert "as_strided" in MLX


def test_operands_are_built_and_built_again_by_a_build_view_of_the_adapters_own() -> None:
    """A library whose as_strided counts its offset in bytes is told of as_strided alone."""

    class InBytes(NumpyBackend):
        def build_view(self, base: Any, sizes: Any, strides: Any, offset: int) -> Any:
            return super().call("as_strided", base, sizes, strides, offset)

        def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
            if operator == "as_strided" and len(args) > 3:
                args = (*args[:3], args[3] // self.to_numpy(args[0]).itemsize)
            if operator == "neg":
                raise ValueError("no neg")
            return super().call(operator, *args, **kwargs)

    told = run_requirement(InBytes(), "views/element-address-is-offset-plus-strides", QUICK, 0)
    assert told["failure"] is not None and "as_strided's result" in told["failure"]["message"]
    row = run_requirement(InBytes(), "iteration/strided-inputs-give-the-same-values", QUICK, 0)
    failures = [f for f in (row["failure"], *row["further_failures"]) if f is not None]
    assert failures and all("no neg" in f["message"] for f in failures)
