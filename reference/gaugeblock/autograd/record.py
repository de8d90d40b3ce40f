"""Recording: the kernel that stands before an operator's own when one of its tensors is watched.

It takes the arguments apart into plain tensors and edges, runs the operator on the plain ones, and hangs a node with
what its derivative needs on the result. `resolve` says which of these a call gets; the code of the common kind is
generated per operator from its row's derivative, see `recorder_source`.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gaugeblock_spec.schema import Argument, Schema

from ..core.memory_format import contiguous_format
from ..dispatch.dispatcher import call, redispatch, run_entry
from ..dispatch.keys import AUTOGRAD_KEYS, AUTOGRAD_MASK, runtime_key
from ..dispatch.operator import Operator, Registration, Resolved
from ..dispatch.registry import REGISTRY
from ..dispatch.state import FAST_GLOBALS, STATE
from ..dispatch.watching import any_watched
from ..memory.storage import new_object
from ..operators.rows import rows
from ..tensor.geometry import watched_twin
from ..tensor.tensor import Tensor
from .anomaly import ANOMALY, note_origin
from .autograd_meta import AutogradMeta, accumulator_of, edge_of, plain_of, requires_grad, result_of, version
from .below import below
from .derivative_table import derivatives, row_of_form
from .formulas import Formulas, compiled, condition, node_class
from .forward_mode import DUAL, outside, set_tangent, tangent_of
from .node import COUNTER
from .public import gb
from .saved_tensor import PACKING, saved
from .undifferentiable import MISSING, refusing
from .view_history import check_inplace, rebase
from .wrapped_results import results_of, view_results


def unwrap(tensor: Any) -> tuple[Any, Any]:
    """The plain tensor of a watched one, and where its gradient goes."""
    meta = tensor.autograd
    if meta is None:
        return plain_of(tensor), None
    if tensor.base is None:
        node = meta.grad_fn
        if node is not None:
            return meta.plain, (node, meta.output_nr)
        return meta.plain, (accumulator_of(tensor), 0) if tensor.requires_grad_flag else None
    return meta.plain, edge_of(tensor)


def unwrap_list(tensors: Any) -> tuple[Any, Any]:
    """The same for a list, which may have None in it; no edges at all when none of them leads anywhere."""
    pairs = [(one, None) if one is None or not one.geometry.watched else unwrap(one) for one in tensors]
    edges = tuple([edge for _, edge in pairs])
    plain = type(tensors)([one for one, _ in pairs]) if type(tensors) in (list, tuple) else [one for one, _ in pairs]
    return plain, None if all(edge is None for edge in edges) else edges


def plain_list(tensors: Any) -> Any:
    """A list with what kernels get for its watched tensors."""
    return [one if one is None else plain_of(one) for one in tensors]


def number_operand(number: Any, *others: Any) -> Tensor:
    """A number that stands where a tensor may: a tensor without dims, of the dtype that the call computes in."""
    tensor = next(one for one in others if isinstance(one, Tensor))
    made: Tensor = gb.scalar_tensor(number, dtype=gb.result_type(tensor, number), device=tensor.device)
    return made


def _is_tensor(argument: Argument) -> bool:
    return argument.base_type == "Tensor"


def signature(schema: Schema) -> str:
    """The parameters of a recorder: those of the schema."""
    parts = []
    starred = False
    for argument in schema.arguments:
        if argument.kwarg_only and not starred:
            starred = True
            parts.append("*")
        default = "" if argument.default is None else f"={argument.default_value!r}"
        if default and argument.base_type == "MemoryFormat" and argument.default_value is not None:
            default = "=contiguous_format"
        parts.append(argument.name + default)
    return ", ".join(parts)


def _passed(schema: Schema, plain: bool, replaced: Mapping[str, str]) -> str:
    """The arguments of a call on the plain tensors, or as they came in."""
    parts = []
    for argument in schema.arguments:
        value = f"p_{argument.name}" if plain and _is_tensor(argument) else argument.name
        value = replaced.get(argument.name, value)
        parts.append(f"{argument.name}={value}" if argument.kwarg_only else value)
    return ", ".join(parts)


def recorder_source(schema: Schema, formulas: Formulas, kind: str, quick: str | None, *, looking: bool = True) -> str:
    """Source of ``record(...)`` for an operator that is "fresh", makes a "view" or writes "inplace".

    With `looking` it first sees whether calls are recorded at all, and whether dual numbers are about.
    """
    positional = ", ".join(a.name for a in schema.positional) + ("," if schema.positional else "")
    named = ", ".join(f"{a.name!r}: {a.name}" for a in schema.keyword_only)
    passing = f"below(operator, ({positional}), {{{named}}})"
    lines = [f"def record({signature(schema)}):"]
    if looking:
        lines.append("    if not STATE.grad or DUAL.level:")
        lines.append(f"        return outside(operator, kind, row_name, recorded, ({positional}), {{{named}}})")
    singles = [a.name for a in schema.arguments if _is_tensor(a) and not a.is_list and not a.optional]
    if len(singles) > 1 and kind != "view":
        lines.append(f"    if {' or '.join(f'{name}.__class__ is not Tensor' for name in singles)}:")
        for name in singles:
            others = ", ".join(other for other in singles if other != name)
            lines.append(f"        if not isinstance({name}, Tensor):")
            lines.append(f"            {name} = number_operand({name}, {others})")
    for argument in schema.arguments:
        if _is_tensor(argument):
            lines += [f"    {line}" for line in _unwrapping(argument, argument.name in formulas.inputs)]
    edges = [f"e_{name}" for name in formulas.inputs]
    lines.append(f"    if {' and '.join(f'{edge} is None' for edge in edges)}:")
    lines.append(f"        return {passing}")
    if kind == "inplace":
        written = schema.arguments[0].name
        lines.append(f"    check_inplace({written})")
        lines += [f"    {line}" for line in _node(schema, formulas, f"p_{written}")]
        lines += [f"    {line}" for line in _saving(schema, formulas, written)]
        lines.append(f"    call(operator, {_passed(schema, True, {})})")
        lines.append(f"    node.geometries = (p_{written}.geometry,)")
        lines += [f"    {line}" for line in _saving_results(formulas, written)]
        lines += ["    if ANOMALY.enabled:", "        note_origin(node)"]
        lines += [f"    rebase({written}, node)", f"    return {written}"]
        return "\n".join(lines) + "\n"
    run = f"call(operator, {_passed(schema, True, {})})"
    lines.append(f"    result = {run if quick is None else quick.format(run=run)}")
    several = len(schema.returns) != 1 or schema.returns[0].type != "Tensor"
    for argument in schema.arguments:
        if _is_tensor(argument) and not argument.is_list and not several:
            lines += [f"    if result is p_{argument.name}:", f"        return {argument.name}"]
    first = "result[0]" if several else "result"
    if several:
        lines += ["    if not result:", "        return result"]
    if not several:
        lines += ["    if result.geometry.dtype.kind < 2:", f"        return {passing if kind == 'view' else 'result'}"]
    lines += [f"    {line}" for line in _node(schema, formulas, first)]
    lines += [f"    {line}" for line in _saving(schema, formulas, "")]
    geometries = "tuple([one.geometry for one in result])" if several else "(result.geometry,)"
    lines.append(f"    node.geometries = {geometries}")
    lines += [f"    {line}" for line in _saving_results(formulas, "")]
    lines += ["    if ANOMALY.enabled:", "        note_origin(node)"]
    if kind == "view":
        lines.append(f"    return view_results({schema.arguments[0].name}, result, node)")
    else:
        constant = f", {formulas.constant}" if formulas.constant else ""
        lines.append(f"    return results_of(result, node{constant})" if several else indent(RESULT, 1).rstrip("\n"))
    return "\n".join(lines) + "\n"


RESULT = """\
if result.__class__ is not Tensor:
    return result_of(result, node, 0)
