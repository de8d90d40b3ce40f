"""The general path of a binding: overload resolution by the schemas, then the dispatcher."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gaugeblock_spec.schema import Argument, parse

from ..core.device import Device
from ..core.dtype import DType
from ..core.memory_format import MemoryFormat
from ..core.warn import warn
from ..dispatch.dispatcher import REGISTRY, call
from ..dispatch.operator import Operator
from ..dispatch.overrides import NOT_OVERRIDDEN, intercept
from ..dispatch.state import OVERRIDING
from ..iteration.dimensions import resize_output
from ..operators.arguments import OPTIONS, check_out_dtype
from ..operators.invoke import invoke
from ..operators.operand_checks import check_number
from ..operators.tensor_data import tensor
from ..tensor.getters import set_requires_grad
from ..tensor.tensor import Tensor
from .overloads import (
    NO,
    NUMBERS_AS_TENSORS,
    Group,
    Overload,
    by_keyword,
    converter_of,
    first_size,
    optional,
    or_number,
    shown_type,
    wrong_element,
)  # fmt: skip

EXACT = frozenset({Tensor, int, float, bool, complex, str, type(None), DType, Device, MemoryFormat})
"""Classes whose instances override nothing."""
SYNONYMS = {
    "axis": "dim", "keepdims": "keepdim", "input": "self", "x": "self", "a": "self", "x1": "self", "x2": "other",
}  # fmt: skip
"""Keyword spellings that are accepted beside the schema's own."""

_SWAPPED = {"dim0": "axis0", "dim1": "axis1", "input": "self"}
RENAMED = {"swapdims": _SWAPPED, "swapdims_": _SWAPPED}
"""Public name of an alias -> its parameter names, where they differ from the operator's."""

NAMED = (RuntimeError, ValueError, IndexError, TypeError)
"""Errors whose messages name the operator."""
NAMING = re.compile(r"\w\(\)|^[\w.]+: ")
"""The name of an operator in a message."""


class Parameter:
    """One declared argument with its converter."""

    __slots__ = ("argument", "convert", "default", "int_list", "keyword", "name", "required")

    def __init__(self, argument: Argument, keyword: bool, numbers_too: bool) -> None:
        self.argument = argument
        self.name = argument.name
        self.keyword = keyword
        self.required = argument.default is None
        self.default = None if self.required else argument.default_value
        self.convert = converter_of(argument.type)
        if argument.default == "[]":
            self.convert = optional(self.convert, ())
        self.int_list = argument.base_type in ("int", "SymInt") and argument.is_list
        if numbers_too and argument.base_type == "Tensor" and not argument.is_list:
            self.convert = or_number(self.convert)


class Signature:
    """The parameters of one overload, and the operators of its plain and out= forms."""

    def __init__(self, overload: Overload, *, numbers_too: bool = False) -> None:
        schema = parse(overload.schema)
        self.overload = overload
        self.numbers_too = numbers_too
        self.parameters = [Parameter(a, by_keyword(overload.row, a), numbers_too) for a in schema.arguments]
        self.positional = [p for p in self.parameters if not p.keyword]
        self.names = {p.name for p in self.parameters}
        self.operator: Operator = REGISTRY.find(overload.operator)
        self.out_operator = None if overload.out is None else REGISTRY.find(overload.out.partition("(")[0])
        self.out_names = (
            [a.name for a in parse(overload.out).keyword_only if a.written] if overload.out is not None else []
        )

    def shown(self) -> str:
        parts = []
        starred = False
        for parameter in self.parameters:
            if parameter.keyword and not starred:
                parts.append("*")
                starred = True
            name = "input" if parameter.name == "self" else parameter.name
            default = "" if parameter.required else f" = {parameter.default}"
            parts.append(f"{shown_type(parameter.argument.type)} {name}{default}")
        return f"({', '.join(parts)})"


class Bound(NamedTuple):
    """An operator with the arguments that it is called with, positional and by keyword."""

    operator: Operator
    values: Sequence[Any]
    options: dict[str, Any]


class Mismatch(Exception):
    """Why an overload does not take the arguments."""


