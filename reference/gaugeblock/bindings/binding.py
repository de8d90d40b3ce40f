"""Bindings: the functions and methods of the public API, generated from the schemas of their overloads.

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
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core.device import cpu
from ..dispatch.overrides import NOT_OVERRIDDEN, PLAIN, intercept
from ..dispatch.state import SPECIAL, STATE, UNRECORDED
from ..kernels.bound_call import UNSET, Unset
from ..tensor.hooks import hooks
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import only_ints
from ..tensor.versions import mark_unrecorded
from ..tensor.view_table import VIEWS, ViewFunction
from .call_cache import OTHER, Filler, Parameter, Request, metas, plain
from .caller import RENAMED, Caller
from .deprecated_forms import FORMS
from .overloads import NO, Group, number

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


COMPOSITES = frozenset(
    "atleast_1d atleast_2d atleast_3d broadcast_tensors cartesian_prod einsum linalg_diagonal meshgrid".split()
)
"""Functions made of views."""
NO_VIEWS = frozenset("contiguous detach resolve_conj resolve_neg".split())
MARKED = (frozenset(name.partition(".")[0] for name in VIEWS) | COMPOSITES) - NO_VIEWS
"""Functions whose results may be new views of what they are given."""


def marking(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function`, which marks the new views in its results where nothing is recorded."""

    @functools.wraps(function)
    def marked(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return marked_views((*args, *kwargs.values()), result) if UNRECORDED else result

    return marked


def marked_views(given: tuple[Any, ...], result: Any) -> Any:
    """Return the result of a call on the arguments `given`, its new views marked where nothing is recorded."""
    if STATE.grad:
        return result
    if result.__class__ is Tensor and given and given[0].__class__ is Tensor:
        return taken(given[0], result)
    return mark_unrecorded([x for one in given for x in (one if type(one) in (list, tuple) else (one,))], result)


def taken(tensor: Tensor, views: Any) -> Any:
    """Return a view or several that were just taken of `tensor`, marked where nothing is recorded."""
    if STATE.grad:
        return views
    if views.__class__ is Tensor and views.counter is None and views.autograd is None and views.base is not None:
        views.counter = None if views is tensor else views.storage_impl
        return views
    return mark_unrecorded((tensor,), views)


hooks.taken = taken


Names = Mapping[str, Any]
VALUE_MATTERS = frozenset({"pow", "pow_"})
"""Names of operators that do something else for the number 2."""


class Binding:
    """The parts of a generated function: the name of its entries, its parameters, and its general path.

    Results of one that is `marked` may be views, which are marked while a thread records nothing. `view` is given for
    operators on metadata alone.
    """

    def __init__(
        self, group: Group, parameters: Sequence[Parameter], caller: Caller, *,
        marked: bool = False, view: ViewFunction | None = None,
    ) -> None:  # fmt: skip
        self.name = group.name
        self.parameters = tuple(parameters)
        self.caller = caller
        self.filler = Filler(caller, parameters, view)
        self.marked = marked
        self.writes = not caller.is_method and any(overload.out is not None for overload in group.overloads)
        self.deprecated = self.name.removesuffix("_") in FORMS
        first = (caller.is_method and "self") or "input"
        self.first = first if parameters[0].name in ("self", "input") else parameters[0].name
        names = {p.name for p in parameters}
        renamed = self.name in RENAMED or not names.isdisjoint(("dim", "keepdim"))
        self.renamed = not caller.is_method or renamed or len(group.overloads) > 2
        self._request = compile_function(f"key of {self.name}", "request", self._request_source(), "", **self._names())

    def _names(self) -> dict[str, Any]:
        return {
            "OTHER": OTHER, "plain": plain, "metas": metas, "Request": Request, "squaring": squaring, "Unset": Unset,
            "only_ints": only_ints, "taken": taken, "marked_views": marked_views,
        }  # fmt: skip

    def _parts(self) -> list[str]:
        """Sources of the parts of the key in the first tensor's meta."""
        parts = [self._part(p) for p in self.parameters[1:]]
        if self.parameters[0].kinds == {"tensors"}:
            parts.insert(0, "firsts")
        return [repr(self.name), *parts]

    def _part(self, parameter: Parameter) -> str:
        name = parameter.name
        if self.name in VALUE_MATTERS and "number" in parameter.kinds:
            return f"{name}.meta if {name}.__class__ is Tensor else squaring({name})"
        return parameter.part()

    def _values(self) -> str:
        """Source of what the entry is called with."""
        values = [p.value() for p in self.parameters[1:]]
        return ", ".join([self.first, *(value for value in values if value is not None)])

    def _lookup(self, out: str = "") -> str:
        parts = [*self._parts(), *([f"{out}.meta"] if out else [])]
        given = f"{out}, {self._values()}" if out else self._values()
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
        given = ", ".join([self.first, *(p.name for p in self.parameters[1:])])
        marked = f"taken({self.first}, result)" if self.filler.view else f"marked_views(({given},), result)"
        return f"{marked} if UNRECORDED else result"

    def _request_source(self) -> str:
        """Source of the function that gives the cache's view of a call; None if its first argument is no tensor."""
        names = ", ".join([self.first, *(p.name for p in self.parameters[1:])])
        text = f"def request({names}, out):\n"
        if self.parameters[0].kinds == {"tensors"}:
            text += f"    firsts = metas({self.first})\n"
            text += "    if firsts is OTHER or not firsts or OTHER in firsts:\n        return None\n"
            text += "    meta = firsts[0]\n"
        else:
            text += f"    if {self.first}.__class__ is not Tensor:\n        return None\n"
            text += f"    meta = {self.first}.meta\n"
        key, values = ", ".join(self._parts()), self._values()
        text += f"    if out is UNSET:\n        return Request(meta, ({key},), ({values},))\n"
        text += "    if out.__class__ is not Tensor:\n        return None\n"
        return text + f"    return Request(meta, ({key}, out.meta), (out, {values}))\n"

    def source(self, function: str) -> str:
        """Source of the function."""
        signature, options = [f"{self.first}=UNSET"], False
        for p in self.parameters[1:]:
            if p.keyword and not options:
                options = True
                if self.deprecated:
                    signature.append("*more")
                elif not any(one.startswith("*") for one in signature):
                    signature.append("*")
            signature.append(f"*{p.name}" if p.spread else f"{p.name}={p.default}")
        if self.deprecated and not options:
            signature.append("*more")
            options = True
        if self.writes:
            if not options and not any(one.startswith("*") for one in signature):
                signature.append("*")
            signature.append("out=UNSET")
        given = ", ".join([self.first, *(p.name for p in self.parameters[1:])])
        out = "out" if self.writes else "UNSET"
        more = "more" if self.deprecated else "()"
        tests = [f"{self.first}.__class__ is Tensor", "not SPECIAL"]
        if self.renamed:
            signature.append("**names")
            tests.append("not names")
        if self.deprecated:
            tests.append("not more")
        text = f"def {function}({', '.join(signature)}):\n"
        if self.parameters[0].kinds == {"tensors"}:
            text += f"    firsts = metas({self.first})\n"
            tests[0] = "firsts and firsts is not OTHER and firsts[0] is not OTHER"
            text += f"    if {' and '.join(tests)}:\n"
            text += "        meta = firsts[0]\n"
        else:
            text += f"    if {' and '.join(tests)}:\n"
            text += f"        meta = {self.first}.meta\n"
        if self.writes:
            text += "        if out is UNSET:\n" + indent(self._lookup(), 3)
            text += "        elif out.__class__ is Tensor:\n" + indent(self._lookup("out"), 3)
        else:
            text += indent(self._lookup(), 2)
        names = "names" if self.renamed else "{}"
        return text + f"    return general(({given},), {more}, {out}, {names})\n"

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

    def operator(self, dunder: str, label: str, document: str) -> Any:
        """Return ``__add__`` or the like: two operands, NotImplemented for what is neither tensor nor number."""
        rest = (UNSET,) * (len(self.parameters) - 2)

        def general(values: tuple[Any, ...], more: tuple[Any, ...], out: Any, names: Names) -> Any:
            self_, other = values
            if other.__class__ not in PLAIN:
                taken = intercept(self.caller.public, (self_, other), {})
                if taken is not NOT_OVERRIDDEN:
                    return taken
            found = other if isinstance(other, Tensor) else number(other)
            return NotImplemented if found is NO else self.general((self_, found, *rest), (), UNSET, {})

        second, *others = self.parameters[1:]
        missing = ["Unset" if p.by_class else "UNSET" for p in others]
        key = [repr(self.name), self._part(second._replace(name="other")), *missing]
        values = ["self", "other", *("UNSET" for p in others if p.value() is not None)]
        text = (
            f"def {dunder}(self, other):\n"
            f"    if self.__class__ is Tensor and not SPECIAL:\n"
            f"        call = self.meta.calls.get(({', '.join(key)}))\n"
            f"        if call:\n"
            f"            result = call({', '.join(values)})\n"
            f"            if result is not None:\n"
            f"                return result\n"
            f"    return general((self, other), (), UNSET, {{}})\n"
        )
        return compile_function(label, dunder, text, document, general=general, **self._names())


def squaring(number: Any) -> Any:
    """Return the part in the key of an exponent: its class, and whether it is 2."""
    kind = number.__class__
    return (kind, number == 2) if kind is int or kind is float else kind
