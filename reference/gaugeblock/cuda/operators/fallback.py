"""The boxed fallback of the key CUDA, for any operator: deferred on the simulated driver, PTX or CuPy's on a GPU.

What a call gives is learnt by running its kernel on meta tensors; the results are allocated on the device. On the
simulated driver the CPU's kernel is put on the current stream, over the device's bytes. On a GPU, fills and pointwise
operators run as PTX, and some others by CuPy. A call whose result depends on values, or that is refused, waits and runs
on copies in host memory, so that its errors are those of the CPU; on a GPU so does, with a warning, what has no kernel.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...core.device import Device, cpu
from ...core.warn import warn
from ...dispatch.dispatcher import REGISTRY, call, redispatch
from ...dispatch.keys import tensors_in
from ...dispatch.operator import MISSING, Operator, missing_kernel
from ...kernels.conversion import Immediate
from ...memory.elements import write_bytes
from ...memory.storage import Storage, allocate_storage, read_device
from ...operators.conversion import converted
from ...operators.copy import copy_values
from ...operators.formulas import FORMULAS
from ...operators.generator import Generator
from ...operators.launch import element_launch
from ...operators.operand_checks import stored_number
from ...tensor.tensor import Tensor
from ...tensor.versions import bump_version
from ..allocator.out_of_memory import OutOfMemoryError
from ..devices import runtime
from ..random import launch_generator
from .cupy_operators import run_cupy, takes
from .deferred import defer, enqueue, plain_state
from .meta_call import (
    HOST_KEYS,
    MetaCall,
    Operands,
    Results,
    TensorConverter,
    change_written,
    host_aliases,
    keys_for,
    meta_call,
    meta_elsewhere,
)
from .pointwise import FORMS, KERNELS, launch_loop, pointwise_loop

FILLS = ("fill_.Scalar", "zero_")
WAITING = frozenset(
    """linalg_inv inverse linalg_solve linalg_lu_factor linalg_cholesky cholesky is_nonzero
    binary_cross_entropy""".split()
)
"""Operators whose kernels look at values before they say that they succeeded: their calls wait."""
_WARNED: set[str] = set()
"""Operators that have been warned of."""
_REFUSED: set[tuple[Any, ...]] = set()
"""Operators with dtypes of arguments for which CuPy has raised an error."""


def run(operator: Operator, keys: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The boxed kernel of the key CUDA. Raises RuntimeError for tensors on several devices, NotImplementedError for
    operators from outside."""
    name = operator.name
    if "::" in name and name.partition(".")[0].removesuffix("_") not in FORMULAS:
        raise missing_kernel(operator, MISSING, "CUDA")
    operands = Operands(operator, args, kwargs)
    simulated = hasattr(runtime().driver, "enqueue")
    if name in FILLS and not simulated:
        return fill(args[0], args[1] if len(args) > 1 else 0)
    kwargs, generator = launch_generator(operator, operands.device, kwargs)
    given = Given(operator, operands, args, kwargs, generator)
    found = _deferred(given) if simulated else _on_gpu(given)
    return on_host(given) if found is None else found.results


class Given(NamedTuple):
    """A call: operator, tensors, arguments, and the generator that it draws from."""

    operator: Operator
    operands: Operands
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    generator: Generator | None

    def on_host(self, aliases: TensorConverter) -> Callable[[], Any]:
        """Return the call of the CPU's kernel on what stands for the arguments, which it does not keep alive."""
        operator = self.operator
        given = [aliases.of(value) for value in self.args]
        options = {name: cpu if isinstance(value, Device) else aliases.of(value) for name, value in self.kwargs.items()}
        return lambda: redispatch(operator, keys_for(HOST_KEYS, given, options), *given, **options)


def _deferred(given: Given) -> MetaCall | None:
    """Put the call on the current stream; None, with nothing changed, where it has to wait for values."""
    operator, operands, args, kwargs, *_ = given
    name = operator.name
    if not operands.tensors or name.partition(".")[0] in WAITING:
        return None
    found = meta_call(operator, operands, args, kwargs)
    if found is None or (name in FORMS and _defer_loop(given, found.results)):
        return found
    if found.fresh or operands.written:
        _defer_kernel(given, found)
    return found


def _defer_loop(given: Given, result: Tensor) -> bool:
    """Put the loop of a pointwise call on the stream; False where it takes more than one."""
    operator, operands, args, kwargs, _ = given
    if not result.meta.numel:
        return True
    with plain_state():
        loop = pointwise_loop(operator.name, args, kwargs, (result,))
    if loop is None:
        return False
    nbytes = result.meta.nbytes + sum(tensor.meta.nbytes for tensor in operands.tensors)
    enqueue(operands.index, operator.name, loop.launch.run, (loop.values,), nbytes, loop.kept)
    return True


