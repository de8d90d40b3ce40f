"""NumPy as a backend: fewer capabilities, each of them real; the rest is skipped by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import Array, DType, Unsupported, dtype_name, numpy_dtype
from ..case import TensorCase
from ..dialect import Dialect
from .interop_calls import NUMPY_CALLS, NUMPY_WRITERS, warnings_of
from .numpy_arithmetic import ARITHMETIC, REDUCTIONS, UFUNCS
from .numpy_functions import FUNCTIONS
from .numpy_operators import OPERATORS, fresh
from .numpy_rules import RULES
from .numpy_views import VIEWS, address, offset_of, storage_of, strides_of, wrap

_QUERIES: dict[str, Callable[..., Any]] = {
    "item": lambda x: x.item() if x.size == 1 else _one_element(x),
    "tolist": lambda x: x.tolist(),
    "numel": lambda x: x.size,
    "dim": lambda x: x.ndim,
    "ndim": lambda x: x.ndim,
    "element_size": lambda x: x.itemsize,
    "nbytes": lambda x: x.size * x.itemsize,
    "size": lambda x, dim=None: x.shape if dim is None else x.shape[wrap(x, dim)],
    "stride": lambda x, dim=None: strides_of(x) if dim is None else strides_of(x)[wrap(x, dim)],
    "storage_offset": offset_of,
    "shape": lambda x: x.shape,
    "__len__": len,
    "is": lambda x, y: x is y,
}

def _describable(x: Any) -> None:
    """Raise Unsupported for an array whose dtype NumPy has from others."""
    if isinstance(x, np.ndarray) and dtype_name(x.dtype) == "bfloat16":
        raise Unsupported("__dlpack__", "NumPy gives no capsules of dtypes that others define")


def _capsule(x: Array, **options: Any) -> Any:
    _describable(x)
    return x.__dlpack__(**options)


def _taken(x: Any, **options: Any) -> Array:
    _describable(x)
    return np.from_dlpack(x, **options)


_EXCHANGE: dict[str, Callable[..., Any]] = {
    "from_dlpack": _taken,
    "__dlpack__": _capsule,
    "__dlpack_device__": lambda x: x.__dlpack_device__(),
    "frombuffer": np.frombuffer,
}


def _one_element(x: Array) -> Any:
    raise RuntimeError(f"item: a tensor of {x.size} elements cannot become one number")


_TEMPLATES = {
    "as_strided": "np.lib.stride_tricks.as_strided({0}, {1}, {2})",
    "transpose.int": "np.swapaxes({0}, {1}, {2})",
    "permute": "np.transpose({0}, {1})",
    "t": "{0}.T",
    "expand": "np.broadcast_to({0}, {1})",
    "select.int": "np.moveaxis({0}, {1}, 0)[{2}, ...]",
    "unsqueeze": "np.expand_dims({0}, {1})",
    "squeeze": "np.squeeze({0})",
    "reshape": "{0}.reshape({1})",
    "clone": "np.array({0}, order='K')",
    "contiguous": "np.ascontiguousarray({0})",
    "__getitem__": "{0}[{1}]",
    "__setitem__": "{0}[{1}] = {2}",
    "copy_": "np.copyto({0}, {1})",
    "fill_.Scalar": "{0}.fill({1})",
    "zero_": "{0}.fill(0)",
    "item": "{0}.item()",
    "tolist": "{0}.tolist()",
    "__dlpack_device__": "{0}.__dlpack_device__()",
}
_OBSERVERS = {
    "shape": "{0}.shape",
    "strides": "tuple(s // {0}.itemsize for s in {0}.strides)",
    "storage_offset": "({0}.ctypes.data - ({0} if {0}.base is None else {0}.base).ctypes.data) // {0}.itemsize",
    "dtype": "{0}.dtype.name",
    "storage_id": "id({0} if {0}.base is None else {0}.base)",
    "storage_nbytes": "({0} if {0}.base is None else {0}.base).nbytes",
    "data_ptr": "{0}.ctypes.data",
}


class NumpyDialect(Dialect):
    """Snippets in plain NumPy."""

    setup = "import numpy as np"

    def imports(self, text: str) -> list[str]:
        lines = super().imports(text)
        return [*lines, "import ml_dtypes"] if "bfloat16" in text else lines

    def tensor(self, data: str, dtype: str) -> str:
        return f"np.array({data}, dtype={dtype!r})"

    def strided(self, flat: str, case: TensorCase) -> str:
        strides = tuple(s * numpy_dtype(case.dtype).itemsize for s in case.strides)
        return f"np.lib.stride_tricks.as_strided({flat}[{case.offset}:], {case.sizes!r}, {strides!r})"

    def expression(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        template = _TEMPLATES.get(operator)
        if template is not None and not kwargs:
            return template.format(*[self.literal(a) for a in args])
        ufunc = UFUNCS.get(operator.replace("_.", ".").removesuffix("_"), operator.split(".")[0])
        given = self.arguments(args, {("axis" if k == "dim" else k): v for k, v in kwargs.items()})
        if operator == "__dlpack__":
            return f"{given[0]}.__dlpack__({', '.join(given[1:])})"
        if operator in NUMPY_WRITERS:
            return str(NUMPY_WRITERS[operator](self, args, kwargs))
        if operator.split(".")[0].endswith("_"):
            given.append(f"out={self.literal(args[0])}")
        return f"np.{ufunc}({', '.join(given)})"

    def observe(self, what: str, variable: str) -> str:
        return _OBSERVERS[what].format(variable)

    def cell(self, variable: str, index: int) -> str:
        return f"({variable} if {variable}.base is None else {variable}.base).reshape(-1)[{index}]"

    def element(self, variable: str, index: tuple[int, ...]) -> str:
        return f"{variable}[{', '.join(map(str, index)) or '()'}]"


class NumpyBackend:
    """The installed NumPy; ``device`` must be ``"cpu"``."""

    capabilities = frozenset(
        """core strided storage views as_strided inplace reduce bitwise complex index.adv index.set half
        buffer dlpack""".split()
    )
    has_data = True
    rules = RULES

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError(f"numpy: device must be 'cpu', not {device!r}")
        self.name = "numpy"
        self.version = np.__version__
        self.device = device
        self.dialect: Dialect = NumpyDialect()
        self._table = {
            **VIEWS, **OPERATORS, **ARITHMETIC, **REDUCTIONS, **_QUERIES, **NUMPY_CALLS, **_EXCHANGE,
            "warnings_of": warnings_of(np, self.call),
        }  # fmt: skip

    def from_numpy(self, array: Array, requires_grad: bool = False) -> Array:
        if requires_grad:
            raise Unsupported("requires_grad", "NumPy has no autograd")
        return fresh(np.array(array, order="C"))

    def to_numpy(self, tensor: Array) -> Array:
        return tensor

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        function = self._table.get(operator)
        if function is None:
            raise Unsupported(operator)
        if kwargs.get("out") is not None:
            raise Unsupported(operator, "out= is not offered by this adapter")
        named = {k: numpy_dtype(v) if isinstance(v, DType) else v for k, v in kwargs.items()}
        try:
            return function(*args, **named)
        except TypeError as error:
            if "argument" in str(error):
                raise Unsupported(operator, f"not in this form: {error}") from None
            raise

    def function(self, operator: str) -> Callable[..., Any]:
        """NumPy's own function, which also does what ``call`` refuses because NumPy promises less than the spec."""
        function = FUNCTIONS.get(operator)
        if function is None:
            raise Unsupported(operator)
        return function

    def shape(self, tensor: Array) -> tuple[int, ...]:
        return tensor.shape

    def strides(self, tensor: Array) -> tuple[int, ...]:
        return strides_of(tensor)

    def storage_offset(self, tensor: Array) -> int:
        return offset_of(tensor)

    def dtype(self, tensor: Array) -> str:
        return dtype_name(tensor.dtype)

    def storage_id(self, tensor: Array) -> int:
        return id(storage_of(tensor))

    def storage_nbytes(self, tensor: Array) -> int:
        return storage_of(tensor).nbytes

    def data_ptr(self, tensor: Array) -> int:
        return address(tensor)
