"""Pointwise calls: the dtype rules of a row, the plan of a call, and running it.

A plan holds all that follows from metas and number types alone: what the operator computes in, the meta of the result,
and the loop. It is worked out once and kept in the `plans` of the first tensor's meta. Running it needs addresses,
numbers and, if an output exists already, the check that it does not partly overlap an input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..core.device import cpu, meta_device
from ..core.dtype import DEFAULTS, FLOAT8, DType, bfloat16, bool_, float16, float32, float64, int32, int64
from ..core.promotion import UPSTREAM_NAMES, check_castable
from ..iteration.dimensions import resize_output
from ..iteration.overlap import check_no_partial_overlap
from ..iteration.tensor_iterator import COMPARISON, FLOAT, IteratorConfig, Number, TensorIterator, planned_meta
from ..kernels.body import Formula
from ..kernels.bound_call import Fresh, Into, fits
from ..kernels.conversion import Immediate, Raw
from ..kernels.pointwise import NO_ELEMENTS, Launch, Operand, PointwiseKernel, named_kernel, pointwise_kernel
from ..tensor.hooks import hooks
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta, meta_of, preserve_format_strides, remember
from ..tensor.versions import bump_version, data_of
from .operand_checks import stored_number
from .plan import Filling, Planned
from .rows import Row


class Call(NamedTuple):
    """A formula name and its arguments.

    `operands` (tensors and numbers) broadcast and promote; `extras` are numbers converted to the computation dtype
    that do not promote; `condition` is read as bool before the operands; `weights` are numbers that promote only.
    An extra that the computation dtype cannot hold is an error; with `fit` so is a number among the operands, which
    wraps otherwise.
    """

    formula: str
    operands: tuple[Tensor | Number, ...]
    extras: tuple[Number, ...] = ()
    condition: Tensor | None = None
    weights: tuple[Number, ...] = ()
    fit: bool = False


def check_alpha(operator: str, alpha: Number, common: DType) -> None:
    """RuntimeError when alpha's kind exceeds that of the computation, or is bool for anything but bool."""
    if isinstance(alpha, bool):
        if common.kind != 0:
            raise RuntimeError(
                f"{operator}(): Boolean alpha only supported for Boolean results, not for {UPSTREAM_NAMES[common.name]}"
            )
    elif isinstance(alpha, float) and common.kind < 2:
        raise RuntimeError(
            f"{operator}(): For integral input tensors, argument alpha must not be a floating point number, got {alpha}"
        )
    elif isinstance(alpha, complex) and common.kind < 3:
        raise RuntimeError(
            f"{operator}(): For non-complex input tensors, argument alpha must not be a complex number, got {alpha}"
        )


NOT_FOR_BOOL = {
    "sub": (
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use "
        "the `~` or `logical_not()` operator instead."
    ),
    "neg": (
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
        "`~` or `logical_not()` operator instead."
    ),
    "relu": "Boolean inputs not supported for relu",
    "relu6": "Bool inputs not supported for hardtanh",
    "hardtanh": "Bool inputs not supported for hardtanh",
}
TAKES_WIDE_UNSIGNED = frozenset(
    """eq ne where isnan isinf isfinite isclose signbit nan_to_num bitwise_and bitwise_or bitwise_xor
    __and__ __or__ __xor__ mul multiply floor ceil round trunc fix""".split()
)
TAKES_COMPLEX32 = frozenset("abs add addcmul eq isclose isfinite isinf isnan mul ne neg rsub sgn sub where".split())
TAKES_FLOAT8 = frozenset("abs eq isnan mul.Tensor ne where".split())
UNLISTED = {
    "uint16": TAKES_WIDE_UNSIGNED,
    "uint32": TAKES_WIDE_UNSIGNED,
    "uint64": TAKES_WIDE_UNSIGNED,
    "complex32": TAKES_COMPLEX32,
    **{dtype.name: TAKES_FLOAT8 for dtype in FLOAT8},
    "float8_e5m2": TAKES_FLOAT8 | {"isfinite", "isinf"},
}
"""Dtypes that no row lists -> names, or base names, of the operators that compute in them all the same."""
NOT_FOR_BOOL["rsub"] = NOT_FOR_BOOL["sub"]
COMPLEX_HINTS = {"sign": "use sgn() instead", "clamp": "", "floor": "", "ceil": "", "trunc": "", "round": ""}


