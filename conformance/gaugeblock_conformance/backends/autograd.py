"""HIPS autograd: ``autograd.numpy``, whose functions are NumPy's with derivatives."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend import Array, Unsupported, dtype_name
from .array_api import CAPABILITIES, ArrayApiBackend
from .array_api_rules import RULES
from .expressions import table
from .jax_table import UNJUDGED
from .numpy_rules import POWER

_DERIVATIVES = "autograd.numpy"
# As NumPy has them, which lists descending= among what it lacks of the array API standard.
_NUMPY = table(
    """
    sort                   ui      (sort(self, axis=dim), argsort(self, axis=dim))
    sort.stable            ui      (sort(self, axis=dim), argsort(self, axis=dim))
    argsort                ui      argsort(self, axis=dim)
    argsort.stable         ui      argsort(self, axis=dim)
    """
)


class AutogradBackend(ArrayApiBackend):
    """The installed HIPS autograd: NumPy's arrays and functions, and derivatives of functions made of them.

    ``gaugeblock gradcheck`` checks the derivatives, of which a function may have none.

    Raises:
        ValueError: a device other than ``"cpu"``.
    """

    capabilities = CAPABILITIES | {"autograd.vjp"}
    tables = (*ArrayApiBackend.tables, _NUMPY)
    unjudged = UNJUDGED
    rules = (*RULES, POWER)
    clips_slices = True
    checks_indices = True

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError(f"autograd: device must be 'cpu', not {device!r}")
        setup = f"import autograd\nimport {_DERIVATIVES} as xp"
        super().__init__(importlib.import_module(_DERIVATIVES), "autograd", setup)
        self.dialect.gradient = "autograd.grad({f})({x})"
        self.dialect.vjp = "autograd.make_vjp({f})({x})[0]({seed})"
        self._make_vjp = importlib.import_module("autograd").make_vjp
        self._tuple = importlib.import_module("autograd.builtins").tuple

    def from_numpy(self, array: Array, requires_grad: bool = False) -> Any:
        if requires_grad:
            raise Unsupported("requires_grad", "autograd differentiates functions, not what becomes of an array")
        self.native(dtype_name(array.dtype))
        return np.array(array)

    def vjp(self, function: Callable[..., Any], inputs: Sequence[Any], seeds: Sequence[Any]) -> Sequence[Any]:
        """Gradients of complex numbers are the conjugates of the spec's, as JAX's are. A single input and
        result are passed without a tuple, so that a gradient of the wrong shape is reported as such."""
        alone = len(inputs) == len(seeds) == 1
        incoming = [np.conj(seed) for seed in seeds]
        try:
            with self.tracing():
                if alone:
                    found = [self._make_vjp(lambda given: function(given)[0])(inputs[0])[0](incoming[0])]
                else:
                    pulled, _ = self._make_vjp(lambda given: self._tuple(function(*given)))(self._tuple(inputs))
                    found = pulled(self._tuple(incoming))
        except NotImplementedError as error:
            raise Unsupported("vjp", str(error)) from None
        return [np.conj(gradient) for gradient in found]
