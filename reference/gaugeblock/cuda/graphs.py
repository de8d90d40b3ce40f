"""CUDA graphs: work captured once with memory of its own, and replayed on the same addresses.

What is captured is not done. A replay does it all, on what lies at the addresses of the tensors then: change the inputs
in place, replay, read the outputs.
"""

from __future__ import annotations

from itertools import count
from types import TracebackType
from typing import Any, Self

from .allocator.block_store import PoolId
from .allocator.caching_allocator import CachingAllocator
from .devices import device_index, runtime
from .memory import MemPool
from .streams import Stream, StreamContext, current_stream, synchronize

_HANDLES = count(1)


def graph_pool_handle() -> PoolId:
    """A name for a pool that several graphs share."""
    return next(_HANDLES), 0


class CUDAGraph:
    """A graph: `capture_begin`, work on the current stream, `capture_end`, and `replay` as often as wanted. Its tensors
    have memory of a private pool, which stays the graph's until `reset`, or until it is gone."""

    def __init__(self, keep_graph: bool = False) -> None:
        self._driver: Any = None
        self._allocator: CachingAllocator | None = None
        self._stream: Stream | None = None
        self._pool: PoolId | None = None
        self._graph: int | None = None

    def capture_begin(self, pool: PoolId | None = None, capture_error_mode: str = "global") -> None:
        """Capture what the current stream gets from now on; its memory comes from `pool`, or from a new one. Raises
        RuntimeError for a graph that was captured, the default stream, and a driver without graphs."""
        if self._stream is not None or self._graph is not None:
            raise RuntimeError("capture_begin(): the graph is being captured, or was; call reset() first")
        if capture_error_mode not in ("global", "thread_local", "relaxed"):
            raise RuntimeError(
                "capture_begin(): argument 'capture_error_mode' must be one of global, thread_local and relaxed, got "
                f"{capture_error_mode!r}"
            )
        stream = current_stream()
        driver: Any = stream.driver
        if not hasattr(driver, "capture_begin"):
            raise RuntimeError(f"capture_begin(): the driver {driver.name} has no graphs")
        device = stream.device_index
        allocator = runtime().memory(device).allocator
        made = graph_pool_handle() if pool is None else pool
        capture = driver.capture_begin(device, stream.cuda_stream)
        try:
            allocator.begin_allocate_to_pool(made, lambda handle: driver.capture_of(device, handle) == capture)
        except RuntimeError:
            driver.graph_destroy(device, driver.capture_end(device, stream.cuda_stream))
            raise
        self._driver, self._allocator, self._stream, self._pool = driver, allocator, stream, made

    def capture_end(self) -> None:
        """End the capture. Raises RuntimeError unless one is underway, and for a capture that came to nothing."""
        stream, allocator, pool = self._stream, self._allocator, self._pool
        if stream is None or allocator is None or pool is None:
            raise RuntimeError("capture_end(): no capture of this graph is underway")
        self._stream = None
        allocator.end_allocate_to_pool(pool)
        try:
            self._graph = self._driver.capture_end(stream.device_index, stream.cuda_stream)
        except RuntimeError:
            self.reset()
            raise

    def replay(self) -> None:
        """Put the captured work on the current stream. RuntimeError before it was captured, and after `reset`."""
        if self._graph is None or self._allocator is None:
            raise RuntimeError("replay(): nothing was captured, or reset() was called")
        stream = current_stream(self._allocator.device)
        launch = self._driver.graph_launch
        if self._driver is not stream.driver:
            raise RuntimeError("replay(): the graph was captured with another driver than the one in use")
        launch(stream.device_index, self._graph, stream.cuda_stream)

    def reset(self) -> None:
        """Forget the work, and let the memory go back once no tensor is in it. RuntimeError during the capture."""
        if self._stream is not None:
            raise RuntimeError("reset(): the graph is being captured")
        graph, pool, allocator = self._graph, self._pool, self._allocator
        self._graph = self._pool = None
        if allocator is not None and graph is not None:
            self._driver.graph_destroy(allocator.device, graph)
        if allocator is not None and pool is not None:
            allocator.release_pool(pool)

    def pool(self) -> PoolId:
        """The pool of the graph's memory, for other graphs. RuntimeError before a capture."""
        if self._pool is None:
            raise RuntimeError("pool(): the graph has no pool before it is captured")
        return self._pool

    def __del__(self) -> None:
        if self._stream is None:
            self.reset()


class graph:
    """``with graph(g): ...`` captures the block into `g`, on `stream` or on a stream for captures. `pool` is that of
    another graph, a MemPool or a graph_pool_handle(). The device is waited for first."""

    def __init__(
        self, cuda_graph: CUDAGraph, pool: PoolId | MemPool | None = None, stream: Stream | None = None,
        capture_error_mode: str = "global",
    ) -> None:  # fmt: skip
        if not isinstance(cuda_graph, CUDAGraph):
            raise TypeError(f"graph(): argument 'cuda_graph' must be CUDAGraph, not {type(cuda_graph).__name__}")
        self.cuda_graph = cuda_graph
        self.capture_stream = Stream(device_index("graph")) if stream is None else stream
        self._pool = pool.id if isinstance(pool, MemPool) else pool
        self._mode = capture_error_mode
        self._context = StreamContext(self.capture_stream)

    def __enter__(self) -> Self:
        synchronize(self.capture_stream.device_index)
        self._context.__enter__()
        try:
            self.cuda_graph.capture_begin(self._pool, self._mode)
        except BaseException:
            self._context.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.cuda_graph.capture_end()
        except RuntimeError:
            if error is None:
                raise
        finally:
            self._context.__exit__(kind, error, trace)
