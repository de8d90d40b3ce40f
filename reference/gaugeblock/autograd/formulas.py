"""From a row's derivative expressions to the class of its nodes: what is saved when, and `apply` as Python source."""

from __future__ import annotations

import functools
import hashlib
import json
import linecache
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gaugeblock_spec
from gaugeblock_spec.schema import Schema, parse

from ..dispatch.state import STATE
from ..kernels.object_cache import cache_folder
from ..operators.rows import rows
from ..tensor.tensor import Tensor
from .autograd_meta import DescribedList, Edge, described, more_of, result_of, shallow_copy_and_detach, unpack
from .expressions import DESCRIBED, Expression, expression, find_name
from .node import Node, zeros_of
from .saved_tensor import FREED, RawSaved, used, with_history
from .view_history import edge_of

_NAMED, _NUMBERED = re.compile(r"\bgrads\b"), re.compile(r"\bgrads\[(\d+)\]")
"""Uses of the list of gradients, and those of one with its number."""


class Derivative(NamedTuple):
    """`formulas` are pairs of the argument names and the expression of their gradients; `kind` as in the spec.

    `tangent` is "linear", or has the expressions of tangents by result. `nothing` lists the arguments and results
    without a gradient, `follows` the arguments that gradients are recorded to depend on.
    """

    kind: str
    formulas: list[tuple[list[str], str]]
    tangent: str | dict[str, str] | None
    nothing: list[str]
    follows: list[str]


@functools.cache
def derivatives() -> dict[str, Derivative]:
    """All entries by row name."""
    folder = Path(gaugeblock_spec.__file__).parent / "derivatives"
    total = hashlib.blake2b(b"4", digest_size=16)
    for place in sorted(folder.glob("*.yaml")):
        total.update(place.name.encode() + b"\0" + place.read_bytes())
    file = f"derivatives-{total.hexdigest()}.json"
    kept = cache_folder().read(file)
    plain = _read() if kept is None else json.loads(kept)
    if kept is None:
        cache_folder().write(file, json.dumps(plain).encode())
    return {name: Derivative(*values) for name, values in plain.items()}


def _read() -> dict[str, list[Any]]:
    from gaugeblock_spec.derivative_checks import tangent_expressions
    from gaugeblock_spec.derivatives import entries, table_files

    read: dict[str, list[Any]] = {}
    for name, entry in [pair for file in table_files() for pair in entries(file).items()]:
        tangent: Any = entry.tangent
        if tangent not in (None, "linear"):
            tangent = dict(tangent_expressions(entry, parse(rows()[name].schema)))
        formulas = [[list(names), text] for names, text in entry.formulas.items()]
        read[name] = [entry.kind, formulas, tangent, list(entry.nothing), list(entry.follows)]
    return read


@functools.cache
def node_names() -> dict[str, str]:
    """Row name -> the name of its nodes: overloads of one operator are numbered in the order of the table. An overload
    that takes a number where another takes a tensor has the name of that one."""
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for name in derivatives():
        base, _, overload = name.partition(".")
        twin = f"{base}.Tensor"
        if overload == "Scalar" and twin in names:
            names[name] = names[twin]
            continue
        number = counts.get(base, 0)
        counts[base] = number + 1
        names[name] = f"{camel(base)}Backward{number}"
    return names


def camel(name: str) -> str:
    """``log_softmax`` -> ``LogSoftmax``; a leading underscore is dropped."""
    return "".join(part[:1].upper() + part[1:] for part in name.strip("_").split("_"))


def maker_of(node: Any) -> str:
    """The operator's name in what is said of a view that this node (or class of nodes) made."""
    return str(node.label).removesuffix("0").removesuffix("Backward")


class Use(NamedTuple):
    """A name that expressions use, and for the gradients of which arguments."""

    name: str
    wanted_by: tuple[str, ...]


class Formulas:
    """The derivative of one row, taken apart: arguments with an edge, and what has to be kept for the expressions.

    `values` are tensors (arguments or results), `described` tensors whose metadata alone is used, `plain` other
    arguments. `lists` are the arguments that are lists of tensors. The gradients are recorded to depend on `follows`.
    """

    def __init__(self, name: str, schema: Schema, derivative: Derivative, *, real: bool) -> None:
        self.label = node_names()[name]
        arguments = {argument.name: argument for argument in schema.arguments}
        tensors = {n for n, a in arguments.items() if a.base_type == "Tensor"}
        self.lists = {n for n, a in arguments.items() if a.base_type == "Tensor" and a.is_list}
        self.results = result_names(schema)
        self.constant = tuple([place for one, place in self.results.items() if one in derivative.nothing])
        known = frozenset(tensors | self.results.keys())
        self.groups: list[tuple[tuple[str, ...], Expression]] = [
            (tuple(names), expression(text, known, real)) for names, text in derivative.formulas
        ]
        wanted = {name for names, _ in self.groups for name in names}
        self.inputs = [name for name in arguments if name in wanted]
        self.follows = derivative.follows
        self.values = self._uses(lambda one: one.values)
        self.described = self._uses(lambda one: one.described)
        self.plain = [use for use in self._uses(lambda one: one.others) if use.name in arguments]
        used_names = {name for _, one in self.groups for name in one.others}
        self.globals = sorted(used_names - arguments.keys() - {"grad", "grads", "needed"})
        self.grads: str | None = None
        if "grads" in used_names:  # all of them, or those up to the last that has its number there
            text = " ".join(one.text for _, one in self.groups)
            numbers = _NUMBERED.findall(text)
            every = len(numbers) < len(_NAMED.findall(text))
            self.grads = "grads" if every else f"grads[:{1 + max(map(int, numbers))}]"

    def _uses(self, sort: Any) -> list[Use]:
        found: dict[str, list[str]] = {}
        for names, one in self.groups:
            for name in sorted(sort(one)):
                found.setdefault(name, []).extend(names)
        return [Use(name, tuple(wanted)) for name, wanted in found.items()]


