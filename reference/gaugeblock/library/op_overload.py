"""``gaugeblock.ops``: operators as objects, by namespace, name and overload, with their schemas and derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

from gaugeblock_spec.schema import Alias, Argument, DefaultValue, Schema

from ..calls.binding import bind_operator
from ..calls.caller import Bound, Single
from ..calls.factories import of_schema
from ..core.errors import type_error
from ..dispatch.dispatcher import REGISTRY, redispatch
from ..dispatch.keys import DispatchKeySet, check_key
from ..dispatch.modes import outer_form, public, without_defaults
from ..dispatch.operator import IMPLIED_NAMESPACE, Operator
from ..dispatch.overrides import NOT_OVERRIDDEN, PLAIN, intercept
from ..dispatch.state import OVERRIDING
from ..kernels.compiler import made_once
from .bind import bind


class _Checked(Single):
    """Checks the arguments of calls that have no entry in the call cache against the schema."""

    checks = True

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Bound:
        return Bound(self._operator, *bind(self._operator, args, kwargs))


class OpOverload:
    """One overload of an operator. Calling it checks the arguments against the schema and dispatches."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        namespace, _, name = operator.qualified_name.partition("::")
        self.namespace = namespace
        self._opname, _, overload = name.partition(".")
        self._overloadname = overload or "default"
        self.__name__ = f"{self._opname}.{self._overloadname}"
        self.__module__ = f"gaugeblock.ops.{namespace}"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if OVERRIDING or not PLAIN.issuperset([value.__class__ for value in args]):
            found = intercept(self, args, kwargs)
            if found is not NOT_OVERRIDDEN:
                return found
        return self._call(*args, **kwargs)

    @made_once
    def _call(self) -> Callable[..., Any]:
        checked = _Checked(self._operator)
        made = bind_operator(self._operator, checked)
        return of_schema(self._operator, made if hasattr(made, "binding") else checked)

    def redispatch(self, keyset: DispatchKeySet, /, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel of the highest key in `keyset`, whatever the arguments carry."""
        values, options = bind(self._operator, args, kwargs)
        return redispatch(self._operator, keyset.mask, *values, **options)

    @property
    def _schema(self) -> FunctionSchema:
        return FunctionSchema(self._operator.qualified_name, self._operator.schema)

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """All overloads of the name."""
        found: OpOverloadPacket = getattr(getattr(OPS, self.namespace), self._opname)
        return found

    @property
    def is_view(self) -> bool:
        """Return whether a result shares the storage of an argument that is not written."""
        return any(r.alias is not None and not r.alias.mutable for r in self._operator.schema.returns)

    def name(self) -> str:
        """The name with namespace and overload: ``aten::add.Tensor``."""
        return self._operator.qualified_name

    def has_kernel_for_dispatch_key(self, key: str) -> bool:
        """Return whether a kernel is registered under exactly this key."""
        return self._operator.has_kernel(check_key(str.__str__(key)))

    def has_kernel_for_any_dispatch_key(self, keys: DispatchKeySet) -> bool:
        """Return whether a kernel is registered under one of these keys."""
        return self._operator.has_kernel(*keys)

    def py_impl(self, key: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorator: register a kernel under `key` for good."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            REGISTRY.register(self._operator.name, str.__str__(key), adapted(self._operator, function))
            return function

        return register

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __reduce__(self) -> tuple[Any, ...]:
        return find_overload, (self.name(),)


def find_overload(name: str) -> OpOverload:
    """The object of ``aten::add.Tensor``. RuntimeError when it is not declared."""
    found: OpOverload = public(REGISTRY.find(name))
    return found


def _classes(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the classes of values; of a list or tuple those of its elements."""
    return tuple([tuple(map(type, one)) if one.__class__ in LISTS else one.__class__ for one in values])


LISTS = frozenset({list, tuple})


class OpOverloadPacket:
    """All overloads of one name; calling it takes the first whose schema fits."""

    def __init__(self, namespace: str, name: str) -> None:
        self._namespace = namespace
        self.__name__ = name
        self._qualified_op_name = f"{namespace}::{name}"
        self._base = self._qualified_op_name.removeprefix(IMPLIED_NAMESPACE)
        self._fitting: dict[tuple[Any, ...], tuple[OpOverload, Callable[..., Any]]] = {}
        """Classes of arguments, and the names of the last ones -> the overload, and what is called where nobody
        overrides functions."""
        self._known: tuple[Operator, ...] = ()

    def _operators(self) -> tuple[Operator, ...]:
        return REGISTRY.overloads(self._base)

    def overloads(self) -> list[str]:
        """The names of the overloads; the nameless one is "default"."""
        return [operator.name.partition(".")[2] or "default" for operator in self._operators()]

    def __getattr__(self, name: str) -> OpOverload:
        operator = REGISTRY.operators.get(self._base if name == "default" else f"{self._base}.{name}")
        if operator is None or name.startswith("__"):
            raise AttributeError(
                f"The underlying op of '{self._namespace}.{self.__name__}' has no overload name '{name}'"
            )
        made: OpOverload = public(operator)
        if operator.sealed:  # it stays
            self.__dict__[name] = made
        return made

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        operators = REGISTRY.overloads(self._base)
        if operators is not self._known:
            self._fitting, self._known = {}, operators
        classes: tuple[Any, ...] = tuple(map(type, args))
        if not LISTS.isdisjoint(classes):
            classes = _classes(args)
        if kwargs:
            classes = (*classes, *_classes(kwargs.values()), *kwargs)
        fitting = self._fitting.get(classes)
        if fitting is not None:
            return fitting[1 if not OVERRIDING else 0](*args, **kwargs)
        reasons: list[RuntimeError] = []
        for operator in operators:
            try:
                bind(operator, args, kwargs)
            except RuntimeError as mismatch:
                reasons.append(mismatch)
                continue
            found: OpOverload = public(operator)
            kinds = [kind for one in classes for kind in (one if one.__class__ is tuple else (one,))]
            plain = PLAIN.issuperset([kind for kind in kinds if kind.__class__ is not str])
            self._fitting[classes] = found, found._call if plain else found
            return found(*args, **kwargs)
        if len(reasons) == 1:
            raise reasons[0]
        lines = "\n * ".join(map(str, reasons))
        raise RuntimeError(f"no overload of {self._qualified_op_name} takes the arguments:\n * {lines}")

    def __dir__(self) -> list[str]:
        return [*{*object.__dir__(self), *self.overloads()}]

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._namespace}.{self.__name__}')>"

    def __str__(self) -> str:
        return f"{self._namespace}.{self.__name__}"


