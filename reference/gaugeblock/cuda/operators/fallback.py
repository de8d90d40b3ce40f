"""Any operator on a GPU: fills and pointwise ones as PTX, some by CuPy, and the rest on the host, with a warning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.device import cpu
from ...core.warn import warn
from ...dispatch.dispatcher import Operator
from ...kernels.conversion import Immediate
from ...operators.conversion import converted
from ...operators.launch import element_launch
from ...operators.operand_checks import stored_number
from ...tensor.tensor import Tensor
from ...tensor.versions import bump_version
from ..allocator.out_of_memory import OutOfMemoryError
from ..random import launch_generator
from .cupy_operators import run_cupy, takes
from .host_fallback import on_host
from .kernels import check_known, flat
from .known_loops import FRESH, call_key, known_loop, learn_loop
from .operands import Operands
from .outlined_call import Outlined, outlined_call
from .pointwise import KERNELS, pointwise_loop
from .ptx_launch import launch_loop
from .twins import meta_elsewhere

FILLS = ("fill_.Scalar", "zero_")
_WARNED: set[str] = set()
"""Operators that have been warned of."""
_REFUSED: set[tuple[Any, ...]] = set()
"""Operators with dtypes of arguments for which CuPy has raised an error."""


def run_on_gpu(operator: Operator, keys: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The boxed kernel of the key CUDA on a driver of real devices.

    Raises RuntimeError for tensors on several devices, NotImplementedError for operators from outside.
    """
    name = operator.name
    key = call_key(name, args, kwargs) if name in FRESH else None
    known = None if key is None else known_loop(args, key)
    if known is not None:
        return known.launched(name, args)
    check_known(operator)
    operands = Operands(operator, args, kwargs)
    if name in FILLS:
        return fill(args[0], args[1] if len(args) > 1 else 0)
    kwargs, generator = launch_generator(operator, operands.device, kwargs)
    if name in KERNELS or takes(name, operands.tensors, kwargs):
        moved = tuple([_moved(value, operands) for value in args])
        found = outlined_call(operator, operands, moved, kwargs)
        if found is not None and _computed(name, operands, moved, kwargs, found, args, key):
            return found.results
    _warn(name, "no kernel for CUDA")
    return on_host(operator, operands, args, kwargs, generator)


def _warn(name: str, why: str) -> None:
    """Say once for each operator that the CPU computes it."""
    if name not in _WARNED:
        _WARNED.add(name)
        warn(f"{name}: {why}; it runs on the CPU, on copies")


def _computed(
    name: str, operands: Operands, args: tuple[Any, ...], kwargs: Mapping[str, Any], found: Outlined,
    given: tuple[Any, ...], key: Any,
) -> bool:  # fmt: skip
    """Launch what fills the results; False where the device has no kernel for such a call. A loop is remembered by a
    key, if there is one, for the call as it was `given`."""
    results = flat(found.results)
    if all(not one.meta.numel for one in results):
        return True
    if name in KERNELS:
        loop = pointwise_loop(name, args, kwargs, results)
        if loop is not None:
            launch_loop(loop.launch, loop.values, operands.index)
            if key is not None:
                learn_loop(given, key, loop, results[0], operands.index, results[0].meta.nbytes)
        return loop is not None
    call = (name, *(one.meta.dtype for one in operands.tensors))
    if call in _REFUSED:
        return False
    try:
        run_cupy(name, operands.index, args, results)
    except OutOfMemoryError:
        raise
    except Exception as error:
        _REFUSED.add(call)
        _warn(name, f"CuPy cannot compute it ({type(error).__name__}: {error})")
        return False
    return True


def _moved(value: Any, operands: Operands) -> Any:
    """`value`, a 0-dim tensor of the CPU brought to the device."""
    if isinstance(value, Tensor) and value.meta.device is not operands.device:
        return converted(value, None, operands.device)
    return value


def fill(self: Tensor, value: Any) -> Tensor:
    """Write a number to every element. RuntimeError when it does not fit the dtype."""
    meta = meta_elsewhere(self.meta, cpu)
    number = stored_number("fill_", value, meta.dtype, meta.lazy)
    launch = element_launch("identity", meta, [Immediate(meta.dtype)], meta.dtype)
    bump_version(self)
    if launch is not None:
        launch_loop(launch, [self.pointer, number], self.meta.device.index or 0)
    return self
