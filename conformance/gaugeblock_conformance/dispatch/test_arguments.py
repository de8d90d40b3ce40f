"""Arguments are checked against the schema, converted, and given to one overload."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as hs

from ..backend_dispatch import Kernel
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .registry import expect_log, kernels, suite_operators

# Type of a schema -> a value of it, other ones of it that differ from its default, and values that are not of it.
TYPES: dict[str, tuple[Any, str, tuple[Any, ...]]] = {
    "int": (3, "7", (1.5, "3", None, [3])),
    "float": (2.5, "0.5", ("2.5", None, [2.5])),
    "bool": (True, "False", ("True", [True])),
    "str": ("word", '"other"', (3, None, ["word"])),
    "int[]": ([1, 2], "[0]", ("12", [1.5], None)),
    "float[]": ([1.5], "[0.5]", ("1.5", ["1.5"], None)),
}
FAULTS = ("missing", "extra", "unknown", "twice", "wrong")


def _schema(types: list[str], optional: int) -> str:
    """Arguments ``a0, a1 …`` after a tensor; the last ``optional`` ones have a default."""
    parts = ["Tensor x"]
    for k, name in enumerate(types):
        default = f"={TYPES[name][1]}" if k >= len(types) - optional else ""
        parts.append(f"{name} a{k}{default}")
    return f"f({', '.join(parts)}) -> Tensor"


@requirement("dispatch/arguments-are-checked-before-kernels")
@forall(
    types=hs.lists(hs.sampled_from(sorted(TYPES)), min_size=1, max_size=4),
    optional=hs.integers(0, 4),
    named=hs.integers(0, 4),
    fault=hs.sampled_from(FAULTS),
    place=hs.integers(0, 3),
    choice=hs.integers(0, 3),
)
def test_arguments_of_any_schema(
    s: Session, types: list[str], optional: int, named: int, fault: str, place: int, choice: int
) -> None:
    place %= len(types)
    values = [TYPES[name][0] for name in types]
    with suite_operators(s, _schema(types, min(optional, len(types)))):
        kernels(s, "f", "CPU")
        x = s.tensor([1.0])
        split = max(0, len(types) - named)
        positional, keywords = values[:split], {f"a{k}": values[k] for k in range(split, len(types))}
        s.call("suite::f", x, *positional, **keywords)
        expect_log(s, ["CPU"])
        if fault == "missing":
            s.expect_raises((RuntimeError, TypeError), "suite::f", **{f"a{k}": v for k, v in enumerate(values)})
        elif fault == "extra":
            s.expect_raises((RuntimeError, TypeError), "suite::f", x, *values, 1)
        elif fault == "unknown":
            s.expect_raises((RuntimeError, TypeError), "suite::f", x, *positional, **keywords, nothing=1)
        elif fault == "twice":
            s.expect_raises((RuntimeError, TypeError), "suite::f", x, *values, a0=values[0])
        else:
            wrong = TYPES[types[place]][2]
            values[place] = wrong[choice % len(wrong)]
            s.expect_raises((RuntimeError, TypeError), "suite::f", x, *values)
        expect_log(s, [])


@requirement("dispatch/arguments-are-checked-before-kernels")
def test_tensor_arguments(s: Session) -> None:
    with suite_operators(s, "f(Tensor x, Tensor[] ys, *, Tensor? z=None) -> Tensor"):
        kernels(s, "f", "CPU")
        x = s.tensor([1.0])
        s.call("suite::f", x, [x, x], z=x)
        s.call("suite::f", x, [])
        expect_log(s, ["CPU", "CPU"])
        rejected: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
            ((1, [x]), {}),
            (("x", [x]), {}),
            (([x], [x]), {}),
            ((x, 1), {}),
            ((x, [1]), {}),
            ((x, ["x"]), {}),
            ((x, [x], x), {}),
            ((x, [x]), {"z": 1}),
            ((x, [x]), {"z": [x]}),
            ((x,), {}),
            ((), {"ys": [x]}),
        ]
        for arguments, keywords in rejected:
            s.expect_raises((RuntimeError, TypeError), "suite::f", *arguments, **keywords)
        expect_log(s, [])


@requirement("dispatch/kernels-get-all-arguments")
def test_conversion_to_the_schema(s: Session) -> None:
    schema = "f(Tensor x, int n, float y=1.5, *, str word='a', int[]? sizes=None) -> Tensor"
    with suite_operators(s, schema.replace("'", '"')):
        s.call("register_kernel", "f", "CPU", Kernel(None, "echo"))
        x = s.tensor([1.0])
        given: list[tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...]]] = [
            ((3, 2), {}, (3, 2.0)),
            ((3, 2.5), {"word": "b"}, (3, 2.5, ["word", "b"])),
            ((), {"n": 4, "y": 3}, (4, 3.0)),
            ((4, 0.5), {"sizes": (1, 2), "word": "c"}, (4, 0.5, ["sizes", [1, 2]], ["word", "c"])),
        ]
        for arguments, keywords, want in given:
            s.expect_values(s.call("suite::f", x, *arguments, **keywords), [1.0])
            expect_log(s, [repr(want)], "arguments of the kernel")


@requirement("dispatch/overload-is-chosen-by-arguments")
def test_overloads(s: Session) -> None:
    schemas = ("f(Tensor x) -> Tensor", "f.number(Tensor x, int n) -> Tensor", "f.pair(Tensor x, Tensor y) -> Tensor",
               "f.word(Tensor x, str w) -> Tensor")  # fmt: skip
    with suite_operators(s, *schemas):
        for name in ("f", "f.number", "f.pair", "f.word"):
            s.call("register_kernel", name, "CPU", Kernel(name, "scale", 2))
        x = s.tensor([1.0, 2.0])
        fitting: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
            ((x,), {}, "f"),
            ((x, 3), {}, "f.number"),
            ((x, x), {}, "f.pair"),
            ((x, "w"), {}, "f.word"),
            ((x,), {"y": x}, "f.pair"),
            ((x,), {"w": "w"}, "f.word"),
        ]
        for arguments, keywords, want in fitting:
            s.call("suite::f", *arguments, **keywords)
            expect_log(s, [want])
        for refused in ((), (x, [x]), (x, x, x), (3,)):
            s.expect_raises((RuntimeError, TypeError), "suite::f", *refused)
        expect_log(s, [])
