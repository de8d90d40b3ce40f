"""Guards and key sets with torch's methods; the printed table."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.dispatch import (
    AutoDispatchBelowADInplaceOrView,
    AutoDispatchBelowAutograd,
    DispatchKey,
    DispatchKeySet,
    ExcludeDispatchKeyGuard,
    IncludeDispatchKeyGuard,
    tls_exclude_set,
    tls_include_set,
)
from gaugeblock.dispatch.state import STATE
from gaugeblock.library import _scoped_library
from gaugeblock.tensor.hooks import SPECIAL


def test_keys_are_their_names() -> None:
    key = DispatchKey.AutogradCPU
    assert key == "AutogradCPU" and key.name == "AutogradCPU" and str(key) == "DispatchKey.AutogradCPU"
    assert DispatchKey("CPU") in {"CPU"}
    assert {DispatchKey.Autograd, DispatchKey.CPU, DispatchKey.Dense} <= set(DispatchKey)
    with pytest.raises(AttributeError, match="GPU"):
        DispatchKey.GPU  # noqa: B018
    with pytest.raises(ValueError, match="GPU"):
        DispatchKey("GPU")


def test_sets_have_torchs_methods() -> None:
    keys = DispatchKeySet(DispatchKey.CPU) | DispatchKeySet(DispatchKey.AutogradCPU)
    assert keys.highestPriorityTypeId() is not None and keys.highestPriorityTypeId() == DispatchKey.AutogradCPU
    assert keys.has(DispatchKey.CPU) and "CPU" in keys and "CUDA" not in keys
    below = keys.remove(DispatchKey.AutogradCPU)
    assert below.highestPriorityTypeId() == DispatchKey.CPU and below == DispatchKeySet("CPU")
    assert (keys - DispatchKeySet("AutogradCPU")) == below
    assert below.add(DispatchKey.AutogradCPU) == keys
    assert DispatchKeySet.from_raw_repr(keys.raw_repr()) == keys
    assert DispatchKeySet(below, "AutogradCPU") == keys


def test_the_keys_of_a_tensor_do_not_depend_on_requires_grad() -> None:
    x = gb.ones(2)
    assert gb.dispatch_keys(x) == gb.dispatch_keys(gb.ones(2, requires_grad=True))
    assert repr(gb.dispatch_keys(x)) == "DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, AutocastCPU)"
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        gb.dispatch_keys(3)


def run_with_kernels(call: Any) -> list[str]:
    """The keys whose kernels of one operator a call enters; each goes on to the next."""
    log: list[str] = []
    x = gb.ones(1)
    with _scoped_library("guardlib", "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        for key in ("Tracer", "AutogradCPU", "ADInplaceOrView", "BackendSelect", "AutocastCPU", "Negative"):

            def kernel(keys: DispatchKeySet, x: Any, key: str = key) -> Any:
                log.append(key)
                return gb.ops.guardlib.f.default.redispatch(keys.remove(key), x)

            lib.impl("f", kernel, key, with_keyset=True)
        lib.impl("f", lambda x: (log.append("CPU"), x)[1], "CPU")
        call(lambda: gb.ops.guardlib.f(x))
    return log


def test_calls_go_down_the_keys_in_order() -> None:
    assert run_with_kernels(lambda f: f()) == ["AutogradCPU", "ADInplaceOrView", "BackendSelect", "CPU"]


def test_guards_leave_keys_out_and_put_keys_in() -> None:
    def below_autograd(f: Any) -> None:
        with AutoDispatchBelowAutograd():
            f()

    def below_views(f: Any) -> None:
        with AutoDispatchBelowADInplaceOrView():
            f()

    def traced(f: Any) -> None:
        with IncludeDispatchKeyGuard(DispatchKey.Tracer), ExcludeDispatchKeyGuard(DispatchKeySet("BackendSelect")):
            f()

    def negative(f: Any) -> None:
        with IncludeDispatchKeyGuard("Negative"), ExcludeDispatchKeyGuard("AutogradCPU"):
            f()

    assert run_with_kernels(below_autograd) == ["ADInplaceOrView", "BackendSelect", "CPU"]
    assert run_with_kernels(below_views) == ["BackendSelect", "CPU"]
    assert run_with_kernels(traced) == ["Tracer", "AutogradCPU", "ADInplaceOrView", "CPU"]
    assert run_with_kernels(negative) == ["ADInplaceOrView", "Negative", "BackendSelect", "CPU"]


def test_guards_restore_on_every_way_out_and_may_be_entered_twice() -> None:
    before = tls_include_set(), tls_exclude_set()
    guard = ExcludeDispatchKeyGuard("AutogradCPU")
    with guard, guard:
        assert tls_exclude_set().has("AutogradFunctionality")
    with pytest.raises(KeyError), guard:
        raise KeyError
    assert (tls_include_set(), tls_exclude_set()) == before
    assert STATE.overrides == 2 and not SPECIAL
    with pytest.raises(ValueError, match="alias"):
        ExcludeDispatchKeyGuard("Autograd")


def test_the_table_says_which_kernel_and_why() -> None:
    table = gb.dispatch_table("add.Tensor")
    assert (table["CPU"].label, table["AutogradCPU"].label, table["XLA"].label) == ("kernel", "fallthrough", "missing")
    assert table["CPU"].kernel.startswith("operators.pointwise_operators")
    assert table["CPU"].where.startswith("pointwise_operators.py:")
    assert gb.dispatch_table("aten::zeros")["CUDA"].label == "default backend kernel"
    text = str(table)
    assert text.startswith("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\nregistered:\n")
    assert "fallthrough: BackendSelect, ADInplaceOrView" in text and "NotImplementedError" in text
    with pytest.raises(RuntimeError, match=r"add\.Tensor"):
        gb.dispatch_table("add.Nothing")
    with pytest.raises(KeyError, match="alias"):
        table["Autograd"]


def test_the_table_shows_kernels_from_outside_and_those_they_replace() -> None:
    def mine(x: Any) -> Any:
        return x

    with _scoped_library("guardlib", "DEF") as lib:
        lib.define("g(Tensor x) -> Tensor")
        lib.impl("g", lambda x: x, "CPU")
        lib.impl("g", mine, "CPU", allow_override=True)
        lib.impl("g", mine, "CompositeImplicitAutograd")
        table = gb.dispatch_table("guardlib::g")
        assert [(row.key, row.label) for row in table.registered] == [
            ("CPU", ""), ("CPU", "inactive"), ("CompositeImplicitAutograd", ""),
        ]  # fmt: skip
        assert "mine" in table["CPU"].kernel and table["CPU"].where.startswith("test_dispatch_guards.py:")
        assert table["AutogradCUDA"].label == "math kernel" and table["AutogradCPU"].label == "fallthrough"
        lib.impl("g", mine, "SparseCPU")
        assert gb.dispatch_table("guardlib::g")["AutogradOther"].label == "ambiguous autogradother"


def test_the_extension_modules_are_not_imported_before_they_are_asked_for() -> None:
    code = (
        "import sys, gaugeblock as gb; late = {'library', 'ops', 'overrides', 'utils', 'call_trace'};"
        "print(sorted(name for name in late if 'gaugeblock.' + name in sys.modules));"
        "gb.library, gb.ops.aten, gb.overrides, gb.utils._python_dispatch, gb.explain;"
        "print(sorted(name for name in late if 'gaugeblock.' + name not in sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["[]", "[]"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_free_locks() -> None:
    code = (
        "import os, warnings, gaugeblock as gb; warnings.simplefilter('ignore');"
        "from gaugeblock.dispatch.dispatcher import REGISTRY; from gaugeblock.dispatch import state;"
        "from gaugeblock.core import fork_safety; fork_safety.PATIENCE = 0.2;"
        "import threading; taken = threading.Event();\n"
        "def hold():\n"
        "    with REGISTRY._lock, state._COUNTERS: taken.set(); threading.Event().wait(20)\n"
        "threading.Thread(target=hold, daemon=True).start(); taken.wait()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    with gb.inference_mode(): ok = gb.library.Library('forked', 'DEF').define('f() -> ()') == 'f'\n"
        "    os._exit(0 if ok else 1)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])); os._exit(0)"
    )
    run = subprocess.run([sys.executable, "-u", "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.split() == ["0"]
