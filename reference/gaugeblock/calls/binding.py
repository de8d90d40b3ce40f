"""Bindings: functions and methods generated from the schemas of their overloads.

A binding looks for its call in the call cache, and leaves it to the general path if it is not there:

    def add(input=UNSET, other=UNSET, *, alpha=UNSET, out=UNSET, **names):
        if input.__class__ is Tensor and not SPECIAL and not names:
            if out is UNSET:
                call = input.meta.calls.get(("add", other.meta if other.__class__ is Tensor else ..., ...))
                if call:
                    result = call(input, other, alpha)
                    if result is not None:
                        return result
            ...
        return general((input, other, alpha), out, names)

`show_binding` prints any of them.
"""

from __future__ import annotations

import functools
import linecache
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from keyword import iskeyword
from typing import Any, NamedTuple

from gaugeblock_spec.schema import parse

from ..core.device import cpu
from ..core.fork_safety import fork_safe
from ..dispatch.dispatcher import REGISTRY, call
from ..dispatch.operator import Operator
from ..dispatch.overrides import NOT_OVERRIDDEN, PLAIN, intercept
from ..dispatch.state import OVERRIDING
from ..kernels.bound_call import UNSET, Unset
from ..operators.conversion import METHODS as CONVERSIONS
from ..operators.operand_checks import check_number
from ..operators.rows import row_of_form, rows
from ..tensor.hooks import SPECIAL, UNRECORDED
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import only_ints
from ..tensor.view_table import VIEWS, ViewFunction, view_function, view_functions
from . import factories
from .call_cache import LATER, OTHER, Filler, Request, holds_tensors, metas, modes_of, plain, valued
from .caller import FORMS, RENAMED, Caller, Single
from .marked_views import MARKED, marked_views, marking, taken
from .overloads import NO, Group, Overload, Parameter, array_operand, functions, number, parameters_of, takes_spread
from .special_forms import GENERAL, OWN_FORMS, conversion, general_source, self_later_source

COMMON: dict[str, Any] = {
    "Tensor": Tensor, "SPECIAL": SPECIAL, "UNRECORDED": UNRECORDED, "UNSET": UNSET, "cpu": cpu, "intercept": intercept,
    "NOT_OVERRIDDEN": NOT_OVERRIDDEN,
}  # fmt: skip
"""Globals of every generated function."""
SOURCES: dict[str, str] = {}
"""Source text by the label it was compiled under, such as "Tensor.add"."""


def compile_function(label: str, function: str, source: str, document: str, **names: Any) -> Any:
    """Return the function called `function` in `source`; its globals are the common ones and `names`."""
    filename = f"<gaugeblock binding {label}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    SOURCES[label] = source
    space = COMMON | names
    exec(compile(source, filename, "exec"), space)
    made = space[function]
    made.__doc__ = document
    made.__module__ = "gaugeblock"
    made.__qualname__ = label
    made.__name__ = label.rpartition(".")[2]
    return made


def indent(text: str, levels: int) -> str:
    """Return `text` moved right by `levels` steps of four."""
    margin = "    " * levels
    return "".join(margin + line if line.strip() else line for line in text.splitlines(keepends=True))


Names = Mapping[str, Any]
VALUE_MATTERS = frozenset({"pow", "pow_"})
"""Names of operators that do something else for the number 2."""


OUTS = "True, *metas(out)"
"""Source of what the key says of several tensors given as out=."""


class Entry(NamedTuple):
    """A kept call: the function, and the values to call it with."""

    call: Callable[..., Any]
    values: tuple[Any, ...]


