"""MLX on a CPU: ``mlx.core``, computed at once."""

from __future__ import annotations

import importlib
import re
import weakref
from collections.abc import Sequence
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from ..backend import Array, Unsupported, dtype_name
from ..trace import Call, Name
from .array_api import CAPABILITIES, ArrayApiBackend
from .array_api_dialect import ArrayApiDialect
from .array_api_limits import kind_of
from .array_api_python import as_given, check_index
from .mlx_table import LACKS, MLX, RULES, UNJUDGED


class MlxDialect(ArrayApiDialect):
    """Snippets in which bfloat16, which NumPy does not know, is read by way of float32."""

    gradient = "xp.grad({f})({x})"
    vjp = "xp.vjp({f}, [{x}], [{seed}])[1][0]"

    def strided(self, flat: str, case: Any) -> str:
        if 0 in case.sizes:
            return f"{self.alias}.zeros({case.sizes!r}, dtype={self.dtype(case.dtype)})"
        return f"{self.alias}.as_strided({flat}, {case.sizes!r}, {case.strides!r}, {case.offset})"

    def statement(self, step: Call) -> str:
        """A call whose result nothing reads is computed all the same, as by the adapter."""
        text = super().statement(step)
        if step.operator == "__setitem__":
            return f"{text}; {self.alias}.eval({text.partition('[')[0]})"
        return text if step.targets else f"{self.alias}.eval({text})"

    def expression(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        if operator == "__setitem__" and not kwargs:
            index = as_given(args[1], lambda part: isinstance(part, Name))
            return f"{self.literal(args[0])}[{self.index(index)}] = {self.literal(args[2])}"
        return super().expression(operator, args, kwargs)

    def whole(self, variable: str) -> str:
        return f"{variable}.tolist()"

    def cell(self, variable: str, index: int) -> str:
        return f"{variable}.reshape(-1)[{index}].item()"

    def element(self, variable: str, index: tuple[int, ...]) -> str:
        return f"{variable}.tolist()" + "".join(f"[{i}]" for i in index)


class MlxBackend(ArrayApiBackend):
    """The installed MLX on the CPU.

    Each call is computed before it returns. Arrays by ``as_strided`` read memory in any order, so that operators meet
    operands of any strides, which cannot be seen. Gradients belong to functions; ``gaugeblock gradcheck`` checks them.

    Raises:
        ValueError: a device other than ``"cpu"``.
    """

    capabilities = CAPABILITIES | {"half", "as_strided", "index.set", "autograd.vjp", "autograd.jvp"}
    tables = (*ArrayApiBackend.tables, MLX)
    unjudged = UNJUDGED
    lacks = LACKS
    rules = RULES
    clips_slices = True
    overflows_quotients = True
    refuses_sizes = False  # Arrays of one number take no memory.
    longest_sum = 2**16

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError(f"mlx: device must be 'cpu', not {device!r}")
        core = importlib.import_module("mlx.core")
        core.set_default_device(core.cpu)
        super().__init__(core, "mlx")
        # Arrays of the suite, whose elements are the memory under them; they have no hash.
        self._given: dict[int, weakref.ref[Any]] = {}
        self.dialect = MlxDialect(self.table, "import mlx.core as xp", {"bool": "bool_"})

    def from_numpy(self, array: Array, requires_grad: bool = False) -> Any:
        if requires_grad:
            raise Unsupported("requires_grad", "MLX differentiates functions, not what becomes of an array")
        made = self.namespace.array(np.array(array), dtype=self.native(dtype_name(array.dtype)))
        self.namespace.eval(made)
        key = id(made)
        self._given[key] = weakref.ref(made, lambda gone: self._given.pop(key, None))
        return made

    def to_numpy(self, tensor: Any) -> Array:
        if tensor.dtype == self.namespace.bfloat16:
            bits: Array = np.array(tensor.view(self.namespace.uint16))
            return bits.view(ml_dtypes.bfloat16)
        return np.array(tensor)

    def vjp(self, function: Any, inputs: Sequence[Any], seeds: Sequence[Any]) -> Sequence[Any]:
        with self.tracing():
            given = list(inputs), list(seeds)
            found = _differentiated(self.namespace.vjp, lambda *args: list(function(*args)), *given)
        return [self.finished(gradient) for gradient in found]

    def jvp(self, function: Any, inputs: Sequence[Any], tangents: Sequence[Any]) -> Sequence[Any]:
        with self.tracing():
            given = list(inputs), list(tangents)
            found = _differentiated(self.namespace.jvp, lambda *args: list(function(*args)), *given)
        return [self.finished(tangent) for tangent in found]

    def _run(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if operator == "__setitem__":
            x, index, value = args
            check_index(self, x, index)
            if not (self.is_array(value) and self.dtype(value) == self.dtype(x)):
                raise Unsupported(operator, "MLX does not say how it converts what is assigned")
            for part in _parts(args):
                if self._is_mask(part) and self._lacks_elements(x, part, value):
                    raise Unsupported(operator, "assignments by a mask give an element for each True, as documented")
            x[as_given(index, self.is_array)] = value
            self.namespace.eval(x)
            return None
        if operator == "__getitem__" and any(map(self._is_mask, _parts(args))):
            raise Unsupported(operator, "masks as indices are not yet supported by MLX, as documented")
        if operator == "kron" and not all(prod(self.shape(x)) for x in args):
            raise Unsupported(operator, "the page does not say whether arrays may be empty")
        if operator == "__matmul__" and kind_of(self.dtype(args[0])) not in "fc":
            raise Unsupported(operator, "MLX multiplies matrices of inexact dtypes")
        if operator in ("std.correction", "var.correction") and type(kwargs.get("correction", 1)) is not int:
            raise Unsupported(operator, "MLX's ddof is an integer")
        if operator == "as_strided":
            return self._as_strided(*args)
        try:
            return super()._run(operator, args, kwargs)
        except ValueError as error:
            if "not yet support" in str(error):
                raise Unsupported(operator, str(error)) from None
            raise

    def _as_strided(self, x: Any, sizes: Any, strides: Any, offset: int = 0) -> Any:
        kept = self._given.get(id(x))
        whole = kept is not None and kept() is x
        if not whole:
            raise Unsupported("as_strided", "MLX counts in the elements of the array, not in the memory, as documented")
        if 0 in sizes:
            # as_strided itself refuses arrays without elements as not row-contiguous.
            return self.namespace.zeros(sizes, dtype=x.dtype)
        return self.namespace.as_strided(x, sizes, strides, offset)

    def _is_mask(self, part: Any) -> bool:
        return self.is_array(part) and self.dtype(part) == "bool"

    def _lacks_elements(self, x: Any, mask: Any, value: Any) -> bool:
        per_place = prod(self.shape(x)[len(self.shape(mask)) :])
        return bool(value.size < int(self.to_numpy(mask).sum()) * per_place)

    def finished(self, result: Any) -> Any:
        if isinstance(result, self.namespace.array):
            if not self.traced:
                self.namespace.eval(result)
            return result
        return super().finished(result)


def _differentiated(differentiate: Any, *arguments: Any) -> Sequence[Any]:
    try:
        found: Sequence[Any] = differentiate(*arguments)[1]
    except (ValueError, RuntimeError) as error:
        if re.search(r"[Nn]ot (yet )?implemented", str(error)):
            raise Unsupported(differentiate.__name__, str(error)) from None
        raise
    return found


def _parts(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return args[1] if isinstance(args[1], tuple) else (args[1],)
