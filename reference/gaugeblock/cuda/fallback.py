"""Any operator on a GPU: pointwise ones as PTX, some through CuPy, and the rest on the host, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from ..dispatch.operator import Operator
from ..operators.conversion import converted
from ..tensor.tensor import Tensor
from .cupy_operators import CUPY, run_cupy
from .host_fallback import on_host
from .kernels import check_known
from .operands import Operands
from .outlined_call import outlined_call
from .pointwise import FORMS, pointwise_loop
from .ptx_launch import launch_loop
from .random import launch_generator

_WARNED: set[str] = set()
"""Operators that have been warned of."""


def run_on_gpu(operator: Operator, keys: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The boxed kernel of the key CUDA on a driver of real devices.

    Raises RuntimeError for tensors on several devices, NotImplementedError for operators from outside.
    """
    check_known(operator)
    operands = Operands(operator, args, kwargs)
    kwargs, generator = launch_generator(operator, operands.device, kwargs)
    name = operator.name
    if operands.tensors and (name in FORMS or name in CUPY):
        args = tuple([_moved(value, operands) for value in args])
        found = outlined_call(operator, operands, args, kwargs)
        if found is not None:
            written: Tensor = found.results if isinstance(found.results, Tensor) else operands.tensors[0]
            if not written.geometry.numel:
                return found.results
            loop = pointwise_loop(name, args, kwargs, written) if name in FORMS else None
            if loop is not None:
                launch_loop(*loop, operands.index)
                return found.results
            if name in CUPY:
                run_cupy(name, operands.index, args, kwargs, found.results)
                return found.results
    if name not in _WARNED:
        _WARNED.add(name)
        warnings.warn(f"{name}: no kernel for CUDA; it runs on the CPU, on copies", stacklevel=4)
    return on_host(operator, operands, args, kwargs, generator)


def _moved(value: Any, operands: Operands) -> Any:
    """`value` with 0-dim tensors of the CPU on the device."""
    if isinstance(value, Tensor) and value.geometry.device is not operands.device:
        return converted(value, None, operands.device)
    return value
