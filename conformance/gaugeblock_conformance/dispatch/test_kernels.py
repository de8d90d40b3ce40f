"""From the deciding key to a kernel: direct ones, composites, fallbacks, and none at all."""

from __future__ import annotations

from typing import Any

from gaugeblock_spec import operators
from gaugeblock_spec.schema import parse
from hypothesis import strategies as hs

from ..backend import DType
from ..backend_dispatch import Exclude, Include, Kernel
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .registry import expect_log, kernels, meta, suite_operators

UNARY = "f(Tensor x) -> Tensor"


@requirement("dispatch/device-comes-before-dtype")
@forall(dtype=hs.sampled_from(("bool", "uint8", "int64", "float32", "float64", "complex64", "bfloat16")))
def test_kernel_of_the_device(s: Session, dtype: str) -> None:
    with suite_operators(s, UNARY):
        s.call("register_kernel", "f", "CPU", Kernel("CPU", "chain", ("clone",)))
        s.call("register_kernel", "f", "Meta", Kernel("Meta", "chain", ("clone",)))
        x = s.call("zeros", (2,), dtype=DType(dtype))
        s.expect_dtype(s.call("suite::f", x), dtype)
        expect_log(s, ["CPU"])
        s.without_data()
        m = s.call("empty.memory_format", (2,), dtype=DType(dtype), device="meta")
        s.expect_dtype(s.call("suite::f", m), dtype)
        expect_log(s, ["Meta"])


@requirement("dispatch/device-comes-before-dtype")
def test_dtype_is_refused_by_the_kernel(s: Session) -> None:
    with suite_operators(s, UNARY):
        s.call("register_kernel", "f", "CPU", Kernel("CPU", "chain", ("bitwise_not",)))
        s.expect_values(s.call("suite::f", s.tensor([5], "int32")), [-6], dtype="int32")
        expect_log(s, ["CPU"])
        s.expect_raises((RuntimeError, TypeError), "suite::f", s.tensor([5.0]))
        expect_log(s, ["CPU"])


@requirement("dispatch/direct-kernel-comes-first")
def test_direct_and_composite(s: Session) -> None:
    def row(s: Session, composite: str) -> None:
        with suite_operators(s, UNARY):
            kernels(s, "f", composite, "CPU")
            s.call("suite::f", s.tensor([1.0]))
            expect_log(s, ["CPU"])
            s.call("suite::f", meta(s, 1))
            expect_log(s, [composite])

    s.table(("CompositeExplicitAutograd", "CompositeImplicitAutograd"), row)


@requirement("dispatch/explicit-composite-comes-before-implicit")
def test_two_composites(s: Session) -> None:
    with suite_operators(s, UNARY):
        kernels(s, "f", "CompositeExplicitAutograd", "CompositeImplicitAutograd")
        s.call("suite::f", s.tensor([1.0]))
        expect_log(s, ["CompositeExplicitAutograd"])


@requirement("dispatch/order-of-registration-does-not-matter")
@forall(keys=hs.permutations(("CPU", "Autograd", "CompositeImplicitAutograd", "CompositeExplicitAutograd")),
        count=hs.integers(2, 4))  # fmt: skip
def test_any_order(s: Session, keys: list[str], count: int) -> None:
    registered = keys[:count]
    direct = "CPU" in registered or "CompositeExplicitAutograd" in registered
    order = ("Autograd", "CPU", "CompositeExplicitAutograd") if direct else ("CompositeImplicitAutograd", "Autograd")
    with suite_operators(s, UNARY):
        kernels(s, "f", *registered)
        s.call("suite::f", s.tensor([1.0]))
        expect_log(s, [next(key for key in order if key in registered)])


@requirement("dispatch/implicit-composite-comes-before-autograd")
def test_autograd_alias(s: Session) -> None:
    def row(s: Session, keys: tuple[str, ...], want: list[str]) -> None:
        with suite_operators(s, UNARY):
            for key in keys:
                s.call("register_kernel", "f", key, Kernel(key, "scale", 2))
            s.call("suite::f", s.tensor([1.0]))
            expect_log(s, want)

    s.table(
        [
            (("Autograd", "CPU"), ["Autograd"]),
            (("Autograd", "CompositeExplicitAutograd"), ["Autograd"]),
            (("Autograd", "CompositeImplicitAutograd"), ["CompositeImplicitAutograd"]),
            (("Autograd", "AutogradCPU", "CPU"), ["AutogradCPU"]),
            (("Autograd", "CompositeImplicitAutograd", "CPU"), ["Autograd"]),
        ],
        row,
    )


@requirement("dispatch/composite-runs-on-every-backend")
def test_composite_on_two_backends(s: Session) -> None:
    def row(s: Session, key: str) -> None:
        with suite_operators(s, UNARY):
            s.call("register_kernel", "f", key, Kernel(key, "chain", ("neg", "abs", "exp")))
            s.expect_values(s.call("suite::f", s.tensor([0.0, -0.0])), [1.0, 1.0])
            expect_log(s, [key])
            s.expect_shape(s.call("suite::f", meta(s, 3, 2)), (3, 2))
            expect_log(s, [key])

    s.table(("CompositeExplicitAutograd", "CompositeImplicitAutograd"), row)


