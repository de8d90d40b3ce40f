"""gaugeblock's own engine, driven through the same adapter as PyTorch: its names are torch's."""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..backend import AllocatorLog, Array
from ..backend_allocator import CALLS as ALLOCATOR_CALLS
from ..backend_kernels import CALLS as KERNEL_CALLS
from ..dialect import TorchDialect
from ..iteration_plan import IterationPlan
from . import instruction_sets, reference_routes
from .allocator_calls import CAPABILITIES as ALLOCATOR_CAPABILITIES
from .allocator_calls import Allocating
from .cuda_calls import HOST_ONLY, CudaCalls, CudaDialect
from .torch_style import CAPABILITIES, FACTORIES, NEEDS_DATA, WRITERS, TorchStyleBackend


class ReferenceBackend(TorchStyleBackend):
    """The reference engine on ``device``."""

    capabilities = CAPABILITIES | ALLOCATOR_CAPABILITIES | frozenset(
        """refcount alloc.pluggable blob iter.introspect dispatch.keyset dispatch.registry dispatch.kernels
        dispatch.mode wrapper inference vmap autocast functionalize accessor vec.introspect isa sparse_coo sparse_csr
        quantized blocked shm
        autograd autograd.graph autograd.hooks autograd.func autograd.fwd autograd.double autograd.anomaly""".split()
    )

    def __init__(self, device: str = "cpu") -> None:
        engine = importlib.import_module("gaugeblock")
        device = "cuda:0" if device == "cuda" else device
        self._cuda = CudaCalls(engine, device) if device.startswith("cuda") else None
        super().__init__(engine, device, "reference")
        self.dialect = (CudaDialect if self._cuda else TorchDialect)(
            "gaugeblock", "gb", device, special=WRITERS, factories=FACTORIES
        )
        self.dialect.watching = ("ref = __import__('weakref').ref({0}.storage_impl)", "ref() is not None")
        self._allocating = Allocating(engine, device)
        self.finish = None if self._cuda is None else lambda _: engine.cuda.synchronize(device)
        if device == "meta":
            self.has_data = False
            self.capabilities = CAPABILITIES - NEEDS_DATA
        if device.startswith("cuda"):
            self.capabilities = (self.capabilities - HOST_ONLY) | {"alloc.tensors"}

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if self._cuda is None:
            return super().call(operator, *args, **kwargs)
        return self._cuda.finished(super().call, operator, *args, **kwargs)

    def function(self, operator: str) -> Callable[..., Any]:
        """What ``call`` ends in, without the wait for the device, which is ``finish``."""
        return super().function(operator)

    def _resolve(self, operator: str) -> Callable[..., Any]:
        if operator == "on_instruction_set":
            return self._on_instruction_set
        if operator in ALLOCATOR_CALLS:
            return self._allocating.resolve(operator)
        if operator in KERNEL_CALLS:
            tools = importlib.import_module(f"{__package__}.kernel_calls").KernelCalls(self.module)
            found: Callable[..., Any] = getattr(tools, operator)
            return found
        return super()._resolve(operator)

    def _on_instruction_set(self, level: str, calls: Sequence[tuple[Any, ...]]) -> list[Array]:
        return instruction_sets.run(type(self), "GAUGEBLOCK_CPU_CAPABILITY", level, calls)

    def storage_id(self, tensor: Any) -> Any:
        return id(tensor.storage_impl)

    def support(self, operator: str) -> str | None:
        """How the engine comes to the results of an operator on a cpu; on other devices it does not say."""
        return reference_routes.route(operator, "CPU") if self.device == "cpu" else None

    def watch_storage(self, tensor: Any) -> Callable[[], bool]:
        """Capability ``refcount``: whether the storage under ``tensor`` is still there."""
        reference = weakref.ref(tensor.storage_impl)
        return lambda: reference() is not None

    def from_blob(self, address: int, sizes: Sequence[int], dtype: str, deleter: Callable[[int], object]) -> Any:
        """Capability ``blob``: a row-major tensor over foreign memory."""
        return self.module.from_blob(address, tuple(sizes), self._dtypes[dtype], deleter=deleter)

    @contextmanager
    def observed_allocator(self) -> Iterator[AllocatorLog]:
        """Capability ``alloc.pluggable``: an allocator that writes down what it gives and takes."""
        memory = importlib.import_module("gaugeblock.memory")
        log = AllocatorLog()
        previous = memory.set_allocator(_Observed(memory.get_allocator(), log))
        try:
            yield log
        finally:
            memory.set_allocator(previous)

    def iteration_plan(self, inputs: Sequence[Any], promote: bool) -> IterationPlan:
        """Capability ``iter.introspect``: the engine's iterator over ``inputs`` and one output that it allocates."""
        iteration = importlib.import_module("gaugeblock.iteration")
        config = iteration.BINARY if promote else iteration.DEFAULT
        made = iteration.TensorIterator((None,), tuple(inputs), config).build()
        runs: list[int] = []
        made.for_each(lambda addresses, strides, count: runs.append(count))
        return IterationPlan(made.shape, made.strides, made.common_dtype.name, len(runs), sum(runs))


class _Observed:
    """An allocator of the engine that leaves the work to another one."""

    def __init__(self, inner: Any, log: AllocatorLog) -> None:
        self._inner = inner
        self._log = log

    def allocate(self, nbytes: int) -> int:
        address = int(self._inner.allocate(nbytes))
        self._log.given.append((address, nbytes))
        return address

    def free(self, address: int, nbytes: int) -> None:
        self._log.taken.append((address, nbytes))
        self._inner.free(address, nbytes)
