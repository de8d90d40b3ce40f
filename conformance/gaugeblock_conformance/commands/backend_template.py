"""An adapter for TEMPLATE, for the conformance suite gaugeblock.

It runs as it stands, on NumPy arrays:

    gaugeblock validate TEMPLATE_FILE:TemplateBackend --budget quick

Ten minutes to your own backend:

1. Put your tensor type in place of NumPy's: ``from_numpy``, ``to_numpy`` and the observers below them.
2. Put your operators into ``OPERATORS``, under the names of the spec: ``gaugeblock operators`` lists them, and
   ``gaugeblock operators add`` prints their schemas. What is not there raises ``Unsupported`` and is reported as such;
   where only an argument or a dtype is not, raise it with a reason, and other calls of the operator are asked.
   If your module has torch's names, derive from ``gaugeblock_conformance.backends.torch_style.TorchStyleBackend``
   instead: that is three lines.
3. Name more ``CAPABILITIES`` as you go: each one switches on the requirements that need it. What you leave out is
   skipped by name. ``gaugeblock requirements --area views`` shows which capability a requirement needs. ``validate``
   checks this adapter first: what it does not carry is withdrawn, or ends the run with status 3, and never counts
   against the backend.
4. Where your documentation rules otherwise than the spec, say so in ``rules``, each row with the sentence and its page:
   ``gaugeblock_conformance.own_rules`` lists the kinds. The backend is asked that instead, and reports show the row.
5. In this folder ``gaugeblock validate TEMPLATE`` finds the file. To be found everywhere, name the class in the
   pyproject.toml of your package:

       [project.entry-points."gaugeblock.backends"]
       TEMPLATE = "your_package.your_module:TemplateBackend"
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaugeblock_conformance.backend import Unsupported, dtype_name
from gaugeblock_conformance.own_rules import OwnRule

Array = NDArray[Any]

CAPABILITIES = frozenset({"core", "strided", "storage"})

OPERATORS: dict[str, Callable[..., Any]] = {
    "neg": np.negative,
    "bitwise_not": np.bitwise_not,
    "logical_not": np.logical_not,
    "eq.Tensor": np.equal,
    "lt.Tensor": np.less,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "clone": lambda self: np.array(self, order="K"),
}

# What the spec refuses and NumPy takes, or refuses in another way: kinds of dtypes, exception, message.
REFUSED: dict[str, tuple[str, type[Exception], str]] = {
    "neg": ("b", RuntimeError, "Negation, the `-` operator, on a bool tensor is not supported."),
    "bitwise_not": ("fc", NotImplementedError, '"bitwise_not_cpu" not implemented for this dtype'),
    "lt.Tensor": ("c", NotImplementedError, '"lt_cpu" not implemented for complex numbers'),
    "maximum": ("c", NotImplementedError, "maximum does not support complex inputs"),
    "minimum": ("c", NotImplementedError, "minimum does not support complex inputs"),
}


class TemplateBackend:
    """What the suite needs of a backend (``gaugeblock_conformance.backend.Backend`` is the full description)."""

    name = "TEMPLATE"
    version = np.__version__
    capabilities = CAPABILITIES
    # Such as OwnRule("dtypes", ("eq",), {"bool": "uint8"}, sentence="Comparisons give uint8.", source="https://...").
    rules: Sequence[OwnRule] = ()

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError(f"TEMPLATE has no device {device!r}; allowed: cpu")
        self.device = device

    def from_numpy(self, array: Array, requires_grad: bool = False) -> Array:
        """A fresh contiguous tensor with its own storage holding a copy of ``array``."""
        return np.array(array, order="C", copy=True)

    def to_numpy(self, tensor: Array) -> Array:
        """The values of ``tensor`` as an array of the same shape and dtype."""
        return np.array(tensor, copy=True)

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        """Run one operator. An exception raised here is the backend's answer, and is judged."""
        function = OPERATORS.get(operator)
        if function is None:
            raise Unsupported(operator)
        kinds, error, message = REFUSED.get(operator, ("", RuntimeError, ""))
        if any(a.dtype.kind in kinds for a in args if isinstance(a, np.ndarray)):
            raise error(message)
        result = function(*args, **kwargs)
        return np.asarray(result) if isinstance(result, np.generic) else result

    def shape(self, tensor: Array) -> Sequence[int]:
        return tensor.shape

    def dtype(self, tensor: Array) -> str:
        """The spec's name of the dtype, such as ``"float32"``."""
        return dtype_name(tensor.dtype)

    # Optional: def support(self, operator) -> "native" for a kernel of your own, "fallback" where other operators or
    # another library do the work, None where you cannot tell: the verdicts of `gaugeblock support` and of reports.

    # Optional: def finish(self, result) -> None, if calls return before the result is there: waits for it, so that an
    # error is blamed on the call that caused it.

    # A backend that lists neither capability "strided" nor "storage" needs none of the methods from here on.

    # Needed by "strided", with storage_id below: strides and offset count elements, not bytes.

    def strides(self, tensor: Array) -> Sequence[int]:
        return tuple(stride // tensor.itemsize for stride in tensor.strides)

    def storage_offset(self, tensor: Array) -> int:
        return (self.data_ptr(tensor) - self.data_ptr(_owner(tensor))) // tensor.itemsize

    # Needed by "storage": two tensors share a storage exactly when their ids are equal.

    def storage_id(self, tensor: Array) -> Any:
        return id(_owner(tensor))

    def storage_nbytes(self, tensor: Array) -> int:
        return _owner(tensor).nbytes

    def data_ptr(self, tensor: Array) -> int:
        """Address of the first element."""
        return int(tensor.__array_interface__["data"][0])


def _owner(tensor: Array) -> Array:
    while isinstance(tensor.base, np.ndarray):
        tensor = tensor.base
    return tensor