class Caller:
    """Callable that picks the first overload whose types fit, in the order of the group."""

    checks = False
    __slots__ = ("_public", "_signatures", "group", "is_method", "name")

    def __init__(self, group: Group, *, is_method: bool) -> None:
        self.group = group
        self.name = group.name
        self._public: Any = None
        self.is_method = is_method
        self._signatures: list[Signature] | None = None

    @property
    def public(self) -> Any:
        """The function that stands for this binding when a ``__torch_function__`` is asked."""
        return self._public or getattr(Tensor, self.name)

    def publish(self, function: Any) -> None:
        """Let `function` stand for this binding."""
        self._public = function

    def signatures(self) -> list[Signature]:
        """Parsed on the first use; those that take numbers for tensors come last."""
        if self._signatures is None:
            self._signatures = [Signature(overload) for overload in self.group.overloads]
            if {self.name, self.name.rstrip("_")} & NUMBERS_AS_TENSORS:
                self._signatures += [Signature(overload, numbers_too=True) for overload in self.group.overloads]
        return self._signatures

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.explaining(self._run, args, kwargs)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = self.bind(args, kwargs)
        return call(found.operator, *found.values, **found.options) if isinstance(found, Bound) else found

    def explaining(self, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *rest: Any) -> Any:
        """Return the result of ``run(args, kwargs, *rest)``; what it raises names this operator."""
        try:
            return run(args, kwargs, *rest)
        except NAMED as error:
            self._name_in(error)
            raise

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Bound | Any:
        """Return the operator that takes the arguments, and these as it takes them. Return the result if the call was
        overridden, or is not one call of an operator."""
        if kwargs and kwargs.get("out", self) is None and (self._writes() or not self._makes_tensors()):
            del kwargs["out"]
        if OVERRIDING or not EXACT.issuperset([one.__class__ for one in (*args, *kwargs.values())]):
            found = intercept(self.public, args, kwargs)
            if found is not NOT_OVERRIDDEN:
                return found
        if self.is_method and "out" in kwargs:
            raise TypeError(f"{self.name}() got an unexpected keyword argument 'out'")
        if "requires_grad" in kwargs and self._makes_tensors():
            wanted = kwargs.pop("requires_grad")
            made = self(*args, **kwargs)
            return set_requires_grad(made, True) if wanted else made
        out = None if kwargs.get("out") is None else kwargs.pop("out")
        reasons: list[str] = []
        for signature in self.signatures():
            try:
                values, options = self._match(signature, self._gathered(signature, args), kwargs)
            except Mismatch as mismatch:
                reasons.append(str(mismatch))
                continue
            if signature.numbers_too and not any(isinstance(value, Tensor) for value in values):
                values[0] = tensor(values[0])
            if out is not None:
                writing = self._writing(signature)
                if writing is not None:
                    return self._bind_out(writing, values, options, out)
                if self.name in WRITING_PARTS:
                    view = REGISTRY.find(signature.operator.name.replace("_copy", ""))
                    write_parts(self.name, call(view, *values, **options), out)
                    return None
                reasons.append("got an unexpected keyword argument 'out'")
                continue
            return Bound(signature.operator, values, options)
        older = modern(self.name, args, kwargs, is_method=self.is_method)
        if older is not None:
            return self(older.pop("self"), **older, **({} if out is None else {"out": out}))
        raise self._error(args, kwargs, reasons)

    def _name_in(self, error: Exception) -> None:
        """Put the name of the operator before a message that says neither it nor that of a part of it."""
        if error.__class__ in NAMED and len(error.args) == 1 and isinstance(error.args[0], str):
            message = error.args[0]
            if self.name.strip("_") not in message and not NAMING.search(message):
                error.args = (f"{self.name}(): {message}",)

    def _writes(self) -> bool:
        return any(overload.out is not None for overload in self.group.overloads)

    def _makes_tensors(self) -> bool:
        return any("pin_memory" in signature.names for signature in self.signatures())

    def _gathered(self, signature: Signature, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments with sizes that were given one by one put into a tuple."""
        first = 1 if self.is_method else 0
        positional = signature.positional
        listed = len(positional) == first + 1 and positional[first].int_list and len(args) > first
        return (*args[:first], args[first:]) if listed and first_size(args[first]) is not NO else args

    def _name(self, signature: Signature, keyword: str) -> str:
        return keyword if keyword in signature.names else RENAMED.get(self.name, SYNONYMS).get(keyword, keyword)

    def _writing(self, signature: Signature) -> Signature | None:
        """The signature itself, or one with the same parameters, if it has an out= form."""
        alike = (one for one in (signature, *self.signatures()) if one.names == signature.names)
        return next((one for one in alike if one.out_operator is not None), None)

    def _bind_out(self, signature: Signature, values: list[Any], options: dict[str, Any], out: Any) -> Bound:
        count = len(signature.out_names)
        several = isinstance(out, (tuple, list))
        given = out if several else (out,)
        if several == (count == 1) or len(given) != count or not all(isinstance(tensor, Tensor) for tensor in given):
            allowed = "Tensor" if count == 1 else f"tuple of {count} Tensors"
            shown = type(out).__name__ if not isinstance(out, (tuple, list)) else f"{type(out).__name__} of {len(out)}"
            raise TypeError(f"{self.name}(): argument 'out' must be {allowed}, not {shown}")
        if "pin_memory" in signature.names:  # the dtype must be that of out=, the other options are not used
            check_out_dtype(options.get("dtype"), given[0])
            options = {name: value for name, value in options.items() if name not in OPTIONS}
        assert signature.out_operator is not None
        return Bound(signature.out_operator, values, {"out": given[0] if count == 1 else tuple(given), **options})

    def _match(
        self, signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        positional = signature.positional
        first = 1 if self.is_method else 0
        if len(args) > len(positional):
            least, most = sum(p.required for p in positional) - first, len(positional) - first
            span = str(most) if least == most else f"from {least} to {most}"
            raise Mismatch(f"takes {span} positional arguments but {len(args) - first} were given")
        named = self._named(signature, kwargs)
        values: list[Any] = []
        options: dict[str, Any] = {}
        unread: NotImplementedError | None = None
        place = 0
        for parameter in signature.parameters:
            here = 0
            if parameter.keyword:
                given = named.pop(parameter.name, NO)
            elif place < len(args):
                given = args[place]
                here = place = place + 1
                if parameter.name in named:
                    raise Mismatch(f"got multiple values for argument '{parameter.name}'")
            else:
                given = named.pop(parameter.name, NO)
            if given is NO:
                if parameter.required:
                    raise Mismatch(f'missing 1 required positional argument: "{parameter.name}"')
                found = parameter.default
            else:
                try:
                    found = parameter.convert(given)
                except NotImplementedError as error:  # a tensor without data for a number
                    unread, found = unread or error, given
                if found is NO:
                    raise Mismatch(self._wrong_type(parameter, given, here))
                if found.__class__ is int:
                    check_number(self.name, parameter.name, found)
            if parameter.keyword and parameter.argument.kwarg_only:
                if given is not NO:
                    options[parameter.name] = found
            else:
                values.append(found)
        if named:
            raise Mismatch(f"got an unexpected keyword argument '{next(iter(named))}'")
        if unread is not None:
            raise unread
        return values, options

    def _named(self, signature: Signature, kwargs: dict[str, Any]) -> dict[str, Any]:
        named: dict[str, Any] = {}
        for name, value in kwargs.items():
            name = self._name(signature, name)
            if name in named:
                raise Mismatch(f"got multiple values for argument '{name}'")
            named[name] = value
        return named

    def _wrong_type(self, parameter: Parameter, given: Any, place: int) -> str:
        name = "input" if parameter.name == "self" and not self.is_method else parameter.name
        where = "" if not place else f" (position {place - (1 if self.is_method else 0)})"
        index, given = wrong_element(parameter.argument.type, given) or (-1, given)
        shown = type(given).__name__
        if shown == "Tensor" and not isinstance(given, Tensor):  # of another library
            shown = f"{type(given).__module__}.{shown}"
        found = f"not {shown}" if index < 0 else f"but found {shown} at index {index}"
        return f"argument '{name}'{where} must be {shown_type(parameter.argument.type)}, {found}"

    def _error(self, args: tuple[Any, ...], kwargs: dict[str, Any], reasons: list[str]) -> TypeError:
        for keyword in kwargs:
            if all(self._name(signature, keyword) not in signature.names for signature in self.signatures()):
                return TypeError(f"{self.name}() got an unexpected keyword argument '{keyword}'")
        if len(set(reasons)) == 1:
            separator = "" if not reasons[0].startswith("argument") else ":"
            return TypeError(f"{self.name}(){separator} {reasons[0]}")
        given = [type(value).__name__ for value in args[1 if self.is_method else 0 :]]
        given += [f"{name}={type(value).__name__}" for name, value in kwargs.items()]
        lines = [
            f"{signature.shown()}: {reason}"
            for signature, reason in zip(self.signatures(), reasons, strict=True)
            if not signature.numbers_too
        ]
        return TypeError(
            f"{self.name}() received an invalid combination of arguments - got ({', '.join(given)}), but expected one "
            f"of:\n * " + "\n * ".join(lines)
        )


class Single:
    """Resolves the calls of one operator, as a `Caller` does those of a group; `checks` if it refuses arguments."""

    checks, is_method = False, True

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        _, values, options = self.bind(args, kwargs)
        return call(self._operator, *values, **options)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Bound:
        """Return the operator with the arguments; lists of numbers, which may change after the call, as tuples.
        Positional ones are given by position, those that are left out with their defaults, as `Caller` gives them."""
        values, options = [*map(_unchanging, args)], {name: _unchanging(value) for name, value in kwargs.items()}
        for argument in self._operator.schema.positional[len(args) :]:
            default = None if argument.default is None else argument.default_value
            values.append(options.pop(argument.name, default))
        return Bound(self._operator, values, options)

    def explaining(self, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *rest: Any) -> Any:
        """Return the result of ``run(args, kwargs, *rest)``."""
        return run(args, kwargs, *rest)


def _unchanging(value: Any) -> Any:
    return tuple(value) if value.__class__ is list and not any(isinstance(one, Tensor) for one in value) else value


WRITING_PARTS = frozenset({"split_copy", "split_with_sizes_copy", "unbind_copy"})
"""Functions that accept a list as out=."""
BROADCASTING = frozenset({"split_copy"})
"""Functions that copy into any dtype and broadcast; the others resize tensors of the part's dtype."""


def write_parts(name: str, parts: Sequence[Tensor], out: Any) -> None:
    """Copy each of `parts` into its tensor of `out`.

    Raises TypeError unless `out` is a list or tuple of tensors, RuntimeError for another number of them, for sizes or a
    dtype that do not fit, and when an argument requires a gradient.
    """
    if not isinstance(out, (tuple, list)) or not all(isinstance(one, Tensor) for one in out):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    if len(out) != len(parts):
        raise RuntimeError(f"{name}(): argument 'out' must have {len(parts)} tensors, got {len(out)}")
    if any(one.requires_grad for one in (*out, *parts)):
        raise RuntimeError(f"{name}(): calls with out= are not differentiated, but an argument requires a gradient")
    for one, part in zip(out, parts, strict=True):
        if name not in BROADCASTING and one.meta.dtype is not part.meta.dtype:
            raise RuntimeError(f"{name}(): argument 'out' must have {part.meta.dtype}, got {one.meta.dtype}")
        if name not in BROADCASTING and one.meta.sizes != part.meta.sizes:
            resize_output(one, part.meta)
        invoke("copy_", one, part)


def _products(first: str, second: str) -> tuple[str, ...]:
    return f"beta self alpha {first} {second}", f"beta self {first} {second}"


FORMS: dict[str, tuple[str, ...]] = {
    "add": ("self alpha other",), "sub": ("self alpha other",),
    "addcmul": ("self value tensor1 tensor2",), "addcdiv": ("self value tensor1 tensor2",),
    "addmm": _products("mat1", "mat2"), "addmv": _products("mat", "vec"), "addr": _products("vec1", "vec2"),
    "addbmm": _products("batch1", "batch2"), "baddbmm": _products("batch1", "batch2"),
}  # fmt: skip
"""Operator -> the deprecated argument orders of its function; a method call puts self first."""
_WARNED: list[None] = []


def modern(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, is_method: bool) -> dict[str, Any] | None:
    """Return the arguments of a call in a deprecated form by name, and warn; return None for any other call."""
    for form in FORMS.get(name.removesuffix("_"), ()):
        names = form.split()
        if is_method:
            names = ["self", *(one for one in names if one != "self")]
        if len(names) == len(args) and not kwargs.keys() & set(names):
            if not _WARNED:
                _WARNED.append(None)
                shown = f"{name}({', '.join(names)})"
                warn(f"This overload is deprecated: {shown}; give the tensors by position and the numbers by keyword")
            return {**dict(zip(names, args, strict=True)), **kwargs}
    return None
