"""The autograd kernel of an operator as Python source, from its schema and what its derivative needs.

It calls the operator on the plain tensors, whether the call is recorded or not.
"""

from __future__ import annotations

from dataclasses import replace

from gaugeblock_spec.schema import Argument, Schema

from .formulas import Formulas, condition


def unrecorded_lines(schema: Schema, kind: str, run: str) -> list[str]:
    """Return lines for a call without tangents, on tensors with the Autograd key or without; none if they save no time.
    `run` calls the operator on the plain tensors."""
    tensors = [a for a in schema.arguments if a.base_type == "Tensor"]
    one = len(schema.returns) == 1 and schema.returns[0].type == "Tensor"
    inplace = kind == "inplace"
    if (kind == "view" and not (one and len(tensors) == 1)) or (inplace and tensors[0].is_list):
        return []
    if not all(returned.type.startswith("Tensor") for returned in schema.returns):
        return []
    given = [_is_exact(a) for a in tensors]
    lines = [f"if not DUAL.level and {' and '.join(f'({test})' if ' or ' in test else test for test in given)}:"]
    lines += [f"    {_unwrapping(a, False)[0]}" for a in tensors]
    if inplace:
        return [*lines, f"    {run}", f"    return {schema.arguments[0].name}"]
    lines.append(f"    result = {run}")
    if not one:
        test = "    if all([one.__class__ is Tensor and one.base is None for one in result]):"
        return [*lines, test, "        return result"]
    tensors = [a for a in tensors if not a.is_list]
    for a in tensors:
        lines += [f"    if result is p_{a.name}:", f"        return {a.name}"]
    if kind == "view":
        return [*lines, f"    return unrecorded_view(operator, {tensors[0].name}, result)"]
    return [*lines, "    if result.__class__ is not Tensor or result.base is None:", "        return result"]


def _is_exact(argument: Argument) -> str:
    """Return source that tests that an argument, or every tensor in it, belongs to no subclass."""
    name = argument.name
    test = f"exact({name})" if argument.is_list else f"{name}.__class__ is Tensor"
    return f"{test} or {name} is None" if argument.optional else test


def left_out(schema: Schema) -> list[Argument]:
    """Return the numbers, such as alpha, that a kernel does not pass on where all have their defaults."""
    numbers = [a for a in schema.arguments if a.base_type == "Scalar" and a.default not in (None, "None")]
    return numbers if all(a.kwarg_only or a is schema.positional[-1] for a in numbers) else []


def run_source(schema: Schema) -> str:
    """Source that runs the operator on the plain tensors."""
    numbers = left_out(schema)
    run = f"run({_passed(schema)})"
    if not numbers:
        return run
    shorter = replace(schema, arguments=tuple([a for a in schema.arguments if a not in numbers]))
    return f"(run({_passed(shorter)}) if {' and '.join(map(_default, numbers))} else {run})"


def _default(argument: Argument) -> str:
    """A test that an argument has its default."""
    value = argument.default_value
    if isinstance(value, bool):
        return f"{argument.name} is {value!r}"
    return f"({argument.name}.__class__ is {type(value).__name__} and {argument.name} == {value!r})"


def signature(schema: Schema) -> str:
    """The parameters of an autograd kernel: those of the schema."""
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


def _passed(schema: Schema) -> str:
    """The arguments of a call on the plain tensors."""
    values = [(a, f"p_{a.name}" if a.base_type == "Tensor" else a.name) for a in schema.arguments]
    return ", ".join([f"{a.name}={value}" if a.kwarg_only else value for a, value in values])


