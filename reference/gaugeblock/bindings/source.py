"""Python source of the specialised bindings: fast path first, the general path behind it.

All generated functions share one globals dictionary (`FAST_GLOBALS`): Tensor, Storage, new (object.__new__), SPECIAL,
ONE, new_like, bump_version, and per binding the general path ``slow_NAME`` and, for operators, ``operator_NAME``.
"""

from __future__ import annotations

ALLOCATE = """\
try:
    pointer = result_geometry.pool.pop()
except (IndexError, AttributeError):
    result = new_like(result_geometry)
    pointer = result.pointer
    {call}
    return result
storage = new(Storage)
storage._pointer = pointer
storage.pool = result_geometry.pool
storage._nbytes = result_geometry.nbytes
storage.device = cpu
storage.resizable = True
storage.version = 0
storage.allocator = storage.deleter = storage.owner = None
result = new(Tensor)
result._geometry = result_geometry
result._storage_impl = storage
result._offset = 0
result._pointer = pointer
result.base = result.counter = result.autograd = None
result.requires_grad_flag = False
{call}
return result
"""
"""Give `result_geometry` a block from its pool, run the kernel into it and return the tensor."""


def indent(text: str, levels: int) -> str:
    """`text` moved right by `levels` steps of four."""
    margin = "    " * levels
    return "".join(margin + line if line.strip() else line for line in text.splitlines(keepends=True))


def unary(name: str, function: str, self: str, row: str, *, options: tuple[str, ...]) -> str:
    """A function of one tensor: ``exp(self)``; `options` are keyword arguments that only the general path serves."""
    untouched, rest, signature = _options(options)
    first, signature, rest, unnamed = _aliases(self, signature, rest)
    untouched += unnamed
    return (
        f"def {function}({first}{signature}):\n"
        f"    if {self}.__class__ is Tensor and not SPECIAL{untouched}:\n"
        f"        plan = {self}.geometry.plans.get({row!r})\n"
        f"        if plan:\n"
        f"            kernel, result_geometry, count = plan\n"
        + indent(ALLOCATE.format(call=f"kernel(pointer, {self}.pointer, count)"), 3)
        + (_written(row, self, "", untouched) if "out" in options else "")
        + f"    return slow_{name}({self}{rest})\n"
    )


def _written(row: str, self: str, other: str, untouched: str) -> str:
    """The call with out=, when one on these geometries and number types has been run before."""
    kinds, operands = f"{self}.geometry", self
    if other:
        kinds += f", {other}.geometry if {other}.__class__ is Tensor else {other}.__class__"
        operands += f", {other}"
    plain = untouched.replace(" and out is None", "")
    return (
        f"    if out.__class__ is Tensor and {self}.__class__ is Tensor and not SPECIAL{plain}:\n"
        f"        plan = {self}.geometry.plans.get(({row + ' out'!r}, out.geometry, {kinds}))\n"
        f"        if plan:\n"
        f"            result = plan(out, {operands})\n"
        f"            if result is not None:\n"
        f"                return result\n"
    )


def _aliases(self: str, signature: str, rest: str, other: str = "") -> tuple[str, str, str, str]:
    """How a function declares its operands, so that they may have the array libraries' names; methods have none."""
    if self != "input":
        return self + (f", {other}" if other else ""), signature, rest, ""
    operands = f"{self}=UNSET" + (f", {other}=UNSET" if other else "")
    return operands, f"{signature}, **names", f"{rest}, **names", " and not names"


def _options(options: tuple[str, ...]) -> tuple[str, str, str]:
    """The condition that no option is given, how they are passed on, how they are declared."""
    defaults = {option: "ONE" if option == "alpha" else "None" for option in options}
    untouched = "".join(f" and {option} is {default}" for option, default in defaults.items())
    rest = "".join(f", {option}={option}" for option in options)
    signature = ", *, " + ", ".join(f"{option}={default}" for option, default in defaults.items()) if options else ""
    return untouched, rest, signature


def inplace_unary(name: str, function: str, row: str, *, options: tuple[str, ...]) -> str:
    """An in-place method without operands: ``x.exp_()``."""
    untouched, rest, signature = _options(options)
    return (
        f"def {function}(self{signature}):\n"
        f"    if not SPECIAL and self.__class__ is Tensor{untouched}:\n"
        f"        plan = self.geometry.plans.get({row!r})\n"
        f"        if plan:\n"
        f"            kernel, count = plan\n"
        + indent(_COUNTED.format(call="kernel(pointer, pointer, count)"), 3)
        + f"    return slow_{name}(self{rest})\n"
    )