def result_names(schema: Schema) -> dict[str, int]:
    """Names for results in expressions -> place: ``result``, ``result0``, and those that the schema gives."""
    if len(schema.returns) == 1:
        return {"result": 0}
    names = {f"result{place}": place for place in range(len(schema.returns))}
    return names | {one.name: place for place, one in enumerate(schema.returns) if one.name is not None}


def condition(uses: tuple[str, ...]) -> str:
    """Source that says whether any of these arguments wants a gradient."""
    return " or ".join(f"e_{name} is not None" for name in dict.fromkeys(uses))


def apply_source(formulas: Formulas) -> str:
    """Source of ``apply(node, grads)``."""
    lines = ["def apply(node, grads):"]
    if formulas.values:
        lines.append("    if node.released:")
        lines.append("        raise RuntimeError(FREED)")
    lines += [f"    {line}" for line in _unpacked_edges(formulas)]
    if formulas.grads is not None:
        lines.append(f"    grads = node.filled({formulas.grads})")
    lines.append("    grad = grads[0]")
    if formulas.values:
        lines.append("    recording = STATE.grad")
    for use in formulas.values:
        lines += [f"    {line}" for line in _loading(formulas, use)]
    for name, _ in formulas.described:
        single = f"None if node.m_{name} is None else described(*node.m_{name})"
        lines.append(f"    {name}{DESCRIBED} = {f'DescribedList(node.m_{name})' if name in formulas.lists else single}")
    lines += [f"    {use.name} = node.a_{use.name}" for use in formulas.plain]
    for names, one in formulas.groups:
        if len(names) == 1:
            lines.append(f"    g_{names[0]} = ({one.text}) if {condition(names)} else None")
        else:
            lines.append(f"    needed = ({', '.join(f'e_{name} is not None' for name in names)},)")
            gradients = ", ".join(f"g_{name}" for name in names)
            lines.append(f"    {gradients} = ({one.text}) if {condition(names)} else (None,) * {len(names)}")
    if formulas.follows:
        edges = ", ".join(f"e_{name}" for name in formulas.follows)
        lines.append("    if STATE.grad:")
        lines.append(f"        return following(node, {_returned(formulas)}, ({edges},))")
    lines.append(f"    return {_returned(formulas)}")
    return "\n".join(lines) + "\n"


def _unpacked_edges(formulas: Formulas) -> list[str]:
    if not any(name in formulas.lists for name in formulas.inputs):
        return [f"{', '.join(f'e_{name}' for name in formulas.inputs)}, = node.edges"]
    lines = ["edges = node.edges", "at = 0"]
    for name in formulas.inputs:
        if name in formulas.lists:
            lines.append(f"n_{name} = node.n_{name}")
            lines.append(f"l_{name} = edges[at : at + n_{name}]")
            lines.append(f"e_{name} = l_{name} if any(one is not None for one in l_{name}) else None")
            lines.append(f"at += n_{name}")
        else:
            lines.append(f"e_{name} = edges[at]")
            lines.append("at += 1")
    return lines


def _loading(formulas: Formulas, use: Use) -> list[str]:
    """The saved tensor into a local name: as it is when nothing is to be checked closer."""
    name = use.name
    if name in formulas.lists:
        return [f"{name} = {_value(formulas, name)} if {condition(use.wanted_by)} else None"]
    return [
        f"{name} = node.v_{name}",
        f"if {name} is not None and (",
        f"    recording or {name}.__class__ is not Tensor or {name}.counter is not None",
        f"    or {name}.storage_impl.version != node.w_{name}",
        "):",
        f"    {name} = {_value(formulas, name)}",
    ]


def _value(formulas: Formulas, name: str) -> str:
    if name in formulas.lists:
        edges = f"l_{name}" if name in formulas.inputs else f"(None,) * len(node.v_{name})"
        return f"[used(one, version, edge) for one, version, edge in zip(node.v_{name}, node.w_{name}, {edges})]"
    if name in formulas.results:
        edge = f"(node, {formulas.results[name]})"
    else:
        edge = f"e_{name}" if name in formulas.inputs else "None"
    return f"used(node.v_{name}, node.w_{name}, {edge})"


