"""Adapter for any module whose API follows torch's: names, methods, dtypes, storage."""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend import NUMPY_NAMES, Array, DType, Layout, MemoryFormat, Ran, Unsupported, dtype_name
from ..backend_autograd import CALLS as AUTOGRAD_CALLS
from ..backend_declarations import CALLS as DECLARATION_CALLS
from ..backend_dispatch import is_dispatch_call
from ..backend_sharing import CALLS as SHARING_CALLS
from ..dialect import METHODS, Dialect, TorchDialect, at_path, found_paths, public_paths
from ..module_version import module_version
from .autograd_calls import Differentiating
from .autograd_writers import AUTOGRAD_WRITERS
from .declaration_calls import Declaring
from .dispatch_calls import Dispatching
from .interop_calls import NUMPY_CALLS, NUMPY_WRITERS, warnings_of
from .sharing_calls import SHARING_WRITERS, Sharing
from .storage_calls import STORAGE_CALLS, STORAGE_WRITERS, save_and_load
from .torch_probes import probes_of_style

Function = Callable[..., Any]

CAPABILITIES = frozenset(
    """core storage strided views views.base views.dtype as_strided inplace out promote reduce bitwise complex half
    index.adv index.set matmul memory_format numpy resize sort rng version threads meta serialize deterministic
    requires_grad strides.out bigmem dtype.limited dtype.float8 device.multi schema codegen buffer dlpack""".split()
)

NEEDS_DATA = frozenset("numpy buffer dlpack threads serialize bigmem refcount sort rng".split())
"""Capabilities of which tensors without data, on the meta device, know nothing."""

FACTORIES = frozenset(
    """empty zeros ones full arange linspace eye tensor scalar_tensor empty_strided rand randn randint randperm
    logspace as_tensor bartlett_window blackman_window hamming_window hann_window kaiser_window fft_fftfreq
    fft_rfftfreq tril_indices triu_indices sparse_coo_tensor sparse_csr_tensor""".split()
)
"""What makes tensors of no tensors: it is told the device."""


def _getter(name: str) -> Function:
    return lambda x: getattr(x, name)


def _setattr(x: Any, name: str, value: Any) -> None:
    setattr(x, name, value)


