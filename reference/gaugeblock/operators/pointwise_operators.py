"""The pointwise operators: the formula and operands that a call stands for, and kernels for all forms of each row."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from gaugeblock_spec.schema import Argument, parse

from ..core.limits import finfo
from ..core.promotion import UPSTREAM_NAMES
from ..core.warn import warn_once
from ..dispatch.dispatcher import REGISTRY
from ..iteration.tensor_iterator import Number
from ..tensor.tensor import Tensor
from .conversion import converted
from .operand_checks import whole_number
from .plan import Plannable, Planned
from .pointwise import Call, Loop, PointwiseRule, loop_of, planned_run, run
from .rows import rows

SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946

LAST_FACTORIAL = 170
"""The last number whose factorial is a float64."""


def of_sum(formula: str, *, reverse: bool = False) -> Callable[..., Call]:
    """Return the function that makes a Call of a sum or difference, whose second operand `alpha` scales."""

    def build(self: Any, other: Any, alpha: Number = 1) -> Call:
        operands = (other, self) if reverse else (self, other)
        if alpha == 1 and type(alpha) is int:
            return Call(formula, operands)
        return Call(formula + ".alpha", operands, (alpha,))

    return build


def div(self: Any, other: Any, *, rounding_mode: str | None = None) -> Call:
    if rounding_mode in (None, "floor", "trunc"):
        return Call("div" if rounding_mode is None else f"div.{rounding_mode}", (self, other))
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}")


def where(condition: Tensor, self: Any, other: Any) -> Call:
    if condition.dtype.name not in ("bool", "uint8"):
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{UPSTREAM_NAMES[condition.dtype.name]}"
        )
    if condition.dtype.name == "uint8":
        warn_once("where(): a uint8 condition is deprecated and will be removed; use a bool condition")
    return Call("where", (self, other), condition=condition, fit=True)


def clamp(self: Tensor, min: Any = None, max: Any = None) -> Call:
    if min is None and max is None:
        raise RuntimeError("clamp(): At least one of 'min' or 'max' must not be None")
    if max is None:
        return Call("clamp_min", (self, min), fit=True)
    return Call("clamp_max", (self, max), fit=True) if min is None else Call("clamp", (self, min, max), fit=True)


def addcdiv(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Call:
    if tensor1.dtype.kind < 2 and tensor2.dtype.kind < 2:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported: tensor1 and tensor2 are integral; convert one of "
            "them to a floating dtype"
        )
    return Call("addcdiv", (self, tensor1, tensor2), (value,))


def lerp(self: Tensor, end: Tensor, weight: Any) -> Call:
    _same_dtype(self, "end", end)
    if isinstance(weight, Tensor):
        if weight.meta.ndim:
            _same_dtype(self, "weight", weight)
        elif weight.meta.dtype is not self.meta.dtype:
            weight = converted(weight, self.meta.dtype)
        return Call("lerp", (self, end, weight))
    return Call("lerp", (self, end), (weight,))


def _same_dtype(self: Tensor, name: str, other: Tensor) -> None:
    if other.dtype is not self.dtype:
        raise RuntimeError(f"lerp(): expected dtype {self.dtype.name} for `{name}` but got dtype {other.dtype.name}")


def heaviside(self: Tensor, values: Tensor) -> Call:
    if values.dtype is not self.dtype:
        raise RuntimeError(
            f"heaviside is not yet implemented for tensors with different dtypes: self is {self.dtype.name}, "
            f"values is {values.dtype.name}"
        )
    return Call("heaviside", (self, values))


def isclose(self: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Call:
    if other.dtype is not self.dtype:
        raise RuntimeError(
            f"isclose(): {UPSTREAM_NAMES[self.dtype.name]} of self did not match {UPSTREAM_NAMES[other.dtype.name]} of "
            f"other"
        )
    if rtol < 0 or atol < 0:
        raise RuntimeError(f"isclose(): rtol and atol must be greater than or equal to zero, got {rtol} and {atol}")
    if rtol == atol == 0 and self.dtype.kind < 2:
        return Call("eq", (self, other))
    return Call("isclose.equal_nan" if equal_nan else "isclose", (self, other), (rtol, atol))


def logit(self: Tensor, eps: float | None = None) -> Call:
    return Call("logit", (self,)) if eps is None or eps < 0 else Call("logit.eps", (self,), (eps,))


def pow(self: Any, exponent: Any) -> Call:
    if isinstance(exponent, int) and exponent < 0 and self.dtype.kind < 2:
        raise RuntimeError(
            f"pow(): Integers to negative integer powers are not allowed: argument 'exponent' is {exponent} and self "
            f"is {self.dtype.name}"
        )
    if exponent.__class__ in (int, float) and exponent == 2 and (exponent.__class__ is int or self.dtype.kind == 2):
        return Call("pow.square", (self, exponent))
    return Call("pow", (self, exponent), fit=not isinstance(exponent, Tensor))


def polygamma(n: int, self: Tensor) -> Call:
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n, got {n}.")
    if n < 2:
        return Call("trigamma" if n else "digamma", (self,))
    if n <= LAST_FACTORIAL:
        return Call("polygamma", (self,), (n, float(math.factorial(n))))
    return Call("polygamma.log", (self,), (n, math.lgamma(n + 1.0)))


def polygamma_(self: Tensor, n: int) -> Call:
    if not isinstance(self, Tensor):
        raise TypeError(f"polygamma_(): argument 'self' must be Tensor, not {type(self).__name__}")
    return polygamma(n, self)


def nan_to_num(
    self: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Call:
    dtype = self.dtype.to_real()
    if dtype.kind < 2:
        return Call("identity", (self,))
    limits = finfo(dtype)
    given = (0.0 if nan is None else nan, limits.max if posinf is None else posinf)
    replacements = (*given, limits.min if neginf is None else neginf)
    held = tuple([_held(number, limits.max, limits.eps) for number in replacements])
    return Call("nan_to_num", (self,), held)


def _held(number: float, largest: float, eps: float) -> float:
    """Return `number`, or what one beyond the `largest` is rounded to: that one or infinity."""
    if not abs(number) > largest:
        return number
    infinite = largest / (2 - eps) * (2 - eps / 2)
    return math.copysign(largest if abs(number) < infinite else math.inf, number)


def round_decimals(self: Tensor, *, decimals: int = 0) -> Call:
    if not decimals:
        return Call("round", (self,))
    largest = finfo(self.dtype).max if self.dtype.is_floating_point else math.inf
    # What the dtype cannot hold is infinite in it.
    power = 10.0 ** abs(decimals) if abs(decimals) <= 308 else math.inf
    name = "round.decimals" if decimals > 0 else "round.tens"
    return Call(name, (self,), (power if power <= largest else math.inf,))


def celu(self: Tensor, alpha: Number = 1.0) -> Call:
    if alpha == 0:
        raise RuntimeError("celu(): ZeroDivisionError: alpha cannot be 0 for CELU; argument 'alpha' is 0")
    return Call("elu", (self,), (alpha, 1.0, 1.0 / alpha))


def prelu(self: Tensor, weight: Tensor) -> Call:
    if weight.dtype is not self.dtype:
        raise RuntimeError(
            f"_prelu_kernel(): Found dtype {UPSTREAM_NAMES[weight.dtype.name]} but expected "
            f"{UPSTREAM_NAMES[self.dtype.name]} for argument 'weight'"
        )
    return Call("leaky_relu", (self, weight))


def gelu(self: Tensor, *, approximate: str = "none") -> Call:
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"gelu(): approximate argument must be either none or tanh, got {approximate!r}")
    return Call("gelu" if approximate == "none" else "gelu.tanh", (self,))


def softshrink(self: Tensor, lambd: Number = 0.5) -> Call:
    if not isinstance(lambd, complex) and lambd < 0:
        raise RuntimeError(f"softshrink(): lambda must be greater or equal to 0, but found to be {lambd}.")
    return Call("softshrink", (self,), (lambd,))


def hardtanh(self: Tensor, min_val: Number = -1, max_val: Number = 1) -> Call:
    dtype = self.dtype
    if dtype.kind == 1 and not dtype.is_signed and (min_val.real < 0 or max_val.real < 0):
        raise RuntimeError(
            f"hardtanh(): cannot do hardtanh on an unsigned type with negative limits, got {min_val} and {max_val} for "
            f"{UPSTREAM_NAMES[dtype.name]}"
        )
    if dtype.kind == 1:
        min_val, max_val = (whole_number("hardtanh", limit) for limit in (min_val, max_val))
    return Call("hardtanh", (self,), (min_val, max_val))


def of(formula: str, *, fit: bool = False) -> Callable[..., Call]:
    """Return the function that makes a Call of a formula's operands."""
    return lambda *operands: Call(formula, operands, fit=fit)