class PointwiseRule:
    """Rules of one row; compared by identity, since it is part of the plans' keys."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.name = row.name
        self.base = row.base
        self.config: IteratorConfig = FLOAT_RULES if row.promotion == "int_to_float" else PLAIN_RULES

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the dtypes that the rule computes in."""
        return (*self.row.dtypes, *(name for name, taken in UNLISTED.items() if {self.base, self.name} & taken))

    def check_inputs(self, common: DType, given: Sequence[DType]) -> None:
        """Raise for dtypes that the operator does not compute in; before anything is allocated."""
        message = NOT_FOR_BOOL.get(self.base)
        if message is not None and bool_ in given:
            raise RuntimeError(message)
        if common.name in self.names:
            return
        if common.is_complex and self.base in COMPLEX_HINTS:
            hint = COMPLEX_HINTS[self.base]
            raise NotImplementedError(f"{self.base} is not supported for complex inputs{'; ' if hint else ''}{hint}")
        allowed = ", ".join(self.names)
        raise NotImplementedError(
            f"\"{self.base}\" not implemented for '{UPSTREAM_NAMES[common.name]}'; it computes in {allowed}"
        )

    def result_dtype(self, common: DType, self_dtype: DType) -> DType:
        """The dtype of a fresh result."""
        kind = self.row.result
        if kind == "bool":
            return bool_
        if kind == "real":
            return common.to_real()
        return self_dtype if kind == "input" else common

    def check_output(self, common: DType, result: DType, output: DType, *, inplace: bool) -> None:
        """RuntimeError when out=, or self of an in-place call, may not take the result."""
        if result is output or self.row.out_cast == "any" or (inplace and self.row.result == "bool"):
            return
        if self.row.result == "real" and common.is_complex and output is common and inplace:
            raise RuntimeError(f"In-place {self.base} is not supported for complex tensors.")
        if self.row.out_cast == "exact" and not inplace:
            raise RuntimeError(
                f"{self.base}(): Found dtype {UPSTREAM_NAMES[output.name]} for argument 'out' but expected "
                f"{UPSTREAM_NAMES[result.name]}"
            )
        check_castable(result, output)


PLAIN_RULES = COMPARISON
FLOAT_RULES = FLOAT._replace(enforce_safe_casting_to_output=False)


NUMBERS_ABSTAIN = frozenset({"clamp", "clamp_min", "clamp_max", "pow", "pow.square"})
"""Formulas whose numbers are options: only the tensors determine whether the operands have the same layout."""
LIKE_SELF = frozenset({"hardtanh", "nan_to_num"})
"""Formulas whose result has the layout of a clone of self."""


def given_layout(call: Call, dtype: DType) -> TensorMeta | None:
    """Return the meta of the new result; None when the iterator chooses it."""
    first = next((operand for operand in call.operands if isinstance(operand, Tensor)), None)
    if first is None:
        return None
    meta = first.meta
    if call.formula in LIKE_SELF:
        strides = preserve_format_strides(meta.sizes, meta.strides)
    elif call.formula == "isinf":
        strides = _step(_step(first), 0).meta.strides
    elif call.formula == "isfinite":
        alike = _step(first)
        strides = _step(alike, _step(alike, 0)).meta.strides
    elif call.formula == "div" and first is not call.operands[0]:
        strides = _step(_step(first), 0).meta.strides
    else:
        return None
    return meta_of(meta.sizes, strides, dtype, meta.device)


def _step(*operands: Tensor | Number) -> Tensor:
    """Return a meta tensor with the layout that an operator on these operands gives its result."""
    result = planned_meta(TensorIterator((None,), operands, COMPARISON).build(allocate=False))
    return new_like(meta_of(result.sizes, result.strides, result.dtype, meta_device))


