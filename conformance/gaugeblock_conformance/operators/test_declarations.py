"""Schemas as declarations: printed, parsed, checked against the table, and what is generated from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from gaugeblock_spec import operators
from gaugeblock_spec.schema import SchemaError, parse

from ..autograd.leaves import expect_grad
from ..backend import Unsupported
from ..backend_declarations import Declaration
from ..backend_dispatch import Kernel
from ..failure import NoReproducer
from ..requirement import requirement
from ..session import Handle, Session
from .calls import OperatorCall, schema_arguments
from .coverage import swept
from .drawing import draw
from .outs import result_of, with_result
from .sweep import sweep

_UNTOLD = NoReproducer("a reader of schemas, or code of the suite, is needed to see it")

_PRINTED = (
    "op1(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "op2.Tensor(Tensor self, Tensor? other=None, int[2] size=1, bool flag=False) -> Tensor",
    "op3.out(Tensor self, *, float p=0.5, Tensor(a!) out) -> Tensor(a!)",
    "op4_(Tensor(a!) self, int dim=-1) -> Tensor(a!)",
    "op5(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    "op6(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
    "op7(Tensor self, str mode=\"mean\", ScalarType? dtype=None) -> (Tensor values, Tensor indices)",
    "op8(Tensor[] tensors, int dim=0) -> Tensor",
    "op9(Tensor self, Scalar? min=None, Scalar? max=None) -> (Tensor, Tensor)",
    "op10(Tensor self) -> ()",
    "op11(Tensor self, int[] dims=[], float eps=1.0000000000000001e-05) -> bool",
)  # fmt: skip
_MALFORMED = (
    "op20", "op20(", "op20()", "op20(Tensor self)", "op20(Tensor self) -> ", "op20(Tensor) -> Tensor",
    "op20(Tnsor self) -> Tensor", "op20(Tensor self,, int k) -> Tensor", "op20(Tensor self int k) -> Tensor",
    "op20(Tensor self, int k=) -> Tensor", "op20(Tensor self) -> Tensor extra stuff", "(Tensor self) -> Tensor",
)  # fmt: skip
_SCALED = "scaled_abs(Tensor self, float scale=1.0) -> Tensor"


# Schemas that contradict their names or their formulas.
_INCONSISTENT = (
    ("scaled_abs_(Tensor self, float scale=1.0) -> Tensor", "abs(self) * scale"),
    ("scaled_abs(Tensor(a!) self, float scale=1.0) -> Tensor(a!)", "abs(self) * scale"),
    ("scaled_abs(Tensor self, Tnsor scale) -> Tensor", "abs(self) * scale"),
    ("scaled_abs(Tensor self, float scale=1.0) -> Tensor", "no_such_operator(self) * scale"),
    ("scaled_abs(Tensor self, float factor=1.0) -> Tensor", "abs(self) * scale"),
    ("scaled_abs(Tensor self, float scale=1.0) -> Tensor", "abs(self) *"),
)


@requirement("operators/schemas-print-back")
def test_printed_schemas(s: Session) -> None:
    def body(s: Session, text: str) -> None:
        printed = s.call("printed_schema", text)
        s.expect(printed, text.replace('"', "'") if "'" in str(printed) else text, "a schema printed")

    s.table(_PRINTED, body)


@requirement("operators/malformed-schemas-are-refused")
def test_malformed_schemas(s: Session) -> None:
    def body(s: Session, text: str) -> None:
        s.expect_raises((RuntimeError, ValueError, TypeError), "printed_schema", text)

    s.table(_MALFORMED, body)


@requirement("operators/declared-schemas-are-upstreams")
def test_schemas_of_the_table(s: Session) -> None:
    def body(s: Session, text: str) -> None:
        name = operators.schema_name(text)
        try:
            found = s.backend.call("declared_schema", name)
        except (AttributeError, RuntimeError):
            raise Unsupported(name, "not declared by the backend") from None
        s.expect(found, text, f"schema of {name}", s.text("declared_schema", name))

    rows = operators.load().values()
    s.table([text for row in rows for text in (row.schema, row.inplace, row.out) if text is not None], body)


@requirement("operators/schema-says-its-form")
def test_forms_of_schemas(s: Session) -> None:
    def body(s: Session, name: str) -> None:
        try:
            schema = parse(str(s.backend.call("declared_schema", name)))
        except (AttributeError, RuntimeError):
            raise Unsupported(name, "not declared by the backend") from None
        except SchemaError as error:
            s.expect(str(error), "", f"the schema of {name} parses", _UNTOLD)
            return
        first = schema.arguments[0].written if schema.arguments else False
        outs = any(argument.kwarg_only and argument.written for argument in schema.arguments)
        form = "in place" if schema.name.endswith("_") else "out" if outs else "functional"
        right = {"in place": first, "out": outs and not first, "functional": not first}[form]
        s.expect(right, True, f"{name} is {form}, as its name and its marks say", _UNTOLD)

    forms = [form for row in operators.load().values() for form in (row.name, row.inplace_name, row.out_name)]
    s.table([form for form in forms if form is not None], body)


@requirement("operators/function-and-method-agree", slow=True)
def test_variants(s: Session) -> None:
    @with_result
    def body(s: Session, call: OperatorCall, y: Any) -> None:
        for variant in ("function", "method"):
            positional, keywords = call.bind(s.build)
            if variant == "method" and not isinstance(positional[0], Handle):
                positional.insert(0, positional.pop(next(k for k, v in enumerate(positional) if isinstance(v, Handle))))
            got = s.call(f"{variant}:{call.operator}", *positional, **keywords)
            _same(s, got, y)

    rows = operators.load()
    both = [n for n in swept() if {"function", "method"} <= set(rows[n].variants) and rows[n].family != "random"]
    sweep(s, both, lambda name, code: draw(name, code).packed(), body, weight=0.03)


def _same(s: Session, got: object, like: object) -> None:
    if isinstance(like, list | tuple):
        for a, b in zip(s.parts(got, len(like)), like, strict=True):
            _same(s, a, b)
    elif isinstance(like, Handle) and isinstance(got, Handle):
        s.expect_agreement(got, like) if s.has_data else s.expect_dtype(got, s.observe("dtype", like))
    else:
        s.expect(got, like, "the answer of a method")


@requirement("operators/defaults-are-those-of-the-schema", slow=True)
def test_defaults(s: Session) -> None:
    def compare(s: Session, call: OperatorCall) -> None:
        y = result_of(s, call)
        filled = {k: v for k, v in call.values().items() if k in call.arguments or _plain(v)}
        full = OperatorCall(call.operator, {k: call.arguments.get(k, v) for k, v in filled.items()}, call.dtype)
        again = result_of(s, full)
        if y is not None and again is not None:
            _same(s, again, y)

    def body(s: Session, call: OperatorCall) -> None:
        compare(s, call)
        left_out = {one.name for one in schema_arguments(call.operator) if one.default is not None}
        left_out = {name for name in left_out if name in call.arguments and _plain(call.arguments[name])}
        if left_out:
            kept = {name: value for name, value in call.arguments.items() if name not in left_out}
            compare(s, OperatorCall(call.operator, kept, call.dtype))

    rows = operators.load()
    kept = [n for n in swept() if rows[n].family not in ("random", "factory") and not n.partition(".")[0].endswith("_")]
    kept = [n for n in kept if "old_memory" not in rows[n].open]
    sweep(s, kept, lambda name, code: draw(name, code).packed(), body, weight=0.03)


def _plain(value: object) -> bool:
    return isinstance(value, bool | int | float)


# Signatures that each differ from the schema of scaled_abs in one respect.
_OTHER_SIGNATURES = (
    "scaled_abs(Tensor self, float scale) -> Tensor",
    "scaled_abs(Tensor self) -> Tensor",
    "scaled_abs(Tensor self, float scale=2.0) -> Tensor",
    "scaled_abs(Tensor self, int scale=1) -> Tensor",
    "scaled_abs(Tensor self, float? scale=1.0) -> Tensor",
    "scaled_abs(Tensor self, float factor=1.0) -> Tensor",
    "scaled_abs(Tensor self, *, float scale=1.0) -> Tensor",
    "scaled_abs(Tensor self, float scale=1.0, float shift=0.0) -> Tensor",
    "scaled_abs(Tensor self, float scale=1.0) -> (Tensor, Tensor)",
    "scaled_abs(Tensor(a) self, float scale=1.0) -> Tensor(a)",
    "scaled_abs.other(Tensor self, float scale=1.0) -> Tensor",
    "scaled_sign(Tensor self, float scale=1.0) -> Tensor",
)


@requirement("operators/derivative-of-another-signature-is-refused")
def test_signature_of_a_derivative(s: Session) -> None:
    """A refused derivative declares no operator; a derivative with the operator's signature is accepted."""
    formula, derivative = "abs(self) * scale", "grad * sign(self) * scale"

    def row(s: Session, signature: str) -> None:
        s.call("release_declarations")
        wrong = Declaration(_SCALED, formula, derivative, signature)
        s.expect_raises((RuntimeError, ValueError), "declare_operator", wrong)
        try:
            _, error = s.attempt("function:scaled_abs", s.tensor([-2.0]), 3.0)
        except Unsupported:
            return
        s.expect(error is None, False, "a refused operator can be called", _UNTOLD)

    s.table(_OTHER_SIGNATURES, row)
    s.call("declare_operator", Declaration(_SCALED, formula, derivative, _SCALED))
    s.expect_values(s.call("function:scaled_abs", s.tensor([-2.0]), 3.0), [6.0])
    s.call("release_declarations")