def call_of(
    formula: str, arguments: Sequence[Argument], numbers: Collection[str], check: Callable[..., None] | None = None
) -> Callable[..., Call]:
    """Return the function that makes a Call of a schema's arguments, of which `numbers` do not promote."""

    def build(*args: Any, **kwargs: Any) -> Call:
        given: dict[str, Any] = {a.name: a.default_value for a in arguments if a.default is not None}
        given |= dict(zip((a.name for a in arguments), args, strict=False)) | kwargs
        if check is not None:
            check(**given)
        operands = tuple(given[a.name] for a in arguments if a.name not in numbers)
        return Call(formula, operands, tuple(given[a.name] for a in arguments if a.name in numbers))

    return build


NUMBERED = frozenset({"addcmul", "elu", "leaky_relu", "softplus", "hardshrink", "threshold"})
"""Operators whose Scalars do not promote."""
CALLS: dict[str, Any] = {
    "add": of_sum("add"), "sub": of_sum("sub"), "rsub": of_sum("sub", reverse=True), "div": div, "where": where,
    "clamp": clamp, "clamp_min": of("clamp_min", fit=True), "clamp_max": of("clamp_max", fit=True),
    "addcdiv": addcdiv, "lerp": lerp, "heaviside": heaviside, "isclose": isclose, "logit": logit, "pow": pow,
    "polygamma": polygamma, "special_polygamma": polygamma, "polygamma_": polygamma_,
    "square": lambda self: Call("square", (self,), weights=(2,)), "nan_to_num": nan_to_num,
    "round.decimals": round_decimals, "max.other": of("maximum"), "min.other": of("minimum"),
    "selu": lambda self: Call("elu", (self,), (SELU_ALPHA, SELU_SCALE, 1.0)), "celu": celu, "_prelu_kernel": prelu,
    "gelu": gelu, "softshrink": softshrink, "hardtanh": hardtanh, "relu6": lambda self: hardtanh(self, 0, 6),
}  # fmt: skip
"""Operators whose arguments are not simply the formula's operands; by row name first, then by base name.

An in-place form has an entry of its own where its arguments come in another order.
"""