HALF = (float16, bfloat16)
TAKES_ALPHA = frozenset(f"{name}{form}" for name in ("add", "sub", "rsub") for form in (".Tensor", ".Scalar"))
"""Rows with a number that scales an operand and must not exceed the computation's kind."""


WIDE_NUMBERS = frozenset(
    {"mul", "div", "div.floor", "addcmul", "addcdiv", "lerp", "elu", "leaky_relu", "softplus", "hardtanh"}
)
"""Formulas that take a number as float32 when they compute in a half-float dtype; the others round it to that dtype."""


DOUBLE_NUMBERS = frozenset({"polygamma", "polygamma.log"})
"""Formulas that take their numbers as float64."""


TAKES_FRACTIONS = frozenset({"isclose", "isclose.equal_nan"})
"""Formulas whose trailing numbers are fractions: they compute with integers in float64."""


def number_dtype(formula: str, common: DType) -> DType:
    """The dtype that a Python number is converted to."""
    if formula in DOUBLE_NUMBERS:
        return float64
    return float32 if common in HALF and formula in WIDE_NUMBERS else common


@dataclass(slots=True, eq=False)
class Plan:
    """`meta` of the output; `resize` when a given output has to take it; `launch` None when nothing is to run."""

    meta: TensorMeta
    common: DType
    resize: bool
    through_copy: bool
    launch: Launch | None


def plan_call(rule: PointwiseRule, call: Call, out: Tensor | None, *, inplace: bool) -> Plan:
    """The plan of a call, remembered; every check on shapes, dtypes and devices is made here."""
    anchor: TensorMeta | None = None
    read_write = False
    parts: list[Any] = []
    for operand in call.operands:
        if isinstance(operand, Tensor):
            parts.append(operand.meta)
            anchor = anchor or operand.meta
            read_write = read_write or operand is out
        else:
            parts.append(type(operand))
    condition = None if call.condition is None else call.condition.meta
    anchor = anchor or condition
    if anchor is None:
        raise TypeError(f"{rule.base}(): at least one argument must be a tensor")
    key = (
        rule, call.formula, inplace, read_write, None if out is None else out.meta, condition, *parts,
        *map(type, call.extras), DEFAULTS.dtype,
    )  # fmt: skip
    plan: Plan | None = anchor.plans.get(key)
    if plan is None:
        plan = _build(rule, call, out, inplace=inplace)
        remember(anchor.plans, key, plan)
    return plan


def fitted(rule: PointwiseRule, call: Call, common: DType) -> Call:
    """The call with its checked numbers as `common` holds them; RuntimeError when one does not fit."""
    if call.extras:
        kind = number_dtype(call.formula, common)
        call = call._replace(extras=tuple([stored_number(rule.base, value, kind) for value in call.extras]))
    if call.fit:
        operands = [v if isinstance(v, Tensor) else stored_number(rule.base, v, common) for v in call.operands]
        call = call._replace(operands=tuple(operands))
    return call


