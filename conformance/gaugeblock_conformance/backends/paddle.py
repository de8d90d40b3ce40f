"""Paddle on a CPU."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from ..backend import Array, DType, Unsupported, dtype_name, numpy_dtype
from ..case import TensorCase
from .array_api import ArrayApiBackend
from .array_api_dialect import ArrayApiDialect
from .paddle_rules import DOCUMENTED, RULES
from .paddle_table import PADDLE

# What Paddle says of a dtype, or of a form, for which it has no kernel.
_NO_KERNEL = re.compile(
    "is not registered|must be one of|Unimplemented|not support|only support|should be in|rank of input should"
    "|input should be less than|must be int or float|in the topk must >= 1"
)
# Arguments whose dtypes are not those that a page lists for the elements.
_ASIDE = frozenset({"condition", "index", "mask"})


class PaddleDialect(ArrayApiDialect):
    """Snippets with views whose offset counts bytes, as Paddle's as_strided takes it."""

    def tensor(self, data: str, dtype: str) -> str:
        return f"{self.alias}.to_tensor({data}, dtype={dtype!r})"

    def strided(self, flat: str, case: TensorCase) -> str:
        offset = case.offset * numpy_dtype(case.dtype).itemsize
        return f"{self.alias}.as_strided({flat}, {list(case.sizes)!r}, {list(case.strides)!r}, {offset})"

    def observe(self, what: str, variable: str) -> str:
        return _OBSERVED[what].format(variable) if what in _OBSERVED else super().observe(what, variable)

    def whole(self, variable: str) -> str:
        return f"{variable}.tolist()"

    def cell(self, variable: str, index: int) -> str:
        return f"{variable}.as_strided([1], [1], {index} * {variable}.element_size()).item()"

    def element(self, variable: str, index: tuple[int, ...]) -> str:
        return f"{variable}.tolist()" + "".join(f"[{i}]" for i in index)


_OBSERVED = {
    "strides": "tuple({0}.strides)",
    "storage_offset": "{0}.offset // {0}.element_size()",
    "storage_id": "{0}.data_ptr() - {0}.offset",
    "storage_nbytes": "{0}._holder_size()",
    "data_ptr": "{0}.data_ptr()",
}


@dataclass(frozen=True, eq=False)
class Buffer:
    """The memory under a tensor, which has no address where there are no elements."""

    tensor: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Buffer) and bool(self.tensor._is_shared_buffer_with(other.tensor))

    def __hash__(self) -> int:
        return int(self.tensor.data_ptr()) - int(self.tensor.offset)


