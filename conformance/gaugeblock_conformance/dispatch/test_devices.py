"""Devices, layouts and dtypes: what may meet, what is refused, and what a factory's options choose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import DType, Layout, numpy_dtype
from ..backend_dispatch import Kernel
from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from .registry import expect_log, kernels, suite_operators

_UNTOLD = NoReproducer("it depends on the device types that calls before it took")

Arguments = Callable[[Session, Handle, Handle], tuple[Any, ...]]

ROWS: list[tuple[str, Arguments]] = [
    ("cat", lambda s, x, m: ([x, m],)),
    ("cat", lambda s, x, m: ([m, x],)),
    ("stack", lambda s, x, m: ([x, m],)),
    ("gt.Tensor", lambda s, x, m: (x, m)),
    ("eq.Tensor", lambda s, x, m: (m, x)),
    ("maximum", lambda s, x, m: (x, m)),
    ("mul.Tensor", lambda s, x, m: (x, m)),
    ("where.self", lambda s, x, m: (s.call("gt.Scalar", x, 0), x, m)),
    ("where.self", lambda s, x, m: (s.call("gt.Scalar", m, 0), x, x)),
    ("lerp.Tensor", lambda s, x, m: (x, x, m)),
    ("addcmul", lambda s, x, m: (x, m, x)),
]
# More operators whose error names both devices.
NAMED: list[tuple[str, Arguments]] = [
    ("add.Tensor", lambda s, x, m: (x, m)),
    ("sub.Tensor", lambda s, x, m: (m, x)),
    ("div.Tensor", lambda s, x, m: (x, m)),
    ("atan2", lambda s, x, m: (m, x)),
    ("clamp.Tensor", lambda s, x, m: (x, m)),
]


def _both(s: Session) -> str:
    """A pattern for messages that name the backend's device and the meta device."""
    own = s.backend.device.partition(":")[0]
    return rf"(?s)({own}.*meta|meta.*{own})"


def _apart(s: Session, *sizes: int) -> tuple[Handle, Handle]:
    """A tensor of ones on the backend's device and a meta tensor."""
    s.without_data()
    return s.call("ones", sizes, device=s.backend.device), s.call("ones", sizes, device="meta")


@requirement("dispatch/mixed-devices-raise")
def test_two_devices(s: Session) -> None:
    def row(s: Session, operator: str, arguments: Arguments) -> None:
        x, m = _apart(s, 2)
        s.expect_raises(RuntimeError, operator, *arguments(s, x, m))

    s.table(ROWS, row)


@requirement("dispatch/mixed-devices-are-named")
def test_both_devices_are_named(s: Session) -> None:
    def row(s: Session, operator: str, arguments: Arguments) -> None:
        x, m = _apart(s, 2)
        s.expect_raises(RuntimeError, operator, *arguments(s, x, m), match=_both(s))

    s.table([*ROWS, *NAMED], row)


@requirement("dispatch/mixed-devices-are-named", needs=("out",))
def test_device_of_out_is_named(s: Session) -> None:
    def row(s: Session, operator: str) -> None:
        x, m = _apart(s, 2)
        s.expect_raises(RuntimeError, operator, x, x, out=m, match=_both(s))
        s.expect_raises(RuntimeError, operator, x, m, out=x, match=_both(s))

    s.table(("add.out", "mul.out", "maximum.out"), row)


def _index(s: Session) -> Handle:
    s.without_data()
    index: Handle = s.call("zeros", (1,), dtype=DType("int64"), device="meta")
    return index


CROSSED: list[tuple[str, Arguments]] = [
    ("mm", lambda s, x, m: (x, m)),
    ("mm", lambda s, x, m: (m, x)),
    ("matmul", lambda s, x, m: (x, m)),
    ("bmm", lambda s, x, m: (s.call("unsqueeze", x, 0), s.call("unsqueeze", m, 0))),
    ("addmm", lambda s, x, m: (x, x, m)),
    ("mv", lambda s, x, m: (x, s.call("select.int", m, 0, 0))),
    ("dot", lambda s, x, m: (s.call("select.int", x, 0, 0), s.call("select.int", m, 0, 0))),
    ("index_select", lambda s, x, m: (x, 0, _index(s))),
    ("gather", lambda s, x, m: (x, 0, s.call("unsqueeze", _index(s), 0))),
    ("take", lambda s, x, m: (x, _index(s))),
]


@requirement("dispatch/products-and-index-reads-check-devices", may_crash=True)
def test_products_of_two_devices(s: Session) -> None:
    def row(s: Session, operator: str, arguments: Arguments) -> None:
        x, m = _apart(s, 2, 2)
        s.expect_raises(RuntimeError, operator, *arguments(s, x, m))

    s.table(CROSSED, row)