def _build(rule: PointwiseRule, call: Call, out: Tensor | None, *, inplace: bool) -> Plan:
    config = FLOAT_RULES if call.formula == "div" else rule.config
    config = config._replace(check_mem_overlap=True, resize_outputs=not inplace)
    conditions = () if call.condition is None else (call.condition,)
    iterator = TensorIterator((out,), (*conditions, *call.operands, *call.weights), config)
    for index in range(len(conditions)):
        iterator.inputs[index].promotes = False
    operands = iterator.inputs[len(conditions) : len(iterator.inputs) - len(call.weights)]
    for weight in iterator.inputs[len(iterator.inputs) - len(call.weights) :]:
        weight.only_promotes = True
    common = iterator.find_common_dtype()
    given = [o.dtype for o in operands if o.meta is not None and o.dtype is not None]
    rule.check_inputs(common, [o.dtype for o in operands if o.dtype is not None])
    for extra in call.extras if rule.name in TAKES_ALPHA else ():
        check_alpha(rule.base, extra, common)
    result = rule.result_dtype(common, given[0] if given else common)
    compute = float64 if common.kind < 2 and call.formula in TAKES_FRACTIONS else common
    iterator.config = config._replace(static_dtype=result)
    if call.formula in NUMBERS_ABSTAIN:
        for operand in operands:
            operand.only_promotes = operand.number is not None
    if out is None:
        iterator.outputs[0].meta = given_layout(call, result)
        iterator.outputs[0].planned = iterator.outputs[0].meta is not None
    iterator.build(allocate=False)
    if out is not None:
        rule.check_output(common, result, out.meta.dtype, inplace=inplace)
    meta = planned_meta(iterator)
    through_copy = meta.dtype is not result and common in HALF and result is not bool_
    launch: Launch | None = NO_ELEMENTS if iterator.device is cpu and not meta.numel else None
    if iterator.device is cpu and iterator.numel and not through_copy:
        memory = [*iterator.inputs[: len(conditions)], *operands]
        number = Immediate(number_dtype(call.formula, compute))
        kinds = [number if o.dtype is None or o.number is not None else o.dtype for o in memory]
        kernel = formula_kernel(call.formula, [*kinds, *(number for _ in call.extras)], compute, meta.dtype)
        strides = [iterator.outputs[0].strides or (), *(o.strides or () for o in memory if o.number is None)]
        sizes = [meta.dtype.itemsize, *(o.dtype.itemsize for o in memory if o.number is None and o.dtype)]
        slots = [0, *(index + 1 for index, o in enumerate(memory) if o.number is None)]
        launch = Launch(kernel, iterator.shape, strides, sizes, slots)
    return Plan(meta, compute, iterator.outputs[0].will_resize, through_copy, launch)


def formula_kernel(
    name: str, operands: Sequence[DType | Immediate], compute: DType, *results: DType
) -> PointwiseKernel:
    """The kernel of a formula from the tables; one that was declared outside has a name with a namespace."""
    if "::" in name:
        formula, kinds = _found(name, operands)
        return pointwise_kernel(name, formula, kinds, compute, results)
    return named_kernel(name, _found, operands, compute, results)


def _found(name: str, operands: Sequence[Operand]) -> tuple[Formula, tuple[Operand, ...]]:
    """Return a formula and its operands; those that it wants unconverted are handed over so."""
    from .formulas import FORMULAS, RAW

    kinds: list[Operand] = list(operands)
    for place in RAW.get(name, ()):
        one = operands[place]
        kinds[place] = Raw(one) if isinstance(one, DType) else Immediate(one.dtype, raw=True)
    return FORMULAS[name], tuple(kinds)


def arguments(call: Call) -> list[Any]:
    """Addresses and numbers in the order of the kernel's operands."""
    return [one.pointer if isinstance(one, Tensor) else one for one in _operands(call)]


def _operands(call: Call) -> tuple[Any, ...]:
    return (*(() if call.condition is None else (call.condition,)), *call.operands, *call.extras)


def run(rule: PointwiseRule, call: Call, out: Tensor | None = None, *, inplace: bool = False) -> Tensor:
    """Return a new tensor, or `out`, written and its version raised by one; it is left alone when any check fails."""
    plan = plan_call(rule, call, out, inplace=inplace)
    if call.extras or call.fit:
        call = fitted(rule, call, plan.common)
    if out is None:
        result = new_like(plan.meta)
        if plan.launch is not None:
            plan.launch.run([result.pointer, *arguments(call)])
        return result
    for one in _operands(call):
        if isinstance(one, Tensor) and one.storage_impl is out.storage_impl and one is not out:
            check_no_partial_overlap(out, one)
    # Half precision is rounded before it is converted to what `out` holds.
    apart = run(rule, call) if plan.through_copy else None
    bump_version(out)
    if plan.resize:
        resize_output(out, plan.meta)
    if apart is not None:
        hooks.copy_into(out, apart)
    elif plan.launch is not None:
        plan.launch.run([out.pointer, *arguments(call)])
    return out