class Binding:
    """The parts of a generated function: the name of its entries, its parameters, and its general path.

    Results of one that is `marked` may be views, which are marked while a thread records nothing. `view` is given for
    operators on metadata alone.
    """

    def __init__(
        self, group: Group, parameters: Sequence[Parameter], caller: Caller | Single, *,
        marked: bool = False, view: ViewFunction | None = None,
    ) -> None:  # fmt: skip
        self.name = group.name
        self.parameters = tuple(parameters)
        self.caller = caller
        self.filler = Filler(caller, parameters, view)
        self.marked = marked
        forms = [] if caller.is_method else [parse(one.out) for one in group.overloads if one.out is not None]
        self.writes, self.writes_several = bool(forms), any(len(form.returns) > 1 for form in forms)
        self.deprecated = caller.checks or self.name.removesuffix("_") in FORMS
        first = (caller.is_method and "self") or "input"
        self.first = first if parameters[0].name in ("self", "input") else parameters[0].name
        self.number_first = not parameters[0].kinds <= {"tensor", "tensors"}
        self.given = ", ".join([self.first, *(p.name for p in self.parameters[1:])])
        names = {p.name for p in parameters}
        renamed = self.name in RENAMED or not names.isdisjoint(("dim", "keepdim"))
        places = [place for place, p in enumerate(parameters) if iskeyword(p.name.removesuffix("_"))]
        self.by_place = 1 + places[-1] if places else 0
        several = len(group.overloads) > 2
        self.renamed = not caller.is_method or caller.checks or renamed or several or bool(places)
        self._request = compile_function(f"key of {self.name}", "request", self._request_source(), "", **self._names())

    def _names(self) -> dict[str, Any]:
        return {
            "OTHER": OTHER, "plain": plain, "metas": metas, "Request": Request, "squaring": squaring, "Unset": Unset,
            "only_ints": only_ints, "valued": valued, "taken": taken, "marked_views": marked_views,
            "holds_tensors": holds_tensors,
        }  # fmt: skip

    def _parts(self) -> list[str]:
        """Sources of the parts of the key in the first tensor's meta."""
        parts = [self._part(p) for p in self.parameters[1:]]
        if self.parameters[0].kinds == {"tensors"}:
            parts.insert(0, "firsts")
        elif self.number_first:
            parts.insert(0, self.parameters[0]._replace(name=self.first).part())
        return [repr(self.name), *parts]

    def _part(self, parameter: Parameter) -> str:
        name = parameter.name
        if self.name.partition(".")[0] in VALUE_MATTERS and "number" in parameter.kinds:
            return f"{name}.meta if {name}.__class__ is Tensor else squaring({name})"
        return parameter.part()

    def _values(self) -> str:
        """Source of what the entry is called with."""
        values = [p.value() for p in (self.parameters[0]._replace(name=self.first), *self.parameters[1:])]
        return ", ".join([value for value in values if value is not None])

    def _holder(self) -> tuple[str, str]:
        """Source of the test for a tensor whose meta has the entries, and of that meta; a list has `firsts`."""
        first = self.first
        if self.parameters[0].kinds == {"tensors"}:
            return "firsts and firsts is not OTHER and firsts[0] is not OTHER", "firsts[0]"
        if not self.number_first:
            return f"{first}.__class__ is Tensor", f"{first}.meta"
        second = self.parameters[1].name
        either = f"({first}.__class__ is Tensor or {second}.__class__ is Tensor)"
        return either, f"({first} if {first}.__class__ is Tensor else {second}).meta"

    def _lookup(self, out: str = "") -> str:
        """Source of the call by its entry; `out` is the source of what the key says of out=, if that is given."""
        parts = [*self._parts(), *([out] if out else [])]
        given = f"out, {self._values()}" if out else self._values()
        key = "".join(f"    {part},\n" for part in parts)
        return (
            f"call = meta.calls.get((\n{key}))\n"
            f"if call:\n"
            f"    result = call({given})\n"
            f"    if result is not None:\n"
            f"        return {self._returned()}\n"
        )

    def _returned(self) -> str:
        """Source of what a call returns that has an entry."""
        if not self.marked:
            return "result"
        marked = f"taken({self.first}, result)" if self.filler.view else f"marked_views(({self.given},), result)"
        return f"{marked} if UNRECORDED else result"

    def _request_source(self) -> str:
        """Source of the function that gives the cache's view of a call; None if its first argument is no tensor."""
        text = f"def request({self.given}, out):\n"
        test, meta = self._holder()
        if self.parameters[0].kinds == {"tensors"}:
            text += f"    firsts = metas({self.first})\n"
            test += " and OTHER not in firsts"
        text += f"    if not ({test}):\n        return None\n    meta = {meta}\n"
        key, values = ", ".join(self._parts()), self._values()
        text += f"    if out is UNSET:\n        return Request(meta, ({key},), ({values},))\n"
        text += f"    if out.__class__ is tuple:\n        return Request(meta, ({key}, {OUTS}), (out, {values}))\n"
        text += "    if out.__class__ is not Tensor:\n        return None\n"
        return text + f"    return Request(meta, ({key}, out.meta), (out, {values}))\n"

    def source(self, function: str) -> str:
        """Source of the function."""
        before: list[str] = [f"{self.first}=UNSET"]
        behind: list[str] = []
        for p in self.parameters[1:]:
            part = behind if p.keyword else before
            part.append(f"*{p.name}" if p.spread else f"{p.name}={p.default}")
            part += [] if self.renamed else [f"{name}=UNSET" for name in p.named]
        if self.by_place:  # no keyword names a parameter whose own name is one of Python's
            before.insert(self.by_place, "/")
        behind += ["out=UNSET"] if self.writes else []
        starred = any(one.startswith("*") for one in before)
        star = ["*more"] if self.deprecated else ["*"] if behind and not starred else []
        signature = [*before, *star, *behind]
        out = "out" if self.writes else "UNSET"
        more = "more" if self.deprecated else "()"
        test, meta = self._holder()
        tests = [test, "not SPECIAL"]
        if self.renamed:
            signature.append("**names")
            tests.append("not names")
        else:
            tests += [f"{name} is UNSET" for p in self.parameters for name in p.named]
        if self.deprecated:
            tests.append("not more")
        text = f"def {function}({', '.join(signature)}):\n"
        if self.parameters[0].kinds == {"tensors"}:
            text += f"    firsts = metas({self.first})\n"
        text += f"    if {' and '.join(tests)}:\n        meta = {meta}\n"
        if self.writes:
            text += "        if out is UNSET:\n" + indent(self._lookup(), 3)
            text += "        elif out.__class__ is Tensor:\n" + indent(self._lookup("out.meta"), 3)
            if self.writes_several:
                text += "        elif out.__class__ is tuple:\n" + indent(self._lookup(OUTS), 3)
        else:
            text += indent(self._lookup(), 2)
        pairs = "".join(f"({name!r}, {name}), " for p in self.parameters for name in p.named)
        names = f"{{name: value for name, value in ({pairs}) if value is not UNSET}}" if pairs else "{}"
        names = "names" if self.renamed else names
        return text + f"    return general(({self.given},), {more}, {out}, {names})\n"

    def function(self, label: str, function: str, document: str) -> Any:
        """Return the generated function."""
        names = self._names() | {"general": self.general}
        return compile_function(label, function, self.source(function), document, **names)

    def general(self, values: tuple[Any, ...], more: tuple[Any, ...], out: Any, names: dict[str, Any]) -> Any:
        """Run a call without an entry: `values` of parameters, `more` of a deprecated form, `names` of no parameter."""
        args, kwargs = self.arguments(values, out, names)
        request = None if more or names else self._request(*values, out)
        if request is None:
            result = self.caller(*args, *more, **kwargs)
        else:
            result = self.filler.run(request, args, kwargs)
        return marked_views((*args, *kwargs.values()), result) if self.marked and UNRECORDED else result

    def entry(self, args: Sequence[Any], kwargs: Names) -> Entry | None:
        """Return the entry that the cache has for a call that is recorded, with its values; None if it has none."""
        named = dict(zip([p.name for p in self.parameters], args, strict=False)) | dict(kwargs)
        values = [named.pop(p.name, None if p.default == "None" else UNSET) for p in self.parameters]
        request = None if named else self._request(*values, UNSET)
        call = None if request is None else modes_of(request.meta.calls.get(request.key))[0]
        return None if request is None or call is None else Entry(call, request.values)

    def kept(self, values: tuple[Any, ...]) -> Callable[..., Any] | None:
        """Return the entry that the cache has for a call with `values` of parameters; LATER if it is still to come."""
        request = self._request(*values, UNSET)
        if request is None:
            return None
        found = request.meta.calls.get(request.key, False)
        return LATER if found is None else found or None

    def arguments(self, values: tuple[Any, ...], out: Any, names: Names) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments as they were given, positional ones as far as there is no gap."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        gap = False
        for parameter, value in zip(self.parameters, values, strict=True):
            if parameter.spread:
                args += value
                gap = gap or not value
            elif value is UNSET or (value is None and parameter.default == "None"):
                gap = True
            elif gap or parameter.keyword or parameter.either:
                kwargs[parameter.name] = value
            else:
                args.append(value)
        if out is not UNSET:
            kwargs["out"] = out
        return tuple(args), {**kwargs, **names}

    def operator(self, dunder: str, document: str) -> Any:
        """Return ``__add__`` or the like: two operands, NotImplemented for what is neither tensor nor number."""
        rest, caller = (UNSET,) * (len(self.parameters) - 2), self.caller
        assert isinstance(caller, Caller)

        def general(self_: Any, other: Any) -> Any:
            if other.__class__ not in PLAIN:
                taken = intercept(caller.public, (self_, other), {})
                if taken is not NOT_OVERRIDDEN:
                    return taken
            found = other if isinstance(other, Tensor) else number(other)
            if found is NO and dunder == "__eq__":
                found = array_operand(other)
            return NotImplemented if found is NO else self.general((self_, found, *rest), (), UNSET, {})

        second, *others = self.parameters[1:]
        missing = ["Unset" if p.by_class else "UNSET" for p in others]
        key = ", ".join([repr(self.name), self._part(second._replace(name="other")), *missing])
        values = ", ".join(["self", "other", *("UNSET" for p in others if p.value() is not None)])
        return dunder_function(dunder, key, values, general, document, **self._names())


