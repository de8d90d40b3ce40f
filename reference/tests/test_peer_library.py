"""The extension API against torch's own: the same program on both gives the same answers."""

from __future__ import annotations

import importlib
from itertools import pairwise
from typing import Any

import gaugeblock as gb
import pytest
from gaugeblock.dispatch.keys import BACKENDS, FUNCTIONALITIES

torch = pytest.importorskip("torch")
dispatch_mode = importlib.import_module("torch.utils._python_dispatch")


def pairs(namespace: str, program: Any) -> tuple[Any, Any]:
    """What a program on (module, Library, namespace) returns for torch and for the engine."""
    results = []
    for module, library in ((torch, importlib.import_module("torch.library")), (gb, gb.library)):
        lib = library.Library(namespace, "DEF")
        try:
            results.append(program(module, lib, getattr(module.ops, namespace)))
        finally:
            lib._destroy()
    return results[0], results[1]


def outcome(call: Any) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error).__mro__[-4:] if isinstance(error, NotImplementedError) else type(error)


def test_the_order_of_functionalities() -> None:
    key_set, key = torch._C.DispatchKeySet, torch._C.DispatchKey
    known = [name for name in FUNCTIONALITIES if hasattr(key, name) and name not in ("Dense", "Sparse", "Quantized")]
    below = [
        (low, high)
        for low, high in pairwise(known)
        if hasattr(key_set(getattr(key, low)), "highestPriorityTypeId")
    ]
    assert len(below) > 15
    for low, high in below:
        both = key_set(getattr(key, low)) | key_set(getattr(key, high))
        mine = gb.dispatch.DispatchKeySet(low) | gb.dispatch.DispatchKeySet(high)
        if both.highestPriorityTypeId().name in (low, high):
            assert both.highestPriorityTypeId().name == mine.highestPriorityTypeId().name
    assert BACKENDS[0] == "CPU"


def test_the_keys_of_a_tensor() -> None:
    assert str(torch._C._dispatch_keys(torch.ones(2))) == repr(gb.dispatch_keys(gb.ones(2)))
    meta = str(torch._C._dispatch_keys(torch.ones(2, device="meta")))
    assert set(meta[15:-1].split(", ")) >= set(map(str, gb.dispatch_keys(gb.ones(2, device="meta"))))


def test_wrong_calls_raise_the_same() -> None:
    def program(module: Any, lib: Any, ops: Any) -> list[Any]:
        lib.define("f(Tensor x, int n, float s=1.0, *, bool flag=False) -> Tensor")
        seen: list[Any] = []
        early = outcome(lambda: ops.f(module.ones(1), 1))
        lib.impl("f", lambda *args, **kwargs: seen.append((len(args), sorted(kwargs))) or args[0], "CPU")
        x = module.ones(1)
        calls: list[Any] = [
            lambda: ops.f(), lambda: ops.f(x), lambda: ops.f(x, "a"), lambda: ops.f(x, 1, 2.0, 3), lambda: ops.f(3, 1),
            lambda: ops.f(x, 1, nope=1), lambda: ops.f.nope, lambda: ops.nope(x),
            lambda: ops.f([x], 1), lambda: ops.f(x, 1.5), lambda: lib.define("f(Tensor x) -> Tensor"),
            lambda: lib.define("bad(Tensor x"), lambda: lib.impl("f", 3, "CPU"), lambda: lib.impl("f", print, "GPU"),
            lambda: lib.define("other::f(Tensor x) -> Tensor"),
        ]  # fmt: skip
        errors = [outcome(call) for call in calls]
        assert seen == []
        ops.f(x, 1)
        ops.f(x, 2, 1.0, flag=False)
        ops.f(x, n=2, s=3.0, flag=True)
        return [early, errors, seen, ops.f.overloads(), ops.f.default.name(), str(ops.f.default)]

    theirs, mine = pairs("peerlib1", program)
    assert mine == theirs


def test_precedence_of_kernels() -> None:
    def program(module: Any, lib: Any, ops: Any) -> list[str]:
        log: list[str] = []

        def kernel(name: str) -> Any:
            return lambda x: (log.append(name), x.clone())[1]

        for name, keys in {
            "a": ("CPU", "CompositeExplicitAutograd"), "b": ("CompositeExplicitAutograd",), "c": ("",),
            "d": ("CompositeImplicitAutograd", "CPU"), "e": ("AutogradCPU", "CPU"), "g": ("Autograd", "CPU"),
            "h": ("CompositeExplicitAutograd", "Meta"),
        }.items():  # fmt: skip
            lib.define(f"{name}(Tensor x) -> Tensor")
            for key in keys:
                lib.impl(name, kernel(f"{name} {key}"), key)
            for x in (module.ones(1), module.ones(1, device="meta")):
                found = outcome(lambda name=name, x=x: getattr(ops, name)(x) is None)  # type: ignore[misc]
                log.append(str(found) if found is not False else "ran")
        return log

    theirs, mine = pairs("peerlib2", program)
    assert mine == theirs


def test_modes_see_the_same_operators() -> None:
    def logged(module: Any, mode_class: Any) -> list[str]:
        log: list[str] = []

        class Log(mode_class):  # type: ignore[misc]
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                log.append(f"{func} {len(args)} {sorted(kwargs or {})}")
                return func(*args, **(kwargs or {}))

        x, index = module.ones(2, 3), module.tensor([1, 0])
        with Log():
            y = x + x
            y.mul_(y).exp().sum()
            y[0], y[:, 1:], y[None], y[index]
            y.T, y.mT, y.view(6), y.clone(), y.transpose(0, 1), y.expand(4, 2, 3)
            y.sum().item()
            module.stack([x, y])
            module.add(x, y, alpha=2)
            module.where(y > 0, x, y)
            x.t(), x.detach(), x.unsqueeze(0), y.fill_(1), y.zero_(), y.copy_(x)
        return log

    from gaugeblock.utils._python_dispatch import TorchDispatchMode

    assert logged(gb, TorchDispatchMode) == logged(torch, dispatch_mode.TorchDispatchMode)