@requirement("dispatch/fallback-serves-operators-without-kernel")
def test_fallback(s: Session) -> None:
    with suite_operators(s, UNARY, "g(Tensor x) -> Tensor"):
        s.call("register_fallback", "PrivateUse2", Kernel("fallback", "first"))
        s.call("register_kernel", "f", "PrivateUse2", Kernel("own", "first"))
        x = s.tensor([1.0])
        contexts = (Include("PrivateUse2"), Exclude("AutogradPrivateUse2"), Exclude("ADInplaceOrView"))
        s.call("within", contexts, "suite::g", x)
        expect_log(s, ["fallback"])
        s.call("within", contexts, "suite::f", x)
        expect_log(s, ["own"])


@requirement("dispatch/new-devices-come-from-outside")
def test_reserved_device(s: Session) -> None:
    with suite_operators(s, UNARY):
        kernels(s, "f", "PrivateUse1", "CPU", action="first")
        contexts = (Include("PrivateUse1"), Exclude("AutogradPrivateUse1"))
        s.call("within", contexts, "suite::f", s.tensor([1.0]))
        expect_log(s, ["PrivateUse1"])


@requirement("dispatch/missing-kernel-raises")
def test_no_kernel_for_the_device(s: Session) -> None:
    with suite_operators(s, UNARY, "g(Tensor x) -> Tensor", "h(Tensor[] xs) -> Tensor"):
        x = s.tensor([1.0])
        s.expect_raises(NotImplementedError, "suite::f", x, match="suite::f")
        kernels(s, "f", "CPU")
        kernels(s, "g", "Meta")
        s.expect_raises(NotImplementedError, "suite::g", x, match="suite::g")
        s.expect_raises(NotImplementedError, "suite::f", meta(s, 1), match="suite::f")
        s.expect_raises(NotImplementedError, "suite::h", [], match="suite::h")
        expect_log(s, [])


@requirement("dispatch/missing-kernel-raises")
@forall(own=hs.sets(hs.sampled_from(("CPU", "Meta", "CUDA", "PrivateUse1"))))
def test_kernels_of_other_devices_do_not_run(s: Session, own: set[str]) -> None:
    with suite_operators(s, UNARY):
        kernels(s, "f", *sorted(own))
        for key, x in (("CPU", s.tensor([1.0])), ("Meta", meta(s, 1))):
            if key in own:
                s.call("suite::f", x)
                expect_log(s, [key])
            else:
                s.expect_raises(NotImplementedError, "suite::f", x)
                expect_log(s, [])


REFUSED: list[tuple[str, str, int, str]] = [
    ("gcd", "float32", 2, "Float"),
    ("lcm", "float64", 2, "Double"),
    ("bitwise_and.Tensor", "float32", 2, "Float"),
    ("bitwise_xor.Tensor", "float64", 2, "Double"),
    ("atan2", "complex64", 2, "ComplexFloat"),
    ("hypot", "complex64", 2, "ComplexFloat"),
    ("fmod.Tensor", "complex64", 2, "ComplexFloat"),
    ("erf", "complex64", 1, "ComplexFloat"),
    ("lgamma", "complex128", 1, "ComplexDouble"),
    ("bitwise_not", "float64", 1, "Double"),
    ("floor", "complex64", 1, ""),
    ("trunc", "complex64", 1, ""),
]


def _refused(s: Session, named: bool) -> None:
    def row(s: Session, operator: str, dtype: str, count: int, word: str) -> None:
        s.need_data()
        if dtype.startswith("complex"):
            s.require("complex")
        if operator.startswith("bitwise"):
            s.require("bitwise")
        x = s.tensor([1, 2], dtype)
        match: Any = rf"\"\w+\" not implemented for '{word}'" if named else None
        s.expect_raises(NotImplementedError, operator, *[x] * count, match=match)

    s.table([r for r in REFUSED if r[3] or not named], row)


@requirement("dispatch/unsupported-dtype-raises")
def test_dtypes_without_code(s: Session) -> None:
    _refused(s, named=False)


@requirement("dispatch/unsupported-dtype-is-named")
def test_names_of_dtypes_without_code(s: Session) -> None:
    _refused(s, named=True)


# The capability that a dtype belongs to, where it has one.
MISSING = {"float16": "half", "complex64": "complex"}
DECLARED = (
    "gcd", "bitwise_and.Tensor", "erf", "floor", "exp", "atan2", "logical_not", "isnan", "lgamma", "add.Tensor",
)  # fmt: skip


@requirement("dispatch/kernels-declare-their-dtypes")
def test_declared_dtypes(s: Session) -> None:
    def row(s: Session, name: str) -> None:
        declared = operators.load()[name].dtypes
        count = sum(a.type == "Tensor" for a in parse(operators.load()[name].schema).arguments)
        for dtype in ("bool", "uint8", "int64", "float16", "float32", "complex64"):
            if dtype in MISSING and MISSING[dtype] not in s.capabilities:
                continue
            x = s.tensor([1, 0, 1], dtype)
            if dtype in declared:
                s.call(name, *[x] * count)
            else:
                s.expect_raises((RuntimeError, TypeError), name, *[x] * count)

    s.table([name for name in DECLARED if name in operators.load()], row)
