"""Work of the host in the order of a stream: CPU kernels over a simulated device's memory, run when they are due."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...core.dtype import get_default_dtype, set_default_dtype
from ...dispatch.state import DEFAULT_EXCLUDE, DEFAULT_INCLUDE, STATE, enter_special, leave_special
from ...operators.generator import REPLACING, Generator
from ..devices import current_handle, runtime

LAUNCH_NANOSECONDS = 2000
BYTES_PER_NANOSECOND = 2000
"""What a launch and its memory traffic take on the virtual clock."""
PLAIN: dict[str, Any] = {
    "include": DEFAULT_INCLUDE, "exclude": DEFAULT_EXCLUDE, "modes": (), "function_modes": (), "inference": False,
    "grad": False, "overrides": 0, "trace": None,
}  # fmt: skip
"""The dispatch state of a thread in which nothing is active."""


@contextmanager
def plain_state(generator: Generator | None = None) -> Iterator[None]:
    """A block in which this thread is in no mode and records nothing; `generator` is its default generator, which no
    kept call draws from."""
    state, before, generator_before = STATE.__dict__, dict(STATE.__dict__), REPLACING.generator
    state.update(PLAIN)
    REPLACING.generator = generator
    if generator is not None:
        enter_special()
    try:
        yield
    finally:
        if generator is not None:
            leave_special()
        state.clear()
        state.update(before)
        REPLACING.generator = generator_before


class DeferredError(RuntimeError):
    """A kernel failed after its launch; raised by the first call that waits for it."""


def defer(index: int, operator: str, work: Callable[[], object], nbytes: int, generator: Generator | None) -> None:
    """Put `work` on the current stream of a device; it runs in a plain state, with today's default dtype. What it
    raises comes out of the next wait for the stream as a DeferredError that names `operator`."""
    dtype = get_default_dtype()

    def run() -> None:
        later = get_default_dtype()
        if later is not dtype:
            set_default_dtype(dtype)
        try:
            with plain_state(generator), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                work()
        finally:
            if later is not dtype:
                set_default_dtype(later)

    enqueue(index, operator, run, (), nbytes)


def enqueue(
    index: int, operator: str, work: Callable[..., object], arguments: tuple[Any, ...], nbytes: int, kept: Any = None
) -> None:
    """Put work that depends on nothing but its arguments on the current stream; `kept` stays alive until it has run.
    What it raises is reported where the driver takes reports; else it is raised, for the device to fail."""
    driver: Any = runtime().driver

    def run(kept: Any = kept) -> None:
        try:
            work(*arguments)
        except Exception as error:
            failure = DeferredError(
                f"CUDA error: {operator} failed on cuda:{index} after its launch, which did not wait for it: "
                f"{type(error).__name__}: {error}"
            )
            failure.__cause__ = error
            report = getattr(driver, "report", None)
            if report is None:
                raise failure from error
            report(index, failure)

    driver.enqueue(index, current_handle(index), run, LAUNCH_NANOSECONDS + nbytes // BYTES_PER_NANOSECOND)
