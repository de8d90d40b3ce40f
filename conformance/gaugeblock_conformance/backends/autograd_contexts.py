"""Autograd's contexts in torch's names."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from ..backend_autograd import (
    Anomaly,
    Context,
    DualLevel,
    EnableGrad,
    InferenceMode,
    NoGrad,
    SavedTensorsHooks,
    SetGrad,
)  # fmt: skip


def context_manager(module: Any, context: Context, log: list[Any]) -> Any:
    """The context manager of ``module`` that ``context`` stands for; saved-tensor hooks write into ``log``."""
    return _MANAGERS[type(context)](module, context, log)


def _saved_tensors_hooks(module: Any, hooks: SavedTensorsHooks, log: list[Any]) -> Any:
    def pack(tensor: Any) -> Any:
        log.append(f"{hooks.label} pack")
        if hooks.action == "raise":
            raise getattr(builtins, hooks.argument)(f"{hooks.argument} of the suite")
        if hooks.action == "write":
            tensor.mul_(hooks.argument)
        return (tensor.detach().cpu().numpy().copy(), tensor.device) if hooks.action == "copy" else tensor

    def unpack(packed: Any) -> Any:
        log.append(f"{hooks.label} unpack")
        if hooks.action == "copy":
            return module.from_numpy(packed[0].copy()).to(packed[1])
        return packed * hooks.argument if hooks.action == "scale" else packed

    return module.autograd.graph.saved_tensors_hooks(pack, unpack)


_MANAGERS: dict[type, Callable[[Any, Any, list[Any]], Any]] = {
    NoGrad: lambda module, context, log: module.no_grad(),
    EnableGrad: lambda module, context, log: module.enable_grad(),
    SetGrad: lambda module, context, log: _Deferred(lambda: module.set_grad_enabled(context.enabled)),
    InferenceMode: lambda module, context, log: module.inference_mode(context.enabled),
    Anomaly: lambda module, context, log: module.autograd.detect_anomaly(check_nan=context.check_nan),
    DualLevel: lambda module, context, log: module.autograd.forward_ad.dual_level(),
    SavedTensorsHooks: _saved_tensors_hooks,
}


class _Deferred:
    """A manager that acts when it is made, made only when it is entered or decorates."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: Any = None

    def __enter__(self) -> Any:
        self._made = self._make()
        return self._made.__enter__()

    def __exit__(self, *exc: object) -> Any:
        return self._made.__exit__(*exc)

    def __call__(self, function: Callable[..., Any]) -> Any:
        return self._make()(function)