geometry = result.geometry
made = new(Tensor)
made.geometry = geometry.twin if geometry.twin is not None else watched_twin(geometry)
made.storage = result.storage
made.offset = result.offset
made.pointer = result.pointer
made.counter = result.counter
made.base = None
made.requires_grad_flag = False
meta = made.autograd = new(AutogradMeta)
meta.plain = result
meta.grad_fn = node
meta.output_nr = 0
meta.view = meta.more = None
return made
"""
"""The watched tensor over a fresh result: `result_of`, without the call."""


def indent(text: str, levels: int) -> str:
    """`text` moved right by `levels` steps of four."""
    return "".join("    " * levels + line for line in text.splitlines(keepends=True))


def _unwrapping(argument: Argument, wanted: bool) -> list[str]:
    name = argument.name
    given = f"{name} is not None and " if argument.optional else ""
    if argument.is_list:
        none = f" if {name} is not None else (None, None)" if argument.optional else ""
        plain = f"p_{name} = plain_list({name}){' if ' + name + ' is not None else None' if argument.optional else ''}"
        return [f"p_{name}, e_{name} = unwrap_list({name}){none}"] if wanted else [plain]
    if wanted:
        return [f"p_{name}, e_{name} = unwrap({name}) if {given}{name}.geometry.watched else ({name}, None)"]
    return [f"p_{name} = plain_of({name}) if {given}{name}.geometry.watched else {name}"]


def _node(schema: Schema, formulas: Formulas, result: str) -> list[str]:
    """Making the node; the class for complex numbers is taken when the result or an input is complex."""
    kinds = [f"{result}.geometry.dtype.is_complex"]
    for name in formulas.inputs:
        argument = schema.argument(name)
        if not argument.is_list and not argument.optional:
            kinds.append(f"p_{name}.geometry.dtype.is_complex")
    if any(name in formulas.lists for name in formulas.inputs):
        edges = " + ".join(
            f"(e_{name} or (None,) * len({name} or ()))" if name in formulas.lists else f"(e_{name},)"
            for name in formulas.inputs
        )
    else:
        edges = f"({', '.join(f'e_{name}' for name in formulas.inputs)},)"
    lines = [
        f"node = new(Complex if {' or '.join(dict.fromkeys(kinds))} else Real)",
        f"node.edges = {edges}",
        "node.sequence = next(COUNTER)",
        "node.hooks = node.notes = None",
        "node.released = False",
    ]
    return lines + [f"node.n_{name} = len({name} or ())" for name in formulas.inputs if name in formulas.lists]


def _saving(schema: Schema, formulas: Formulas, written: str) -> list[str]:
    """What the node keeps of the arguments. Of one that is about to be written to, a copy is kept."""
    names = {argument.name for argument in schema.arguments}
    lines = ["packed = PACKING.pairs"] if any(use.name in names for use in formulas.values) else []
    for use in formulas.values:
        name = use.name
        if name not in names:
            continue
        if name in formulas.lists:
            lines.append(f"node.v_{name} = tuple([saved(one) for one in p_{name} or ()])")
            lines.append(f"node.w_{name} = tuple([0 if one is None else version(one) for one in p_{name} or ()])")
            continue
        lines.append(f"if {condition(use.wanted_by)}:")
        if name == written:
            lines.append(f"    node.v_{name} = saved(p_{name}.clone())")
            lines.append(f"    node.w_{name} = 0")
        else:
            optional = schema.argument(name).optional
            quickly = f"p_{name} is not None and " if optional else ""
            lines.append(f"    if {quickly}p_{name}.counter is None and not packed:")
            lines.append(f"        node.v_{name} = p_{name}")
            lines.append(f"        node.w_{name} = p_{name}.storage.version")
            lines.append("    else:")
            lines.append(f"        node.v_{name} = saved(p_{name}, {name})")
            lines.append(f"        node.w_{name} = {_version(f'p_{name}', optional)}")
        lines += ["else:", f"    node.v_{name} = None", f"    node.w_{name} = 0"]
    for use in formulas.described:
        name = use.name
        if name in formulas.lists:
            lines.append(f"node.m_{name} = [(one.geometry, one.offset) for one in p_{name}]")
        elif name in names:
            none = f"None if p_{name} is None else " if schema.argument(name).optional else ""
            lines.append(f"node.m_{name} = {none}(p_{name}.geometry, p_{name}.offset)")
    return lines + [f"node.a_{use.name} = {use.name}" for use in formulas.plain]


def _version(plain: str, optional: bool) -> str:
    text = f"{plain}.storage.version if {plain}.counter is None else version({plain})"
    return f"0 if {plain} is None else {text}" if optional else text


def _saving_results(formulas: Formulas, written: str) -> list[str]:
    lines = []
    for use in formulas.values:
        if use.name in formulas.results:
            result = f"p_{written}" if written else _result(formulas, use.name)
            lines.append(f"if {condition(use.wanted_by)}:")
            lines.append(f"    node.v_{use.name} = saved({result})")
            lines.append(f"    node.w_{use.name} = {_version(result, False)}")
            lines += ["else:", f"    node.v_{use.name} = None", f"    node.w_{use.name} = 0"]
    for use in formulas.described:
        if use.name in formulas.results:
            result = f"p_{written}" if written else _result(formulas, use.name)
            lines.append(f"node.m_{use.name} = ({result}.geometry, {result}.offset)")
    return lines


def _result(formulas: Formulas, name: str) -> str:
    return "result" if "result0" not in formulas.results else f"result[{formulas.results[name]}]"


def _quick(operator: Operator, schema: Schema) -> tuple[str | None, Any]:
    """How the public function serves a call sooner than the dispatcher: its source around ``{run}``, the function."""
    row = rows().get(operator.name)
    if row is None or row.family not in QUICK_FAMILIES or "function" not in row.variants or schema.vararg:
        return None, None
    if any(a.is_list and _is_tensor(a) for a in schema.arguments):
        return None, None
    tests = ["not FAST_GLOBALS['OVERRIDING']"]
    left_out = [a for a in schema.positional if a.name == "alpha"]
    for argument in (*left_out, *schema.keyword_only):
        value = argument.default_value if argument.default is not None else None
        same = value is None or isinstance(value, bool)
        tests.append(f"{argument.name} is {value!r}" if same else _is_default(argument))
    shown = [a for a in schema.positional if a not in left_out]
    given = ", ".join(f"p_{a.name}" if _is_tensor(a) else a.name for a in shown)
    return f"quick({given}) if {' and '.join(tests)} else {{run}}", getattr(gb, row.base)


def _is_default(argument: Argument) -> str:
    value = argument.default_value
    return f"({argument.name}.__class__ is {type(value).__name__} and {argument.name} == {value!r})"


QUICK_FAMILIES = frozenset({"pointwise", "reduction", "linalg"})
"""Families whose public functions have fast paths of their own."""


def generated(operator: Operator, kind: str, row_name: str) -> Callable[..., Any]:
    """The recorder of an operator with a derivative."""
    schema = without_keywords(operator.schema)
    row_schema = schema if row_name == operator.name else without_keywords(REGISTRY.find(row_name).schema)
    real, formulas = node_class(row_name, row_schema, True)
    complex_, _ = node_class(row_name, row_schema, False)
    quick, function = _quick(operator, schema) if kind == "fresh" else (None, None)
    if kind == "inplace":
        writes = schema.arguments[0].name in formulas.inputs
        for one in (real, complex_):
            one.writes_self = writes  # type: ignore[attr-defined]
    names: dict[str, Any] = {
        "ANOMALY": ANOMALY, "AutogradMeta": AutogradMeta, "below": below, "call": call,
        "check_inplace": check_inplace, "Complex": complex_, "contiguous_format": contiguous_format,
        "COUNTER": COUNTER, "DUAL": DUAL, "FAST_GLOBALS": FAST_GLOBALS, "kind": kind, "new": new_object,
        "note_origin": note_origin, "number_operand": number_operand, "operator": operator, "outside": outside,
        "PACKING": PACKING, "plain_list": plain_list, "plain_of": plain_of, "quick": function, "Real": real,
        "rebase": rebase, "result_of": result_of, "results_of": results_of, "row_name": row_name, "saved": saved,
        "STATE": STATE, "Tensor": Tensor, "unwrap": unwrap, "unwrap_list": unwrap_list, "version": version,
        "view_results": view_results, "watched_twin": watched_twin,
    }  # fmt: skip
    plainly = recorder_source(schema, formulas, kind, quick, looking=False)
    names["recorded"] = compiled(f"recorder of {operator.name}, recording", plainly, names, "record")
    source = recorder_source(schema, formulas, kind, quick)
    record: Callable[..., Any] = compiled(f"recorder of {operator.name}", source, names, "record")
    return record


def kind_of(schema: Schema) -> str:
    """ "out", "inplace", "view" or "fresh"."""
    if schema.is_out:
        return "out"
    if any(argument.written for argument in schema.arguments):
        return "inplace"
    return "view" if any(one.alias is not None for one in schema.returns) else "fresh"


def recorder_of(operator: Operator) -> Callable[..., Any]:
    """What records the calls of an operator that has kernels for backends only."""
    schema = operator.schema
    kind = kind_of(schema)
    name = operator.name
    found = derivatives().get(name)
    row_name = name
    if found is None and name in row_of_form():
        row_name = row_of_form()[name]
        found = derivatives().get(row_name)
    if kind == "out":
        return refusing_out(operator)
    if name in VIEW_OF_INPLACE:
        return metadata_inplace(operator, REGISTRY.find(VIEW_OF_INPLACE[name]))
    if operator.derivative is not None:
        from .function import registered_recorder

        return registered_recorder(operator)
    if found is None:
        return refusing(operator, kind) if _gives_numbers(operator) else passing(operator)
    if found.kind == "none":
        return passing(operator)
    if found.kind == "composite":
        return composite_inplace(operator, row_name) if row_name != name else unstripped(operator)
    return generated(operator, kind, row_name)


def _gives_numbers(operator: Operator) -> bool:
    """Whether results may have gradients: they are tensors, and not always of integers or bools."""
    row = rows().get(row_of_form().get(operator.name, operator.name))
    return row is None or row.result not in ("bool", "int64", "truth", "number")


def without_keywords(schema: Schema) -> Schema:
    """The schema with an underscore behind names that Python keeps for itself (``from``)."""
    if not any(keyword.iskeyword(argument.name) for argument in schema.arguments):
        return schema
    named = [replace(a, name=f"{a.name}_") if keyword.iskeyword(a.name) else a for a in schema.arguments]
    return replace(schema, arguments=tuple(named))


def metadata_inplace(operator: Operator, view: Operator) -> Callable[..., Any]:
    """An operator such as t_, which makes of the tensor the view that `view` returns."""

    def record(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        held = tangent_of(self) if DUAL.level else None
        if STATE.grad and requires_grad(self):
            check_inplace(self)
            seen = call(view, self, *args, **kwargs)
            below(operator, (self, *args), kwargs)
            meta = self.autograd
            meta.grad_fn, meta.output_nr = seen.autograd.grad_fn, 0
            if meta.view is not None:
                meta.view.version = version(self)
        else:
            below(operator, (self, *args), kwargs)
        if held is not None:
            set_tangent(self, call(view, held, *args, **kwargs))
        return self

    return record


VIEW_OF_INPLACE = {
    "t_": "t", "transpose_": "transpose.int", "swapaxes_": "swapaxes", "swapdims_": "swapdims", "squeeze_": "squeeze",
    "squeeze_.dim": "squeeze.dim", "squeeze_.dims": "squeeze.dims", "unsqueeze_": "unsqueeze",
    "as_strided_": "as_strided",
}  # fmt: skip
"""Operator that changes a tensor's own sizes and strides -> the view that it becomes."""


