"""Library: declarations, kernels, fallbacks, and their removal."""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.dispatch import DispatchKeySet
from gaugeblock.dispatch.dispatcher import REGISTRY
from gaugeblock.library import Library, _scoped_library, fallthrough_kernel
from gaugeblock.tensor.hooks import SPECIAL


@pytest.fixture
def lib() -> Iterator[Library]:
    with _scoped_library("testlib", "DEF") as made:
        yield made


def test_define_then_implement_then_call(lib: Library) -> None:
    assert lib.define("scale(Tensor x, float by=2.0) -> Tensor") == "scale"
    x = gb.tensor([1.0, 2.0])
    with pytest.raises(NotImplementedError, match=r"'testlib::scale'.*'CPU'"):
        gb.ops.testlib.scale(x)
    lib.impl("scale", lambda x, by=2.0: x * by, "CPU")
    assert gb.ops.testlib.scale(x).tolist() == [2.0, 4.0]
    assert gb.ops.testlib.scale.default(x, by=3).tolist() == [3.0, 6.0]


def test_a_name_is_declared_once_and_keeps_its_first_declaration(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    with pytest.raises(RuntimeError, match=r"'testlib::f' is already declared"):
        lib.define("f(Tensor x, int n) -> Tensor")
    assert gb.ops.testlib.f(gb.tensor([1])).tolist() == [2]
    lib.define("f.twice(Tensor x) -> Tensor")
    assert gb.ops.testlib.f.overloads() == ["default", "twice"]


def test_a_second_kernel_replaces_the_first_with_a_warning(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    with pytest.warns(UserWarning, match=r"testlib::f: a kernel for CPU is registered"):
        lib.impl("f", lambda x: x + 2, "CPU")
    assert gb.ops.testlib.f(gb.tensor([1])).tolist() == [3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lib.impl("f", lambda x: x + 3, "CPU", allow_override=True)


def test_kernels_go_with_their_library(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    other = Library("testlib", "IMPL")
    other.impl("f", lambda x: x + 2, "CPU", allow_override=True)
    assert gb.ops.testlib.f(gb.tensor([1])).tolist() == [3]
    del other
    gc.collect()
    assert gb.ops.testlib.f(gb.tensor([1])).tolist() == [2]
    lib._destroy()
    with pytest.raises(AttributeError, match="testlib"):
        gb.ops.testlib.f  # noqa: B018
    assert "testlib::f" not in REGISTRY.operators


def test_overriding_a_built_in_operator_is_seen_at_once_and_undone() -> None:
    x = gb.ones(3)
    assert (x + x).tolist() == [2.0, 2.0, 2.0]
    with _scoped_library("aten", "IMPL") as lib:
        lib.impl("add.Tensor", lambda self, other, *, alpha=1: self * 10, "CPU", allow_override=True)
        assert SPECIAL
        assert (x + x).tolist() == [10.0, 10.0, 10.0]
    assert not SPECIAL
    assert (x + x).tolist() == [2.0, 2.0, 2.0]


def test_kernels_for_other_backends_leave_the_fast_paths_alone() -> None:
    with _scoped_library("aten", "IMPL") as lib:
        lib.impl("add.Tensor", lambda self, other: self, "PrivateUse1")
        assert not SPECIAL


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: Library("testlib2", "NONE"), ValueError, "'NONE'.*DEF, IMPL, FRAGMENT"),
        (lambda: Library("aten", "DEF"), RuntimeError, "'aten'"),
        (lambda: Library("testlib2", "IMPL").define("f() -> ()"), RuntimeError, "'IMPL'"),
        (lambda: Library("testlib2", "FRAGMENT").define("f(Tensor x"), RuntimeError, "column"),
        (lambda: Library("testlib2", "FRAGMENT").define("b::f() -> ()"), RuntimeError, r"\(b\).*\(testlib2\)"),
        (lambda: Library("aten", "IMPL").impl("neg", print, "GPU"), RuntimeError, "'GPU'"),
        (lambda: Library("aten", "IMPL").impl("neg", 3, "CPU"), TypeError, "callable, not int"),  # type: ignore[arg-type]
        (lambda: Library("aten", "IMPL").impl("b::neg", print, "CPU"), RuntimeError, "'b::neg'"),
        (lambda: Library("b", "IMPL").fallback(print, "CPU"), RuntimeError, "'_'"),
    ],
)
def test_what_a_library_refuses(call: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call()


def test_a_namespace_has_one_owner(lib: Library) -> None:
    with pytest.raises(RuntimeError, match="'testlib'"):
        Library("testlib", "DEF")
    with _scoped_library("testlib", "FRAGMENT") as part:
        part.define("g(Tensor x) -> Tensor")
        assert gb.ops.testlib.g.overloads() == ["default"]
    lib._destroy()
    Library("testlib", "DEF")._destroy()


def test_a_kernel_may_come_before_the_declaration(lib: Library) -> None:
    early = Library("testlib", "IMPL")
    early.impl("later", lambda x: x + 1, "CPU")
    lib.define("later(Tensor x) -> Tensor")
    assert gb.ops.testlib.later(gb.tensor([1])).tolist() == [2]


def test_without_a_key_a_kernel_is_a_composite(lib: Library) -> None:
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: x + x)
    assert gb.dispatch_table("testlib::twice")["AutogradCPU"].label == "math kernel"
    assert gb.ops.testlib.twice(gb.ones(2)).tolist() == [2.0, 2.0]
    assert gb.ops.testlib.twice(gb.ones(2, device="meta")).device.type == "meta"


def test_the_key_set_is_given_on_request_and_leads_down(lib: Library) -> None:
    seen: list[str] = []
    lib.define("f(Tensor x, int n=1) -> Tensor")

    def autograd(keys: DispatchKeySet, x: Any, n: int = 1) -> Any:
        seen.append(str(keys.highestPriorityTypeId()))
        return gb.ops.testlib.f.default.redispatch(keys.remove("AutogradCPU").remove("ADInplaceOrView"), x, n)

    lib.impl("f", autograd, "AutogradCPU", with_keyset=True)
    lib.impl("f", lambda x, n=1: (seen.append("cpu"), x + n)[1], "CPU")
    assert gb.ops.testlib.f(gb.tensor([1]), 5).tolist() == [6]
    assert seen == ["DispatchKey.AutogradCPU", "cpu"]


def test_a_fallthrough_moves_to_the_next_key(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    lib.impl("f", lambda x: x + 100, "AutogradCPU")
    assert gb.ops.testlib.f(gb.tensor([1])).tolist() == [101]
    lib.impl("f", fallthrough_kernel, "AutogradCPU", allow_override=True)
    assert gb.ops.testlib.f(gb.tensor([1])).tolist() == [2]
    with pytest.raises(NotImplementedError):
        fallthrough_kernel()


def test_a_fallback_gets_operator_and_arguments() -> None:
    seen: list[Any] = []
    x = gb.ones(2, device="meta")
    with _scoped_library("_", "IMPL") as lib:
        lib.fallback(lambda op, *args, **kwargs: seen.append((op.name(), len(args), kwargs)) or x, "AutogradMeta")
        gb.add(x, x, alpha=2)
        gb.sum(x)
        lib.fallback(lambda keys, op, *args: seen.append(keys.has("Meta")) or x, "AutogradMeta", with_keyset=True)
        gb.neg(x)
    gb.neg(x)
    assert seen == [("aten::add.Tensor", 2, {"alpha": 2}), ("aten::sum", 1, {}), True]


def test_a_kernel_in_one_thread_serves_all(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(gb.ops.testlib.f(gb.tensor([1])).item())) for _ in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [2, 2, 2, 2]


def test_an_exception_reaches_the_caller_as_it_is(lib: Library) -> None:
    class Special(ValueError):
        pass

    def broken(x: Any) -> Any:
        raise Special("on purpose")

    lib.define("broken(Tensor x) -> Tensor")
    lib.impl("broken", broken, "CPU")
    before = gb.dispatch.tls_include_set(), gb.dispatch.tls_exclude_set()
    with pytest.raises(Special, match="on purpose"):
        gb.ops.testlib.broken(gb.ones(1))
    assert (gb.dispatch.tls_include_set(), gb.dispatch.tls_exclude_set()) == before
    assert not SPECIAL


def test_an_operator_that_is_declared_anew_runs_its_new_kernel_whatever_is_recorded() -> None:
    x = gb.ones(2, requires_grad=True)
    for factor in (2.0, 3.0, 5.0):
        library = gb.library.Library("anew", "FRAGMENT")
        library.define("scaled(Tensor self) -> Tensor")
        library.impl("scaled", lambda one, factor=factor: one * factor, "CompositeExplicitAutograd")
        for _ in range(3):
            assert gb.ops.anew.scaled(x).tolist() == [factor] * 2
            with gb.no_grad():
                assert gb.ops.anew.scaled(x).tolist() == [factor] * 2
        library._destroy()
