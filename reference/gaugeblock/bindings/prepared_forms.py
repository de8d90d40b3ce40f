"""Bindings of operators that note runners: the call's geometries and plain arguments lead straight to one.

`PARAMETERS` says how each argument takes part, in the order of the schema:

- ``T`` a tensor and ``L`` a list of tensors: their geometries are part of the key, they go to the runner;
- ``i`` an int, ``b`` a bool, ``D`` an int, ints or nothing, ``I`` ints, also one by one at the end: part of the key;
- ``-`` nothing but the default.

Any other call goes the general path, and so does the first one; what its kernel notes is kept for the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..operators.prepared import forget, runner_of
from ..tensor.geometry import only_ints, remember
from ..tensor.tensor import Tensor
from .caller import Caller
from .converters import NO
from .source import ALLOCATE, indent


class Argument(NamedTuple):
    """Name, kind and default (NO when it is required) of one argument."""

    name: str
    kind: str
    default: Any


def _arguments(text: str) -> tuple[Argument, ...]:
    found = []
    for part in text.split():
        name, _, rest = part.partition(":")
        kind, equals, default = rest.partition("=")
        found.append(Argument(name, kind, eval(default) if equals else NO))
    return tuple(found)


REDUCTION = "self:T dim:D=None keepdim:b=False"
PARAMETERS: dict[str, str] = {
    "sum": REDUCTION, "prod": REDUCTION, "mean": REDUCTION, "amax": "self:T dim:D=() keepdim:b=False",
    "amin": "self:T dim:D=() keepdim:b=False", "max": REDUCTION, "min": REDUCTION, "any": REDUCTION,
    "all": REDUCTION, "argmax": REDUCTION, "argmin": REDUCTION, "nansum": REDUCTION, "nanmean": REDUCTION,
    "var": "self:T dim:D=None unbiased:b=True keepdim:b=False",
    "std": "self:T dim:D=None unbiased:b=True keepdim:b=False",
    "softmax": "self:T dim:i dtype:-=None", "log_softmax": "self:T dim:i dtype:-=None",
    "cumsum": "self:T dim:i", "cumprod": "self:T dim:i",
    "cat": "tensors:L dim:i=0", "stack": "tensors:L dim:i=0",
    "mm": "self:T mat2:T", "bmm": "self:T mat2:T", "matmul": "self:T other:T", "dot": "self:T tensor:T",
    "mv": "self:T vec:T",
    "gather": "self:T dim:i index:T", "index_select": "self:T dim:i index:T", "take": "self:T index:T",
    "scatter": "self:T dim:i index:T src:T", "equal": "self:T other:T", "nonzero": "self:T",
    "flip": "self:T dims:I", "tril": "self:T diagonal:i=0", "triu": "self:T diagonal:i=0",
    "roll": "self:T shifts:D dims:D=()",
    "sort": "self:T dim:i=-1 descending:b=False", "argsort": "self:T dim:i=-1 descending:b=False",
    "topk": "self:T k:i dim:i=-1 largest:b=True sorted:b=True",
}  # fmt: skip
"""Public name -> its arguments."""
CALL = "()"
"""Ends the names in keys, which no other entry of a geometry's plans does."""