def dunder_function(
    dunder: str, key: str, values: str, general: Callable[[Any, Any], Any], document: str, **names: Any
) -> Any:
    """Return the method for an operator of Python, given the sources of its key and of what an entry is called with."""
    text = (
        f"def {dunder}(self, other):\n"
        f"    if self.__class__ is Tensor and not SPECIAL:\n"
        f"        call = self.meta.calls.get(({key}))\n"
        f"        if call:\n"
        f"            result = call({values})\n"
        f"            if result is not None:\n"
        f"                return result\n"
        f"    return general(self, other)\n"
    )
    return compile_function(f"Tensor.{dunder}", dunder, text, document, general=general, **names)


def squaring(number: Any) -> Any:
    """Return the part in the key of an exponent: its class, and whether it is 2."""
    kind = number.__class__
    return (kind, number == 2) if kind is int or kind is float else kind


@functools.cache
def make_function(group: Group) -> Any:
    """Return the module function, such as ``gaugeblock.add``; one for each group."""
    if group.name in factories.FUNCTIONS:
        return factories.FUNCTIONS[group.name]
    caller = Caller(group, is_method=False)
    made = make_binding(group, caller, label=group.name, self="input", suffix="function")
    if group.name in factories.NUMBERED:
        made = factories.of_numbers(group.name, made, factories.NUMBERED[group.name])
    caller.publish(made)
    return made


