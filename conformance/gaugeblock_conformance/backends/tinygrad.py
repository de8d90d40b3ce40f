"""tinygrad: ``tinygrad``, ``tinygrad:CPU``, ``tinygrad:CPU:X86`` ..."""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Callable, Sequence
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..backend import NUMPY_NAMES, Array, Unsupported, dtype_name
from .array_api import ArrayApiBackend
from .array_api_dialect import ArrayApiDialect
from .array_api_rules import RULES, accumulation
from .tinygrad_rules import TINYGRAD_RULES
from .tinygrad_table import TINYGRAD, UNJUDGED

# Operators made of comparisons, and the first of their arguments in which NaN is left open.
_ORDERED = {"relu": 0, "clamp": 1}


def _repeats(dims: Any) -> bool:
    """Return whether a dim is named twice."""
    return isinstance(dims, tuple | list) and len(set(dims)) < len(dims)


def _parts(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


class TinygradDialect(ArrayApiDialect):
    """Snippets in tinygrad's own methods."""

    gradient = "{f}({x}).gradient({x})[0]"
    vjp = "{f}({x}).gradient({x}, gradient={seed})[0]"

    def tensor(self, data: str, dtype: str) -> str:
        return f"tinygrad.Tensor({data}, dtype={self.dtype(dtype)})"

    def shaped(self, data: str, dtype: str, sizes: tuple[int, ...]) -> str:
        return self.tensor(data, dtype) + ("" if len(sizes) == 1 else f".reshape({sizes!r})")

    def dtype(self, name: str) -> str:
        return f"tinygrad.dtypes.{name}"

    def whole(self, variable: str) -> str:
        return f"{variable}.tolist()"

    def element(self, variable: str, index: tuple[int, ...]) -> str:
        return f"{variable}.numpy()[{', '.join(map(str, index)) or '()'}]"


class TinygradBackend(ArrayApiBackend):
    """The installed tinygrad on ``device``, by default the one that it chooses itself.

    Tensors are computed lazily: each call of the suite is realized before it returns. bfloat16, which tinygrad emulates
    on a CPU, is left out. Storages and strides cannot be seen. No tensor asks for gradients, is a leaf or has a node:
    ``gradient`` differentiates what was computed by any tensor, which is what ``gaugeblock gradcheck`` checks.

    Raises:
        RuntimeError: tinygrad has no such device here, or no compiler for it.
    """

    capabilities = frozenset("core reduce bitwise index.adv matmul autograd.vjp".split())
    tables = (TINYGRAD,)
    unjudged = UNJUDGED
    lacks = frozenset({"__pow__"})
    rules = (*RULES, *accumulation("https://docs.tinygrad.org/tensor/ops/#tinygrad.Tensor.{}"), *TINYGRAD_RULES)
    clips_slices = True
    divides_by_zero = True
    refuses_sizes = False  # It asks for memory when tensors are written.
    longest_sum = 2**10

    def __init__(self, device: str = "") -> None:
        if device:
            os.environ["DEV"] = device
        tinygrad = importlib.import_module("tinygrad")
        self.tensor_class = tinygrad.Tensor
        names = [name for name in NUMPY_NAMES if hasattr(tinygrad.dtypes, name)]
        dtypes = {name: getattr(tinygrad.dtypes, name) for name in names}
        super().__init__(SimpleNamespace(__name__="tinygrad", Tensor=tinygrad.Tensor, **dtypes), "tinygrad")
        self.version = metadata.version("tinygrad")
        setup = "import tinygrad" if not device else f"import os; os.environ['DEV'] = {device!r}\nimport tinygrad"
        self.dialect = TinygradDialect(self.table, setup)
        self.device = device or str(tinygrad.Device.DEFAULT)
        compiler = os.environ.get("CC", "clang")
        by_compiler = type(tinygrad.Device[tinygrad.Device.DEFAULT].renderer).__name__ == "ClangRenderer"
        if by_compiler and shutil.which(compiler) is None:
            raise RuntimeError(f"tinygrad compiles for {self.device} by {compiler}, which is not found")
        tinygrad.Tensor([1.0]).add(1.0).realize()

    @property
    def defaults_fit(self) -> bool:
        """tinygrad's integers are of int32."""
        return False

    integers_fit = defaults_fit

    def from_numpy(self, array: Array, requires_grad: bool = False) -> Any:
        if requires_grad:
            raise Unsupported("requires_grad", "tinygrad's tensors do not ask for gradients")
        self.native(dtype_name(array.dtype))
        # One number is a constant to tinygrad, and folded by other rules than elements.
        return self.tensor_class(np.array(array, order="C").reshape(-1)).reshape(array.shape).realize()

    def _run(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if operator == "__getitem__" and any(self.is_array(i) and self.dtype(i) == "bool" for i in _parts(args[1])):
            raise Unsupported(operator, "tinygrad has no masks as indices")
        if operator == "roll" and len(args) > 2 and _repeats(args[2]):
            raise Unsupported(operator, "tinygrad does not say what shifts along a dim named twice do")
        if operator == "unfold" and not args[0].shape:
            raise Unsupported(operator, "tinygrad does not say what windows a tensor without dims has")
        if operator == "masked_select" and np.broadcast_shapes(*(x.shape for x in args)) != args[0].shape:
            raise Unsupported(operator, "tinygrad broadcasts the mask alone")
        start = _ORDERED.get(operator)
        if start is not None and not self.traced and any(map(self._has_nan, args[start:])):
            raise Unsupported(operator, "tinygrad promises nothing for NaN")
        try:
            return super()._run(operator, args, kwargs)
        except (TypeError, IndexError) as error:
            if "not defined" in str(error) or "not supported" in str(error):
                raise Unsupported(operator, str(error)) from None
            raise

    def vjp(self, function: Callable[..., Any], inputs: Sequence[Any], seeds: Sequence[Any]) -> Sequence[Any]:
        with self.tracing():
            terms = [
                result.gradient(*inputs, gradient=seed)
                for result, seed in zip(function(*inputs), seeds, strict=True)
            ]  # fmt: skip
        return [self.finished(sum(of_input[1:], of_input[0])) for of_input in zip(*terms, strict=True)]

    def _has_nan(self, value: Any) -> bool:
        return bool(np.isnan(self.to_numpy(value)).any() if self.is_array(value) else value != value)

    def to_numpy(self, tensor: Any) -> Array:
        return np.array(tensor.numpy())

    def finished(self, result: Any) -> Any:
        if isinstance(result, self.tensor_class):
            return result if self.traced else result.realize()
        return super().finished(result)
