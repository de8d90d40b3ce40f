"""Generators of random bits: a seed and a count of calls for compiled loops, NumPy's SFC64 of that seed for others.

Compiled loops find both words in memory, and count their calls there. The numbers drawn for a seed are this engine's
own; no other backend gives the same ones.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable
from typing import Any

from ..core import lazy_numpy as np
from ..core.away import carried
from ..core.device import Device, as_device, cpu
from ..core.dtype import uint8
from ..core.errors import type_error
from ..core.fork_safety import fork_safe
from ..tensor.array_view import array_of_lazy
from ..tensor.tensor import Tensor
from .arrays import from_array

DEFAULT_SEED = 67280421310721
WORD = 1 << 64
STATE_WORDS = 8


class Generator:
    """A stream of random bits for tensors on the CPU or a CUDA device, reproducible from its seed or a saved state.
    Raises RuntimeError for another device."""

    __slots__ = ("_draw", "_words", "address", "device")

    _draw: np.random.Generator | None
    _words: array[int]
    address: int
    """Address of the seed, which the number of the next compiled call follows."""
    device: Device

    def __init__(self, device: Device | str | None = None) -> None:
        self._words = array("Q", (0, 0))
        self.address = self._words.buffer_info()[0]
        self.device = as_device(device)
        if self.device is not cpu and self.device.type != "cuda":
            raise RuntimeError(f"Generator(): argument 'device' must be cpu or cuda, got {str(device)!r}")
        self.manual_seed(DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of `seed`, 64 bits or their negative. Raises ValueError when it has more."""
        try:
            number = int(seed)
        except TypeError:
            type_error("manual_seed", "seed", seed, "int")
        if not -(WORD >> 1) <= number < WORD:
            raise ValueError(f"manual_seed(): argument 'seed' must fit 64 bits, got {seed}")
        self._words[0], self._words[1] = number % WORD, 0
        self._draw = None
        return self

    @property
    def draw(self) -> np.random.Generator:
        """NumPy's generator on the stream; it is made when it is first asked for."""
        if self._draw is None:
            bits = np.random.SFC64(self._words[0])
            fork_safe(bits.lock)
            self._draw = np.random.Generator(bits)
        return self._draw

    def seed(self) -> int:
        """Start a stream that nobody can predict and return its seed."""
        import secrets

        self.manual_seed(secrets.randbits(64))
        return self._words[0]

    def initial_seed(self) -> int:
        """The seed that the stream was started with."""
        return self._words[0]

    def get_state(self) -> Tensor:
        """The whole state as a uint8 tensor."""
        state: dict[str, Any] = dict(self.draw.bit_generator.state)
        seed, calls = self._words
        words = [*state["state"]["state"], state["has_uint32"], state["uinteger"], calls, seed]
        return from_array(np.array(words, np.uint64).view(np.uint8), uint8)

    def set_state(self, new_state: Tensor) -> Generator:
        """Continue from a saved state. Raises TypeError unless it is a uint8 tensor, RuntimeError for another size."""
        if not isinstance(new_state, Tensor) or new_state.meta.dtype is not uint8:
            raise TypeError("set_state(): argument 'new_state' must be a uint8 tensor")
        if new_state.meta.sizes != (STATE_WORDS * 8,):
            raise RuntimeError(
                f"set_state(): argument 'new_state' must have {STATE_WORDS * 8} bytes, got sizes "
                f"{list(new_state.meta.sizes)}"
            )
        words = np.ascontiguousarray(array_of_lazy(new_state)).view(np.uint64)
        state: Any = {
            "bit_generator": "SFC64",
            "state": {"state": words[:4].copy()},
            "has_uint32": int(words[4]),
            "uinteger": int(words[5]),
        }
        self.draw.bit_generator.state = state
        self._words[0], self._words[1] = int(words[7]), int(words[6])
        return self

    def clone_state(self) -> Generator:
        """A generator of its own in the same state."""
        return Generator(self.device).set_state(self.get_state())


default_generator = Generator()


class Replacing(threading.local):
    """What stands for the default generator in this thread, while a kernel runs for another device."""

    generator: Generator | None = None


REPLACING = carried(Replacing())
SEED_LISTENERS: list[Callable[[int], object]] = []
"""Called with the seed that the default generator gets; other devices' generators follow it."""


def stream_of(operator: str, generator: Generator | None) -> Generator:
    """`generator`, the default one for None. Raises TypeError for anything else."""
    if generator is None:
        return REPLACING.generator or default_generator
    if not isinstance(generator, Generator):
        type_error(operator, "generator", generator, "Generator")
    return generator


def generator_of(operator: str, generator: Generator | None) -> np.random.Generator:
    """NumPy's view of `generator`, the default one for None. Raises TypeError for anything else."""
    return stream_of(operator, generator).draw


def manual_seed(seed: int) -> Generator:
    """Start the default generator's stream of `seed` and return the generator. Raises ValueError above 64 bits."""
    default_generator.manual_seed(seed)
    for listener in SEED_LISTENERS:
        listener(default_generator.initial_seed())
    return default_generator


def seed() -> int:
    """Start an unpredictable stream in the default generator and return its seed."""
    return manual_seed(default_generator.seed()).initial_seed()


def initial_seed() -> int:
    """The seed of the default generator's stream."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator as a uint8 tensor."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Continue the default generator from a saved state. Raises TypeError, RuntimeError as Generator.set_state."""
    default_generator.set_state(new_state)


FUNCTIONS = {f.__name__: f for f in (manual_seed, seed, initial_seed, get_rng_state, set_rng_state)}
"""Functions of the public module."""