class OpNamespace:
    """The operators of one namespace as attributes."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._packets: dict[str, OpOverloadPacket] = {}

    def __getattr__(self, name: str) -> OpOverloadPacket:
        packet = self._packets.get(name) or OpOverloadPacket(self._name, name)
        if name.startswith("__") or not packet._operators():
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")
        if packet._operators()[0].sealed:  # they stay
            self.__dict__[name] = packet
        return self._packets.setdefault(name, packet)

    def __dir__(self) -> list[str]:
        prefix = f"{self._name}::"
        names = [operator.qualified_name for operator in REGISTRY.operators.values()]
        return sorted({name[len(prefix) :].partition(".")[0] for name in names if name.startswith(prefix)})

    def __repr__(self) -> str:
        return f"<namespace {self._name} of gaugeblock.ops>"


class Ops:
    """Namespaces as attributes."""

    def __getattr__(self, name: str) -> OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        found: OpNamespace = self.__dict__.setdefault(name, OpNamespace(name))
        return found


OPS = Ops()


class SchemaArgument:
    """An argument or result of a FunctionSchema."""

    __slots__ = ("_argument", "kwarg_only", "name", "type")

    def __init__(self, argument: Argument) -> None:
        self._argument = argument
        self.name = argument.name
        self.type = argument.type
        self.kwarg_only = argument.kwarg_only

    @property
    def alias_info(self) -> SchemaAlias | None:
        """Return what the annotation ``(a!)`` says; None without one."""
        return None if self._argument.alias is None else SchemaAlias(self._argument.alias)

    @property
    def is_write(self) -> bool:
        """Return whether the operator writes the argument."""
        return self._argument.written

    @property
    def default_value(self) -> DefaultValue:
        """The default as a Python value; None also when there is none."""
        return self._argument.default_value if self.has_default_value() else None

    def has_default_value(self) -> bool:
        """Return whether the argument may be left out."""
        return self._argument.default is not None


class SchemaAlias:
    """An alias annotation: the sets of names before and after the call, and whether the value is written."""

    __slots__ = ("after_set", "before_set", "is_write")

    def __init__(self, alias: Alias) -> None:
        self.before_set = set(alias.before)
        self.after_set = set(alias.after or alias.before)
        self.is_write = alias.mutable


class FunctionSchema:
    """The schema of one overload: `name` with its namespace, `overload_name`, `arguments`, `returns`."""

    def __init__(self, qualified: str, schema: Schema) -> None:
        self.name = qualified.partition(".")[0]
        self.overload_name = schema.overload
        self.arguments = [SchemaArgument(argument) for argument in schema.arguments]
        self.returns = [SchemaArgument(Argument(r.name or "", r.type, alias=r.alias)) for r in schema.returns]
        self.is_mutable = any(argument.is_write for argument in self.arguments)
        self._text = f"{self.name.partition('::')[0]}::{str(schema).rpartition('::')[2]}"

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


Kernel = Callable[..., Any]


def adapted(operator: Operator, function: Kernel, with_keyset: bool = False) -> Kernel:
    """A kernel of one operator: it sees the arguments without those that equal the schema's defaults."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        keys = [DispatchKeySet(mask=args[0])] if with_keyset else []
        values, options = without_defaults(operator, args[len(keys) :], kwargs)
        return function(*keys, *values, **options)

    kernel.kernel = function  # type: ignore[attr-defined]
    return kernel