def call_builder(row_name: str) -> Callable[..., Call]:
    """Return the function that turns an operator's arguments into a Call."""
    base = row_name.partition(".")[0]
    found: Callable[..., Call] | None = CALLS.get(row_name) or CALLS.get(base)
    if base not in NUMBERED:
        return found or of(base)
    arguments = parse(rows()[row_name].schema).arguments
    return call_of(base, arguments, [argument.name for argument in arguments if argument.base_type == "Scalar"])


WITHOUT_FORMULA = frozenset({"mvlgamma", "special_multigammaln", "frexp", "polar", "complex", "isreal", "float_power"})
"""Pointwise operators without overload that modules of their own register."""
RULES: dict[str, PointwiseRule] = {}
"""Rule of each pointwise row by name."""


class Form(Plannable[..., Tensor]):
    """A kernel of a pointwise operator, which makes a new result or writes into `out`, or `inplace` into its first
    argument; `build` makes a call of the operator's arguments."""

    def __init__(self, name: str, rule: PointwiseRule, build: Callable[..., Call], *, inplace: bool) -> None:
        self.__qualname__ = self.__name__ = name
        self.rule = rule
        self.build = build
        self.inplace = inplace

    def __call__(self, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
        return run(self.rule, self.build(*args, **kwargs), args[0] if self.inplace else out, inplace=self.inplace)

    def planned(self, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Planned[Tensor]:
        """Return the result together with the call behind it."""
        call, into = self.build(*args, **kwargs), args[0] if self.inplace else out
        return planned_run(self.rule, call, into, inplace=self.inplace)

    def loop(self, *args: Any, **kwargs: Any) -> Loop | None:
        """Return the loop of a call without running it."""
        into = args[0] if self.inplace else None
        return loop_of(self.rule, self.build(*args, **kwargs), into, inplace=self.inplace)


def register_pointwise() -> None:
    """Register the functional, in-place and out= kernels of every pointwise row of the spec that has a formula."""
    for row in rows().values():
        if row.family != "pointwise" or row.base in WITHOUT_FORMULA:
            continue
        rule = RULES[row.name] = PointwiseRule(row)
        build = call_builder(row.name)
        for name, inplace in ((row.name, False), (row.inplace_name, True), (row.out_name, False)):
            if name is not None:
                REGISTRY.put(name, ("CPU", "Meta"), Form(name, rule, CALLS.get(name, build), inplace=inplace))