def passing(operator: Operator) -> Callable[..., Any]:
    """Nothing is recorded."""

    def record(*args: Any, **kwargs: Any) -> Any:
        return below(operator, args, kwargs)

    return record


def unstripped(operator: Operator) -> Callable[..., Any]:
    """The operator's kernel on the watched tensors themselves: it is made of operators that are recorded."""

    def record(*args: Any, **kwargs: Any) -> Any:
        device = next((one for one in args if isinstance(one, Tensor)), None)
        name = "CPU" if device is None or device.geometry.device.type == "cpu" else "Meta"
        entry = REGISTRY.lookup(operator, name)
        if entry.function is None:
            return below(operator, args, kwargs)
        return entry.function(*args, **kwargs)

    return record


def composite_inplace(operator: Operator, row_name: str) -> Callable[..., Any]:
    """The in-place form of a composite: the result of the functional form, written as copy_ does."""
    functional = REGISTRY.find(row_name)
    copy = REGISTRY.find("copy_")

    def record(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not STATE.grad:
            return below(operator, (self, *args), kwargs)
        call(copy, self, call(functional, self, *args, **kwargs))
        return self

    return record


def refusing_out(operator: Operator) -> Callable[..., Any]:
    """The out= form: RuntimeError while calls are recorded and a tensor requires a gradient."""
    name = operator.name.partition(".")[0]

    def record(*args: Any, **kwargs: Any) -> Any:
        if STATE.grad and _any_requires_grad((*args, *kwargs.values())):
            raise RuntimeError(
                f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                "arguments requires grad."
            )
        return below(operator, args, kwargs)

    return record


def _any_requires_grad(values: Any) -> bool:
    for value in values:
        if isinstance(value, Tensor):
            if value.geometry.watched and requires_grad(value):
                return True
        elif isinstance(value, (list, tuple)) and _any_requires_grad(value):
            return True
    return False


class Recorders:
    """What the dispatcher asks when a tensor is watched."""

    def resolve(self, operator: Operator, mask: int) -> Resolved:
        """The recorder for this key set: none below autograd, the kernel itself where that belongs to autograd."""
        if not mask & AUTOGRAD_MASK:
            return _plain(lambda *args, **kwargs: below(operator, args, kwargs, mask))
        found = REGISTRY.resolve(operator, mask)
        composed = found.entry.label == "math kernel" and _has_formulas(operator)
        if runtime_key(found.mask) in AUTOGRAD_KEYS and found.entry.function is not None and not composed:
            return _plain(lambda *args, **kwargs: run_entry(operator, found, args, kwargs))
        if mask > HIGHEST_AUTOGRAD and runtime_key(found.mask) not in AUTOGRAD_KEYS and found.mask > HIGHEST_AUTOGRAD:
            return _plain(lambda *args, **kwargs: redispatch(operator, mask, *args, **kwargs))
        return _plain(recorder_of(operator))

    def guarded(
        self, operator: Operator, found: Resolved, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Resolved:
        """The kernel, behind `below` when a tensor is watched: a kernel never sees one."""
        if not any_watched(args, kwargs):
            return found
        mask = found.mask
        return _plain(lambda *given, **options: below(operator, given, options, mask))


def _has_formulas(operator: Operator) -> bool:
    """Whether the spec has derivatives for an operator, which go before the operators that it is composed of."""
    found = derivatives().get(operator.name) or derivatives().get(row_of_form().get(operator.name, ""))
    return found is not None and found.kind == "formulas"


HIGHEST_AUTOGRAD = (1 << (AUTOGRAD_MASK.bit_length())) - 1
"""Key sets above this have a functionality that comes before autograd."""


def _plain(function: Callable[..., Any]) -> Resolved:
    return Resolved(Registration(function, "autograd kernel"), AUTOGRAD_MASK, True)


def begin() -> None:
    """Let the dispatcher ask the recorders; called before the first tensor is watched."""
    if not isinstance(REGISTRY.watchers, Recorders):
        REGISTRY.watchers = Recorders()


__all__ = ["MISSING", "Recorders", "begin", "kind_of", "recorder_of", "recorder_source", "unwrap"]