def make_binding(group: Group, caller: Caller, *, label: str, self: str, suffix: str) -> Any:
    """Return the function, or with the suffix "method" the method, of a group; `self` is what its tensor is called."""
    function = group.name
    name = f"{function}_{suffix}"
    special = OWN_FORMS.get(function) or (conversion if function in CONVERSIONS else None)
    if special is not None:
        text, names = special(name, self, caller)
        return compile_function(label, function, text, document(group), **names)
    view = VIEW_FUNCTIONS.get(function)
    spread = suffix == "method" and takes_spread(group)
    parameters = parameters_of(group, spread=spread, given=view is not None and view.given)
    if parameters is None or function in GENERAL:
        text = general_source(name, function)
        run = marking(caller) if function in MARKED else GENERAL[function](caller) if function in GENERAL else caller
        return compile_function(label, function, text, document(group), **{f"slow_{name}": run})
    binding = Binding(group, parameters, caller, marked=function in MARKED, view=view)
    return binding.function(label, function, document(group))


VIEW_FUNCTIONS = view_functions()
"""Operators on metadata alone, which are the same on every device."""


def document(group: Group) -> str:
    """Return the docstring of a binding: its schemas."""
    return "\n".join(dict.fromkeys(overload.schema for overload in group.overloads))


def make_method(group: Group) -> Any:
    """Return the Tensor method, such as ``Tensor.add`` or ``Tensor.add_``."""
    names = [argument.name for argument in parse(group.overloads[0].schema).positional]
    if names[0] != "self":
        slow = f"{group.name}_method"
        text, function = self_later_source(slow, group.name, names), make_function(functions()[group.name])
        return compile_function(f"Tensor.{group.name}", group.name, text, document(group), **{f"slow_{slow}": function})
    caller = Caller(group, is_method=True)
    return make_binding(group, caller, label=f"Tensor.{group.name}", self="self", suffix="method")


def make_dunder(dunder: str, group: Group) -> Any:
    """Return ``__add__``, ``__eq__`` or ``__iadd__`` for the method group behind it."""
    parameters = parameters_of(group, spread=False)
    assert parameters is not None
    return Binding(group, parameters, Caller(group, is_method=True)).operator(dunder, document(group))


