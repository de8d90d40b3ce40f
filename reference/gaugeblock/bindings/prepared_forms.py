"""Bindings of operators that note runners: the call's geometries and plain arguments lead straight to one.

`PARAMETERS` (prepared_table.py) says how each argument takes part, in the order of the schema:

- ``T`` a tensor and ``L`` a list of tensors: their geometries are part of the key, they go to the runner;
- ``N`` a number, a tensor or nothing, ``M`` a number or a tensor: number classes and geometries are part of the key,
  they go to the runner;
- ``i`` an int, ``b`` a bool, ``D`` an int, ints, None or left out (which may be another overload than None), ``I``
  ints, also one by one at the end: part of the key;
- ``s`` a string, by keyword only: part of the key;
- ``K`` a number, by keyword only: its class is part of the key, it goes to the runner;
- ``-`` nothing but the default.

With out= the geometry of what is written belongs to the key as well (see written_forms).

Any other call goes the general path, and so does the first one; what its kernel notes is kept for the next. For
operators that note nothing it is the kernel itself, which dispatch would find again for the same geometries.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import is_
from typing import Any, NamedTuple

from gaugeblock_spec.schema import parse

from ..core.device import cpu
from ..dispatch.state import FAST_GLOBALS
from ..dispatch.watching import any_watched
from ..operators.pointwise_run import PointwiseNote
from ..operators.prepared import Ordered, with_runner
from ..tensor.geometry import only_ints, remember
from ..tensor.tensor import Tensor, new_like
from .caller import Caller
from .converters import NO
from .prepared_table import FROM_GEOMETRIES, PARAMETERS
from .source import ALLOCATE, indent
from .written_forms import fills, shares, writable, writing


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
        found.append(Argument(name, kind, eval(default) if equals and kind != "D" else NO))
    return tuple(found)


CALL = "()"
"""Ends the names in keys, which no other entry of a geometry's plans does."""


def prepared(name: str, slow: str, self: str, run: Callable[..., Any]) -> tuple[str, dict[str, Any]]:
    """Source and names of the binding `name`, whose general path `run` is called `slow`."""
    first, *rest = _arguments(PARAMETERS[name])
    self = self if first.name == "self" else first.name
    parameters, passed, values = [f"{self}=UNSET"], [self], [self]
    tests, keys = [], [repr(name + CALL)]
    by_keyword = [argument.name for argument in rest if argument.kind in "sK"]
    names: dict[str, Any] = {slow: run, "only_ints": only_ints, "UNSET": NO}
    if first.kind == "L":
        geometry = "key[0]"
    else:
        tests.append(f"{self}.__class__ is Tensor")
        geometry = f"{self}.geometry"
    for argument in rest:
        star = "*" if argument.kind == "I" else ""
        if by_keyword[:1] == [argument.name]:
            parameters.append("*")
        if star:
            parameters.append(f"*{argument.name}")
        elif argument.default is NO:
            parameters.append(f"{argument.name}=UNSET")
        else:
            parameters.append(f"{argument.name}={argument.default!r}")
        passed.append(argument.name)
        key, test = _test(argument)
        tests += [test] if test else []
        if key:
            keys.append(key)
        if argument.kind in "TMNK":
            values.append(argument.name)
    head = f"def {name}({', '.join(parameters)}, **more):\n"
    condition = " and ".join(["not SPECIAL", *tests])
    key_text = f"({', '.join(keys)},)"
    end = f"    return {slow}({', '.join(passed)}, **more)\n"
    if first.kind == "L":
        body = (
            f"    if {condition} and (tensors.__class__ is list or tensors.__class__ is tuple):\n"
            f"        key = tuple([one.geometry if one.__class__ is Tensor else None for one in tensors])\n"
            f"        if key and key[0] is not None:\n"
            f"            geometry, key = key[0], ({', '.join(keys)}, key)\n"
            f"            if not more:\n"
            f"                runner = geometry.plans.get(key)\n"
            f"                if runner:\n"
            f"                    return runner(tensors)\n" + indent(_OUT.format(values="tensors"), 3)
        )
        return head + body + end, names
    body = f"    if {condition}:\n        geometry, key = {geometry}, {key_text}\n        if not more:\n"
    body += "            plan = geometry.plans.get(key)\n            if plan:\n"
    call = f"result = plan({', '.join(values)})\n"
    if len(values) == 1:
        body += (
            "                if plan.__class__ is not tuple:\n"
            f"                    return plan({self})\n"
            "                kernel, result_geometry, tail = plan\n"
            + indent(ALLOCATE.format(call=f"kernel(pointer, {self}.pointer, *tail)"), 4)
        )
    else:
        body += f"                {call}                if result is not None:\n                    return result\n"
    body += indent(_OUT.format(values=", ".join(values)), 2)
    return head + _tried_again(self, rest, body) + end, names