def _slice(x: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    return x[(slice(None),) * (dim % max(x.dim(), 1)) + (slice(start, end, step),)]


# Functions that take the tensors of a list one by one.
_VARIADIC = frozenset("broadcast_tensors block_diag cartesian_prod chain_matmul".split())

# Operators that Python writes in its own syntax, as attributes, or under another name.
SPECIAL: dict[str, Function] = {
    "__getitem__": python.getitem,
    "__setitem__": python.setitem,
    "__len__": len,
    "__iter__": lambda x: list(iter(x)),
    "__bool__": bool,
    "__int__": int,
    "__float__": float,
    "__complex__": complex,
    "__index__": python.index,
    "__hash__": hash,
    "__eq__": python.eq,
    "__setattr__": _setattr,
    "__getattr__": getattr,
    "slice.Tensor": _slice,
    "unique_consecutive": lambda x, *flags, **named: x.unique_consecutive(*flags, **named),
    "unique_dim": lambda x, dim, *flags, **named: x.unique(*flags, **named, dim=dim),
    "T": _getter("T"),
    "mT": _getter("mT"),
    "H": _getter("H"),
    "mH": _getter("mH"),
    "data": _getter("data"),
    "real": _getter("real"),
    "imag": _getter("imag"),
    "shape": _getter("shape"),
    "ndim": _getter("ndim"),
    "nbytes": _getter("nbytes"),
    "itemsize": _getter("itemsize"),
    "_base": _getter("_base"),
    "requires_grad": _getter("requires_grad"),
    "is_quantized": _getter("is_quantized"),
    "is": python.is_,
    **{
        f"__{name}__": getattr(python, name)
        for name in """add sub mul truediv floordiv mod pow neg pos abs invert xor lshift rshift ne lt le gt ge matmul
        iadd isub imul itruediv ifloordiv ixor""".split()
    },
}
SPECIAL |= {"__and__": python.and_, "__or__": python.or_, "__iand__": python.iand, "__ior__": python.ior}
SPECIAL |= STORAGE_CALLS | NUMPY_CALLS

_SYMBOLS = {
    "__add__": "+", "__sub__": "-", "__mul__": "*", "__truediv__": "/", "__floordiv__": "//", "__mod__": "%",
    "__pow__": "**", "__and__": "&", "__or__": "|", "__xor__": "^", "__lshift__": "<<", "__rshift__": ">>",
    "__eq__": "==", "__ne__": "!=", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">=", "__matmul__": "@",
    "is": "is", "__iadd__": "+=", "__isub__": "-=", "__imul__": "*=", "__itruediv__": "/=",
}  # fmt: skip
_CALLS = {"__len__": "len", "__bool__": "bool", "__int__": "int", "__float__": "float", "__complex__": "complex",
          "__hash__": "hash", "__iter__": "list"}  # fmt: skip


def _write_slice(d: Dialect, args: Sequence[Any], kwargs: Any) -> str:
    rest = dict(zip(("dim", "start", "end", "step"), args[1:], strict=False)) | kwargs
    lead = ":, " * rest.get("dim", 0)
    index = d.index(slice(rest.get("start"), rest.get("end"), rest.get("step")))
    return f"{d.literal(args[0])}[{lead}{index}]"


Writer = Callable[[Dialect, Sequence[Any], Any], str]


def _attribute(name: str) -> Writer:
    return lambda d, a, k: f"{d.literal(a[0])}.{name}"


def _infix(symbol: str) -> Writer:
    return lambda d, a, k: f"{d.literal(a[0])} {symbol} {d.literal(a[1])}"


def _prefix(call: str) -> Writer:
    return lambda d, a, k: f"{call}({d.literal(a[0])})"


def _unpacked(name: str) -> Writer:
    return lambda d, a, k: f"{d.setup.split()[-1]}.{name}(*{d.literal(a[0])})"


WRITERS: dict[str, Writer] = {
    "unique_consecutive": lambda d, a, k: (
        f"{d.literal(a[0])}.unique_consecutive({', '.join(d.arguments(tuple(a[1:]), k))})"
    ),
    "unique_dim": lambda d, a, k: (
        f"{d.literal(a[0])}.unique({', '.join(d.arguments(tuple(a[2:]), {**k, 'dim': a[1]}))})"
    ),
    **{name: _unpacked(name) for name in _VARIADIC},
    "tensordot": lambda d, a, k: (
        f"{d.setup.split()[-1]}.tensordot({d.literal(a[0])}, {d.literal(a[1])}, "
        f"dims={d.literal(k.get('dims', tuple(a[2:])))})"
    ),
    "__getitem__": lambda d, a, k: f"{d.literal(a[0])}[{d.index(a[1])}]",
    "__setitem__": lambda d, a, k: f"{d.literal(a[0])}[{d.index(a[1])}] = {d.literal(a[2])}",
    "__index__": lambda d, a, k: f"{d.literal(a[0])}.__index__()",
    "__setattr__": lambda d, a, k: f"{d.literal(a[0])}.{a[1]} = {d.literal(a[2])}",
    "__neg__": _prefix("-"),
    "__invert__": _prefix("~"),
    "__abs__": _prefix("abs"),
    "slice.Tensor": _write_slice,
    **{
        name: _attribute(name)
        for name in "T mT H mH data real imag shape ndim nbytes itemsize _base requires_grad is_quantized".split()
    },
    **{name: _infix(symbol) for name, symbol in _SYMBOLS.items()},
    **{name: _prefix(call) for name, call in _CALLS.items()},
    **STORAGE_WRITERS,
    **AUTOGRAD_WRITERS,
    **NUMPY_WRITERS,
    **SHARING_WRITERS,
}


class TorchStyleBackend:
    """A backend over ``module`` (torch's API) with its tensors on ``device``.

    ``capabilities`` defaults to what torch on a CPU offers; a subclass narrows or widens it.
    """

    name = "torch-style"
    capabilities = CAPABILITIES
    has_data = True
    finish: Callable[[Any], object] | None = None
    ran: list[Ran] | None = None

    def __init__(self, module: Any, device: str = "cpu", name: str | None = None) -> None:
        self.module = module
        self.device = device
        self.name = name or module.__name__
        self.version = module_version(module)
        self.dialect: Dialect = TorchDialect(
            module.__name__, device=device, special=WRITERS, factories=FACTORIES
        )
        self.probes = probes_of_style(module, lambda: self.from_numpy(np.ones((2, 3), np.float32)))
        self._dispatching = Dispatching(module, device, self.call)
        self._differentiating = Differentiating(module, self.call)
        self._functions: dict[str, Function] = {}
        self._dtypes: dict[str, Any] = {}
        self._names: dict[Any, str] = {}
        for dtype in (*NUMPY_NAMES, "bfloat16"):
            native = getattr(module, dtype, None)
            if native is not None:
                self._dtypes[dtype] = native
                self._names[native] = dtype
        self._has_formats = hasattr(module, "contiguous_format")
        self._dtype_class = type(next(iter(self._names), None))

    def from_numpy(self, array: Array, requires_grad: bool = False) -> Any:
        if dtype_name(array.dtype) == "bfloat16":
            made = self.module.from_numpy(np.ascontiguousarray(array).view(np.int16)).view(self.module.bfloat16)
        else:
            made = self.module.from_numpy(np.ascontiguousarray(array))
        if array.ndim == 0:
            made = made.reshape(())
        if self.device != "cpu":
            made = made.to(self.device)
        made = made.clone(memory_format=self.module.contiguous_format) if self._has_formats else made.clone()
        return made.requires_grad_() if requires_grad else made

    def to_numpy(self, tensor: Any) -> Array:
        if tensor.requires_grad:
            tensor = tensor.detach()
        if not self.is_strided(tensor):
            tensor = tensor.to_dense()
        if getattr(tensor, "is_quantized", False):
            tensor = tensor.dequantize()
        if self.device != "cpu":
            tensor = self._on_host(tensor)
        if tensor.is_conj():
            tensor = tensor.resolve_conj()
        if tensor.is_neg():
            tensor = tensor.resolve_neg()
        if tensor.dtype is self.module.bfloat16:
            import ml_dtypes

            array: Array = tensor.view(self.module.int16).numpy().view(ml_dtypes.bfloat16)
            return array
        result: Array = tensor.numpy()
        return result

    def is_strided(self, tensor: Any) -> bool:
        """Return whether the tensor has strides and a storage: sparse and blocked ones have neither."""
        return str(getattr(tensor, "layout", "strided")).endswith("strided")

    def _on_host(self, tensor: Any) -> Any:
        return tensor.cpu()

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if self.ran is not None:
            self.ran.append((operator, args, kwargs))
        function = self._functions.get(operator)
        if function is None:
            function = self._resolve(operator)
            if ":" not in operator:  # the function of a declared operator is another one once it is declared again
                self._functions[operator] = function
        if kwargs:
            kwargs = {k: self._argument(v) for k, v in kwargs.items()}
        try:
            result = function(*[self._argument(a) if type(a) in _TRANSLATED else a for a in args], **kwargs)
        except RuntimeError as error:
            missing = self._missing(operator, error)
            if missing is None:
                raise
            try:
                raise missing from error
            finally:
                del missing  # else the exception refers to itself by this frame, and keeps all others alive
        return DType(self._dtype_name(result)) if isinstance(result, self._dtype_class) else result

    def _missing(self, operator: str, error: RuntimeError) -> Unsupported | None:
        """Return what to raise if an error says that the device does not offer an operator, or not for a dtype."""
        return None

    def function(self, operator: str) -> Function:
        """The module's own callable of an operator: what ``call`` ends in."""
        base = operator.rpartition(":")[2].split(".")[0]
        method = at_path(self.module.Tensor, base)
        return method if base in METHODS and callable(method) else self._resolve(operator)

    def _argument(self, value: Any) -> Any:
        if type(value) is DType:
            return self._dtypes.get(value) or getattr(self.module, value, None) or self._missing_dtype(value)
        if type(value) is MemoryFormat:
            return getattr(self.module, value)
        if type(value) is Layout:
            return getattr(self.module, value, None) or self._missing_layout(value)
        if type(value) is tuple or type(value) is list:
            if _TRANSLATED.isdisjoint(map(type, value)):
                return value if type(value) is tuple else list(value)
            return type(value)([self._argument(v) for v in value])
        return value

    def _missing_dtype(self, name: str) -> Any:
        raise Unsupported(name, f"{self.name} has no dtype of this name")

    def _missing_layout(self, name: str) -> Any:
        raise Unsupported(name, f"{self.name} has no layout of this name")

    def _resolve(self, operator: str) -> Function:
        if operator in SPECIAL:
            return SPECIAL[operator]
        if is_dispatch_call(operator):
            return self._dispatching.resolve(operator)
        if operator in AUTOGRAD_CALLS:
            return self._differentiating.resolve(operator)
        if operator == "save_and_load":
            return save_and_load(self.module)
        if operator == "warnings_of":
            return warnings_of(self.module, self.call)
        if operator in SHARING_CALLS:
            return Sharing(self.module).resolve(operator)
        if operator in DECLARATION_CALLS:
            return Declaring(self.module).resolve(operator)
        variant, _, name = operator.rpartition(":")
        base = name.split(".")[0]
        function = _function(self.module, base, variant == "function") if variant != "method" else None
        method = at_path(self.module.Tensor, base) if variant != "function" else None
        if (base.endswith("_") or base in METHODS or function is None) and method is not None:
            return _method(base)
        if function is None:
            raise Unsupported(operator, f"{self.name} has none of {', '.join(self._tried(variant, base))}")
        if base in _VARIADIC:
            return lambda tensors: function(*tensors)
        if base == "tensordot":
            return lambda x, y, *lists, **named: function(
                x, y, **(named or {"dims": lists if len(lists) > 1 else lists[0]})
            )
        if base in FACTORIES and self.device != "cpu":
            device = self.device
            return lambda *args, **kwargs: function(*args, **{"device": device, **kwargs})
        result: Function = function
        return result

    def _tried(self, variant: str, base: str) -> list[str]:
        """The names under which an operator was looked for."""
        functions = public_paths(base, variant == "function") if variant != "method" else []
        return [*functions, *([f"Tensor.{base}"] if variant != "function" else [])]

    def shape(self, tensor: Any) -> tuple[int, ...]:
        return tuple(tensor.shape)

    def strides(self, tensor: Any) -> tuple[int, ...]:
        return tuple(tensor.stride())

    def storage_offset(self, tensor: Any) -> int:
        return int(tensor.storage_offset())

    def dtype(self, tensor: Any) -> str:
        return self._dtype_name(tensor.dtype)

    def _dtype_name(self, dtype: Any) -> str:
        return self._names.get(dtype) or str(dtype).rpartition(".")[2]

    def storage_id(self, tensor: Any) -> Any:
        return tensor.untyped_storage()._cdata

    def storage_nbytes(self, tensor: Any) -> int:
        return int(tensor.untyped_storage().nbytes())

    def data_ptr(self, tensor: Any) -> int:
        return int(tensor.data_ptr())

    def version_of(self, tensor: Any) -> int:
        """Capability ``version``: the in-place version counter."""
        return int(tensor._version)


def _function(module: Any, base: str, function: bool) -> Any:
    """The public function of an operator: ``linalg.det`` for "linalg_det"; None when there is none."""
    return next((found for _, found in found_paths(module, base, function)), None)


_TRANSLATED = frozenset({DType, Layout, MemoryFormat, list, tuple})


def _method(name: str) -> Function:
    def call(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(tensor, name)(*args, **kwargs)

    return call
