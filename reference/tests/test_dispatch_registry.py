"""The operator table: precedence, last registration, fallthrough, fallbacks."""

from __future__ import annotations

from typing import Any

import pytest
from gaugeblock.dispatch.dispatcher import Registry
from gaugeblock.dispatch.operator import FALLTHROUGH, Operator

TEXT = "f(Tensor self) -> Tensor"


def one(*registrations: tuple[str, Any]) -> tuple[Registry, Operator]:
    registry = Registry()
    operator = registry.define(TEXT)
    for key, function in registrations:
        registry.register("f", key, function)
    return registry, operator


def label(registry: Registry, operator: Operator, key: str) -> str:
    return registry.lookup(operator, key).label


def test_cpu_and_composite_implicit() -> None:
    registry, operator = one(("CPU", print), ("CompositeImplicitAutograd", repr))
    registry.register_fallback("AutogradCPU", FALLTHROUGH)
    assert label(registry, operator, "CPU") == "kernel"
    assert label(registry, operator, "AutogradCPU") == "fallthrough"
    assert label(registry, operator, "CUDA") == "math kernel"
    assert label(registry, operator, "AutogradCUDA") == "math kernel"
    assert label(registry, operator, "Undefined") == "math kernel"


def test_sparse_kernel_makes_autograd_other_ambiguous() -> None:
    registry, operator = one(("SparseCPU", print), ("CompositeImplicitAutograd", repr))
    assert label(registry, operator, "AutogradOther") == "ambiguous autogradother"


def test_explicit_beats_implicit_and_leaves_autograd_alone() -> None:
    registry, operator = one(("CompositeExplicitAutograd", print), ("CompositeImplicitAutograd", repr))
    found = registry.lookup(operator, "CPU")
    assert (found.function, found.label) == (print, "default backend kernel")
    assert label(registry, operator, "AutogradCPU") == "missing"


def test_non_functional_explicit_comes_first() -> None:
    registry, operator = one(("CompositeExplicitAutograd", print), ("CompositeExplicitAutogradNonFunctional", repr))
    assert registry.lookup(operator, "Meta").function is repr


def test_autograd_alias_serves_autograd_keys_only() -> None:
    registry, operator = one(("Autograd", print))
    assert label(registry, operator, "AutogradCUDA") == "autograd kernel"
    assert label(registry, operator, "CUDA") == "missing"


def test_last_registration_wins_and_removal_restores() -> None:
    registry, operator = one(("CPU", print))
    with pytest.warns(UserWarning, match="f: a kernel for CPU is registered"):
        remove = registry.register("f", "CPU", repr)
    assert registry.lookup(operator, "CPU").function is repr
    remove()
    assert registry.lookup(operator, "CPU").function is print


def test_a_name_is_declared_once() -> None:
    registry, _ = one()
    with pytest.raises(RuntimeError, match="'f' is already declared"):
        registry.define(TEXT)
    assert registry.find("f").text == TEXT


def test_unknown_operator_lists_overloads() -> None:
    registry = Registry()
    registry.define("add.Tensor(Tensor self, Tensor other) -> Tensor")
    with pytest.raises(RuntimeError, match=r"'add'.*add\.Tensor"):
        registry.find("add")


def test_unknown_key_is_refused() -> None:
    registry, _ = one()
    with pytest.raises(ValueError, match="'GPU'"):
        registry.register("f", "GPU", print)
    with pytest.raises(ValueError, match="alias"):
        registry.register_fallback("Autograd", print)


def test_fallthrough_moves_to_the_next_key_of_that_backend_only() -> None:
    from gaugeblock.dispatch.keys import DispatchKeySet

    registry, operator = one(("CPU", print), ("AutogradCUDA", repr))
    registry.register_fallback("AutogradCPU", FALLTHROUGH)
    found = registry.resolve(operator, DispatchKeySet("CPU", "AutogradCPU").mask)
    assert found.entry.function is print and found.plain
    assert DispatchKeySet(mask=found.mask).highestPriorityTypeId() == "CPU"
    assert registry.resolve(operator, DispatchKeySet("CUDA", "AutogradCUDA").mask).entry.function is repr


def test_fallback_serves_operators_without_a_kernel() -> None:
    registry, operator = one(("CPU", print))
    registry.register_fallback("Python", repr)
    assert label(registry, operator, "Python") == "backend fallback"
    registry.register("f", "Python", str)
    assert registry.lookup(operator, "Python").function is str