@requirement("operators/inconsistent-declarations-are-refused")
def test_inconsistent_declarations(s: Session) -> None:
    """What is refused once is refused again, and can be declared rightly afterwards."""
    right = Declaration(_SCALED, "abs(self) * scale")

    def row(s: Session, schema: str, formula: str) -> None:
        s.call("release_declarations")
        for _ in range(2):
            s.expect_raises((RuntimeError, ValueError), "declare_operator", Declaration(schema, formula))
        s.call("declare_operator", right)
        s.expect_raises((RuntimeError, ValueError), "declare_operator", right)
        s.expect_values(s.call("function:scaled_abs", s.tensor([-2.0]), 3.0), [6.0])

    s.table(_INCONSISTENT, row)
    s.call("release_declarations")


@requirement("operators/declared-operator-works-end-to-end")
def test_scaled_abs(s: Session) -> None:
    s.call("release_declarations")
    s.call("declare_operator", Declaration(_SCALED, "abs(self) * scale", "grad * sign(self) * scale"))
    x = s.call("t", s.tensor([[1.0, -2.0, 0.0], [-3.0, 4.0, -0.5]]))
    for variant in ("function", "method"):
        y = s.call(f"{variant}:scaled_abs", x, 2.0)
        s.expect_values(y, [[2.0, 6.0], [4.0, 8.0], [0.0, 1.0]])
        s.expect_strides(y, (1, 3))
        s.expect_values(s.call(f"{variant}:scaled_abs", x), [[1.0, 3.0], [2.0, 4.0], [0.0, 0.5]])
    s.expect_raises(RuntimeError, "function:scaled_abs", s.tensor([1, -2], "int64"))
    s.expect_raises(TypeError, "function:scaled_abs", x, "2")


