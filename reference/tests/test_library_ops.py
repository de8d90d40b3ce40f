"""gaugeblock.ops: operators as objects, arguments checked against the schema."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.library import Library, _scoped_library

KERNELS: list[str] = []


@pytest.fixture
def counted() -> Iterator[Library]:
    KERNELS.clear()
    with _scoped_library("opslib", "DEF") as lib:
        lib.define("f(Tensor x, int n, float s=1.0, *, bool flag=False, Tensor? t=None, int[] d=[1, 2]) -> Tensor")
        lib.impl("f", lambda *args, **kwargs: KERNELS.append("f") or args[0], "CPU")
        yield lib


def test_names_and_schemas() -> None:
    add = gb.ops.aten.add
    assert add.Tensor is add.Tensor
    assert add.Tensor.name() == "aten::add.Tensor"
    assert str(add.Tensor) == "aten.add.Tensor" and str(gb.ops.aten.exp.default) == "aten.exp.default"
    assert str(add.Tensor._schema) == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert {"Tensor", "Scalar", "out"} <= set(add.overloads())
    assert add.Tensor.overloadpacket is add
    assert (add.Tensor.namespace, add.Tensor.__name__, add.Tensor._overloadname) == ("aten", "add.Tensor", "Tensor")
    assert gb.ops.aten.t.default.is_view and not add.Tensor.is_view
    alpha = add.Tensor._schema.arguments[2]
    assert (alpha.name, alpha.kwarg_only, alpha.default_value, alpha.alias_info) == ("alpha", True, 1, None)
    assert gb.ops.aten.add_.Tensor._schema.arguments[0].alias_info.is_write
    assert gb.ops.aten.add_.Tensor._schema.is_mutable


def test_objects_copy_to_themselves() -> None:
    exp = gb.ops.aten.exp.default
    assert copy.deepcopy(exp) is exp and pickle.loads(pickle.dumps(exp)) is exp


def test_calls_of_built_in_operators() -> None:
    x = gb.tensor([1.0, 4.0])
    assert gb.ops.aten.add.Tensor(x, x, alpha=2).tolist() == [3.0, 12.0]
    assert gb.ops.aten.add.Tensor(x, 1).tolist() == [2.0, 5.0]
    assert gb.ops.aten.add(x, 1).tolist() == [2.0, 5.0]
    assert gb.ops.aten.sum.dim_IntList(x, [0], keepdim=True).tolist() == [5.0]
    out = gb.empty(2)
    assert gb.ops.aten.sqrt.out(x, out=out) is out and out.tolist() == [1.0, 2.0]
    values, indices = gb.empty(2), gb.empty(2, dtype=gb.int64)
    gb.ops.aten.sort.values(x, 0, True, values=values, indices=indices)
    assert values.tolist() == [4.0, 1.0] and indices.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("args", "kwargs", "match"),
    [
        ((), {}, "missing value for argument 'x'"),
        (("x",), {}, "'x' at position 0, but found type 'str'"),
        (("tensor",), {}, "missing value for argument 'n'"),
        (("tensor", 1.5), {}, "type 'int' for argument 'n'"),
        (("tensor", True), {}, "type 'int' for argument 'n'"),
        (("tensor", 1, "a"), {}, "type 'float' for argument 's'"),
        (("tensor", 1, 1.0, False), {}, r"at most 3 argument\(s\) but received 4"),
        (("tensor", 1), {"n": 1}, "multiple values for argument 'n'"),
        (("tensor", 1), {"m": 1}, "unknown keyword argument 'm'"),
        (("tensor", 1), {"flag": "yes"}, "type 'bool' for argument 'flag'"),
        (("tensor", 1), {"t": 3}, r"type 'Tensor\?' for argument 't'"),
        (("tensor", 1), {"d": [1.5]}, r"type 'int\[\]' for argument 'd'"),
        ((["tensor"], 1), {}, "found type 'list'"),
        ((3, 1), {}, "found type 'int'"),
    ],
)
def test_wrong_arguments_raise_before_any_kernel(
    counted: Library, args: tuple[Any, ...], kwargs: dict[str, Any], match: str
) -> None:
    given = [gb.ones(1) if value == "tensor" else value for value in args]
    with pytest.raises(RuntimeError, match=match):
        gb.ops.opslib.f(*given, **kwargs)
    assert KERNELS == []
    gb.ops.opslib.f(gb.ones(1), n=2, t=gb.ones(1), d=(3,))
    assert KERNELS == ["f"]


def test_a_kernel_sees_no_defaults_that_were_not_given(counted: Library) -> None:
    seen: list[Any] = []
    counted.impl("f", lambda *args, **kwargs: seen.append((len(args), kwargs)) or args[0], "CPU", allow_override=True)
    gb.ops.opslib.f(gb.ones(1), 5)
    gb.ops.opslib.f(gb.ones(1), 5, 1.0, flag=False)
    gb.ops.opslib.f(gb.ones(1), 5, 2, flag=True, d=[1, 2])
    assert seen == [(2, {}), (2, {}), (3, {"flag": True})]


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="'nowhere' object has no attribute 'f'"):
        gb.ops.nowhere.f  # noqa: B018
    with pytest.raises(AttributeError, match="no overload name 'Nothing'"):
        gb.ops.aten.add.Nothing  # noqa: B018
    with pytest.raises(RuntimeError, match="no overload of aten::add takes"):
        gb.ops.aten.add("a", "b")


def test_questions_about_kernels() -> None:
    add = gb.ops.aten.add.Tensor
    assert add.has_kernel_for_dispatch_key("CPU") and not add.has_kernel_for_dispatch_key("CUDA")
    assert add.has_kernel_for_any_dispatch_key(gb.dispatch.DispatchKeySet("CUDA", "Meta"))
    assert gb.dispatch.has_kernel_for_dispatch_key("aten::add.Tensor", gb.dispatch.DispatchKey.CPU)
    assert gb.dispatch.has_computed_kernel_for_dispatch_key("add.Tensor", "Python")
    assert not gb.dispatch.has_computed_kernel_for_dispatch_key("add.Tensor", "XLA")


def test_redispatch_takes_any_key_set() -> None:
    x = gb.ones(2)
    meta = gb.ops.aten.add.Tensor.redispatch(gb.dispatch.DispatchKeySet("Meta"), x.to("meta"), x.to("meta"))
    assert meta.device.type == "meta"
    with pytest.raises(NotImplementedError, match="'XLA'"):
        gb.ops.aten.add.Tensor.redispatch(gb.dispatch.DispatchKeySet("XLA"), x, x)


def test_new_overloads_are_found_at_once() -> None:
    with _scoped_library("opslib2", "FRAGMENT") as lib:
        lib.define("g(Tensor x) -> Tensor")
        assert gb.ops.opslib2.g.overloads() == ["default"]
        lib.define("g.int(Tensor x, int n) -> Tensor")
        assert gb.ops.opslib2.g.overloads() == ["default", "int"]
        assert "g" in dir(gb.ops.opslib2)


def test_calls_that_are_kept_choose_check_and_compute_as_the_first() -> None:
    x, add = gb.arange(4.0), gb.ops.aten.add
    for _ in range(3):
        assert add(x, x).tolist() == [0.0, 2.0, 4.0, 6.0]
        assert add(x, 1).tolist() == add.Scalar(x, 1).tolist() == [1.0, 2.0, 3.0, 4.0]
        assert add(x, x, alpha=3).tolist() == [0.0, 4.0, 8.0, 12.0]
        assert add(self=x, other=x).tolist() == [0.0, 2.0, 4.0, 6.0]
        assert gb.ops.aten.sum.dim_IntList(x.view(2, 2), [1]).tolist() == [1.0, 5.0]
        for call in (lambda: add.Tensor(x, x, x), lambda: add.Tensor(x, x, beta=1), lambda: add.Tensor(x, "a")):
            with pytest.raises(RuntimeError, match=r"^aten::add\.Tensor\(\) .* Declaration: add\.Tensor"):
                call()
        with pytest.raises(RuntimeError, match=r"^no overload of aten::add takes the arguments"):
            add(x, "a")


def test_a_kernel_registered_later_is_run_by_a_call_that_was_kept() -> None:
    x, kept = gb.arange(3.0), gb.ops.aten.hypot.default
    assert [kept(x, x).tolist()[1] for _ in range(3)] == pytest.approx([2**0.5] * 3)
    with gb.library._scoped_library("aten", "IMPL") as library:
        with pytest.warns(UserWarning, match="replaces it"):
            library.impl("hypot", lambda self, other: self - other, "CPU")
        assert kept(x, x).tolist() == gb.ops.aten.hypot(x, x).tolist() == [0.0] * 3
    assert kept(x, x).tolist()[1] == pytest.approx(2**0.5)


def test_an_operator_declared_anew_is_found_by_its_name() -> None:
    x = gb.arange(3.0)
    for factor in (2.0, 3.0):
        with gb.library._scoped_library("anew", "DEF") as library:
            library.define("scaled(Tensor x) -> Tensor")
            library.impl("scaled", lambda x, factor=factor: x * factor, "CPU")
            assert [gb.ops.anew.scaled(x).tolist() for _ in range(3)] == [[0.0, factor, 2 * factor]] * 3


def test_recorded_and_unrecorded_calls_are_kept_apart() -> None:
    x = gb.arange(3.0, requires_grad=True)
    for _ in range(3):
        y = gb.ops.aten.mul(x, x)
        assert y.requires_grad
        (slope,) = gb.autograd.grad(y.sum(), x)
        assert slope.tolist() == [0.0, 2.0, 4.0]
        with gb.no_grad():
            assert not gb.ops.aten.mul(x, x).requires_grad


@pytest.mark.parametrize("repeats", [4])
def test_factories_called_by_their_schemas_keep_their_calls(repeats: int) -> None:
    aten, x = gb.ops.aten, gb.arange(6.0).view(2, 3)
    for _ in range(repeats):
        assert aten.new_empty_strided(x, [2, 3], (1, 2)).stride() == (1, 2)
        assert aten.new_full.default(x, (2,), 2.5).tolist() == [2.5, 2.5]
        assert aten.new_full(x, (2,), 2, dtype=gb.int8).dtype == gb.int8
        assert aten.zeros_like(x.t()).stride() == (1, 3)
        assert aten.zeros.default([2], dtype=gb.float64).dtype == gb.float64
        assert aten.full_like(x.requires_grad_(), 3.0).tolist() == [[3.0] * 3] * 2
        assert aten.arange(3).tolist() == [0, 1, 2] and aten.arange(3.0).tolist() == [0.0, 1.0, 2.0]
        with pytest.raises(RuntimeError, match="expected at most 2 argument"):
            aten.new_zeros(x, 2, 3)
        with pytest.raises(RuntimeError, match="expected a value of type"):
            aten.zeros([2, 1.5])


def test_a_kept_factory_leaves_nothing_undefined_in_deterministic_mode() -> None:
    x, make = gb.zeros(3), gb.ops.aten.new_empty.default
    for _ in range(3):
        make(x, [3])
    gb.use_deterministic_algorithms(True)
    try:
        assert make(x, [3]).isnan().all()
    finally:
        gb.use_deterministic_algorithms(False)