def _defer_kernel(given: Given, found: MetaCall) -> None:
    """Put the CPU's kernel on the stream: it writes where the operator does, and its results into the fresh ones."""
    operands, fresh = given.operands, found.fresh
    with plain_state():
        aliases = host_aliases()
        compute = given.on_host(aliases)
        results = tensors_in((found.results,))
        targets = [aliases.of(one) if any(one is new for new in fresh) else None for one in results]

    def work() -> None:
        for target, part in zip(targets, tensors_in((compute(),)), strict=True):
            if target is not None:
                copy_values(target, part)

    nbytes = sum(tensor.meta.nbytes for tensor in (*operands.tensors, *fresh))
    whole = taking_back(work, operands.written) if operands.indexed and operands.written else work
    defer(operands.index, given.operator.name, whole, nbytes, given.generator)


def taking_back(work: Callable[[], None], written: list[Tensor]) -> Callable[[], None]:
    """`work`, which writes nothing when it refuses an index, and then takes back the count of a change, unless the
    tensor has been changed since. No storage is kept alive for that."""
    counted = [(weakref.ref(tensor.storage_impl), tensor.storage_impl.version) for tensor in written]

    def run() -> None:
        try:
            work()
        except (IndexError, RuntimeError):
            for reference, version in counted:
                storage = reference()
                if storage is not None and storage.version == version:
                    storage.version -= 1
            raise

    return run


def _on_gpu(given: Given) -> MetaCall | None:
    """Launch a kernel of the device; None, with a warning, where there is none for such a call."""
    operator, operands, args, kwargs, *_ = given
    name = operator.name
    if name in KERNELS or takes(name, operands.tensors, kwargs):
        device = operands.device  # of 0-dim tensors too, which may lie on the CPU
        moved = tuple([converted(one, None, device) if isinstance(one, Tensor) else one for one in args])
        found = meta_call(operator, operands, moved, kwargs)
        if found is not None and _computed(given, moved, list(tensors_in((found.results,)))):
            return found
    _warn(name, "no kernel for CUDA")
    return None


def _warn(name: str, why: str) -> None:
    """Say once for each operator that the CPU computes it."""
    if name not in _WARNED:
        _WARNED.add(name)
        warn(f"{name}: {why}; it runs on the CPU, on copies")


def _computed(given: Given, args: tuple[Any, ...], results: list[Tensor]) -> bool:
    """Launch what fills the results of a call, with `args` on the device; False where it has no kernel for that."""
    name, operands = given.operator.name, given.operands
    if all(not one.meta.numel for one in results):
        return True
    if name in KERNELS:
        loop = pointwise_loop(name, args, given.kwargs, results)
        if loop is not None:
            launch_loop(loop.launch, loop.values, operands.index)
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


def fill(self: Tensor, value: Any) -> Tensor:
    """Write a number to every element. RuntimeError when it does not fit the dtype."""
    meta = meta_elsewhere(self.meta, cpu)
    number = stored_number("fill_", value, meta.dtype, meta.lazy)
    launch = element_launch("identity", meta, [Immediate(meta.dtype)], meta.dtype)
    bump_version(self)
    if launch is not None:
        launch_loop(launch, [self.pointer, number], self.meta.device.index or 0)
    return self


def on_host(given: Given) -> Any:
    """Wait for the current stream, run the call on the CPU, bring to the device what it gives and wrote."""
    operands = given.operands
    with plain_state(given.generator):
        if not operands.tensors:
            made = call(given.operator, *given.args, **{**given.kwargs, "device": cpu})
            return call(REGISTRY.find("to.device"), made, operands.device, None, False, False, None)
        copies = TensorConverter(cpu, _copied, lambda tensor: tensor)
        found = given.on_host(copies)()
        change_written(operands, copies)
        for tensor, copy in copies.pairs:
            if any(tensor is one for one in operands.written):
                copy_values(tensor, copy)
        results = Results(copies, operands)
        finished = results.of(found)
        for tensor, source in results.fresh:
            copy_values(tensor, source)
        return finished


def _copied(storage: Storage) -> Storage:
    made = allocate_storage(storage.nbytes)
    made.resizable = storage.resizable
    if storage.nbytes:
        write_bytes(made.pointer, read_device(storage.device, storage.pointer, storage.nbytes))
    return made
