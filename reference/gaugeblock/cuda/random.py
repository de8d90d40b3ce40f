"""Random numbers on CUDA devices: a generator for each, and the stream of bits that one launch gets from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..core.device import Device
from ..dispatch.operator import Operator
from ..operators.generator import SEED_LISTENERS, Generator
from ..tensor.tensor import Tensor
from .devices import AnyDevice, device_index, is_available, runtime, runtime_in_use
from .streams import is_current_stream_capturing

DRAWING = frozenset({"native_dropout"})
"""Operators that draw from the default generator and take none."""
SEED_LIMIT = 1 << 63


def launch_generator(
    operator: Operator, device: Device, kwargs: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Generator | None]:
    """The options of a call without its generator, and the one that its kernel draws from, whenever it runs.

    A launch takes one seed from the device's generator, so that what it draws depends on the order of launches only.
    Raises RuntimeError for a generator of another device.
    """
    draws = operator.name.partition(".")[0] in DRAWING
    if not draws and "generator" not in [argument.name for argument in operator.schema.arguments]:
        return kwargs, None
    if is_current_stream_capturing():
        name = operator.name.partition(".")[0]
        raise RuntimeError(f"{name}(): a graph cannot draw random numbers: each replay would draw the same")
    given = kwargs.get("generator")
    if given is None:
        given = runtime().generator(device.index or 0)
    elif given.device is not device:
        raise RuntimeError(
            f"{operator.name.partition('.')[0]}(): Expected a '{device}' device type for generator but found "
            f"'{given.device}'"
        )
    made = Generator().manual_seed(int(given.draw.integers(SEED_LIMIT)))
    return {name: value for name, value in kwargs.items() if name != "generator"}, made


def default_generators() -> tuple[Generator, ...]:
    """The default generators of all devices."""
    found = runtime()
    return tuple(found.generator(index) for index in range(found.count))


def manual_seed(seed: int) -> None:
    """Start the current device's generator with `seed`; nothing happens without a device."""
    if is_available():
        runtime().generator(device_index("manual_seed")).manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Start every device's generator with `seed`; nothing happens without a device."""
    if is_available():
        for generator in default_generators():
            generator.manual_seed(seed)


def seed() -> None:
    """Start the current device's generator where nobody can predict it."""
    if is_available():
        runtime().generator(device_index("seed")).seed()


def seed_all() -> None:
    """Start every device's generator with one seed that nobody can predict."""
    if is_available():
        first, *others = default_generators()
        number = first.seed()
        for generator in others:
            generator.manual_seed(number)


def initial_seed() -> int:
    """The seed of the current device's generator."""
    return runtime().generator(device_index("initial_seed")).initial_seed()


def get_rng_state(device: AnyDevice = "cuda") -> Tensor:
    """The state of a device's generator as a uint8 tensor on the CPU."""
    return runtime().generator(device_index("get_rng_state", device)).get_state()


def set_rng_state(new_state: Tensor, device: AnyDevice = "cuda") -> None:
    """Continue a device's generator from a saved state. TypeError, RuntimeError for what is none."""
    runtime().generator(device_index("set_rng_state", device)).set_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    """The states of all devices' generators."""
    return [generator.get_state() for generator in default_generators()]


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Continue all devices' generators from saved states."""
    for generator, state in zip(default_generators(), new_states, strict=False):
        generator.set_state(state)


def _follow(seed: int) -> None:
    if runtime_in_use() is not None:
        manual_seed_all(seed)


SEED_LISTENERS.append(_follow)