def _returned(formulas: Formulas) -> str:
    parts = [
        f"*((None,) * n_{name} if g_{name} is None else g_{name})" if name in formulas.lists else f"g_{name}"
        for name in formulas.inputs
    ]
    return f"({', '.join(parts)},)"


def compiled(label: str, source: str, names: dict[str, Any], function: str) -> Any:
    """The function called `function` in `source`, which tracebacks can show."""
    filename = f"<gaugeblock {label}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    space: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), names, space)
    return space[function]


@functools.cache
def node_class(name: str, schema: Schema, real: bool) -> tuple[type[Node], Formulas]:
    """The class of the nodes of a row, for real or for complex numbers, and what it was made from."""
    formulas = Formulas(name, schema, derivatives()[name], real=real)
    names: dict[str, Any] = {
        "DescribedList": DescribedList, "FREED": FREED, "STATE": STATE, "Tensor": Tensor, "described": described,
        "following": following, "used": used,
        **{one: find_name(one) for one in formulas.globals},
    }  # fmt: skip
    apply = compiled(f"derivative of {name}", apply_source(formulas), names, "apply")
    kept = {"v_": formulas.values, "w_": formulas.values, "m_": formulas.described, "a_": formulas.plain}
    slots = [prefix + use.name for prefix, uses in kept.items() for use in uses]  # w_ are the versions of v_
    slots += [f"n_{name}" for name in formulas.inputs if name in formulas.lists]
    members: dict[str, Any] = {"__slots__": tuple(slots), "apply": apply, "label": formulas.label}
    if formulas.values:
        members["release"] = _releasing(tuple([f"v_{use.name}" for use in formulas.values]))
    members |= {"__getattr__": _saved_attribute, "__dir__": _listed, "__module__": __name__, "formulas": formulas}
    members["writes_self"] = schema.arguments[0].name in formulas.inputs
    return type(formulas.label, (Node,), members), formulas


@functools.cache
def _releasing(slots: tuple[str, ...]) -> Any:
    """A function of a node that lets go of what was saved."""
    source = (
        f"def release(node):\n    node.released = True\n    {' = '.join(f'node.{slot}' for slot in slots)} = None\n"
    )
    return compiled(f"release of {len(slots)}", source, {}, "release")


def _saved_attribute(self: Any, name: str) -> Any:
    """``node._saved_NAME``: the tensor, with its history, or the other argument that was kept."""
    if name.startswith("_raw_saved_"):
        return RawSaved(self, name.removeprefix("_raw_saved_"))
    if not name.startswith("_saved_"):
        raise AttributeError(f"{self.label!r} object has no attribute {name!r}")
    wanted = name.removeprefix("_saved_")
    formulas: Formulas = self.formulas
    for use in formulas.plain:
        if use.name == wanted:
            return getattr(self, f"a_{wanted}")
    for use in formulas.values:
        if use.name == wanted:
            if self.released:
                raise RuntimeError(FREED)
            kept, version = getattr(self, f"v_{wanted}"), getattr(self, f"w_{wanted}")
            if wanted in formulas.lists:
                pairs = zip(kept, version, strict=True)
                return tuple([None if one is None else with_history(one, seen, None) for one, seen in pairs])
            edge = None
            if wanted in formulas.results:
                edge = (self, formulas.results[wanted])
            elif wanted in formulas.inputs and not formulas.lists:
                edge = self.edges[formulas.inputs.index(wanted)]
            return None if kept is None else with_history(kept, version, edge)
    raise AttributeError(f"{self.label!r} object has no attribute {name!r}")


def _listed(self: Any) -> list[str]:
    """Return the names that dir() lists, those of saved values too."""
    names = [f"_saved_{use.name}" for use in (*self.formulas.plain, *self.formulas.values)]
    return sorted({*object.__dir__(self), *names})


class FollowingNode(Node):
    """Passes a gradient on unchanged, and zeros to the arguments that are followed."""

    __slots__ = ("label",)

    def __init__(self, label: str, gradient: Tensor, edges: tuple[Edge | None, ...]) -> None:
        super().__init__((edge_of(gradient), *edges), (unpack(gradient).meta,))
        self.label = label

    def apply(self, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        """Return the incoming gradient, then zeros for each followed argument."""
        zeros = [None if edge is None else zeros_of(edge[0].metas[edge[1]]) for edge in self.edges[1:]]
        return (grads[0] if self.edges[0] is not None else None, *zeros)


def following(
    node: Node, gradients: tuple[Tensor | None, ...], edges: tuple[Edge | None, ...]
) -> tuple[Tensor | None, ...]:
    """Return the gradients of `node`, each recorded to depend on the tensors that `edges` lead to."""
    if all(edge is None for edge in edges):
        return gradients
    label = f"{node.label.rstrip('0123456789')}Backward0"
    made: list[Tensor | None] = []
    for one in gradients:
        held = None if one is None or one.autograd is None else one.autograd.more
        if one is not None:
            one = result_of(shallow_copy_and_detach(unpack(one)), FollowingNode(label, one, edges), 0)
        if one is not None and held is not None and held.tangent is not None:
            more = more_of(one)
            more.tangent, more.epoch = held.tangent, held.epoch
        made.append(one)
    return tuple(made)