def planned_run(rule: PointwiseRule, call: Call, out: Tensor | None, *, inplace: bool) -> Planned[Tensor]:
    """Return the result of `run`, and the call that makes or writes it."""
    loop = loop_of(rule, call, out, inplace=inplace, default=DEFAULTS.dtype)
    varies = loop is None or loop.default is not None
    if varies and out is None and (plan := plan_call(rule, call, None, inplace=False)).launch is not None:
        filling = Filling((plan.meta,), lambda out: run(rule, call, data_of(out), inplace=False))
        again = None if loop is None else _while_default(loop, _fresh(loop).native())
        return Planned.unrun(filling, _operands(call), again, None if loop is None else loop.operands)
    if loop is None:
        return Planned(run(rule, call, out, inplace=inplace), None)
    if out is None and (not loop.limited or all(map(fits, loop.operands))):
        fresh = _fresh(loop)
        return Planned.unrun(fresh, loop.operands, fresh.native(), loop.operands, generic=loop.launch.contiguous)
    result = run(rule, call, out, inplace=inplace)
    kernel, tail = loop.launch.call()
    made = _fresh(loop) if out is None else Into(kernel, tail, loop.limited, inplace, elementwise=True)
    return Planned(result, _while_default(loop, made.native()), loop.operands, loop.launch.contiguous)


def _fresh(loop: Loop) -> Fresh:
    """Return the call that makes a new result."""
    kernel, tail = loop.launch.call()
    return Fresh(kernel, (loop.result,), tail, loop.limited)


def _while_default(loop: Loop, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return the call of a loop, which is declined once the default dtype is another, if that decides."""
    dtype = loop.default
    return call if dtype is None else lambda *values: call(*values) if DEFAULTS.dtype is dtype else None


class Loop(NamedTuple):
    """The loop of a call, if metas and classes of numbers decide it: what is launched, the meta of the result, the
    operands in order, whether numbers are limited to what fits every floating dtype, and the default dtype if that
    decides too."""

    launch: Launch
    result: TensorMeta
    operands: tuple[Any, ...]
    limited: bool
    default: DType | None = None


def loop_of(
    rule: PointwiseRule, call: Call, out: Tensor | None, *, inplace: bool, default: DType | None = None
) -> Loop | None:
    """Return the loop of a call, without running it; the `default` dtype may decide too, if it is given."""
    plan = plan_call(rule, call, out, inplace=inplace)
    apart = inplace and (call.condition is not None or call.operands[0] is not out)
    if plan.launch is None or plan.resize or apart or not _is_decided(plan, call):
        return None
    tensors = [one.meta for one in _operands(call) if isinstance(one, Tensor)]
    varies = plan.common.kind >= 2 and all(one.dtype.kind < 2 for one in tensors)
    if varies and default is None:
        return None
    operands = _operands(call) if out is None or inplace else (out, *_operands(call))
    return Loop(plan.launch, plan.meta, operands, _is_limited(call), default if varies else None)


TAKES_ANY_INT = frozenset({"clamp", "clamp_min", "clamp_max", "where", "addcmul"})
"""Formulas that take every integer that the dtype can hold; pow does not, since it refuses negative exponents."""


def _is_limited(call: Call) -> bool:
    """Return whether each number must fit the dtype that is computed in."""
    numbers = any(not isinstance(one, Tensor) for one in call.operands)
    return bool(call.extras) or (call.fit and numbers)


def _is_decided(plan: Plan, call: Call) -> bool:
    """Return whether metas, classes of numbers and the default dtype decide all that the plan does: not the values of
    numbers, but that they fit floating dtypes, and with them int32 and int64."""
    tensors = [one.meta for one in _operands(call) if isinstance(one, Tensor)]
    if plan.through_copy or any(one.lazy or one.has_autograd for one in tensors):
        return False
    numbers = [one for one in (*call.operands, *call.extras) if not isinstance(one, Tensor)]
    whole = call.formula in TAKES_ANY_INT and plan.common in (int32, int64) and all(type(one) is int for one in numbers)
    return plan.common.kind == 2 or whole or not _is_limited(call)