def boxed(function: Kernel, with_keyset: bool = False) -> Kernel:
    """A fallback for all operators: it gets the operator's object first, and the key set before that if asked for."""

    def fallback(operator: Operator, mask: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        operator, args = outer_form(operator, args)
        values, options = without_defaults(operator, args, kwargs)
        keys = [DispatchKeySet(mask=mask)] if with_keyset else []
        return function(*keys, public(operator), *values, **options)

    fallback.kernel = function  # type: ignore[attr-defined]
    return fallback


class Derivative(NamedTuple):
    """``backward(ctx, *grads)`` returns a gradient per input; ``setup_context(ctx, inputs, output)`` saves for it."""

    backward: Callable[..., Any]
    setup_context: Callable[..., Any] | None


class MissingDerivative:
    """Stands for the derivative of an operator that has none: it is never a silent zero."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.setup_context = None

    def backward(self, *args: Any) -> NoReturn:
        """Raises RuntimeError: nobody registered how to differentiate the operator."""
        raise RuntimeError(
            f"Trying to backward through {self.name} but no autograd formula was registered; use "
            f"gaugeblock.library.register_autograd({self.name!r}, backward)"
        )


def derivative_of(op: str | OpOverload) -> Derivative | MissingDerivative | None:
    """Return what was registered for an operator: MissingDerivative if nothing was, None for the engine's own.
    RuntimeError when it is not declared."""
    name = op.name() if isinstance(op, OpOverload) else op
    if not isinstance(name, str):
        type_error("derivative_of", "op", op, "str or OpOverload")
    found: Derivative | MissingDerivative | None = REGISTRY.find(name).derivative
    return found
