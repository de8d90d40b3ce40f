"""Contexts: multiprocessing's, with queues and pipes that send tensors by handle."""

from __future__ import annotations

import multiprocessing
from multiprocessing import context
from typing import Any

from . import channel, queues


class _Sharing:
    """What differs from multiprocessing.context.BaseContext."""

    def Pipe(self, duplex: bool = True) -> tuple[channel.Channel, channel.Channel]:
        """Return two connected channels."""
        return channel.Pipe(duplex)

    def Queue(self, maxsize: int = 0) -> queues.Queue:
        """Return a queue."""
        return queues.Queue(maxsize, ctx=self.get_context())

    def JoinableQueue(self, maxsize: int = 0) -> queues.JoinableQueue:
        """Return a queue that counts unfinished tasks."""
        return queues.JoinableQueue(maxsize, ctx=self.get_context())

    def SimpleQueue(self) -> queues.SimpleQueue:
        """Return a queue without a thread."""
        return queues.SimpleQueue(ctx=self.get_context())

    def get_context(self, method: str | None = None) -> Any:
        """Return the context of a start method; self without one. Raises ValueError for an unknown one."""
        if method is None:
            return self
        if method not in CONTEXTS:
            raise ValueError(f"cannot find context for {method!r}")
        CONTEXTS[method]._check_available()
        return CONTEXTS[method]


class SpawnProcess(context.SpawnProcess):
    """A process that is spawned."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        with channel.sending():
            return context.SpawnProcess._Popen(process_obj)


class ForkServerProcess(context.ForkServerProcess):
    """A process that is forked by a server."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        with channel.sending():
            return context.ForkServerProcess._Popen(process_obj)


class Process(context.Process):
    """A process that is started as the start method says."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        return DEFAULT.get_context().Process._Popen(process_obj)


class ForkContext(_Sharing, context.ForkContext):
    """Processes that are forked."""


class SpawnContext(_Sharing, context.SpawnContext):
    """Processes that are spawned."""

    Process = SpawnProcess


class ForkServerContext(_Sharing, context.ForkServerContext):
    """Processes that are forked by a server."""

    Process = ForkServerProcess


class DefaultContext(_Sharing, context.BaseContext):
    """The context of the start method that multiprocessing has, which is set for both."""

    Process = Process

    def get_context(self, method: str | None = None) -> Any:
        """Return the context of a start method, or of the one that is set."""
        return super().get_context(method or self.get_start_method())

    def get_start_method(self, allow_none: bool = False) -> Any:
        """Return the start method."""
        return multiprocessing.get_start_method(allow_none)

    def set_start_method(self, method: str | None, force: bool = False) -> None:
        """Set the start method. Raises RuntimeError if it is set, unless `force` is given."""
        multiprocessing.set_start_method(method, force)

    def get_all_start_methods(self) -> list[str]:
        """Return the names of the start methods."""
        return multiprocessing.get_all_start_methods()


CONTEXTS: dict[str, Any] = {"fork": ForkContext(), "spawn": SpawnContext(), "forkserver": ForkServerContext()}
DEFAULT = DefaultContext()
