"""Key sets: order of priority, names, arithmetic."""

from __future__ import annotations

import gaugeblock as gb
import pytest
from gaugeblock.dispatch.keys import FUNCTIONALITIES, RUNTIME_KEYS, DispatchKeySet, check_key, meta_keys, runtime_key


def test_functionality_decides_before_backend() -> None:
    keys = DispatchKeySet("CPU", "AutogradCPU", "ADInplaceOrView")
    assert keys.highestPriorityTypeId() == "AutogradCPU"
    assert (keys - DispatchKeySet("AutogradCPU")).highestPriorityTypeId() == "ADInplaceOrView"


def test_highest_backend_bit_breaks_ties() -> None:
    assert DispatchKeySet("CPU", "CUDA").highestPriorityTypeId() == "CUDA"
    assert runtime_key(0) == "Undefined"


@pytest.mark.parametrize(
    ("low", "high"),
    [("Dense", "Quantized"), ("Quantized", "Sparse"), ("Sparse", "SparseCsr"), ("SparseCsr", "BackendSelect"),
     ("BackendSelect", "Python"), ("Python", "Functionalize"), ("Functionalize", "Conjugate"),
     ("ZeroTensor", "ADInplaceOrView"), ("ADInplaceOrView", "AutogradFunctionality"),
     ("AutogradFunctionality", "AutocastCPU"), ("AutocastCPU", "FuncTorchBatched"),
     ("FuncTorchGradWrapper", "PythonDispatcher")],
)  # fmt: skip
def test_functionalities_stand_in_upstream_order(low: str, high: str) -> None:
    assert FUNCTIONALITIES.index(low) < FUNCTIONALITIES.index(high)


def test_bits_are_those_of_upstream() -> None:
    assert DispatchKeySet("CPU").mask == 1 << 16 | 1
    assert DispatchKeySet("BackendSelect").mask == 1 << 26
    plain = DispatchKeySet("CPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU")
    assert plain.raw_repr() == 0x9400010001
    assert len(RUNTIME_KEYS) - 1 == len(FUNCTIONALITIES) + 6 * 15


def test_keys_of_a_tensor_do_not_depend_on_requires_grad() -> None:
    x = gb.zeros(3)
    before = gb.dispatch_keys(x)
    assert gb.dispatch_keys(x.requires_grad_()) == before
    assert meta_keys(gb.zeros(3, device="meta").meta) != before
    conjugated = gb.conj(gb.tensor([1j]))
    assert DispatchKeySet(mask=meta_keys(conjugated.meta)).has("Conjugate")


def test_iteration_lists_highest_first() -> None:
    assert list(DispatchKeySet("CPU", "AutogradCPU", "BackendSelect")) == ["AutogradCPU", "BackendSelect", "CPU"]
    assert repr(DispatchKeySet("CPU", "SparseCPU")) == "DispatchKeySet(CPU, SparseCPU)"


def test_a_set_is_immutable_and_hashable() -> None:
    keys = DispatchKeySet("CPU")
    with pytest.raises(AttributeError):
        keys.mask = 0
    assert {keys: 1}[DispatchKeySet("CPU")] == 1
    assert keys and not DispatchKeySet()


def test_unknown_and_alias_keys_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'cpu'.*CPU"):
        check_key("cpu")
    with pytest.raises(ValueError, match="alias"):
        DispatchKeySet("Autograd")