def _tried_again(self: str, rest: list[Argument], body: str) -> str:
    """The body once more when ints came in a list, or as one sequence where they may come singly, as the key wants."""
    again = ""
    for argument in rest:
        name = argument.name
        if argument.kind == "D":
            again += f"    if {name}.__class__ is list and only_ints({name}) and {self}.__class__ is Tensor:\n"
            again += f"        {name} = tuple({name})\n        continue\n"
        elif argument.kind == "I":
            again += f"    if len({name}) == 1 and {name}[0].__class__ in (list, tuple) and {name}[0]"
            again += f" and only_ints({name}[0]) and {self}.__class__ is Tensor:\n"
            again += f"        {name} = tuple({name}[0])\n        continue\n"
    if not again:
        return body
    return "    while True:\n" + indent(body + "    if SPECIAL:\n        break\n" + again + "    break\n", 1)


_OUT = """\
elif len(more) == 1:
    out = more.get("out")
    if out.__class__ is Tensor:
        plan = geometry.plans.get((key, out.geometry))
        if plan:
            result = plan(out, {values})
            if result is not None:
                return result
"""


def _test(argument: Argument) -> tuple[str, str]:
    """The argument's part of the key, and the condition under which the key says everything."""
    name = argument.name
    if argument.kind == "T":
        return f"{name}.geometry", f"{name}.__class__ is Tensor"
    if argument.kind in "MN":
        return f"{name}.geometry if {name}.__class__ is Tensor else {name}.__class__", ""
    if argument.kind == "K":
        return f"{name}.__class__", ""
    if argument.kind == "i":
        return name, f"{name}.__class__ is int"
    if argument.kind == "b":
        return name, f"{name}.__class__ is bool"
    if argument.kind == "s":
        return name, f"{name}.__class__ is str"
    if argument.kind == "I":
        return name, f"{name} and only_ints({name})"
    if argument.kind == "D":
        none = f"{name} is UNSET or {name} is None"
        plain = f"({name}.__class__ is int or {none} or {name}.__class__ is tuple and only_ints({name}))"
        return name, plain
    return "", f"{name} is {argument.default}"


