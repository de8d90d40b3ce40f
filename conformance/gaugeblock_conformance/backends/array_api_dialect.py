"""Failure snippets in the functions of an array API namespace."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..backend import Unsupported
from ..case import TensorCase
from ..dialect import Dialect
from ..trace import Name
from .array_api_python import as_given
from .expressions import Expression
from .interop_calls import EXCHANGE, write_exchange

_PYTHON = {
    "__add__": "{0} + {1}", "__sub__": "{0} - {1}", "__mul__": "{0} * {1}", "__truediv__": "{0} / {1}",
    "__floordiv__": "{0} // {1}", "__mod__": "{0} % {1}", "__pow__": "{0} ** {1}", "__matmul__": "{0} @ {1}",
    "__and__": "{0} & {1}", "__or__": "{0} | {1}", "__xor__": "{0} ^ {1}", "__invert__": "~{0}", "__neg__": "-{0}",
    "__lshift__": "{0} << {1}", "__rshift__": "{0} >> {1}", "__lt__": "{0} < {1}", "__le__": "{0} <= {1}",
    "__gt__": "{0} > {1}", "__ge__": "{0} >= {1}", "__ne__": "{0} != {1}", "__abs__": "abs({0})",
    "__bool__": "bool({0})", "__int__": "int({0})", "__float__": "float({0})", "__complex__": "complex({0})",
    "__index__": "{0}.__index__()", "item": "{0}.item()", "tolist": "np.array({0}).tolist()", "is": "{0} is {1}",
    "shape": "{0}.shape", "size": "{0}.shape", "ndim": "{0}.ndim", "dim": "{0}.ndim", "numel": "{0}.size",
}  # fmt: skip


class ArrayApiDialect(Dialect):
    """Snippets with the namespace under the last word of ``setup``; calls of no expression go through the adapter."""

    def __init__(
        self, table: Mapping[str, Expression], setup: str, spelled: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """``spelled`` has the namespace's own names of dtypes that it does not call by the spec's."""
        self.setup = setup
        self.alias = setup.splitlines()[-1].split()[-1]
        self._table = table
        self._spelled = spelled
        self.deferred: set[str] = set()
        """Operators whose results are computed later: their calls are written inside ``asarray``."""

    def with_table(self, table: Mapping[str, Expression]) -> ArrayApiDialect:
        """Return the same dialect with the expressions of another table."""
        other = copy.copy(self)
        other._table = table
        return other

    def tensor(self, data: str, dtype: str) -> str:
        return f"{self.alias}.asarray({data}, dtype={self.dtype(dtype)})"

    def shaped(self, data: str, dtype: str, sizes: tuple[int, ...]) -> str:
        if 0 in sizes and dtype == "bfloat16":
            return f"{self.alias}.zeros({sizes!r}, dtype={self.dtype(dtype)})"
        if 0 in sizes:
            # A library may make another array of empty lists than of an array of NumPy's, which the adapter gives it.
            return f"{self.alias}.asarray(np.zeros({sizes!r}, dtype={dtype!r}), dtype={self.dtype(dtype)}, copy=True)"
        made = self.tensor(data, dtype)
        return made if len(sizes) == 1 else f"{self.alias}.reshape({made}, {sizes!r})"

    def strided(self, flat: str, case: TensorCase) -> str:
        raise Unsupported("as_strided", "the array API standard has no strides")

    def expression(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        if operator in _PYTHON and not kwargs:
            return _PYTHON[operator].format(*[self.literal(a) for a in args])
        if operator == "__getitem__":
            index = as_given(args[1], lambda part: isinstance(part, Name))
            return f"{self.literal(args[0])}[{self.index(index)}]"
        if operator in EXCHANGE and operator != "warnings_of":
            return write_exchange(self, args, kwargs, operator)
        found = self._table.get(operator)
        if found is None:
            return super().expression(operator, args, kwargs)
        try:
            bound = found.bind(args, kwargs)
        except Unsupported:
            return super().expression(operator, args, kwargs)
        left_out = found.left_out(args, kwargs, bound)
        written = found.written(self.alias, {name: self.literal(value) for name, value in bound.items()}, left_out)
        return f"{self.alias}.asarray({written})" if operator in self.deferred else written

    def dtype(self, name: str) -> str:
        return f"{self.alias}.{self._spelled.get(name, name)}"

    def observe(self, what: str, variable: str) -> str:
        return {"shape": f"tuple({variable}.shape)", "dtype": f"{variable}.dtype"}.get(what) or super().observe(
            what, variable
        )

    def dtype_value(self, name: str) -> str:
        return self.dtype(name)

    def whole(self, variable: str) -> str:
        return f"np.array({variable}).tolist()"

    def cell(self, variable: str, index: int) -> str:
        return f"np.array({variable}).reshape(-1)[{index}]"

    def element(self, variable: str, index: tuple[int, ...]) -> str:
        return f"np.array({variable})[{', '.join(map(str, index)) or '()'}]"