REVERSED_ROWS = {"pow": "pow.Scalar", "remainder": "remainder.Scalar_Tensor"}
"""Functions that have an own row for a number on the left."""


def make_reversed(dunder: str, group: Group) -> Any:
    """Return ``__radd__`` or the like."""
    row = REVERSED_ROWS.get(group.name, group.overloads[0].row.name)
    key = f"{dunder!r}, other.__class__"
    return dunder_function(dunder, key, "other, self", _general(dunder, row), document(group))


def bind_operator(operator: Operator, caller: Single | None = None) -> Callable[..., Any]:
    """Return an operator as a function of its schema's arguments, whose calls the call cache keeps. No override is
    asked: this is how operators call one another. `caller` resolves calls that have no entry."""
    row = rows().get(operator.name) or rows().get(row_of_form().get(operator.name, ""))
    if row is None or any(a.written and a.kwarg_only for a in operator.schema.arguments):
        return partial(call, operator)
    name = operator.name if "." in operator.name else f"{operator.name}.default"  # the public function has the other
    group = Group(name, (Overload(row, operator.text, None),))
    function = VIEWS.get(operator.name)
    base = operator.name.partition(".")[0]
    view = function and view_function(base, function)
    parameters = parameters_of(group, spread=False, given=view is not None and view.given, by_schema=True)
    if parameters is None:
        return partial(call, operator)
    binding = Binding(group, parameters, caller or Single(operator), view=view)
    made: Callable[..., Any] = binding.function(f"call of {operator.name}", "operator", operator.text)
    made.binding = binding  # type: ignore[attr-defined]
    return made


REGISTRY.bind_operator = bind_operator


PENDING: dict[str, Callable[[], Any]] = {}
"""Methods that are not made yet, with what makes them."""


class Pending:
    """Stands on Tensor for a method that is not made yet: looking at it makes it, and puts it in this place."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, tensor: Tensor | None, owner: type) -> Any:
        made = method(self.name)
        return made if tensor is None else made.__get__(tensor, owner)


def pending(name: str, make: Callable[[], Any]) -> None:
    """Put a Pending on Tensor for a method that `make` makes."""
    PENDING[name] = make
    setattr(Tensor, name, Pending(name))


def method(name: str) -> Any:
    """The finished method, made now if it is still pending; KeyError when Tensor has none of that name."""
    with _MAKING:
        make = PENDING.get(name)
        if make is not None:
            setattr(Tensor, name, make())
            del PENDING[name]
    return Tensor.__dict__[name]


_MAKING = fork_safe(threading.RLock())
"""Held while a method is created."""


WATCHED: dict[str, Callable[[Any, Any], Any]] = {
    "add.Tensor": lambda self, number: self.add(number),
    "mul.Tensor": lambda self, number: self.mul(number),
    "sub.Tensor": lambda self, number: call(REGISTRY.find("rsub.Scalar"), self, number, 1),
    "div.Tensor": lambda self, number: self.reciprocal() * number,
}
"""``number + x`` and its like of a tensor that requires a gradient, as calls with the tensor first."""


def _general(dunder: str, row: str) -> Callable[[Any, Any], Any]:
    reverse = Single(REGISTRY.find(row))
    number_or_tensor = frozenset({"number", "tensor"})
    filler = Filler(reverse, [Parameter(name, number_or_tensor, "UNSET") for name in ("number", "tensor")])

    def general(self: Any, other: Any) -> Any:
        if OVERRIDING or other.__class__ not in PLAIN:
            taken = intercept(getattr(Tensor, dunder), (self, other), {})
            if taken is not NOT_OVERRIDDEN:
                return taken
        found = other if isinstance(other, Tensor) else number(other)
        if found is NO:
            return NotImplemented
        check_number(dunder, "other", found)  # type: ignore[arg-type]
        if not isinstance(self, Tensor):
            raise TypeError(f"{dunder}() requires a Tensor as its first argument, not {type(self).__name__}")
        if self.meta.has_autograd and row in WATCHED:
            return WATCHED[row](self, found)
        if self.__class__ is not Tensor or found is not other or isinstance(other, Tensor):
            return reverse(found, self)
        return filler.run(Request(self.meta, (dunder, found.__class__), (found, self)), (found, self), {})

    return general