def kernel_source(schema: Schema, formulas: Formulas, kind: str) -> str:
    """Source of ``record(...)`` for an operator that is "fresh", makes a "view" or writes "inplace"."""
    passing = f"below(operator, {_given(schema)})"
    lines = [f"def record({signature(schema)}):"]
    run = run_source(schema)
    lines.append("    if not STATE.grad or (DUAL.level and not PAUSED.value):")
    lines += [f"        {line}" for line in unrecorded_lines(schema, kind, run)]
    lines.append(f"        return outside(operator, kind, row_name, record, {_given(schema)})")
    tensors = [a for a in schema.arguments if a.base_type == "Tensor"]
    singles = [a.name for a in tensors if not a.is_list and not a.optional]
    if len(singles) > 1 and kind != "view":
        lines.append(f"    if {' or '.join(f'{name}.__class__ is not Tensor' for name in singles)}:")
        for name in singles:
            others = ", ".join(other for other in singles if other != name)
            lines.append(f"        if not isinstance({name}, Tensor):")
            lines.append(f"            {name} = number_operand({name}, {others})")
    for argument in tensors:
        lines += [f"    {line}" for line in _unwrapping(argument, argument.name in formulas.inputs)]
    edges = [f"e_{name}" for name in formulas.inputs]
    lines.append(f"    if {' and '.join(f'{edge} is None' for edge in edges)}:")
    lines.append(f"        return {passing}")
    if kind == "inplace":
        written = schema.arguments[0].name
        lines += [f"    if {written}.meta.dtype.kind < 2:", f"        return {passing}"]
        lines.append(f"    check_inplace({written})")
        lines += [f"    {line}" for line in _node(schema, formulas, f"p_{written}")]
        lines += [f"    {line}" for line in _saving(schema, formulas, written)]
        lines.append(f"    {run}")
        lines.append(f"    node.metas = (p_{written}.meta,)")
        lines += [f"    {line}" for line in _saving_results(formulas, written)]
        lines += ["    if ANOMALY.enabled:", "        note_origin(node)"]
        lines += [f"    rebase({written}, node)", f"    return {written}"]
        return "\n".join(lines) + "\n"
    several = len(schema.returns) != 1 or schema.returns[0].type != "Tensor"
    lines.append(f"    result = {run}")
    for argument in tensors:
        if not argument.is_list and not several:
            lines += [f"    if result is p_{argument.name}:", f"        return {argument.name}"]
    first = "result[0]" if several else "result"
    if several:
        lines += ["    if not result:", "        return result"]
    if not several:
        whole = f"result if result.base is None else {passing}" if kind == "view" else "result"
        lines += ["    if result.meta.dtype.kind < 2:", f"        return {whole}"]
    lines += [f"    {line}" for line in _node(schema, formulas, first)]
    lines += [f"    {line}" for line in _saving(schema, formulas, "")]
    metas = "tuple([one.meta for one in result])" if several else "(result.meta,)"
    lines.append(f"    node.metas = {metas}")
    lines += [f"    {line}" for line in _saving_results(formulas, "")]
    lines += ["    if ANOMALY.enabled:", "        note_origin(node)"]
    if kind == "view":
        base = schema.arguments[0].name
        views = f"view_results({base}, result, node)"
        if not several:
            views = f"view_result({base}, result, node, 0, DEFAULT, MAKER)"
        lines.append(f"    return {views}")
    else:
        constant = f", {formulas.constant}" if formulas.constant else ""
        made = f"results_of(result, node{constant})" if several else "result_of(result, node, 0)"
        lines.append(f"    return {made}")
    return "\n".join(lines) + "\n"


def passing_source(schema: Schema) -> str | None:
    """Source of ``record(...)`` for an operator that makes something new, with nothing to record; None if there is no
    quick way."""
    lines = unrecorded_lines(schema, "fresh", run_source(schema))
    if not lines:
        return None
    end = f"return below(operator, {_given(schema)})"
    return "\n".join([f"def record({signature(schema)}):", *(f"    {line}" for line in (*lines, end))]) + "\n"


def _given(schema: Schema) -> str:
    """The positional arguments as a tuple, the others as a dict."""
    positional = ", ".join(a.name for a in schema.positional) + ("," if schema.positional else "")
    return f"({positional}), {{{', '.join(f'{a.name!r}: {a.name}' for a in schema.keyword_only)}}}"


def _unwrapping(argument: Argument, wanted: bool) -> list[str]:
    name = argument.name
    given = f"{name} is not None and " if argument.optional else ""
    if argument.is_list:
        none = f" if {name} is not None else (None, None)" if argument.optional else ""
        plain = f"p_{name} = plain_list({name}){' if ' + name + ' is not None else None' if argument.optional else ''}"
        return [f"p_{name}, e_{name} = unwrap_list({name}){none}"] if wanted else [plain]
    if wanted:
        return [f"p_{name}, e_{name} = unwrap({name}) if {given}{name}.meta.has_autograd else ({name}, None)"]
    return [f"p_{name} = unpack({name}) if {given}{name}.meta.has_autograd else {name}"]


