"""Array API namespaces as backends: the tables against what is installed, limits, snippets, and a wrong namespace."""

from __future__ import annotations

import importlib
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance.backend import DType, Unsupported, numpy_dtype
from gaugeblock_conformance.backends import array_api, dask, jax, tinygrad
from gaugeblock_conformance.backends.array_api_rules import RULES
from gaugeblock_conformance.backends.array_api_strict import ArrayApiStrictBackend
from gaugeblock_conformance.backends.array_api_table import STANDARD
from gaugeblock_conformance.backends.expressions import table
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.dialect import at_path
from gaugeblock_conformance.gradcheck.recorded import recording
from gaugeblock_conformance.module_version import module_version
from gaugeblock_conformance.own_rules import checked
from gaugeblock_conformance.runner.execute import run_requirement
from gaugeblock_conformance.trace import Name

PEERS = {
    "numpy": lambda: array_api.NamespaceBackend("numpy"),
    "array_api_strict": ArrayApiStrictBackend,
    "jax": jax.JaxBackend,
    "dask.array": dask.DaskBackend,
    "gaugeblock.array_api": lambda: array_api.NamespaceBackend("gaugeblock.array_api"),
}


def made(module: str) -> Any:
    pytest.importorskip(module)
    if np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("NumPy has the standard's names from 2.1 on")
    return PEERS[module]()


@pytest.fixture(scope="module")
def numpy_space() -> Any:
    return made("numpy")


@pytest.mark.parametrize("module", PEERS)
def test_every_function_of_the_table_is_there(module: str) -> None:
    backend = made(module)
    missing = [
        f"{operator}: {path}"
        for operator, row in {**backend.table, **backend.unjudged}.items()
        for path in row.functions
        if at_path(backend.namespace, path) is None
    ]
    assert missing == []


def test_every_method_of_tinygrads_table_is_there() -> None:
    tensor = pytest.importorskip("tinygrad").Tensor
    for operator, row in {**tinygrad.TINYGRAD, **tinygrad.UNJUDGED}.items():
        assert not row.text.startswith("self.") or hasattr(tensor, row.text[5:].split("(")[0]), operator


@pytest.mark.parametrize("module", PEERS)
def test_a_round_trip_and_a_sum(module: str) -> None:
    backend = made(module)
    for name in backend.dtypes:
        array = (np.arange(6).reshape(2, 3) % 2).astype(numpy_dtype(name))
        x = backend.from_numpy(array)
        assert backend.dtype(x) == name and tuple(backend.shape(x)) == (2, 3)
        assert backend.to_numpy(x).tobytes() == array.tobytes()
    x = backend.from_numpy(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32))
    y = backend.call("sum.dim_IntList", x, [1], keepdim=True)
    assert backend.to_numpy(y).tolist() == [[3.0], [7.0]] and backend.dtype(y) == "float32"
    assert backend.to_numpy(backend.call("__getitem__", x, (0, slice(1, 2)))).tolist() == [2.0]


@pytest.mark.parametrize(
    ("operator", "args", "named", "reason"),
    [
        ("sin", 1, {}, "sin: not offered by the backend"),
        ("sum", 1, {"out": 1}, "has no out="),
        ("floor_divide", ([1], [0]), {}, "division of integers by zero is left open"),
        ("add.Tensor", ([1], [1.5]), {}, "operands of several dtypes"),
        ("add.Scalar", ([1], 1.5), {}, "a float beside int64"),
        ("add.Tensor", ([1.0], [1.0]), {"alpha": 2}, "argument 'alpha' is not offered"),
        ("add.Tensor", ([1.0],), {}, "argument 'other' is missing"),
        ("sign", ([1.0],), {}, "not offered for float64"),
        ("zeros", ((2,),), {}, "default dtypes of its own"),
        ("zeros", ((2,),), {"dtype": DType("bfloat16")}, "has no such dtype"),
        ("bitwise_left_shift.Tensor", ([1], [64]), {}, "shifts by the width"),
        ("__getitem__", ([1, 2], 5), {}, "indices outside are left open"),
        ("__getitem__", ([1, 2], slice(None, None, -1)), {}, "slices may run backwards"),
        ("to.dtype", ([float("nan")], DType("int8")), {}, "floats that the integers do not hold"),
        ("amax", ([],), {}, "the extreme of nothing"),
        ("linalg_eigvalsh", ([[1.0, 2.0], [3.0, 4.0]],), {}, "matrices that are not symmetric"),
    ],
)
def test_what_the_standard_leaves_open_is_not_offered(
    numpy_space: Any, operator: str, args: Any, named: dict[str, Any], reason: str
) -> None:
    given = args if isinstance(args, tuple) else ([1.0],)
    arrays = [numpy_space.from_numpy(np.array(a)) if isinstance(a, list) else a for a in given]
    with pytest.raises(Unsupported, match=reason):
        numpy_space.call(operator, *arrays, **named)


