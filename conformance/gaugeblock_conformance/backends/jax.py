"""JAX on a CPU: ``jax.numpy`` with 64-bit dtypes switched on."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend import Array, Unsupported
from . import subnormals
from .array_api import CAPABILITIES, ArrayApiBackend
from .array_api_rules import RULES, accumulation, last_place
from .jax_table import UNJUDGED


class JaxBackend(ArrayApiBackend):
    """The installed JAX.

    Arrays cannot be written to, gradients belong to functions and not to arrays, and random numbers to keys: so there
    are neither in-place operators nor generators, and of autograd there are derivatives of functions, which
    ``gaugeblock gradcheck`` checks. Slices are clipped, and subnormal numbers count as zero, as documented.

    Raises:
        ValueError: a device other than ``"cpu"``.
    """

    capabilities = CAPABILITIES | {"half", "autograd.vjp", "autograd.jvp", "dlpack"}
    unjudged = UNJUDGED
    # A power to a number is a product, as far from the exact result as that may be.
    lacks = frozenset({"pow.Tensor_Scalar", "__pow__"})
    # Its documentation gives formulas, and says nothing of how results are rounded.
    rules = (
        *RULES,
        *accumulation("https://docs.jax.dev/en/latest/_autosummary/jax.numpy.{}.html", cumsum="cumulative_sum",
                      cumprod="cumulative_prod"),
        last_place("to.dtype", "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.astype.html",
                   "Convert an array to a specified dtype."),
    )  # fmt: skip
    # Indices outside are clipped, as documented.
    clips_slices = True

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError(f"jax: device must be 'cpu', not {device!r}")
        jax = importlib.import_module("jax")
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", True)
        setup = "import jax; jax.config.update('jax_enable_x64', True)\nimport jax.numpy as xp"
        super().__init__(importlib.import_module("jax.numpy"), "jax", setup)
        self.dialect.gradient = "jax.grad({f})({x})"
        self.dialect.vjp = "jax.vjp({f}, {x})[1]({seed})[0]"
        self._jax = jax
        self._device_put = jax.device_put
        self._block_until_ready: Callable[[Any], object] = jax.block_until_ready

    @property
    def finish(self) -> Callable[[Any], object]:
        """Waits for JAX, which computes behind the caller."""
        return self._block_until_ready

    def from_numpy(self, array: Array, requires_grad: bool = False) -> Any:
        if requires_grad:
            raise Unsupported("requires_grad", "JAX differentiates functions, not what becomes of an array")
        return self._device_put(np.array(array))

    def vjp(self, function: Callable[..., Any], inputs: Sequence[Any], seeds: Sequence[Any]) -> Sequence[Any]:
        """JAX takes the other convention for complex numbers: its gradients are the conjugates of the spec's."""
        with self.tracing():
            _, pulled = self._jax.vjp(function, *inputs)
            return [gradient.conj() for gradient in pulled(tuple(seed.conj() for seed in seeds))]

    def jvp(self, function: Callable[..., Any], inputs: Sequence[Any], tangents: Sequence[Any]) -> Sequence[Any]:
        with self.tracing():
            found: Sequence[Any] = self._jax.jvp(function, tuple(inputs), tuple(tangents))[1]
            return found

    def _run(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = super()._run(operator, args, kwargs)
        if not self.traced:
            subnormals.check(self, operator, args, kwargs, result)
        return result
