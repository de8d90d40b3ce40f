"""Pointwise calls that the bindings run by themselves: their loops, put on the current stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.device import Device
from ...kernels.pointwise import Launch
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import TensorMeta
from .twins import host_views, meta_elsewhere

WHOLE = {"n": (-(1 << 63), 1 << 63), "i": (-(1 << 63), 1 << 64), "u": (-(1 << 63), 1 << 64)}
"""Which whole numbers a kernel takes, by the kind of its operand; addresses are among both."""


class CudaLoops:
    """The entries of fast paths for tensors on CUDA devices, whichever driver is in use."""

    def on_host(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """Tensors of the CPU at the same addresses."""
        views: tuple[Any, ...] = host_views().of(operands)
        return views

    def meta(self, meta: TensorMeta, device: Device) -> TensorMeta:
        """Return `meta` with another device."""
        return meta_elsewhere(meta, device)

    def entry(self, operator: str, launch: Launch, operands: tuple[Any, ...]) -> Callable[..., None]:
        """What runs `launch` on other addresses and numbers; the tensors among `operands` tell device and traffic."""
        from .ptx_launch import put_loop

        tensors = [one for one in operands if isinstance(one, Tensor)]
        index = tensors[0].meta.device.index or 0
        nbytes = 2 * sum(one.meta.nbytes for one in tensors)

        def run(*values: Any) -> None:
            put_loop(index, operator, launch, list(values[:-1]), nbytes)

        signature = getattr(launch.kernel, "signature", None)
        limits = [WHOLE[kind] for kind in (signature.kinds if signature else "") if kind in WHOLE]
        if not limits:
            return run
        least, end = limits[0]

        def run_checked(*values: Any) -> None:
            for value in values:
                if value.__class__ is int and not least <= value < end:
                    raise OverflowError(f"int {'too big' if value >= end else 'too small'} to convert: {value}")
            run(*values)

        return run_checked