_COUNTED = """\
if self.counter is None:
    self.storage_impl.version += 1
else:
    bump_version(self)
pointer = self.pointer
{call}
return self
"""


def binary(
    function: str, self: str, other: str, rows: tuple[str, str | None], *, options: tuple[str, ...], slow: str
) -> str:
    """A function of a tensor and a tensor or number; `rows` are the keys of the two overloads."""
    tensor_row, number_row = rows
    untouched, rest, signature = _options(options)
    operands, signature, rest, unnamed = _aliases(self, signature, rest, other)
    untouched += unnamed
    head = f"def {function}({operands}{signature}):\n"
    body = (
        f"    if {self}.__class__ is Tensor and not SPECIAL{untouched}:\n"
        f"        geometry = {self}.geometry\n"
        f"        kind = {other}.__class__\n"
        f"        if kind is Tensor:\n"
        f"            other_geometry = {other}.geometry\n"
        f"            if geometry is other_geometry:\n"
        f"                plan = geometry.plans.get({tensor_row!r})\n"
        f"                if plan:\n"
        f"                    kernel, result_geometry, tail = plan\n"
        + indent(ALLOCATE.format(call=f"kernel(pointer, {self}.pointer, {other}.pointer, tail)"), 5)
        + f"            plan = geometry.plans.get(({tensor_row!r}, other_geometry))\n"
        f"            if plan:\n"
        f"                kernel, result_geometry, tail = plan\n"
        + indent(ALLOCATE.format(call=f"kernel(pointer, {self}.pointer, {other}.pointer, *tail)"), 4)
    )
    if number_row is not None:
        body += _number_branch(number_row, self, other, reverse=False)
    if "out" in options:
        body += _written(tensor_row, self, other, untouched)
    return head + body + f"    return {slow}({self}, {other}{rest})\n"


SQUARES = frozenset({"pow"})
"""Operators that square for the number 2, whatever other numbers have left in the caches."""
BOUNDED = frozenset({"pow", "pow_"})
"""Operators whose numbers must fit the dtype: only those that fit every floating dtype are fast."""


def _fits(row: str, number: str) -> str:
    if row.partition(".")[0] not in BOUNDED:
        return ""
    other = f" and {number} != 2" if row.partition(".")[0].rstrip("_") in SQUARES else ""
    return f" and -65504 <= {number} <= 65504{other}"


def _number_branch(row: str, self: str, other: str, *, reverse: bool) -> str:
    mark = " reversed" if reverse else ""
    a, b = (f"{self}.pointer", other) if not reverse else (other, f"{self}.pointer")
    fits = _fits(row, other)
    squares = not reverse and row.partition(".")[0] in SQUARES
    return (
        "        else:\n"
        + (_square(self, other) if squares else "")
        + f"            if kind is float{fits}:\n"
        f"                plan = geometry.plans.get({row + mark + ' float'!r})\n"
        f"            elif kind is int{fits}:\n"
        f"                plan = geometry.plans.get({row + mark + ' int'!r})\n"
        f"            else:\n"
        f"                plan = None\n"
        f"            if plan:\n"
        f"                kernel, result_geometry, count = plan\n"
        + indent(ALLOCATE.format(call=f"kernel(pointer, {a}, {b}, count)"), 4)
    )


def _square(self: str, number: str) -> str:
    return (
        f"            if (kind is int or (kind is float and geometry.dtype.kind == 2)) and {number} == 2:\n"
        f"                plan = geometry.plans.get('square')\n"
        f"                if plan:\n"
        f"                    kernel, result_geometry, count = plan\n"
        + indent(ALLOCATE.format(call=f"kernel(pointer, {self}.pointer, count)"), 5)
    )


def reversed_binary(function: str, row: str, slow: str) -> str:
    """A reflected operator such as ``__rsub__``: only numbers stand on the left."""
    return (
        f"def {function}(self, other):\n"
        f"    if not SPECIAL and self.__class__ is Tensor:\n"
        f"        geometry = self.geometry\n"
        f"        kind = other.__class__\n"
        f"        if kind is Tensor:\n"
        f"            plan = None\n"
        + _number_branch(row, "self", "other", reverse=True)
        + f"    return {slow}(self, other)\n"
    )


