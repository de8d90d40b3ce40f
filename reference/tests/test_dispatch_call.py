"""Calls through the dispatcher: key sets, thread state, redispatch, errors."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.dispatch import REGISTRY, IncludeDispatchKeyGuard, call, redispatch
from gaugeblock.dispatch.keys import AUTOGRAD_MASK, FUNCTIONALITY_BIT
from gaugeblock.dispatch.state import STATE
from gaugeblock.tensor.hooks import SPECIAL

PYTHON = FUNCTIONALITY_BIT["Python"]


@pytest.fixture
def negate() -> Iterator[list[str]]:
    """Kernels on several keys of neg that log and go on; taken away afterwards."""
    log: list[str] = []
    operator = REGISTRY.find("neg")

    def autograd(keys: int, self: Any) -> Any:
        log.append("autograd")
        return redispatch(operator, keys & ~AUTOGRAD_MASK & ~FUNCTIONALITY_BIT["ADInplaceOrView"], self)

    remove = REGISTRY.register("neg", "AutogradCPU", autograd, with_keys=True)
    yield log
    remove()


def test_a_kernel_above_runs_first_and_redispatches(negate: list[str]) -> None:
    assert gb.neg(gb.tensor([1.0])).tolist() == [-1.0]
    assert (-gb.tensor([2.0])).tolist() == [-2.0]
    assert negate == ["autograd", "autograd"]


def test_fast_paths_are_back_after_an_override_is_removed() -> None:
    remove = REGISTRY.register("neg", "AutogradCPU", lambda self: self)
    assert SPECIAL
    remove()
    assert not SPECIAL
    assert gb.neg(gb.tensor([1.0])).tolist() == [-1.0]


def test_included_and_excluded_keys_are_per_thread_and_restored() -> None:
    seen: list[int] = []

    def look_and_fail() -> None:
        with IncludeDispatchKeyGuard("Python"):
            other = threading.Thread(target=lambda: seen.append(STATE.include))
            other.start()
            other.join()
            assert STATE.include & PYTHON and not seen[0] & PYTHON
            raise KeyError

    with pytest.raises(KeyError):
        look_and_fail()
    assert not STATE.include & PYTHON and not SPECIAL


def test_an_included_key_reaches_its_fallback() -> None:
    def log(operator: Any, keys: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return operator.name, len(args), sorted(kwargs)

    ones = gb.ones(2)
    remove = REGISTRY.register_fallback("Python", log)
    try:
        with IncludeDispatchKeyGuard("Python"):
            assert gb.add(ones, 1, alpha=2) == ("add.Scalar", 3, [])
            assert ones + ones == ("add.Tensor", 2, [])
            assert gb.zeros(3)[0].endswith("zeros")
    finally:
        remove()


def test_a_missing_kernel_names_operator_and_backend() -> None:
    operator = REGISTRY.define("nothing_here(Tensor self) -> Tensor")
    try:
        with pytest.raises(NotImplementedError, match=r"'aten::nothing_here'.*'CPU'"):
            call(operator, gb.ones(2))
        remove = REGISTRY.register("nothing_here", "CPU", lambda self: "found")
        assert call(operator, gb.ones(2)) == "found"
        remove()
    finally:
        del REGISTRY.operators["nothing_here"]


def test_an_exception_leaves_the_state_as_it_was() -> None:
    before = STATE.include, STATE.exclude
    with pytest.raises(RuntimeError):
        gb.add(gb.ones(2), gb.ones(3))
    assert (STATE.include, STATE.exclude) == before


def test_mixed_devices_are_refused_except_cpu_scalars() -> None:
    meta = gb.ones(2, device="meta")
    with pytest.raises(RuntimeError, match=r"cpu.*meta|meta.*cpu"):
        gb.add(gb.ones(2), meta)
    assert gb.add(gb.tensor(1.0), meta).device.type == "meta"