def prepared(name: str, slow: str, self: str, run: Callable[..., Any]) -> tuple[str, dict[str, Any]]:
    """Source and names of the binding `name`, whose general path `run` is called `slow`."""
    first, *rest = _arguments(PARAMETERS[name])
    self = "tensors" if first.kind == "L" else self
    parameters, passed, values = [self], [self], [self]
    tests, keys = [], [repr(name + CALL)]
    names: dict[str, Any] = {slow: run, "only_ints": only_ints}
    if first.kind == "L":
        geometry = "key[0]"
    else:
        tests.append(f"{self}.__class__ is Tensor")
        geometry = f"{self}.geometry"
    for argument in rest:
        star = "*" if argument.kind == "I" else ""
        if star:
            parameters.append(f"*{argument.name}")
        elif argument.default is NO:
            names["UNSET"] = NO
            parameters.append(f"{argument.name}=UNSET")
        else:
            parameters.append(f"{argument.name}={argument.default!r}")
        passed.append(argument.name)
        key, test = _test(argument)
        tests += [test] if test else []
        if key:
            keys.append(key)
        if argument.kind == "T":
            values.append(argument.name)
    tests.append("not more")
    body = f"def {name}({', '.join(parameters)}, **more):\n"
    condition = " and ".join(["not SPECIAL", *tests])
    key_text = f"({', '.join(keys)},)"
    if first.kind == "L":
        body += (
            f"    if {condition} and (tensors.__class__ is list or tensors.__class__ is tuple):\n"
            f"        key = tuple([one.geometry if one.__class__ is Tensor else None for one in tensors])\n"
            f"        if key and key[0] is not None:\n"
            f"            runner = key[0].plans.get(({', '.join(keys)}, key))\n"
            f"            if runner:\n"
            f"                return runner(tensors)\n"
        )
        return body + f"    return {slow}({', '.join(passed)}, **more)\n", names
    body += f"    if {condition}:\n        plan = {geometry}.plans.get({key_text})\n        if plan:\n"
    call = f"return plan({', '.join(values)})\n"
    if len(values) == 1:
        body += (
            "            if plan.__class__ is not tuple:\n"
            f"                {call}"
            "            kernel, result_geometry, tail = plan\n"
            + indent(ALLOCATE.format(call=f"kernel(pointer, {self}.pointer, *tail)"), 3)
        )
    else:
        body += f"            {call}"
    return body + f"    return {slow}({', '.join(passed)}, **more)\n", names


def _test(argument: Argument) -> tuple[str, str]:
    """The argument's part of the key, and the condition under which the key says everything."""
    name = argument.name
    if argument.kind == "T":
        return f"{name}.geometry", f"{name}.__class__ is Tensor"
    if argument.kind == "i":
        return name, f"{name}.__class__ is int"
    if argument.kind == "b":
        return name, f"{name}.__class__ is bool"
    if argument.kind == "I":
        return name, f"only_ints({name})"
    if argument.kind == "D":
        plain = f"({name}.__class__ is int or {name} is None or {name}.__class__ is tuple and only_ints({name}))"
        return name, plain
    return "", f"{name} is None"


def slow_prepared(caller: Caller, name: str) -> Callable[..., Any]:
    """The general path: what the kernel notes is kept under the key that the generated code looks for."""
    arguments = _arguments(PARAMETERS[name])
    operators = {overload.operator.partition(".")[0] for overload in caller.group.overloads}
    operator = next(iter(operators))

    def run(*values: Any, **more: Any) -> Any:
        given, named = _given(arguments, values, more)
        if more or len(operators) > 1:
            return caller(*given, **named)
        forget()
        result = caller(*given, **named)
        runner = runner_of(operator, result)
        if runner is not None:
            _keep(name, arguments, values, runner)
        return result

    return run


def _given(
    arguments: tuple[Argument, ...], values: tuple[Any, ...], more: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments as they were given: without those that have their defaults; after such one by keyword."""
    given: list[Any] = []
    named = dict(more)
    gap = False
    for argument, value in zip(arguments, values, strict=True):
        if argument.kind == "I":
            if len(value) == 1 and not isinstance(value[0], int):
                value = value[0]
            if value == () and argument.name in more:
                gap = True
                continue
        elif value is argument.default or (value is NO and argument.default is NO):
            gap = True
            continue
        if gap:
            named[argument.name] = value
        else:
            given.append(value)
    return given, named


def _keep(name: str, arguments: tuple[Argument, ...], values: tuple[Any, ...], runner: Any) -> None:
    """Keep the runner in the plans of the first tensor's geometry, if the key is one that the generated code makes."""
    key: list[Any] = [name + CALL]
    geometries: list[Any] = []
    for argument, value in zip(arguments, values, strict=True):
        kind = value.__class__
        if argument.kind == "T" and kind is Tensor:
            geometries.append(value.geometry)
            key.append(value.geometry)
        elif argument.kind == "L" and kind in (list, tuple) and all(one.__class__ is Tensor for one in value):
            geometries += [one.geometry for one in value]
        elif (
            (argument.kind in "iD" and kind is int)
            or (argument.kind == "b" and kind is bool)
            or (argument.kind in "DI" and (value is None or (kind is tuple and only_ints(value))))
        ):
            key.append(value)
        elif not (argument.kind == "-" and value is None):
            return
    if not geometries or any(geometry.lazy for geometry in geometries):
        return
    if arguments[0].kind == "L":
        key.append(tuple(geometries))
    else:
        del key[1]
    remember(geometries[0].plans, tuple(key), runner)