def inplace_binary(
    function: str, other: str, rows: tuple[str, str | None], *, options: tuple[str, ...], slow: str
) -> str:
    """An in-place method with one operand: ``x.add_(y)``, ``x += y``."""
    tensor_row, number_row = rows
    untouched, rest, signature = _options(options)
    body = (
        f"def {function}(self, {other}{signature}):\n"
        f"    if not SPECIAL and self.__class__ is Tensor{untouched}:\n"
        f"        geometry = self.geometry\n"
        f"        kind = {other}.__class__\n"
        f"        if kind is Tensor:\n"
        f"            if geometry is {other}.geometry and (\n"
        f"                self.storage_impl is not {other}.storage_impl or self is {other}\n"
        f"            ):\n"
        f"                plan = geometry.plans.get({tensor_row!r})\n"
        f"                if plan:\n"
        f"                    kernel, count = plan\n"
        + indent(_COUNTED.format(call=f"kernel(pointer, pointer, {other}.pointer, count)"), 5)
        + f"            elif self.storage_impl is not {other}.storage_impl:\n"
        f"                plan = geometry.plans.get(({tensor_row!r}, {other}.geometry))\n"
        f"                if plan:\n"
        f"                    kernel, _, tail = plan\n"
        + indent(_COUNTED.format(call=f"kernel(pointer, pointer, {other}.pointer, *tail)"), 5)
    )
    if number_row is not None:
        body += (
            f"        else:\n"
            f"            if kind is float{_fits(number_row, other)}:\n"
            f"                plan = geometry.plans.get({number_row + ' float'!r})\n"
            f"            elif kind is int{_fits(number_row, other)}:\n"
            f"                plan = geometry.plans.get({number_row + ' int'!r})\n"
            f"            else:\n"
            f"                plan = None\n"
            f"            if plan:\n"
            f"                kernel, count = plan\n"
            + indent(_COUNTED.format(call=f"kernel(pointer, pointer, {other}, count)"), 4)
        )
    return body + f"    return {slow}(self, {other}{rest})\n"


CHOICE = "(special_{name} if SPECIAL_VIEWS else slow_{name})"
"""What a binding calls that does not make the view itself."""


def general(name: str, function: str) -> str:
    """A binding without a fast path."""
    return f"def {function}(*args, **kwargs):\n    return slow_{name}(*args, **kwargs)\n"


def direct(
    name: str, function: str, self: str, *, spread: bool, checks: bool, several: bool, copies: bool, marks: bool
) -> str:
    """A binding that goes straight to one implementation; with `spread` its sizes may be given one by one.

    Unless the implementation `checks` its arguments, what it does not take is judged by the general path, which says
    what the schemas allow. With `several` tensors any of them may be of a subclass; one that `copies` elements is
    dispatched on devices other than the CPU. One that `marks` makes views, which are marked while nothing is recorded.
    """
    general = CHOICE.format(name=name) if marks else f"slow_{name}"
    special = f"{'SPECIAL_VIEWS' if marks else 'SPECIAL'} or {self}.__class__ is not Tensor or {self}.geometry.watched"
    if several:
        special += " or (OVERRIDING and foreign(args, kwargs)) or (WATCHING and any_watched(args, kwargs))"
    device = f" or {self}.geometry.device is not cpu" if copies else ""
    gather = "    if len(args) > 1 or (args and args[0].__class__ is int):\n        args = (args,)\n" if spread else ""
    tried = (
        f"    try:\n"
        f"        return direct_{name}({self}, *args, **kwargs)\n"
        f"    except (TypeError, AttributeError):\n"
        f"        pass\n"
        f"    return slow_{name}({self}, *args, **kwargs)\n"
    )
    named = self == "input"  # a function takes its tensor by name too, by any of its names
    nameless = f"        if {self} is UNSET:\n            return {general}(*args, **kwargs)\n" if named else ""
    return (
        f"def {function}({self}{'=UNSET' if named else ''}, *args, **kwargs):\n"
        f"    if {special}{device}:\n"
        f"{nameless}        return {general}({self}, *args, **kwargs)\n"
        + gather
        + (_asking(name, self) if checks else tried)
    )


def _asking(name: str, self: str) -> str:
    return (
        f"    try:\n"
        f"        return direct_{name}({self}, *args, **kwargs)\n"
        f"    except TypeError:\n"
        f"        found = intercept(public_{name}.public, ({self}, *args), kwargs)\n"
        f"        if found is NOT_OVERRIDDEN:\n"
        f"            raise\n"
        f"        return found\n"
    )


def self_later(name: str, function: str, names: list[str]) -> str:
    """A method whose schema does not begin with self: ``x.where(condition, other)``."""
    rest = [argument for argument in names if argument != "self"]
    return f"def {function}(self, {', '.join(rest)}):\n    return slow_{name}({', '.join(names)})\n"
