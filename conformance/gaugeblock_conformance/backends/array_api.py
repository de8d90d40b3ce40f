"""Any namespace of the Python array API standard as a backend: ``array_api:MODULE`` on the command line.

An operator is offered as far as the standard documents what the spec says (:mod:`.array_api_table`); the values that it
leaves open (:mod:`.array_api_limits`) are reported as not offered. Of strides, storages and views the standard says
nothing, so these capabilities are not listed. It names no classes of exceptions either: a refusal counts as any.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, cast

import numpy as np

from ..backend import NUMPY_NAMES, Array, DType, Layout, MemoryFormat, Unsupported, dtype_name
from ..dialect import Dialect, at_path
from ..module_version import module_version
from . import array_api_limits as limits
from .array_api_dialect import ArrayApiDialect
from .array_api_python import KINDS, PROTOCOLS, indexed
from .array_api_rules import RULES, places
from .array_api_table import STANDARD
from .expressions import Expression
from .interop_calls import EXCHANGE, exchange

Function = Callable[..., Any]

UNJUDGED = frozenset("exp log tanh sigmoid sin cumsum matmul".split())
CAPABILITIES = frozenset("core reduce bitwise complex index.adv matmul sort".split())


class Refusal(RuntimeError, ValueError, TypeError, IndexError, OverflowError):
    """A library's exception, whatever its class: the standard names none."""

    @classmethod
    def of(cls, error: Exception) -> Refusal:
        return cls(f"{type(error).__name__}: {error}")


# The functions of the inspection API: key in ``said``, name, arguments.
_INSPECTED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("dtypes", "dtypes", {"kind": None}),
    ("defaults", "default_dtypes", {}),
    ("capabilities", "capabilities", {}),
)