def test_subnormal_numbers_are_no_matter_of_jax() -> None:
    backend = made("jax")
    tiny = np.finfo(np.float32).tiny
    small, least = (backend.from_numpy(np.array([v, 1.0], np.float32)) for v in (tiny / 4, tiny))
    for call in (("mul.Tensor", small, small), ("__sub__", least, least), ("neg", small), ("cat", [small, least])):
        assert backend.to_numpy(backend.call(*call)) is not None
    for call in (("mul.Scalar", least, 0.5), ("ne.Scalar", small, 0), ("__mul__", small, least + 1)):
        with pytest.raises(Unsupported, match="subnormal"):
            backend.call(*call)


@pytest.mark.parametrize(("module", "adapter"), [("jax", jax.JaxBackend), ("tinygrad", tinygrad.TinygradBackend)])
def test_functions_are_differentiated(module: str, adapter: Any) -> None:
    pytest.importorskip(module)
    try:
        backend = recording(adapter())
    except RuntimeError as error:
        pytest.skip(f"{module} has no device here: {error}")
    x, y = (backend.from_numpy(np.array(values), requires_grad=True) for values in ([1.0, 2.0], [0.5, 0.25]))
    call = backend.call
    product = call("mul.Tensor", call("exp", x), y)
    assert call("requires_grad", product)
    seed = backend.from_numpy(np.array([1.0, 10.0]))
    by_x, by_y = call("gradients", [product], [x, y], [seed], create_graph=True)
    np.testing.assert_allclose(backend.to_numpy(by_x), np.exp([1, 2]) * [0.5, 2.5])
    np.testing.assert_allclose(backend.to_numpy(by_y), np.exp([1, 2]) * [1, 10])
    (twice,) = call("gradients", [by_y], [x], [seed])
    np.testing.assert_allclose(backend.to_numpy(twice), np.exp([1, 2]) * [1, 100])
    assert call("gradients", [call("exp", x)], [y], [seed]) == (None,)


def test_observers_of_storages_say_that_there_is_none(numpy_space: Any) -> None:
    x = numpy_space.from_numpy(np.zeros(2))
    for name in ("strides", "storage_offset", "storage_id", "storage_nbytes", "data_ptr"):
        with pytest.raises(Unsupported, match="standard shows no"):
            getattr(numpy_space, name)(x)
    with pytest.raises(Unsupported, match="ask for gradients"):
        numpy_space.from_numpy(np.zeros(2), requires_grad=True)


def test_a_refusal_is_of_every_class_and_says_which_it_was(numpy_space: Any) -> None:
    x, y = (numpy_space.from_numpy(np.zeros(n)) for n in (2, 3))
    for kind in (RuntimeError, ValueError, TypeError, IndexError):
        with pytest.raises(kind, match="ValueError: operands could not be broadcast"):
            numpy_space.call("add.Tensor", x, y)


def test_snippets_are_calls_of_the_namespace(numpy_space: Any) -> None:
    space: dict[str, Any] = {"np": np}
    exec(f"{numpy_space.dialect.setup}\nx = {numpy_space.dialect.shaped('[3.0, 1.0]', 'float32', (2, 1))}", space)
    for operator, args, named, text, want in (
        ("sum.dim_IntList", ([0],), {}, "xp.sum(x, axis=(0,))", [4.0]),
        ("amax", (), {"keepdim": True}, "xp.max(x, keepdims=True)", [[3.0]]),
        ("add.Scalar", (1,), {}, "x + 1", [[4.0], [2.0]]),
        ("permute", ((1, 0),), {}, "xp.permute_dims(x, (1, 0))", [[3.0, 1.0]]),
        ("__getitem__", ((Name("x"),),), {}, "x[x]", None),
        ("__getitem__", ((0, slice(1, None)),), {}, "x[0, 1:, ...]", []),
        ("__getitem__", (0,), {}, "x[0, ...]", [3.0]),
        ("__getitem__", (...,), {}, "x[...]", [[3.0], [1.0]]),
        ("cat", (), {}, None, None),
    ):
        given = ([Name("x"), Name("x")],) if operator == "cat" else (Name("x"), *args)
        written = numpy_space.dialect.expression(operator, given, named)
        assert written == (text or "xp.concat((x, x), axis=0)")
        assert want is None or eval(written, space).tolist() == want