class PaddleBackend(ArrayApiBackend):
    """The installed Paddle, called eagerly.

    Paddle's ``offset`` counts bytes, and so does that of its as_strided, against its documentation. Operands are built
    with bytes, so that this is told of as_strided alone.

    Raises:
        ValueError: a device other than ``"cpu"``.
    """

    capabilities = frozenset(
        "core storage strided views as_strided inplace reduce bitwise complex half index.adv matmul sort".split()
    )
    tables = (PADDLE,)
    rules = RULES
    lacks = frozenset({"__pow__", "__lshift__", "__rshift__"})
    clips_slices = True
    checks_indices = True
    divides_by_zero = True
    overflows_quotients = True
    refuses_sizes = False  # zeros([2**62]) does not come back, and holds off a termination.
    longest_sum = 2**16

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError(f"paddle: device must be 'cpu', not {device!r}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            paddle = importlib.import_module("paddle")
        paddle.set_device("cpu")
        super().__init__(paddle, "paddle", "import paddle")
        # Its uint16 is another name of bfloat16.
        self.dtypes = {name: dtype for name, dtype in self.dtypes.items() if name not in ("uint16", "uint32", "uint64")}
        self.dialect = PaddleDialect(self.table, "import paddle")

    def from_numpy(self, array: Array, requires_grad: bool = False) -> Any:
        if requires_grad:
            raise Unsupported("requires_grad", "gradients are no matter of this adapter")
        name = dtype_name(array.dtype)
        self.native(name)
        given = np.array(array, order="C")
        if name == "bfloat16":
            return self.namespace.to_tensor(given.view(np.int16)).view(self.namespace.bfloat16)
        return self.namespace.to_tensor(given)

    def to_numpy(self, tensor: Any) -> Array:
        found: Array = np.array(tensor.numpy())
        return found.view(ml_dtypes.bfloat16) if tensor.dtype == self.namespace.bfloat16 else found

    def build_view(self, base: Any, sizes: Sequence[int], strides: Sequence[int], offset: int) -> Any:
        return self.namespace.as_strided(base, list(sizes), list(strides), offset * base.element_size())

    def _run(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if operator == "shape":
            raise Unsupported(operator, "shapes are lists, as documented")
        if operator in self.table:
            self._check_documented(operator, self.table[operator].bind(args, kwargs))
        try:
            return super()._run(operator, args, kwargs)
        except Exception as error:
            if _NO_KERNEL.search(str(error)):
                raise Unsupported(operator, _last_words(error)) from None
            raise

    def _check_documented(self, operator: str, bound: dict[str, Any]) -> None:
        """Raise Unsupported for dtypes and arguments of which the function's page says nothing, or something else."""
        known = DOCUMENTED.get(operator)
        for name, value in bound.items():
            for part in value if isinstance(value, tuple | list) else (value,):
                dtype = str(part) if type(part) is DType else self.dtype(part) if self.is_array(part) else None
                if known is not None and dtype is not None and name not in _ASIDE and dtype not in known:
                    raise Unsupported(operator, f"the page of its function does not list {dtype}")
        otherwise = _OTHERWISE.get(operator)
        reason = None if otherwise is None else otherwise(self, bound)
        if reason is not None:
            raise Unsupported(operator, reason)

    def strides(self, tensor: Any) -> Sequence[int]:
        return tuple(tensor.strides)

    def storage_offset(self, tensor: Any) -> int:
        return int(tensor.offset) // int(tensor.element_size())

    def storage_id(self, tensor: Any) -> Any:
        return Buffer(tensor)

    def storage_nbytes(self, tensor: Any) -> int:
        return int(tensor._holder_size())

    def data_ptr(self, tensor: Any) -> int:
        return int(tensor.data_ptr())


def _sizes(backend: PaddleBackend, bound: dict[str, Any]) -> str | None:
    had, wanted = backend.shape(bound["self"]), bound["shape"]
    kept = all(size != 0 or had[k : k + 1] == (0,) for k, size in enumerate(wanted))
    return None if kept and not (0 in wanted and -1 in wanted) else "0 stands for the size that the dim has"


def _sum(backend: PaddleBackend, bound: dict[str, Any]) -> str | None:
    dtype = bound["dtype"]
    other = dtype is not None and str(dtype) != backend.dtype(bound["self"])
    return "the page does not say whether sum converts before or after" if other else None


def _imag(backend: PaddleBackend, bound: dict[str, Any]) -> str | None:
    return "without elements its strides end the process, as real's" if 0 in backend.shape(bound["self"]) else None


def _searchsorted(backend: PaddleBackend, bound: dict[str, Any]) -> str | None:
    finite = all(np.isfinite(backend.to_numpy(bound[name])).all() for name in ("sorted_sequence", "self"))
    return None if finite else "beside NaN and infinity the size of the innermost dim is returned"


def _clip(backend: PaddleBackend, bound: dict[str, Any]) -> str | None:
    bounds = [bound[name] for name in ("min", "max")]
    return "the page does not say whether bounds may be NaN" if any(one != one for one in bounds) else None


_OTHERWISE: dict[str, Callable[[PaddleBackend, dict[str, Any]], str | None]] = {
    "reshape": _sizes,
    "sum": _sum,
    "sum.dim_IntList": _sum,
    "clamp": _clip,
    "diff": lambda backend, bound: None if bound["n"] > 0 else "n is a positive integer",
    "full": lambda backend, bound: "without dtype= it is float32" if bound["dtype"] is None else None,
    "imag": _imag,
    "repeat_interleave.self_int": lambda backend, bound: None if bound["repeats"] else "the page names no 0 repeats",
    "searchsorted.Tensor": _searchsorted,
    "rot90": lambda backend, bound: None if bound["k"] % 4 else "the page does not say whether no turn copies",
}
"""Operator -> why the page of its function says something else than the spec of a call with these arguments."""


def _last_words(error: Exception) -> str:
    """Return the message of a Paddle error without its C++ trace."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.startswith(("---", "C++"))]
    return next((line for line in lines if _NO_KERNEL.search(line)), str(error))[:200]