class ArrayApiBackend:
    """A backend over ``namespace``. A subclass narrows or widens capabilities, tables and limits.

    ``tables``: the later goes before the earlier; ``lacks``: operators of theirs that the library does not have;
    ``unjudged``: functions that are only differentiated, since nothing says how near their results are.
    ``clips_slices``: bounds of slices may lie outside. What the standard leaves open, and the library is judged by all
    the same: ``checks_indices``, indices outside; ``divides_by_zero``, divisions of integers by zero;
    ``overflows_quotients``, of the smallest integer by -1; ``any_index_dtype``, index arrays of another dtype than the
    default one; ``refuses_sizes``, tensors larger than any memory;
    ``longest_sum``, floats that are added up.
    """

    capabilities = CAPABILITIES
    tables: tuple[Mapping[str, Expression], ...] = (STANDARD,)
    unjudged: Mapping[str, Expression] = {}
    lacks: frozenset[str] = frozenset()
    clips_slices = False
    checks_indices = False
    divides_by_zero = False
    overflows_quotients = False
    any_index_dtype = True
    refuses_sizes = True
    longest_sum = 2**16
    has_data = True
    traced = False

    def __init__(self, namespace: Any, name: str | None = None, setup: str | None = None) -> None:
        self.namespace = namespace
        self.name = name or namespace.__name__
        self.version = module_version(namespace)
        self.device = "cpu"
        self.table: dict[str, Expression] = {
            operator: row for table in self.tables for operator, row in table.items() if operator not in self.lacks
        }
        names = (*NUMPY_NAMES, "bfloat16")
        own = {name for name in names if not hasattr(namespace, name) and hasattr(namespace, f"{name}_")}
        spelled = {name: f"{name}_" if name in own else name for name in names}
        if "half" not in self.capabilities:
            spelled = {name: own for name, own in spelled.items() if name not in ("float16", "bfloat16")}
        self.dtypes: dict[str, Any] = {
            name: getattr(namespace, own) for name, own in spelled.items() if hasattr(namespace, own)
        }
        for name, dtype in self.said["dtypes"].items():
            if name in spelled:
                # An attribute of this name may be something else, such as a field of a schema.
                if name not in self.dtypes or self.dtypes[name] != dtype:
                    spelled[name] = f"__array_namespace_info__().dtypes(kind=None)[{name!r}]"
                self.dtypes[name] = dtype
        self.dialect: Dialect = ArrayApiDialect(self.table, setup or f"import {namespace.__name__} as xp", spelled)
        self._functions: dict[tuple[str, frozenset[str]], Function] = {}

    @cached_property
    def said(self) -> Mapping[str, Mapping[str, Any]]:
        """Return dtypes, default dtypes and capabilities as the namespace's inspection API reports them; empty without
        one."""
        if inspect.getattr_static(self.namespace, "__array_namespace_info__", None) is None:
            return {"dtypes": {}, "defaults": {}, "capabilities": {}}
        info = self.namespace.__array_namespace_info__()
        said: dict[str, Mapping[str, Any]] = {}
        for name, function, options in _INSPECTED:
            # Some libraries have only a part of the inspection API, or give it other arguments.
            try:
                said[name] = getattr(info, function)(**options)
            except (AttributeError, TypeError, NotImplementedError):
                said[name] = {}
        return said

    def default_dtype(self, kind: str, maker: str) -> str | None:
        """Return the dtype that the namespace takes for ``kind`` where none is given, or that of what ``maker``
        makes."""
        said = self.said["defaults"].get(kind)
        known = next((name for name, dtype in self.dtypes.items() if said is not None and dtype == said), None)
        make = getattr(self.namespace, maker, None)
        return known or (None if make is None else self.dtype(make(1)))

    @cached_property
    def defaults_fit(self) -> bool:
        """Whether tensors made without a dtype have the spec's: float32 and int64."""
        return self.default_dtype("real floating", "zeros") == "float32" and self.integers_fit

    @cached_property
    def integers_fit(self) -> bool:
        """True if integers made without a dtype are int64, as in the spec."""
        return self.default_dtype("integral", "arange") in ("int64", None)

    def from_numpy(self, array: Array, requires_grad: bool = False) -> Any:
        if requires_grad:
            raise Unsupported("requires_grad", f"{self.name} has no tensors that ask for gradients")
        return self.namespace.asarray(array, dtype=self.native(dtype_name(array.dtype)), copy=True)

    def to_numpy(self, tensor: Any) -> Array:
        return np.array(tensor)

    def native(self, name: str) -> Any:
        """The library's dtype of this name. Raises Unsupported where it has none."""
        found = self.dtypes.get(name)
        if found is None:
            raise Unsupported(name, f"{self.name} has no such dtype")
        return found

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        for value in kwargs.values():
            if type(value) in (Layout, MemoryFormat):
                raise Unsupported(operator, f"{self.name} has no layouts and memory formats")
        if kwargs.get("out") is not None:
            raise Unsupported(operator, f"{self.name} has no out=")
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return self.finished(self._run(operator, args, kwargs))
        except (Unsupported, MemoryError):
            raise
        except NotImplementedError as error:
            raise Unsupported(operator, f"not implemented by {self.name}: {error}") from None
        except Exception as error:
            raise Refusal.of(error) from error

    def function(self, operator: str) -> Callable[..., Any]:
        """The library's own function of an operator, for benchmarks, which wait by ``finish``.

        Those of UNJUDGED are also offered where the standard leaves open how near their results are.
        """
        expression = self.table.get(operator)
        if expression is not None:
            return expression.by_position(self.namespace)
        if operator in UNJUDGED:
            function = at_path(self.namespace, operator)
            if function is not None:
                return cast("Function", function)
        raise Unsupported(operator)

    @property
    def finish(self) -> Callable[[Any], object] | None:
        """Computes what a lazy library has put off; None where there is nothing to wait for."""
        return None if type(self).finished is ArrayApiBackend.finished else self.finished

    def for_gradients(self) -> ArrayApiBackend:
        """The same library with the functions of ``unjudged``."""
        other = copy.copy(self)
        other.table = {**self.unjudged, **self.table}
        other.lacks = self.lacks - self.unjudged.keys()
        other._functions = {}
        if isinstance(self.dialect, ArrayApiDialect):
            other.dialect = self.dialect.with_table(other.table)
        return other

    @contextmanager
    def tracing(self) -> Iterator[None]:
        """Calls within are recorded by the library: their values are not looked at, nor computed before the end."""
        before, self.traced = self.traced, True
        try:
            yield
        finally:
            self.traced = before

    def finished(self, result: Any) -> Any:
        """What a call gave, as the suite may see it: scalars of NumPy's as arrays; a lazy library computes here."""
        if isinstance(result, tuple | list):
            return type(result)([self.finished(item) for item in result]) if type(result) in (tuple, list) else result
        return self.namespace.asarray(result) if isinstance(result, np.generic) else result

    def _run(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if operator in self.lacks:
            raise Unsupported(operator)
        if operator in EXCHANGE and "dlpack" in self.capabilities:
            return exchange(self.namespace, operator, self._run)(*args, **kwargs)
        if operator in PROTOCOLS:
            if kwargs:
                raise Unsupported(operator, "not in this form")
            limits.check(self, operator, dict(enumerate(args)), KINDS.get(operator, "buifc"))
            return PROTOCOLS[operator](self, *args)
        if operator == "__getitem__":
            return indexed(self, *args)
        expression = self.table.get(operator)
        if expression is None:
            raise Unsupported(operator)
        bound = expression.bind(args, kwargs)
        if not self.traced:
            limits.check(self, operator, bound, expression.kinds)
        left_out = expression.left_out(args, kwargs, bound)
        function = self._functions.get((operator, left_out))
        if function is None:
            function = self._functions[operator, left_out] = expression.function(self.namespace, left_out)
        return function(**{k: self.native(v) if type(v) is DType else v for k, v in bound.items()})

    def is_array(self, value: Any) -> bool:
        """Return whether a value is one of the library's arrays."""
        return hasattr(value, "dtype") and hasattr(value, "shape") and not isinstance(value, np.generic)

    def shape(self, tensor: Any) -> Sequence[int]:
        return tuple(int(n) for n in tensor.shape)

    def dtype(self, tensor: Any) -> str:
        return next((name for name, dtype in self.dtypes.items() if tensor.dtype == dtype), str(tensor.dtype))

    def strides(self, tensor: Any) -> Sequence[int]:
        raise Unsupported("strides", "the array API standard shows none")

    def storage_offset(self, tensor: Any) -> int:
        raise Unsupported("storage_offset", "the array API standard shows none")

    def storage_id(self, tensor: Any) -> Any:
        raise Unsupported("storage_id", "the array API standard shows no storages")

    def storage_nbytes(self, tensor: Any) -> int:
        raise Unsupported("storage_nbytes", "the array API standard shows no storages")

    def data_ptr(self, tensor: Any) -> int:
        raise Unsupported("data_ptr", "the array API standard shows no addresses")


class NamespaceBackend(ArrayApiBackend):
    """``array_api:MODULE``: the namespace ``MODULE``, such as ``array_api:numpy``, asked what the standard says.

    Raises:
        ValueError: no module is named.
        ImportError: there is no such module.
    """

    any_index_dtype = False
    refuses_sizes = False
    longest_sum = 2**8

    def __init__(self, device: str = "") -> None:
        if not device:
            raise ValueError("array_api needs a module with the standard's functions, as in array_api:numpy")
        super().__init__(importlib.import_module(device), f"array_api.{device}")
        self.rules = (*RULES, *places(self.default_dtype("indexing", "arange")))
        can = self.said["capabilities"]
        self.lacks |= frozenset() if can.get("data-dependent shapes", True) else {"nonzero", "argwhere"}
        self._masks = bool(can.get("boolean indexing", True))

    @cached_property
    def _array(self) -> type:
        """Return the class of the arrays that ``asarray`` makes of numbers."""
        return type(self.namespace.asarray([1.0]))

    def _run(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        parts = args[1] if operator == "__getitem__" and isinstance(args[1], tuple) else args[1:2]
        if operator == "__getitem__" and not self._masks and any(
            self.is_array(part) and self.dtype(part) == "bool" for part in parts
        ):
            raise Unsupported(operator, "the namespace says that it has no boolean indexing")
        result = super()._run(operator, args, kwargs)
        if self._is_deferred(result) and isinstance(self.dialect, ArrayApiDialect):
            self.dialect.deferred.add(operator)
        return result

    def finished(self, result: Any) -> Any:
        """Return what a call gave as arrays of the namespace: expressions not yet computed and NumPy's arrays are
        converted by ``asarray``."""
        if isinstance(result, tuple | list):
            items = [self.finished(item) for item in result]
            return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
        return self.namespace.asarray(result) if self._is_deferred(result) else super().finished(result)

    def _is_deferred(self, result: Any) -> bool:
        return not self.traced and self.is_array(result) and not isinstance(result, self._array)