def test_keywords_that_nobody_gives_are_not_passed_and_not_written(numpy_space: Any) -> None:
    """A library may lack ``dtype=`` of a sum; ``copy=``, which it takes for true, is always told."""
    asked: list[dict[str, Any]] = []

    def heard(name: str) -> Any:
        return lambda *args, **named: asked.append(named) or getattr(np, name)(*args, **named)

    space = types.ModuleType("numpy")
    vars(space).update({**vars(np), "sum": heard("sum"), "astype": heard("astype")})
    backend = array_api.ArrayApiBackend(space, "heard")
    x = backend.from_numpy(np.ones(2, np.float32))
    for operator, args, named in (("sum", (), {}), ("sum", (), {"dtype": DType("float64")}),
                                  ("to.dtype", (DType("float32"),), {})):  # fmt: skip
        backend.call(operator, x, *args, **named)
    assert asked == [{}, {"dtype": np.float64}, {"copy": False}]
    assert numpy_space.dialect.expression("sum", (Name("x"),), {}) == "xp.sum(x)"
    text = numpy_space.dialect.expression("to.dtype", (Name("x"), DType("float32")), {})
    assert text == "xp.astype(x, xp.float32, copy=False)"


@pytest.mark.parametrize(
    ("named", "shown"), [({}, 1), ({"correction": None}, 1), ({"correction": 2}, 2)], ids=["left out", "None", "given"]
)
def test_choices_by_whether_an_argument_is_none_are_made(numpy_space: Any, named: dict[str, Any], shown: int) -> None:
    written = numpy_space.dialect.expression("var.correction", (Name("x"), (0,)), named)
    assert written == f"xp.var(x, axis=(0,), correction={shown})"


def test_a_namespace_may_lack_what_its_default_dtypes_are_seen_by() -> None:
    """As sparse, which has no ``arange``."""
    space = types.ModuleType("numpy")
    vars(space).update({name: value for name, value in vars(np).items() if name != "arange"})
    backend = array_api.ArrayApiBackend(space, "lacking")
    with pytest.raises(Unsupported, match="default dtypes of its own"):
        backend.call("zeros", (2,))
    assert backend.call("zeros", (2,), dtype=DType("int8")).tolist() == [0, 0]


def test_a_dtype_may_be_spelled_with_an_underscore() -> None:
    """As ``bool_`` of MLX."""
    space = types.ModuleType("numpy")
    vars(space).update({name: value for name, value in vars(np).items() if name != "bool"})
    backend = array_api.ArrayApiBackend(space, "spelled")
    assert backend.dtype(backend.from_numpy(np.zeros(2, bool))) == "bool"
    assert backend.dialect.dtype_value("bool") == "xp.bool_" and backend.dialect.dtype_value("int8") == "xp.int8"


