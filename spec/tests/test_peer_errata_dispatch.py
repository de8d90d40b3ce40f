"""What the errata on the dispatcher and on kernels say about PyTorch was seen on PyTorch, and is still."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")


@pytest.fixture
def library() -> Iterator[Any]:
    made = torch.library.Library("errata", "FRAGMENT")
    made.define("f(Tensor x) -> Tensor")
    yield made
    made._destroy()


def _names(keys: Any) -> list[str]:
    return str(keys).partition("(")[2].rstrip(")").split(", ")


def test_keys_do_not_depend_on_requires_grad() -> None:
    keys = torch._C._dispatch_keys
    assert str(keys(torch.ones(1))) == str(keys(torch.ones(1, requires_grad=True)))
    with torch.inference_mode():
        assert _names(keys(torch.ones(1))) == ["CPU", "AutocastCPU"]


def test_threads_include_and_exclude_keys() -> None:
    assert _names(torch._C._dispatch_tls_local_include_set()) == ["BackendSelect", "ADInplaceOrView"]
    assert all(name.startswith("Autocast") for name in _names(torch._C._dispatch_tls_local_exclude_set()))


def test_backends_are_the_low_bits() -> None:
    made, key = torch._C.DispatchKeySet, torch._C.DispatchKey
    assert [made(getattr(key, name)).raw_repr() & 0xFFFF for name in ("CPU", "CUDA", "Meta")] == [1, 2, 1 << 15]


@pytest.mark.parametrize(("first", "factor"), [("CompositeImplicitAutograd", 2.0), ("CompositeExplicitAutograd", 3.0)])
def test_order_of_composite_kernels_shows(library: Any, first: str, factor: float) -> None:
    kernels = {"CompositeImplicitAutograd": lambda x: x * 2, "CompositeExplicitAutograd": lambda x: x * 3}
    for key in sorted(kernels, key=lambda name: name != first):
        library.impl("f", kernels[key], key)
    assert torch.ops.errata.f(torch.ones(1)).item() == factor


def test_inner_calls_of_a_cpu_kernel_are_recorded(library: Any) -> None:
    library.impl("f", lambda x: x * 2, "CPU")
    assert torch.ops.errata.f(torch.ones(1, requires_grad=True)).requires_grad


def test_second_kernel_is_accepted(library: Any) -> None:
    for factor in (2, 3):
        library.impl("f", lambda x, factor=factor: x * factor, "CPU")
    assert torch.ops.errata.f(torch.ones(1)).item() == 3


@pytest.mark.parametrize(
    "call", ["mm(a, m)", "addmm(a, a, m)", "index_select(a, 0, i)", "gather(a, 0, i[None])", "take(a, i)"]
)
def test_meta_operand_is_read(call: str) -> None:
    """Reads of memory that is not there may end the process: they have one of their own."""
    made = "a = ones(2, 2); m = ones(2, 2, device='meta'); i = zeros(1, dtype=int64, device='meta')"
    program = f"from torch import *; {made}; print({call}.device)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode < 0 or done.stdout.strip() == "cpu"