@requirement("dispatch/scalar-tensor-joins-any-device")
@forall(
    dims=st.sizes(min_dims=1), operator=hs.sampled_from(("add.Tensor", "mul.Tensor", "maximum", "gt.Tensor")),
    first=hs.booleans(),
)  # fmt: skip
def test_tensor_without_dims(s: Session, dims: tuple[int, ...], operator: str, first: bool) -> None:
    s.without_data()
    scalar, m = s.call("tensor", 2.0, device="cpu"), s.call("zeros", dims, device="meta")
    y = s.call(operator, *((scalar, m) if first else (m, scalar)))
    s.expect_shape(y, dims)
    s.expect(_device(s, y), "meta", "device of the result", f"{y.name}.device.type", [y])


def _device(s: Session, x: Handle) -> str:
    return str(s.call("__getattr__", x, "device"))


@requirement("dispatch/device-layout-and-dtype-are-read-only", needs=("device.multi",))
def test_attributes_cannot_be_set(s: Session) -> None:
    def row(s: Session, name: str, value: Any) -> None:
        x = s.tensor([1.0, 2.0])
        s.expect_raises(AttributeError, "__setattr__", x, name, value)
        s.expect_values(x, [1.0, 2.0])

    s.table([("dtype", DType("int32")), ("device", "meta"), ("layout", Layout("sparse_coo"))], row)


@requirement("dispatch/to-what-it-is-gives-itself")
@forall(x=st.tensors(("float32", "int64", "bool")), other=hs.sampled_from(("float64", "int32", "uint8")))
def test_to(s: Session, x: Any, other: str) -> None:
    made = s.build(x)
    same = s.call("to.dtype", made, DType(x.dtype))
    s.expect_same(same, made)
    changed = s.call("to.dtype", made, DType(other))
    s.expect_dtype(changed, other)
    s.expect_dtype(made, x.dtype)
    copied = s.call("to.dtype", made, DType(x.dtype), copy=True)
    if copied.raw is made.raw:
        names = (copied.name, made.name)
        lines = [f"assert {names[0]} is not {names[1]}"]
        raise s.failure("to with copy=True gave its input", "a new tensor", "the input", lines, names)


@requirement("dispatch/to-what-it-is-gives-itself", needs=("device.multi",))
def test_to_a_device(s: Session) -> None:
    x = s.tensor([1.0])
    s.expect_same(s.call("to.device", x, s.backend.device), x)
    s.without_data()
    s.expect_of_last(_device(s, s.call("to.device", x, "meta")), "meta", "device of the copy", "str({})")
    s.expect_of_last(_device(s, x), s.backend.device, "device of the tensor", "str({})")


@requirement("dispatch/factories-follow-their-options")
@forall(
    operator=hs.sampled_from(("zeros", "ones", "empty.memory_format")), dims=st.sizes(),
    dtype=hs.sampled_from((None, "float64", "int32", "bool")),
)  # fmt: skip
def test_factory_options(s: Session, operator: str, dims: tuple[int, ...], dtype: str | None) -> None:
    s.expect_dtype(s.call(operator, dims, **_given(dtype)), dtype or "float32")
    if "device.multi" in s.capabilities:
        s.expect_of_last(_device(s, s.call(operator, dims)), s.backend.device, "default device", "str({})")
        s.without_data()
        m = s.call(operator, dims, device="meta", **_given(dtype))
        s.expect_dtype(m, dtype or "float32")
        s.expect_shape(m, dims)
        s.expect_of_last(_device(s, m), "meta", "device of the tensor", "str({})")


def _given(dtype: str | None) -> dict[str, Any]:
    return {} if dtype is None else {"dtype": DType(dtype)}


@requirement("dispatch/factory-options-pick-the-kernel")
def test_factory_of_the_suite(s: Session) -> None:
    with suite_operators(s, "made(int n, *, Device? device=None) -> Tensor"):
        kernels(s, "made", "CPU", "Meta", action="zeros", argument=(3,))
        s.call("register_kernel", "made", "BackendSelect", Kernel("BackendSelect", "select"))
        s.expect_values(s.call("suite::made", 3), [0.0] * 3)
        expect_log(s, ["BackendSelect", "CPU"])
        s.without_data()
        s.expect_of_last(_device(s, s.call("suite::made", 3, device="meta")), "meta", "device of the tensor", "str({})")
        expect_log(s, ["BackendSelect", "Meta"])
        s.call("suite::made", 3, device=s.backend.device)
        expect_log(s, ["BackendSelect", "CPU"])


@requirement("dispatch/unknown-device-raises", needs=("device.multi",))
def test_unknown_devices(s: Session) -> None:
    def row(s: Session, name: str) -> None:
        s.tensor([1.0])
        for operator in ("zeros", "ones", "empty.memory_format"):
            s.expect_raises(RuntimeError, operator, (2,), device=name)
        s.expect_raises(RuntimeError, "to.device", s.tensor([1.0]), name)
        s.expect_raises(RuntimeError, "device", name)

    s.table(("foo", "", "CPU", "cpu:-1", "cpu:x", "cpu:", "metal cpu", "cpu:0:0"), row)