def _node(schema: Schema, formulas: Formulas, result: str) -> list[str]:
    """Making the node; the class for complex numbers is taken when the result or an input is complex."""
    kinds = [f"{result}.meta.dtype.is_complex"]
    for name in formulas.inputs:
        argument = schema.argument(name)
        if not argument.is_list and not argument.optional:
            kinds.append(f"p_{name}.meta.dtype.is_complex")
    if any(name in formulas.lists for name in formulas.inputs):
        edges = " + ".join(
            f"(e_{name} or (None,) * len({name} or ()))" if name in formulas.lists else f"(e_{name},)"
            for name in formulas.inputs
        )
    else:
        edges = f"({', '.join(f'e_{name}' for name in formulas.inputs)},)"
    lines = [
        f"node = new(complex_class() if {' or '.join(dict.fromkeys(kinds))} else Real)",
        f"node.edges = {edges}",
        "node.sequence = next(COUNTER)",
        "node.hooks = node.notes = None",
        "node.released = False",
    ]
    return lines + [f"node.n_{name} = len({name} or ())" for name in formulas.inputs if name in formulas.lists]


def _saving(schema: Schema, formulas: Formulas, written: str) -> list[str]:
    """Return source that keeps arguments in the node: of one that is about to be written to, a copy."""
    names = {argument.name for argument in schema.arguments}
    lines = ["packed = PACKING.pairs"] if any(use.name in names for use in formulas.values) else []
    for name, wanted_by in formulas.values:
        if name not in names:
            continue
        if name in formulas.lists:
            lines.append(f"node.v_{name} = tuple([saved(one, two) for one, two in zip(p_{name} or (), {name} or ())])")
            lines.append(f"node.w_{name} = tuple([0 if one is None else version(one) for one in p_{name} or ()])")
        elif name == written:
            edge = f"e_{name}" if name in formulas.inputs else "None"
            lines += _kept(name, wanted_by, f"saved(p_{name}.clone(), result_of_node={edge}), 0")
        else:
            plain, none = f"p_{name}", f"0 if p_{name} is None else " if schema.argument(name).optional else ""
            quickly = f"({plain}, {plain}.storage_impl.version) if {plain} is not None and {plain}.counter is None"
            others = f"(saved({plain}, {name}), {none}version({plain}))"
            lines += _kept(name, wanted_by, f"{quickly} and not packed else {others}")
    for use in formulas.described:
        name = use.name
        if name in formulas.lists:
            lines.append(f"node.m_{name} = [(one.meta, one.offset) for one in p_{name}]")
        elif name in names:
            none = f"None if p_{name} is None else " if schema.argument(name).optional else ""
            lines.append(f"node.m_{name} = {none}(p_{name}.meta, p_{name}.offset)")
    return lines + [f"node.a_{use.name} = {use.name}" for use in formulas.plain]


def _kept(name: str, wanted_by: tuple[str, ...], value: str) -> list[str]:
    """Source that keeps a tensor and its version in the node if a gradient is wanted that needs it."""
    return [
        f"if {condition(wanted_by)}:", f"    node.v_{name}, node.w_{name} = {value}",
        "else:", f"    node.v_{name}, node.w_{name} = None, 0",
    ]  # fmt: skip


def _saving_results(formulas: Formulas, written: str) -> list[str]:
    lines = []
    for name, wanted_by in formulas.values:
        if name in formulas.results:
            result = f"p_{written}" if written else _result(formulas, name)
            kept = f"saved({result}, None, (node, {formulas.results[name]}))"
            lines += _kept(name, wanted_by, f"{kept}, version({result})")
    for use in formulas.described:
        if use.name in formulas.results:
            result = f"p_{written}" if written else _result(formulas, use.name)
            lines.append(f"node.m_{use.name} = ({result}.meta, {result}.offset)")
    return lines


def _result(formulas: Formulas, name: str) -> str:
    return "result" if "result0" not in formulas.results else f"result[{formulas.results[name]}]"