class Watched(types.ModuleType):
    """A namespace that notes the keywords of its calls."""

    def __init__(self) -> None:
        super().__init__("numpy")
        self.calls: list[str] = []
        for name in ("sum", "sort", "argsort", "astype"):
            setattr(self, name, self._noting(name, getattr(np, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def _noting(self, name: str, function: Any) -> Any:
        def call(*args: Any, **named: Any) -> Any:
            self.calls.append(", ".join([name, *(f"{key}={value!r}" for key, value in named.items())]))
            named.pop("descending", None)
            return function(*args, **named)

        return call


@pytest.mark.parametrize(
    ("operator", "args"), [("sum", ()), ("sum.dim_IntList", ([0],)), ("argsort", ()), ("to.dtype", (DType("int32"),))]
)
def test_a_snippet_makes_the_call_that_ran(operator: str, args: tuple[Any, ...]) -> None:
    """With the keywords that the adapter's table adds, whatever the library's own defaults are."""
    made("numpy")
    ran, shown = Watched(), Watched()
    backend = array_api.ArrayApiBackend(ran, "watched")
    x = backend.from_numpy(np.array([[3, 1], [2, 4]]))
    backend.call(operator, x, *args)
    line = backend.dialect.expression(operator, (Name("x"), *args), {})
    eval(line, {"xp": shown, "x": x})
    assert shown.calls == ran.calls
    assert len(ran.calls) == 1


def test_a_table_refuses_an_operator_that_the_spec_does_not_have() -> None:
    with pytest.raises(LookupError, match="no operator 'nonesuch'"):
        table("nonesuch f nonesuch(self)")


@pytest.mark.parametrize(
    "requirement",
    ["iteration/broadcasting-aligns-from-the-right", "dtypes/round-is-half-to-even",
     "iteration/ties-give-the-first-index",
     "kernels/matmul-follows-the-ranks", "dtypes/integer-arithmetic-wraps"],
)  # fmt: skip
def test_numpys_own_namespace_keeps(numpy_space: Any, requirement: str) -> None:
    row = run_requirement(numpy_space, requirement, QUICK, 0)
    assert row["status"] in ("passed", "partial"), row["failure"]


@pytest.mark.parametrize(
    ("function", "wrong", "requirement"),
    [
        ("round", lambda x: np.floor(x + 0.5), "dtypes/round-is-half-to-even"),
        ("argmax", lambda x, axis=None, keepdims=False: x.shape[axis or 0] - 1 - np.argmax(
            np.flip(x, axis), axis=axis, keepdims=keepdims), "iteration/ties-give-the-first-index"),
        ("matmul", lambda x, y: np.matmul(x, y).reshape(-1), "kernels/matmul-follows-the-ranks"),
        ("add", np.subtract, "iteration/broadcasting-aligns-from-the-right"),
        ("floor", np.trunc, "dtypes/round-is-half-to-even"),
    ],
)  # fmt: skip
def test_a_wrong_namespace_is_caught(function: str, wrong: Any, requirement: str) -> None:
    made("numpy")
    space = types.ModuleType("numpy")
    vars(space).update({**vars(np), function: wrong})
    row = run_requirement(array_api.ArrayApiBackend(space, "wrong"), requirement, QUICK, 0)
    assert row["status"] == "failed", row["reason"]


def test_bool_may_be_called_bool_() -> None:
    made("numpy")
    space = types.ModuleType("numpy")
    vars(space).update({name: value for name, value in vars(np).items() if name != "bool"})
    backend = array_api.ArrayApiBackend(space, "underscored")
    assert backend.dtype(backend.from_numpy(np.array([True]))) == "bool"


def _refused(*args: Any, **options: Any) -> None:
    raise ValueError("no")


def _rounded_up(start: float, stop: float, num: int, **options: Any) -> Any:
    made = np.linspace(start, stop, num, **options)
    made[1:-1] = made[1:-1] if made.dtype.kind == "i" else np.nextafter(made[1:-1], np.inf, dtype=made.dtype)
    return made


def _flipped_anyhow(x: Any, axis: Any = None) -> Any:
    try:
        return np.flip(x, axis)
    except np.exceptions.AxisError:
        return x.copy()


def _sum_below_zero(x: Any, **options: Any) -> Any:
    found = np.asarray(np.sum(x, **options))
    return np.where(found == 0, -np.zeros_like(found), found) if found.dtype.kind == "f" else found


class AsTheStandardSays(array_api.ArrayApiBackend):
    rules = RULES


@pytest.mark.parametrize(
    ("function", "own", "requirement"),
    [
        ("stack", _refused, "operators/error-messages-fit-the-row"),
        ("concat", _refused, "kernels/shape-errors-say-what-was-given"),
        ("flip", _flipped_anyhow, "views/dim-out-of-range-raises"),
        ("linspace", _rounded_up, "operators/linspace-hits-both-ends"),
        ("sum", _sum_below_zero, "dtypes/sum-of-negative-zeros"),
    ],
)  # fmt: skip
def test_a_namespace_is_not_asked_what_the_standard_leaves_open(function: str, own: Any, requirement: str) -> None:
    made("numpy")
    space = types.ModuleType("numpy")
    vars(space).update({**vars(np), function: own})
    assert run_requirement(array_api.ArrayApiBackend(space, "own"), requirement, QUICK, 0)["status"] == "failed"
    row = run_requirement(AsTheStandardSays(space, "own"), requirement, QUICK, 0)
    assert row["status"] in ("partial", "skipped"), row["failure"]
    assert (row["reason"] or "").rpartition("asked by its own rules: ")[2]


def test_a_namespace_is_asked_what_the_standard_says() -> None:
    """Shapes that do not broadcast raise, by the standard's rule of broadcasting."""
    made("numpy")
    space = types.ModuleType("numpy")
    vars(space).update({**vars(np), "add": lambda x, y: x})
    row = run_requirement(AsTheStandardSays(space, "own"), "iteration/unbroadcastable-shapes-raise", QUICK, 0)
    assert row["status"] == "failed"


def test_rules_of_the_standard_are_valid() -> None:
    assert checked(RULES) == RULES
    assert {rule.kind for rule in RULES} == {"texts", "refusals", "values"}


def test_devices_are_named(numpy_space: Any) -> None:
    with pytest.raises(ValueError, match="array_api needs a module"):
        array_api.NamespaceBackend()
    with pytest.raises(ModuleNotFoundError):
        array_api.NamespaceBackend("no_such_module")
    for backend in (jax.JaxBackend, dask.DaskBackend, ArrayApiStrictBackend):
        with pytest.raises(ValueError, match="device must be 'cpu', not 'cuda'"):
            backend("cuda")
    assert set(numpy_space.table) == set(STANDARD)


def test_versions_of_modules_are_those_of_their_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package without ``__version__``, as MLX and HIPS autograd are, has its distribution's."""
    (tmp_path / "chipmath").mkdir()
    (tmp_path / "chipmath" / "core.py").touch()
    for name, number in (("chipmath", "0.32.4"), ("chipmath_driver", "7")):
        info = tmp_path / f"{name}-{number}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n")
        (info / "top_level.txt").write_text("chipmath\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert module_version(importlib.import_module("chipmath.core")) == "0.32.4"
    assert module_version(np.linalg) == np.__version__
    lone = types.ModuleType("lone")
    assert module_version(lone) == "unknown"
    lone.__version__ = "3"  # type: ignore[attr-defined]
    assert module_version(lone) == "3"


def test_what_a_namespace_puts_off_is_computed(fakes: Path) -> None:
    backend = array_api.NamespaceBackend("lazy_namespace")
    x = backend.from_numpy(np.array([1, 2], "int32"))
    assert backend.dialect.expression("add.Tensor", (Name("x"), Name("x")), {}) == "xp.add(x, x)"
    y = backend.call("add.Tensor", x, x)
    assert type(y) is type(x)
    assert y.tolist() == [2, 4]
    assert backend.dialect.expression("add.Tensor", (Name("x"), Name("x")), {}) == "xp.asarray(xp.add(x, x))"


def test_the_inspection_api_tells_what_a_dtype_is(fakes: Path) -> None:
    backend = array_api.NamespaceBackend("lazy_namespace")
    assert backend.dtype(backend.from_numpy(np.array([1], "int32"))) == "int32"
    assert backend.dialect.dtype("int32") == "xp.__array_namespace_info__().dtypes(kind=None)['int32']"
    assert backend.dialect.dtype("float32") == "xp.float32"
    assert backend.said["capabilities"] == {}


def test_defaults_that_are_known_are_not_written(fakes: Path) -> None:
    dialect = array_api.NamespaceBackend("numpy").dialect
    assert dialect.expression("fft_fft", (Name("x"),), {}) == "xp.fft.fft(x, axis=-1, norm='backward')"


@pytest.mark.parametrize("operator", ["unsqueeze", "squeeze.dim"])
def test_errors_that_the_standard_advises_are_not_asked_for(operator: str) -> None:
    assert any(rule.kind == "refusals" and operator in rule.operators for rule in RULES)
    assert not any(rule.kind == "refusals" and "matmul" in rule.operators for rule in RULES)

