"""How a backend's own users would write a call: the language of failure snippets."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from .backend import Array, DType, Layout, MemoryFormat, dtype_name
from .backend_allocator import CALLS as ALLOCATOR_CALLS
from .backend_allocator import PARTS as ALLOCATOR_PARTS
from .backend_autograd import CALLS as AUTOGRAD_CALLS
from .backend_autograd import PARTS as AUTOGRAD_PARTS
from .backend_declarations import CALLS as DECLARATION_CALLS
from .backend_dispatch import CALLS, PARTS
from .backend_kernels import CALLS as KERNEL_CALLS
from .case import TensorCase
from .dlpack import PARTS as DLPACK_PARTS
from .trace import Call, Name
from .values import CHEAP, table

_PARTS = (("backend_dispatch", PARTS), ("backend_autograd", AUTOGRAD_PARTS), ("backend_allocator", ALLOCATOR_PARTS),
          ("backend_declarations", ("Declaration",)), ("dlpack", DLPACK_PARTS))  # fmt: skip
_AUGMENTED = re.compile(r"\w+ (?:[-+*/%&|^@]|//|\*\*|<<|>>)= ")
_ADAPTER_CALLS = (CALLS, KERNEL_CALLS, DECLARATION_CALLS, AUTOGRAD_CALLS, ALLOCATOR_CALLS)


class Dialect:
    """What all dialects share; subclasses write the backend's public API, or calls of its adapter.

    ``setup`` is the source line that makes the library available, by the name ``alias``. ``watching`` is how to watch a
    storage: a line for a tensor's name, and an expression for whether the storage is still there. ``adapter`` is the
    source line that makes ``backend``, the adapter, for calls that have no other form. ``gradient`` is an expression
    for the gradient of a function ``{f}`` with a real result at its operand ``{x}``, "" where the backend has none;
    ``vjp`` is one for the gradient at ``{x}`` given the gradient ``{seed}`` of the result, "" if snippets take
    ``gradient`` of one element instead.
    """

    setup = ""
    alias = ""
    gradient = ""
    vjp = ""
    adapter = ""
    watching = ("alive = backend.watch_storage({0})", "alive()")

    def imports(self, text: str) -> list[str]:
        lines = [self.setup] if self.setup else []
        needed = [name for name in ("inf", "nan", "copysign") if name in text]
        if needed:
            lines.insert(0, f"from math import {', '.join(needed)}")
        if "np." in text and "import numpy as np" not in self.setup:
            lines.insert(0, "import numpy as np")
        for module, known in _PARTS:
            parts = [name for name in known if re.search(rf"(?<![\w.]){name}\(", text)]
            if parts:
                lines.append(f"from gaugeblock_conformance.{module} import {', '.join(parts)}")
        if self.adapter and "backend." in text:
            lines.append(self.adapter)
        return lines

    def create(self, target: str, source: TensorCase | Array) -> list[str]:
        """Lines that bind ``target`` to the tensor."""
        if not isinstance(source, TensorCase):
            if 0 in source.shape:
                # Nested lists cannot say what follows a dim of size 0.
                return [f"{target} = {self.shaped('[]', dtype_name(source.dtype), source.shape)}"]
            return [f"{target} = {self.tensor(array_literal(source), dtype_name(source.dtype))}"]
        if source.plain:
            return [f"{target} = {self.shaped(self.contents(source), source.dtype, source.sizes)}"]
        flat = self.tensor(self.contents(source), source.dtype)
        return [f"{target} = {self.strided(flat, source)}"]

    def watched(self, variable: str) -> list[str]:
        """Lines that a tensor needs before ``gradient`` can be taken by it."""
        return []

    def contents(self, case: TensorCase) -> str:
        """The storage as an expression: its rule where it has a short one, else a literal list."""
        if case.literal is None and case.plain and case.storage > 64:
            if case.kind == "distinct":
                return f"list(range({case.storage}))"
            choices = f"np.array({array_literal(table(case.dtype, case.kind))}, dtype=object)"
            if case.seed == 0:
                return f"{choices}[np.arange({case.storage}) % {len(table(case.dtype, case.kind))}].tolist()"
            if case.storage > CHEAP:
                count = len(table(case.dtype, case.kind))
                draw = f"np.random.default_rng({case.seed}).integers(0, {count}, {case.storage})"
                return f"{choices}[{draw}].tolist()"
        return array_literal(case.contents)

    def tensor(self, data: str, dtype: str) -> str:
        return f"backend.from_numpy(np.array({data}, dtype={dtype!r}))"

    def shaped(self, data: str, dtype: str, sizes: tuple[int, ...]) -> str:
        """The tensor of ``sizes`` with the elements ``data``, a flat list."""
        made = self.tensor(data, dtype)
        return made if len(sizes) == 1 else f"{made}{self.reshape(sizes)}"

    def reshape(self, sizes: tuple[int, ...]) -> str:
        return f".reshape({sizes!r})"

    def strided(self, flat: str, case: TensorCase) -> str:
        return f"backend.call('as_strided', {flat}, {case.sizes!r}, {case.strides!r}, {case.offset})"

    def statement(self, step: Call) -> str:
        targets = ", ".join(step.targets) + ("," if step.unpack and len(step.targets) == 1 else "")
        text = self.expression(*step.shown)
        if targets and _AUGMENTED.match(text):
            return f"{text}; {targets} = {text.split()[0]}"
        return f"{targets} = {text}" if targets else text

    def expression(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        return f"backend.call({', '.join([repr(operator), *self.arguments(args, kwargs)])})"

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
        return [self.literal(a) for a in args] + [f"{k}={self.literal(v)}" for k, v in kwargs.items()]

    def literal(self, value: Any) -> str:
        if isinstance(value, Name):
            return value.text
        if isinstance(value, DType):
            return self.dtype(value)
        if isinstance(value, MemoryFormat):
            return self.memory_format(value)
        if isinstance(value, Layout):
            return self.layout(value)
        if isinstance(value, list):
            return "[" + ", ".join(self.literal(v) for v in value) + "]"
        if isinstance(value, tuple):
            inner = ", ".join(self.literal(v) for v in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if isinstance(value, np.ndarray):
            turned = tuple(slice(None, None, -1 if stride < 0 else None) for stride in value.strides)
            index = ", ".join("::-1" if part.step else ":" for part in turned)
            text = f"np.array({array_literal(value[turned])}, dtype={dtype_name(value.dtype)!r})"
            return f"{text}[{index}]" if "-1" in index else text
        return repr(value)

    def index(self, index: Any) -> str:
        """What stands in the brackets of ``x[index]``."""
        if isinstance(index, tuple) and index:
            return ", ".join(map(self.index, index)) + ("," if len(index) == 1 else "")
        if isinstance(index, slice):
            parts = ["" if p is None else str(p) for p in (index.start, index.stop)]
            return ":".join(parts) + (f":{index.step}" if index.step is not None else "")
        return "..." if index is Ellipsis else self.literal(index)

    def dtype(self, name: str) -> str:
        return repr(str(name))

    def memory_format(self, name: str) -> str:
        return repr(str(name))

    def layout(self, name: str) -> str:
        return self.memory_format(name)

    def observe(self, what: str, variable: str) -> str:
        """An expression for what an observer of the protocol returns."""
        return f"backend.{what}({variable})"

    def dtype_value(self, name: str) -> str:
        """What ``observe("dtype", x)`` is compared with."""
        return repr(name)

    def whole(self, variable: str) -> str:
        """An expression for the elements as nested lists."""
        return f"{variable}.tolist()"

    def cell(self, variable: str, index: int) -> str:
        """An expression for element ``index`` of the storage under ``variable``, as a Python number."""
        return f"backend.to_numpy(backend.call('as_strided', {variable}, (1,), (1,), {index}))[0]"

    def element(self, variable: str, index: tuple[int, ...]) -> str:
        return f"backend.to_numpy({variable})[{', '.join(map(str, index)) or '()'}]"


class AdapterDialect(Dialect):
    """Snippets that go through the adapter of a backend: ``setup`` is the source line that makes ``backend``.

    If the backend ``finishes`` later, a call without a named result is waited for.
    """

    def __init__(self, setup: str = "", finishes: bool = False) -> None:
        self.setup = setup
        self.finishes = finishes

    def statement(self, step: Call) -> str:
        text = super().statement(step)
        return f"backend.finish({text})" if self.finishes and not step.targets else text

    def imports(self, text: str) -> list[str]:
        lines = super().imports(text)
        markers = [name for name in ("DType", "Layout", "MemoryFormat") if f"{name}(" in text]
        if markers:
            lines.insert(0, f"from gaugeblock_conformance.backend import {', '.join(markers)}")
        return [*lines, "import ml_dtypes"] if "dtype='bfloat16'" in text else lines

    def shaped(self, data: str, dtype: str, sizes: tuple[int, ...]) -> str:
        array = f"np.array({data}, dtype={dtype!r})"
        return f"backend.from_numpy({array if len(sizes) == 1 else f'{array}.reshape({sizes!r})'})"

    def dtype(self, name: str) -> str:
        return f"DType({str(name)!r})"

    def memory_format(self, name: str) -> str:
        return f"MemoryFormat({str(name)!r})"

    def layout(self, name: str) -> str:
        return f"Layout({str(name)!r})"

    def observe(self, what: str, variable: str) -> str:
        call = f"backend.{'version_of' if what == 'version' else what}({variable})"
        return f"tuple({call})" if what in ("shape", "strides") else call

    def dtype_value(self, name: str) -> str:
        return repr(str(name))

    def whole(self, variable: str) -> str:
        return f"backend.to_numpy({variable}).tolist()"


class TorchDialect(Dialect):
    """For anything whose API follows torch's: ``module`` is its import name, ``alias`` the name in the snippet.

    On another device than a cpu ``factories`` are told the device.
    """

    def __init__(
        self, module: str, alias: str | None = None, device: str = "cpu", special: Any = None,
        factories: Collection[str] = (),
    ) -> None:  # fmt: skip
        self.setup = f"import {module}" if alias in (None, module) else f"import {module} as {alias}"
        self.alias = alias or module
        self.device = device
        self.gradient = f"{self.alias}.autograd.grad({{f}}({{x}}), {{x}})[0]"
        self._special = special or {}
        self._factories = factories

    def watched(self, variable: str) -> list[str]:
        return [f"{variable}.requires_grad_()"]

    def tensor(self, data: str, dtype: str) -> str:
        where = "" if self.device == "cpu" else f", device={self.device!r}"
        return f"{self.alias}.tensor({data}, dtype={self.dtype(dtype)}{where})"

    def strided(self, flat: str, case: TensorCase) -> str:
        return f"{flat}.as_strided({case.sizes!r}, {case.strides!r}, {case.offset})"

    def expression(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        writer = self._special.get(operator)
        if writer is not None:
            return str(writer(self, args, kwargs))
        if any(operator in calls for calls in _ADAPTER_CALLS):
            return super().expression(operator, args, kwargs)
        if "::" in operator:
            return f"{self.alias}.ops.{operator.replace('::', '.')}({', '.join(self.arguments(args, kwargs))})"
        variant, _, name = operator.rpartition(":")
        base = name.split(".")[0]
        module = self.setup.split()[1]
        if is_method(sys.modules.get(module), variant, base):
            return f"{self.literal(args[0])}.{base}({', '.join(self.arguments(args[1:], kwargs))})"
        if base in self._factories and self.device != "cpu" and "out" not in kwargs:
            kwargs = {**kwargs, "device": kwargs.get("device", self.device)}
        path = _path(module, base, variant == "function")
        return f"{self.alias}.{path}({', '.join(self.arguments(args, kwargs))})"

    def dtype(self, name: str) -> str:
        return f"{self.alias}.{name}"

    def memory_format(self, name: str) -> str:
        return f"{self.alias}.{name}"

    def observe(self, what: str, variable: str) -> str:
        return _TORCH_OBSERVERS[what].format(variable)

    def dtype_value(self, name: str) -> str:
        return self.dtype(name)

    def cell(self, variable: str, index: int) -> str:
        return f"{variable}.as_strided((1,), (1,), {index}).item()"

    def element(self, variable: str, index: tuple[int, ...]) -> str:
        return f"{variable}.tolist(){''.join(f'[{i}]' for i in index)}"


# Modules of torch's with operators of theirs, whose names begin with the module's.
_NAMESPACES = ("fft", "linalg", "sparse", "special")
# Operators that torch.nn.functional has under another name.
_NETWORK_NAMES = {"im2col": "unfold", "col2im": "fold", "log_sigmoid": "logsigmoid", "nll_loss2d": "nll_loss",
                  "nll_loss_nd": "nll_loss", "cross_entropy_loss": "cross_entropy"}  # fmt: skip


# Operators that torch.nn.functional has with other arguments: its losses name a reduction in words.
_OTHER_ARGUMENTS = frozenset(
    """l1_loss mse_loss smooth_l1_loss huber_loss binary_cross_entropy soft_margin_loss multi_margin_loss
    multilabel_margin_loss nll_loss nll_loss2d nll_loss_nd cross_entropy_loss adaptive_max_pool2d adaptive_max_pool3d
    max_unpool2d max_unpool3d fractional_max_pool2d fractional_max_pool3d""".split()
)


_NOBODYS = "gaugeblock_asks_for_nothing"


def public_paths(base: str, function: bool = False) -> list[str]:
    """Where torch may offer a function for an operator, in order: ``linalg.det`` for "linalg_det", and where no module
    has it as it stands, ``ops.aten``; ``function`` takes one of torch.nn.functional as it is."""
    prefix, _, rest = base.partition("_")
    spaces = [f"{prefix}.{rest}"] if prefix in _NAMESPACES else []
    network = [] if base in _OTHER_ARGUMENTS and not function else [f"nn.functional.{_NETWORK_NAMES.get(base, base)}"]
    return [*spaces, base, *network, f"ops.aten.{base}"]


def _path(module: str, base: str, function: bool) -> str:
    """The path that snippets write: the first that the module, if it is imported, has."""
    return next((path for path, _ in found_paths(sys.modules.get(module), base, function)), base)


def found_paths(module: Any, base: str, function: bool = False) -> Iterator[tuple[str, Any]]:
    """The paths of :func:`public_paths` at which a module has something to call, and what it has there."""
    for path in public_paths(base, function):
        found = at_path(module, path)
        if callable(found):
            yield path, found


def is_method(module: Any, variant: str, base: str) -> bool:
    """Return whether a torch-style operator is called as a method of Tensor: as ``variant`` asks, or by its name.

    In-place operators of torch.nn.functional, such as ``hardsigmoid_``, are functions alone; so they are with a module
    whose Tensor lacks the method.
    """
    if variant or not (base.endswith("_") or base in METHODS):
        return variant == "method"
    tensor = getattr(module, "Tensor", None)
    return tensor is None or at_path(tensor, base) is not None or not any(found_paths(module, base))


def at_path(module: Any, path: str) -> Any:
    """What a module has at a dotted path; None for nothing.

    A namespace that has something under any name, such as Paddle's ``ops.aten``, says nothing by it: None too.
    """
    *spaces, name = path.split(".")
    for part in spaces:
        module = getattr(module, part, None)
    return None if getattr(module, _NOBODYS, None) is not None else getattr(module, name, None)


_TORCH_OBSERVERS = {
    "shape": "tuple({0}.shape)",
    "strides": "{0}.stride()",
    "storage_offset": "{0}.storage_offset()",
    "dtype": "{0}.dtype",
    "storage_id": "{0}.untyped_storage()._cdata",
    "storage_nbytes": "{0}.untyped_storage().nbytes()",
    "data_ptr": "{0}.data_ptr()",
    "version": "{0}._version",
}

# Operators that torch offers as methods only (or whose function form means something else).
METHODS = frozenset(
    """view expand expand_as view_as reshape_as contiguous to new_empty new_zeros new_ones new_full repeat unfold
    item tolist size stride storage_offset element_size dim numel untyped_storage data_ptr is_contiguous
    is_set_to type float double half bfloat16 int long short bool masked_fill type_as byte char cfloat cdouble
    numpy nelement new_tensor to_sparse to_sparse_csr to_sparse_csc to_sparse_bsr to_sparse_bsc to_dense coalesce
    is_coalesced indices values _indices _values _nnz sparse_dim dense_dim sparse_mask crow_indices col_indices
    ccol_indices row_indices to_mkldnn int_repr dequantize q_scale q_zero_point q_per_channel_scales
    q_per_channel_zero_points q_per_channel_axis is_shared""".split()
)


def array_literal(array: Array) -> str:
    """An array as nested lists of Python literals; inf and nan by the names of ``math``."""
    if dtype_name(array.dtype) == "bfloat16":
        array = array.astype(np.float32)
    return _literal(array.tolist())


def _literal(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_literal(v) for v in value) + "]"
    if isinstance(value, complex):
        return f"complex({value.real!r}, {value.imag!r})"
    return repr(value)