@requirement("operators/dtype-without-a-loop-raises")
def test_half_without_a_loop(s: Session) -> None:
    s.call("release_declarations")
    s.call("declare_operator", Declaration(_SCALED, "abs(self) * scale", "grad * sign(self) * scale"))
    s.expect_raises(NotImplementedError, "function:scaled_abs", s.tensor(np.ones(3), "float16"))


@requirement("operators/backward-without-a-derivative-raises")
def test_backward_without_a_derivative(s: Session) -> None:
    key = {"cpu": "CPU", "cuda": "CUDA"}.get(s.backend.device.partition(":")[0], "PrivateUse1")
    _differentiate_without_a_derivative(s, key)


@requirement("operators/composite-without-a-derivative-is-no-exception")
def test_composite_without_a_derivative(s: Session) -> None:
    _differentiate_without_a_derivative(s, "CompositeExplicitAutograd")


def _differentiate_without_a_derivative(s: Session, key: str) -> None:
    x = s.tensor([1.0, 2.0])
    s.call("requires_grad_", x)
    s.call("define_operator", "no_derivative(Tensor self) -> Tensor")
    try:
        s.call("register_kernel", "no_derivative", key, Kernel(None, "scale", 2.0))
        y = s.call("sum", s.call("suite::no_derivative", x))
        _, error = s.attempt("backward", y)
        if error is None:
            expect_grad(s, x, [2.0, 2.0])
        else:
            s.expect_refusal(error, RuntimeError, "the exception of a backward pass without a formula")
    finally:
        s.call("release_operators")