def slow_prepared(caller: Caller, name: str) -> Callable[..., Any]:
    """The general path: what the kernel notes is kept under the key that the generated code looks for."""
    arguments = _arguments(PARAMETERS[name])
    operators = {overload.operator.partition(".")[0] for overload in caller.group.overloads}
    operator = next(iter(operators))
    schemas = [parse(overload.schema) for overload in caller.group.overloads]
    keywords = {argument.name for schema in schemas for argument in schema.keyword_only}

    def run(*values: Any, **more: Any) -> Any:
        if values[0] is NO:
            return caller(**_by_name(arguments, values), **more)
        given, named = _given(arguments, values, more, keywords)
        key = None
        if not FAST_GLOBALS["SPECIAL"] and len(operators) == 1 and (not more or (len(more) == 1 and "out" in more)):
            key = _key(name, arguments, values)
        if key is None:
            return caller(*given, **named)
        if FAST_GLOBALS["WATCHING"] and any_watched(values, more):
            result = caller(*given, **named)
            if more or key in _first(values).plans:
                return result
            runner: Any = recorder_runner(caller, arguments, values, given, named) or False
        elif more:
            return into(key, values, given, named)
        else:
            result, runner = with_runner(operator, caller, *given, **named)
            runner = empty_runner(name, result) or found_runner(runner, values, given, named)
        if runner is not None:
            remember(_first(values).plans, key, runner)
        return result

    def found_runner(runner: Any, values: tuple[Any, ...], given: list[Any], named: dict[str, Any]) -> Any:
        if FAST_GLOBALS["SPECIAL"]:
            return None
        if isinstance(runner, PointwiseNote):
            return _in_order(runner.within() if name.endswith("_") else runner.ordered(), arguments, values)
        return kernel_runner(caller, arguments, given, named) if runner is None else runner

    def into(key: Any, values: tuple[Any, ...], given: list[Any], named: dict[str, Any]) -> Any:
        out = named["out"]
        geometry = out.geometry if out.__class__ is Tensor else None
        result = caller(*given, **named)
        if geometry is not None and writable(geometry) and out.geometry is geometry:
            plans, key = _first(values).plans, (key, geometry)
            if key not in plans and not shares(out, values):
                plain = {name: value for name, value in named.items() if name != "out"}
                again, runner = with_runner(operator, caller, *given, **plain)
                runner = found_runner(runner, values, given, plain) if fills(again, geometry) else None
                remember(plans, key, False if runner is None else writing(runner, geometry))
        return result

    return run


def empty_runner(name: str, result: Any) -> Callable[..., Tensor] | None:
    """Return a function that makes an empty tensor like `result`; None if the result depends on elements."""
    if name not in FROM_GEOMETRIES or result.__class__ is not Tensor or FAST_GLOBALS["SPECIAL"]:
        return None
    geometry = result.geometry
    if geometry.numel or geometry.device is not cpu or result.base is not None or geometry.lazy or geometry.watched:
        return None
    return lambda *values: new_like(geometry)


def _by_name(arguments: tuple[Argument, ...], values: tuple[Any, ...]) -> dict[str, Any]:
    """The arguments of a call that names its first one otherwise, each by its own name."""
    given = {argument.name: value for argument, value in zip(arguments, values, strict=True) if value is not NO}
    return {argument.name: given[argument.name] for argument in arguments if _is_given(argument, given)}


def _is_given(argument: Argument, given: dict[str, Any]) -> bool:
    value = given.get(argument.name, argument.default)
    return value is not argument.default and not (argument.kind == "I" and value == ())


def _first(values: tuple[Any, ...]) -> Any:
    return (values[0] if isinstance(values[0], Tensor) else values[0][0]).geometry


def _in_order(ordered: Ordered | None, arguments: tuple[Argument, ...], values: tuple[Any, ...]) -> Any:
    """The runner, if it takes the operands in the order in which they were given."""
    given = [v for a, v in zip(arguments, values, strict=True) if a.kind in "TMNK" and v is not None]
    if ordered is None or not all(map(is_, given, ordered.operands)):
        return None
    run, defaults = ordered.run, ordered.operands[len(given) :]
    if not defaults:
        return run
    return None if any(isinstance(one, Tensor) for one in defaults) else lambda *some: run(*some, *defaults)