_TYPES = ("cuda", "xpu", "mps", "hpu", "xla", "vulkan", "lazy", "ve", "ipu", "mtia", "maia", "hip")
_ABSENT = (AssertionError, RuntimeError, NotImplementedError, ImportError)
# Every way to create a tensor on another device: operator, arguments, whether the device is positional.
_ALLOCATIONS: tuple[tuple[str, tuple[Any, ...], bool], ...] = (
    ("zeros", ((2,),), False), ("ones", ((2,),), False), ("empty.memory_format", ((2,),), False),
    ("full", ((2,), 0.0), False), ("empty_strided", ((2,), (1,)), False), ("arange", (2,), False),
    ("tensor", ([0.0, 1.0],), False), ("zeros_like", (None,), False), ("to.device", (None,), True),
)  # fmt: skip


@requirement("dispatch/absent-device-raises-at-allocation", needs=("device.multi",))
def test_absent_devices(s: Session) -> None:
    known = [name for name in _TYPES if s.attempt("device", name)[1] is None]
    s.expect(bool(known), True, "absent device types can be named", _UNTOLD)

    def row(s: Session, name: str, operator: str, given: tuple[Any, ...], placed: bool) -> None:
        x = s.tensor([0.0, 1.0])
        arguments = [x if value is None else value for value in given]
        if placed:
            made, error = s.attempt(operator, *arguments, name)
        else:
            made, error = s.attempt(operator, *arguments, device=name)
        if error is None:
            s.expect(name in known, True, f"{operator} knows the device type {name} that cannot be named", _UNTOLD)
            kind = _device(s, made).partition(":")[0]
            s.expect_of_last(kind, name, "device of the tensor", "str({}).partition(':')[0]")
        else:
            allowed = _ABSENT if name in known else RuntimeError
            s.expect_refusal(error, allowed, f"the exception of {operator}")
        s.expect_values(x, [0.0, 1.0])

    s.table([(name, *call) for name in _TYPES for call in _ALLOCATIONS], row)


# The capability that a dtype needs, and the names of dtypes in upstream's messages.
_BESIDES = {"float16": "half", "bfloat16": "half", "complex64": "complex", "uint16": "dtype.limited"}
_WORDS = {"bool": "Bool", "uint8": "Byte", "int8": "Char", "int64": "Long", "float16": "Half", "bfloat16": "BFloat16",
          "float32": "Float", "complex64": "ComplexFloat", "uint16": "UInt16"}  # fmt: skip
_FILLED = {"zeros": 0, "ones": 1}


@requirement("dispatch/every-option-triple-makes-a-tensor-or-raises", needs=("device.multi",), may_crash=True)
@forall(
    dtype=hs.sampled_from(tuple(_WORDS)),
    layout=hs.sampled_from(("strided", "sparse_coo", "sparse_csr")),
    device=hs.sampled_from(("cpu", "meta")),
    operator=hs.sampled_from(("zeros", "empty.memory_format", "ones")),
)
def test_option_triples(s: Session, dtype: str, layout: str, device: str, operator: str) -> None:
    options = {"dtype": DType(dtype), "layout": Layout(layout), "device": device}
    there = layout == "strided" and _BESIDES.get(dtype, "core") in s.capabilities
    near = layout == "strided" and device == s.backend.device
    if not near:
        s.without_data()
    made = _made_or_refused(s, there, options, operator, (2, 3), **options)
    if made is None:
        return
    doubled = _made_or_refused(s, there and dtype != "uint16", options, "add.Tensor", made, made)
    for k, value in enumerate((made, doubled)):
        if value is None:
            continue
        s.expect_dtype(value, dtype)
        s.expect_shape(value, (2, 3))
        s.expect_of_last(_device(s, value), device, "device of the tensor", "str({})")
        got = str(s.call("__getattr__", value, "layout")).rpartition(".")[2]
        s.expect_of_last(got, layout, "layout of the tensor", "str({}).rpartition('.')[2]")
        if near and operator in _FILLED:
            element = np.asarray(_FILLED[operator]).astype(numpy_dtype(dtype))
            s.expect_values(value, np.full((2, 3), element + element if k else element))


def _made_or_refused(
    s: Session, there: bool, options: dict[str, str], operator: str, *arguments: Any, **keywords: Any
) -> Handle | None:
    """Return the result, or None after a RuntimeError that names an option; if ``there``, the call must succeed."""
    made: Handle
    made, error = s.attempt(operator, *arguments, **keywords)
    if error is None:
        return made
    asked = ", ".join(f"{name}={value}" for name, value in options.items())
    if there:
        s.expect_accepted(error, f"{operator} refuses {asked}")
    s.expect_refusal(error, RuntimeError, f"the exception of {operator}")
    names = (options["dtype"], _WORDS[options["dtype"]], options["layout"].partition("_")[0], options["device"])
    said = any(name.lower() in str(error).lower() for name in names)
    s.expect(said, True, f"the error of {operator} for {asked} names one of them: {error}", _UNTOLD)
    return None
