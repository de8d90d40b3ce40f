"""How modules of torch's style spell their dispatcher, where torch and the engine spell it differently."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Function = Callable[..., Any]


@dataclass(frozen=True)
class DispatchNames:
    """``key_set`` takes no, one or more keys in a row of ``|``; guards are context managers of one key;
    ``device_key`` gives the name of the key of a type of devices; ``enable_transforms`` turns ``vmap`` and its like on
    where an earlier call has left them off."""

    key: Function
    device_key: Callable[[str], str]
    key_set: Any
    keys_of: Function
    include: Function
    exclude: Function
    included: Function
    excluded: Function
    library: Any
    operators: Any
    mode: type
    enable_transforms: Callable[[], None]


# Keys that PyTorch excludes while it prints a tensor. Each of two exceptions raised in that keeps them excluded for as
# long as it lives, and then restores what it found: if the first ends first, they stay excluded for good.
_TRANSFORMS = ("FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode")


def names_of(module: Any) -> DispatchNames:
    """The names of ``module``: torch, or the engine."""
    modes = importlib.import_module(f"{module.__name__}.utils._python_dispatch")
    library = importlib.import_module(f"{module.__name__}.library")
    private = getattr(module, "_C", None)
    if private is not None:

        def enable_transforms() -> None:
            for name in _TRANSFORMS:
                private._dispatch_tls_set_dispatch_key_excluded(private._dispatch_key_parse(name), False)

        return DispatchNames(
            key=private._dispatch_key_parse,
            device_key=private._dispatch_key_for_device,
            key_set=private.DispatchKeySet,
            keys_of=private._dispatch_keys,
            include=private._IncludeDispatchKeyGuard,
            exclude=lambda key: private._ExcludeDispatchKeyGuard(private.DispatchKeySet(key)),
            included=private._dispatch_tls_local_include_set,
            excluded=private._dispatch_tls_local_exclude_set,
            library=library,
            operators=module.ops,
            mode=modes.TorchDispatchMode,
            enable_transforms=enable_transforms,
        )
    dispatch = importlib.import_module(f"{module.__name__}.dispatch")
    return DispatchNames(
        key=lambda name: getattr(dispatch.DispatchKey, name),
        device_key={"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}.__getitem__,
        key_set=dispatch.DispatchKeySet,
        keys_of=module.dispatch_keys,
        include=dispatch.IncludeDispatchKeyGuard,
        exclude=dispatch.ExcludeDispatchKeyGuard,
        included=dispatch.tls_include_set,
        excluded=dispatch.tls_exclude_set,
        library=library,
        operators=module.ops,
        mode=modes.TorchDispatchMode,
        enable_transforms=lambda: None,
    )