def _given(
    arguments: tuple[Argument, ...], values: tuple[Any, ...], more: dict[str, Any], keywords: set[str]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments as they were given: without those that have their defaults; after such one by keyword, and beside
    other keywords those by keyword that some overload wants so."""
    given: list[Any] = []
    named = dict(more)
    gap = False
    for argument, value in zip(arguments, values, strict=True):
        if argument.kind == "I":
            if value == ():
                gap = True
                continue
            if len(value) == 1 and not isinstance(value[0], int):
                value = value[0]
        elif value is argument.default or (value is NO and argument.default is NO):
            gap = True
            continue
        if gap or argument.kind in "sK" or (more and argument.name in keywords):
            named[argument.name] = value
            gap = True
        else:
            given.append(value)
    return given, named


def _key(name: str, arguments: tuple[Argument, ...], values: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The key that the generated code makes of these arguments; None when it does not look for one."""
    key: list[Any] = [name + CALL]
    geometries: list[Any] = []
    for argument, value in zip(arguments, values, strict=True):
        kind = value.__class__
        if kind is Tensor and argument.kind in "TMN":
            geometries.append(value.geometry)
            key.append(value.geometry)
        elif argument.kind == "L" and kind in (list, tuple) and all(one.__class__ is Tensor for one in value):
            geometries += [one.geometry for one in value]
        elif argument.kind in NUMBERS and (kind in (int, float) or (value is None and argument.kind == "N")):
            key.append(kind)
        elif argument.kind in PLAIN and _is_plain(argument.kind, value):
            key.append(value)
        elif argument.kind != "-" or value is not argument.default:
            return None
    if not geometries or any(geometry.lazy for geometry in geometries):
        return None
    if arguments[0].kind == "L":
        key.append(tuple(geometries))
    else:
        del key[1]
    return tuple(key)


NUMBERS, PLAIN = "MNK", "ibDIs"


def _is_plain(kind: str, value: Any) -> bool:
    """Whether the value is one of the kind that the generated code puts into the key as it is."""
    if kind == "i":
        return value.__class__ is int
    if kind in "bs":
        return value.__class__ is (bool if kind == "b" else str)
    ints = value.__class__ is tuple and only_ints(value)
    return ints or (kind == "D" and (value is None or value is NO or value.__class__ is int))


def kernel_runner(
    caller: Caller, arguments: tuple[Argument, ...], given: list[Any], named: dict[str, Any]
) -> Callable[..., Any] | None:
    """The kernel that a call goes to, as a function of its tensors and numbers; None when it is not a plain one."""
    found = caller.found(tuple(given), named)
    if found is None or arguments[0].kind == "L":
        return None
    function: Callable[..., Any] = found[0]
    _, values, options = found
    places = [place for place, argument in enumerate(arguments) if argument.kind in "TMN"]
    if options or len(values) < len(arguments):
        return None
    if places != list(range(len(places))):
        return _scattered(function, values, places)
    rest = tuple(values[len(places) :])
    if not rest:
        return function
    if len(places) == 1:
        return lambda one: function(one, *rest)
    return lambda *some: function(*some, *rest)


def recorder_runner(
    caller: Caller, arguments: tuple[Argument, ...], values: tuple[Any, ...], given: list[Any], named: dict[str, Any]
) -> Callable[..., Any] | None:
    """The recorder of a call with watched tensors as a function of its tensors and numbers, the rest as given now."""
    found = caller.found(tuple(given), named)
    if found is None:
        return None
    record: Callable[..., Any]
    record, passed, options = found
    places = [place for place, argument in enumerate(arguments) if argument.kind in "TMNL"]
    if len(passed) <= places[-1] or not all(_is_same(values[place], passed[place]) for place in places):
        return None
    count = len(places)
    if places[-1] >= count:
        return _scattered(functools.partial(record, **options), passed, places)
    rest = tuple(passed[count:])
    factors = [argument.name for argument in arguments if argument.kind == "K"]
    if factors:
        return lambda *some: record(*some[:count], *rest, **options | dict(zip(factors, some[count:], strict=True)))
    if not rest and not options:
        return record
    return lambda *some: record(*some, *rest, **options)


def _is_same(operand: Any, passed: Any) -> bool:
    """Whether an operand goes to the recorder as it is: tensors and None themselves, numbers and lists by content."""
    if operand.__class__ in (list, tuple):
        return len(operand) == len(passed) and all(map(is_, operand, passed))
    return operand is passed or (operand.__class__ is passed.__class__ in (int, float) and operand == passed)


def _scattered(function: Callable[..., Any], values: list[Any], places: list[int]) -> Callable[..., Any]:
    values = [None if place in places else value for place, value in enumerate(values)]

    def run(*some: Any) -> Any:
        filled = list(values)
        for place, value in zip(places, some, strict=True):
            filled[place] = value
        return function(*filled)

    return run
