"""gaugeblock.array_api: the standard's names and signatures, its promotion, and where it differs from PyTorch."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import gaugeblock as gb
import gaugeblock.array_api as xp
import pytest

SIGNATURES = (Path(__file__).parent / "data" / "array_api_signatures.txt").read_text().split("\n")[:-1]
INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
LATER = {"broadcast_shapes", "isin", "eig", "eigvals"}
"""Functions of a later version of the standard."""


def given(values: Any, dtype: str | None = None) -> Any:
    return xp.asarray(values, dtype=None if dtype is None else getattr(xp, dtype))


def told(x: Any) -> tuple[str, tuple[int, ...], Any]:
    return x.dtype.name, tuple(x.shape), x.tolist()


@pytest.mark.parametrize("line", SIGNATURES)
def test_signatures_are_those_of_the_standard(line: str) -> None:
    name = line.partition("(")[0]
    place: Any = xp
    for part in name.split("."):
        place = getattr(place, part)
    signature = inspect.signature(place, eval_str=False)
    plain = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    assert name + str(signature.replace(parameters=plain, return_annotation=signature.empty)) == line
    assert place.__doc__ and place.__name__ == name.rpartition(".")[2]


def test_all_names_are_listed() -> None:
    functions = {line.partition("(")[0] for line in SIGNATURES}
    constants = {"e", "inf", "nan", "newaxis", "pi", "linalg", "fft"}
    info = {"__array_api_version__", "__array_namespace_info__"}
    dtypes = set(xp.__array_namespace_info__().dtypes())
    assert set(xp.__all__) == {name for name in functions if "." not in name} | constants | info | dtypes
    assert sorted(xp.__all__) == dir(xp)
    for extension in ("linalg", "fft"):
        listed = {name.partition(".")[2] for name in functions if name.startswith(f"{extension}.")}
        assert set(getattr(xp, extension).__all__) == listed
    assert {name.rpartition(".")[2] for name in functions} >= LATER
    assert xp.__array_api_version__ == "2024.12"
    with pytest.raises(AttributeError, match=r"the array API standard 2024\.12 has no 'einsum'"):
        _ = xp.einsum


def test_tensors_give_the_namespace() -> None:
    x = gb.ones(2)
    assert x.__array_namespace__() is xp
    for version in ("2021.12", "2022.12", "2023.12", "2024.12"):
        assert x.__array_namespace__(api_version=version) is xp
    with pytest.raises(ValueError, match=r"argument 'api_version' must be one of 2021\.12, .*, got '2020\.12'"):
        x.__array_namespace__(api_version="2020.12")
    assert x.to_device("cpu") is x and x.to_device("meta").device == gb.device("meta")
    with pytest.raises(ValueError, match=r"to_device\(\): argument 'stream' must be None"):
        x.to_device("cpu", stream=1)


def test_the_namespace_is_imported_when_it_is_asked_for() -> None:
    code = (
        "import sys, gaugeblock as gb; x = gb.ones(2); assert 'gaugeblock.array_api' not in sys.modules\n"
        "print(x.__array_namespace__().__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "gaugeblock.array_api"


def test_inspection() -> None:
    info = xp.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert info.default_device() == gb.device("cpu") and gb.device("cpu") in info.devices()
    assert info.default_dtypes() == {
        "real floating": gb.float32, "complex floating": gb.complex64, "integral": gb.int64, "indexing": gb.int64,
    }  # fmt: skip
    assert list(info.dtypes(kind="unsigned integer")) == ["uint8", "uint16", "uint32", "uint64"]
    assert set(info.dtypes(kind=("bool", "complex floating"))) == {"bool", "complex64", "complex128"}
    assert len(info.dtypes()) == 13 and all(info.dtypes()[name] is getattr(xp, name) for name in info.dtypes())
    with pytest.raises(ValueError, match="argument 'kind' must be one of bool, signed integer"):
        info.dtypes(kind="float")


def test_devices_are_those_that_there_are() -> None:
    info = xp.__array_namespace_info__()
    gb.cuda.use_driver("simulated", devices=2)
    try:
        assert [str(one) for one in info.devices()] == ["cpu", "meta", "cuda:0", "cuda:1"]
        assert xp.ones(2, device="cuda:1").device in info.devices()
    finally:
        gb.cuda.use_driver(None)
    assert [str(one) for one in info.devices()][:2] == ["cpu", "meta"]


PROMOTIONS = """
int8: int8 int16 int32 int64 int16 int32 int64 -
int16: int16 int16 int32 int64 int16 int32 int64 -
int32: int32 int32 int32 int64 int32 int32 int64 -
int64: int64 int64 int64 int64 int64 int64 int64 -
uint8: int16 int16 int32 int64 uint8 uint16 uint32 uint64
uint16: int32 int32 int32 int64 uint16 uint16 uint32 uint64
uint32: int64 int64 int64 int64 uint32 uint32 uint32 uint64
uint64: - - - - uint64 uint64 uint64 uint64
"""


@pytest.mark.parametrize("line", PROMOTIONS.strip().split("\n"))
def test_integers_promote_whatever_the_dims(line: str) -> None:
    first, _, row = line.partition(": ")
    for second, wanted in zip(INTEGERS, row.split(), strict=True):
        pairs = [(given([1, 2], first), given(3, second)), (given(1, first), given([3, 3], second))]
        if wanted == "-":
            for x, y in pairs:
                with pytest.raises(TypeError, match="do not promote: no integer dtype holds the values of both"):
                    xp.add(x, y)
            assert not xp.can_cast(getattr(xp, first), getattr(xp, second))
            continue
        assert [xp.add(x, y).dtype.name for x, y in pairs] == [wanted, wanted]
        assert xp.result_type(getattr(xp, first), getattr(xp, second)).name == wanted
        assert xp.can_cast(getattr(xp, first), getattr(xp, second)) == (wanted == second)
        assert xp.concat([given([1], first), given([1], second)]).dtype.name == wanted


@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        (("float32", 1), "float32"), (("float32", 1.5), "float32"), (("float32", 1j), "complex64"),
        (("float64", 1j), "complex128"), (("int8", 300), "int8"), (("int8", True), "int8"), (("bool", True), "bool"),
        (("float32", "complex128"), "complex128"), (("float64", "complex64"), "complex128"), ((2, "uint8"), "uint8"),
        (("int8", "uint8", "int32"), "int32"), ((1j, "float32", 2.0), "complex64"),
    ],
)  # fmt: skip
def test_result_type(items: tuple[Any, ...], wanted: str) -> None:
    assert xp.result_type(*[getattr(xp, one) if isinstance(one, str) else one for one in items]).name == wanted


def test_wrong_arguments_of_dtype_functions_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one array or dtype is needed"):
        xp.result_type(1, 2.0)
    for call in (lambda: xp.result_type("int8"), lambda: xp.isdtype("int8", "bool"), lambda: xp.isdtype(xp.int8, 5),
                 lambda: xp.can_cast("int8", xp.int8), lambda: xp.astype(5, xp.int8), lambda: xp.finfo("float32"),
                 lambda: xp.iinfo(xp.float32), lambda: xp.finfo(xp.int8),
                 lambda: xp.astype(given([1j]), xp.float32)):  # fmt: skip
        with pytest.raises(TypeError):
            call()


def test_limits_have_dtypes() -> None:
    info = xp.finfo(given([1j], "complex128"))
    assert (info.bits, info.dtype, info.eps, info.smallest_normal) == (64, xp.float64, 2.0**-52, 2.0**-1022)
    assert (xp.finfo(xp.float32).max, xp.finfo(xp.float32).min) == (3.4028234663852886e38, -3.4028234663852886e38)
    assert (xp.iinfo(xp.uint16).max, xp.iinfo(given([1], "int8")).min) == (65535, -128)
    assert xp.iinfo(xp.int8).dtype is xp.int8
    assert isinstance(gb.finfo(gb.float32).dtype, str)


HIGH = 2**64 - 1
WIDE: list[tuple[str, tuple[Any, ...], Any]] = [
    ("add", ([HIGH, 1], [2, 2]), [1, 3]), ("subtract", ([0, 5], [1, 5]), [HIGH, 0]),
    ("multiply", ([HIGH, 3], [HIGH, 5]), [1, 15]), ("negative", ([0, 1, HIGH],), [0, HIGH, 1]),
    ("floor_divide", ([HIGH, HIGH, HIGH, 7, 2**63], [1, 2, HIGH, HIGH, 2**63 - 1]), [HIGH, 2**63 - 1, 1, 0, 1]),
    ("remainder", ([HIGH, HIGH, HIGH, 7, 2**63], [10, 2**63, HIGH, HIGH, 2**63 - 1]), [5, 2**63 - 1, 0, 7, 1]),
    ("maximum", ([HIGH, 1], [1, 2**63]), [HIGH, 2**63]), ("minimum", ([HIGH, 1], [1, 2**63]), [1, 1]),
    ("less", ([HIGH, 1, 5], [1, HIGH, 5]), [False, True, False]),
    ("greater_equal", ([HIGH, 1, 5], [1, HIGH, 5]), [True, False, True]),
    ("bitwise_invert", ([0, HIGH, 2**63],), [HIGH, 0, 2**63 - 1]),
    ("bitwise_right_shift", ([HIGH, HIGH, 2**63], [0, 63, 1]), [HIGH, 1, 2**62]),
    ("bitwise_left_shift", ([1, 3], [63, 1]), [2**63, 6]), ("abs", ([HIGH],), [HIGH]), ("sign", ([0, HIGH],), [0, 1]),
    ("square", ([2**32, 3],), [0, 9]), ("pow", ([3, 2], [2, 63]), [9, 2**63]),
    ("sort", ([HIGH, 0, 2**63],), [0, 2**63, HIGH]), ("argsort", ([HIGH, 0, 2**63],), [1, 2, 0]),
    ("argmax", ([1, HIGH, 2],), 1), ("max", ([1, HIGH, 2],), HIGH), ("min", ([HIGH, 1],), 1),
    ("sum", ([HIGH, 3],), 2), ("prod", ([HIGH, 2],), HIGH - 1), ("cumulative_sum", ([HIGH, 3],), [HIGH, 2]),
    ("diff", ([5, 3, HIGH],), [HIGH - 1, HIGH - 3]), ("unique_values", ([HIGH, 0, HIGH, 2**63],), [0, 2**63, HIGH]),
    ("matmul", ([HIGH, 2], [1, 1]), 1), ("searchsorted", ([0, 2**63, HIGH], [1, HIGH]), [1, 2]),
    ("isin", ([HIGH, 4], [HIGH]), [True, False]), ("clip", ([HIGH, 1], [2, 2], [2**63, 2**63]), [2**63, 2]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operands", "wanted"), WIDE, ids=[name for name, _, _ in WIDE])
def test_uint64_is_computed_over_its_whole_range(name: str, operands: tuple[Any, ...], wanted: Any) -> None:
    found = getattr(xp, name)(*[given(one, "uint64") for one in operands])
    assert found.tolist() == wanted
    assert found.dtype.name in ("uint64", "bool") or name in ("argsort", "argmax", "searchsorted")


DIFFERENT: list[tuple[str, Any, tuple[str, tuple[int, ...], Any]]] = [
    ("sums of unsigned integers are unsigned", lambda: xp.sum(given([200, 100], "uint8")), ("uint64", (), 300)),
    ("an axis may be a tuple", lambda: xp.prod(given([[[2], [3]], [[4], [5]]]), axis=(0, -1)),
     ("int64", (2,), [8, 15])),
    ("no axes reduce nothing", lambda: xp.sum(given([[1, 2]]), axis=()), ("int64", (1, 2), [[1, 2]])),
    ("no axes reduce nothing", lambda: xp.any(given([[1, 0]]), axis=()), ("bool", (1, 2), [[True, False]])),
    ("all axes are kept", lambda: xp.argmax(given([[1, 3]]), keepdims=True), ("int64", (1, 1), [[1]])),
    ("all elements are counted", lambda: xp.count_nonzero(given([[1, 0]]), keepdims=True), ("int64", (1, 1), [[1]])),
    ("rounding keeps integers", lambda: xp.round(given([3], "uint16")), ("uint16", (1,), [3])),
    ("complex numbers are rounded", lambda: xp.round(given([2.5 - 3.5j])), ("complex64", (1,), [2 - 4j])),
    ("nothing before the end", lambda: xp.arange(5, 0), ("int64", (0,), [])),
    ("the end is left out", lambda: xp.linspace(0, 4, 2, endpoint=False), ("float32", (2,), [0.0, 2.0])),
    ("the first sum", lambda: xp.cumulative_sum(given([1, 2]), include_initial=True), ("int64", (3,), [0, 1, 3])),
    ("the first product", lambda: xp.cumulative_prod(given([[2.0]]), axis=1, include_initial=True),
     ("float32", (1, 2), [[1.0, 2.0]])),
    ("number first", lambda: xp.subtract(1, given([3], "int8")), ("int8", (1,), [-2])),
    ("all flattened", lambda: xp.concat([given([[1]]), given([2])], axis=None), ("int64", (2,), [1, 2])),
    ("remainders of infinity", lambda: xp.remainder(given([5.0, -5.0, 0.0]), given([xp.inf, xp.inf, -xp.inf])),
     ("float32", (3,), [5.0, xp.inf, -0.0])),
    ("quotients by infinity", lambda: xp.floor_divide(given([5.0, -5.0, 5.0]), given([xp.inf, xp.inf, -xp.inf])),
     ("float32", (3,), [0.0, -0.0, -0.0])),
    ("quotients of infinity", lambda: xp.floor_divide(given([xp.inf, -xp.inf, xp.inf, -0.0]), given([2.0, 2, -2, -2])),
     ("float32", (4,), [xp.inf, -xp.inf, -xp.inf, 0.0])),
    ("quotients by zero", lambda: xp.floor_divide(given([1.0, -1.0, 1.0]), given([0.0, 0.0, -0.0])),
     ("float32", (3,), [xp.inf, -xp.inf, -xp.inf])),
    ("corrections need not be integers", lambda: xp.var(given([1.0, 3.0, 5.0]), correction=0.5),
     ("float32", (), 3.200000047683716)),
    ("indices from the end", lambda: xp.take(given([5, 6, 7]), given([-1, 0], "int8")), ("int64", (2,), [7, 5])),
    ("indices from the end", lambda: xp.take_along_axis(given([[5, 6]]), given([[-1]])), ("int64", (1, 1), [[6]])),
    ("a matrix beside matrices", lambda: xp.linalg.solve(given([[[2.0]], [[4.0]]]), given([[8.0]])),
     ("float32", (2, 1, 1), [[[4.0]], [[2.0]]])),
    ("several axes at once", lambda: xp.max(given([[1, 5], [7, 2]], "uint32"), axis=(0, 1)), ("uint32", (), 7)),
    ("correction", lambda: xp.var(given([1.0, 3.0])), ("float32", (), 1.0)),
    ("correction", lambda: xp.std(given([1.0, 3.0]), correction=1), ("float32", (), 1.4142135381698608)),
    ("an existing axis alone", lambda: xp.squeeze(given([[1]]), 0), ("int64", (1,), [1])),
    ("diagonals of the last axes", lambda: xp.linalg.trace(given([[[1, 2], [3, 4]]], "uint8")), ("uint64", (1,), [5])),
    ("one vector beside matrices", lambda: xp.linalg.solve(given([[[2.0]]]), given([8.0])),
     ("float32", (1, 1), [[4.0]])),
    ("vectors broadcast", lambda: xp.linalg.cross(given([1.0, 0.0, 0.0]), given([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0]])),
     ("float32", (2, 3), [[0.0, 0.0, 1.0], [0.0, -2.0, 0.0]])),
    ("results of the dtype asked for", lambda: xp.prod(given([200, 3], "uint32"), dtype=xp.uint8), ("uint8", (), 88)),
    ("results of the dtype asked for", lambda: xp.sum(given([300, 3], "uint16"), dtype=xp.uint8), ("uint8", (), 47)),
    ("large numbers stay positive", lambda: xp.sum(given([2**63], "uint64"), dtype=xp.float64),
     ("float64", (), 2.0**63)),
    ("large numbers stay positive", lambda: xp.cumulative_prod(given([2**63], "uint64"), dtype=xp.float64),
     ("float64", (1,), [2.0**63])),
    ("float frequencies", lambda: xp.fft.fftfreq(2, d=0.5), ("float32", (2,), [0.0, -1.0])),
]  # fmt: skip


@pytest.mark.parametrize(("what", "call", "wanted"), DIFFERENT, ids=[what for what, _, _ in DIFFERENT])
def test_what_the_standard_says(what: str, call: Any, wanted: tuple[str, tuple[int, ...], Any]) -> None:
    assert told(call()) == wanted
    assert repr(call().tolist()) == repr(wanted[2])


def test_sign_of_nan_is_nan_and_of_complex_has_length_one() -> None:
    found = xp.sign(given([xp.nan, -0.5, 0.0]))
    assert repr(found.tolist()) == "[nan, -1.0, 0.0]"
    assert xp.sign(given([3 + 4j, 0j], "complex128")).tolist() == [0.6 + 0.8j, 0j]
    found = xp.sign(given([complex(1, xp.nan), complex(xp.nan, 0)], "complex128"))
    assert repr(found.tolist()) == "[(nan+nanj), (nan+nanj)]"


def test_the_logarithm_of_a_conjugate_is_conjugate() -> None:
    found = xp.log1p(given([complex(-2.5, -0.0), complex(1.0, -0.0), complex(1.0, 0.0)], "complex128"))
    assert [math.copysign(1.0, one.imag) for one in found.tolist()] == [-1.0, -1.0, 1.0]
    assert found.tolist()[0] == pytest.approx(math.log(1.5) - math.pi * 1j)


def test_arrays_name_what_their_capsules_take() -> None:
    taken = inspect.signature(given([1]).__dlpack__).parameters
    assert list(taken) == ["stream", "max_version", "dl_device", "copy"]


def test_nan_is_different_from_nan_and_zeros_are_equal() -> None:
    found = xp.unique_all(given([xp.nan, 0.0, -0.0, xp.nan, 1.0]))
    assert repr(found.values.tolist()) == "[0.0, 1.0, nan, nan]"
    assert found.indices.tolist() == [1, 4, 0, 3]
    assert found.inverse_indices.tolist() == [2, 0, 0, 3, 1] and found.counts.tolist() == [2, 1, 1, 1]
    shaped = xp.unique_inverse(given([[3, 1], [1, 3]]))
    assert shaped.inverse_indices.tolist() == [[1, 0], [0, 1]] and shaped._fields == ("values", "inverse_indices")
    assert xp.unique_counts(given([], "int8")).counts.tolist() == []
    assert xp.unique_values(given([1j, 1, 1j, 0])).tolist() == [0, 1j, 1]


def test_copies_are_made_as_asked() -> None:
    x = given([[1, 2], [3, 4]])
    assert xp.astype(x, xp.int64, copy=False) is x and xp.astype(x, xp.int64).data_ptr() != x.data_ptr()
    assert xp.reshape(x, (4,), copy=True).data_ptr() != x.data_ptr() == xp.reshape(x, (4,)).data_ptr()
    with pytest.raises(ValueError, match=r"reshape\(\):"):
        xp.reshape(x.T, (4,), copy=False)
    assert xp.asarray(x) is x and xp.asarray(x, copy=True).data_ptr() != x.data_ptr()
    assert xp.from_dlpack(x).data_ptr() == x.data_ptr()
    for function in (xp.positive, xp.conj, xp.floor, xp.clip):
        assert function(x).data_ptr() != x.data_ptr()


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: xp.add(1, 2), TypeError, r"add\(\): one of arguments 'x1' and 'x2' must be an array, got int and int"),
        (lambda: xp.add(given([1]), "2"), TypeError, r"add\(\): argument 'x2' .* an array or a Python number"),
        (lambda: xp.add(given([True]), given([True])), TypeError, r"add\(\): dtype bool is not allowed"),
        (lambda: xp.atan2(given([1]), 1), TypeError, r"atan2\(\): dtype int64 is not allowed, allowed are .* float"),
        (lambda: xp.sin([1.0]), TypeError, r"sin\(\): argument 'x'"),
        (lambda: xp.sum(given([1]), axis=1), IndexError, r"sum\(\): axis 1 is out of range for an array of 1 dims"),
        (lambda: xp.sum(given([[1]]), axis=(0, -2)), ValueError, r"sum\(\): axis \(0, -2\) has an axis twice"),
        (lambda: xp.max(given([])), ValueError, r"max\(\): an array without elements along axis 0 has none"),
        (lambda: xp.argmin(given([])), ValueError, r"argmin\(\): an array without elements along axis None"),
        (lambda: xp.squeeze(given([1, 2]), 0), ValueError, r"squeeze\(\): axis 0 has size 2, not 1"),
        (lambda: xp.cumulative_sum(given([[1]])), ValueError, r"cumulative_sum\(\): argument 'axis'"),
        (lambda: xp.take(given([[1]]), given([0])), ValueError, r"take\(\): argument 'axis'"),
        (lambda: xp.nonzero(given(1)), ValueError, r"nonzero\(\): an array of 0 dims has no axes"),
        (lambda: xp.matmul(given(1), given([1])), ValueError, r"matmul\(\): argument 'x1' has 0 dims"),
        (lambda: xp.matrix_transpose(given([1])), ValueError, "an array of 1 dims has no matrices"),
        (lambda: xp.linalg.det(given([1.0])), ValueError, r"det\(\): an array of 1 dims has no matrices"),
        (lambda: xp.linalg.inv(given([[1]])), TypeError, r"inv\(\): dtype int64 is not allowed"),
        (lambda: xp.linalg.outer(given([[1]]), given([1])), ValueError, "argument 'x1' has 2 dims, not 1"),
        (lambda: xp.linalg.cross(given([1, 2]), given([1, 2])), ValueError, "'x1' has size 2 along axis -1, not 3"),
        (lambda: xp.linalg.qr(given([[1.0]]), mode="r"), ValueError, "'reduced' or 'complete'"),
        (lambda: xp.vecdot(given([1, 2]), given([1])), ValueError, r"vecdot\(\): sizes 2 and 1 along axis -1 differ"),
        (lambda: xp.concat([]), ValueError, r"concat\(\): at least one array is needed"),
        (lambda: xp.concat([given([[1]]), given([1])]), ValueError, r"concat\(\): shapes \(1, 1\) and \(1,\) differ"),
        (lambda: xp.fft.fft(given([1])), TypeError, r"fft\(\): dtype int64 is not allowed"),
        (lambda: xp.fft.fft(given([1.0]), norm="x"), ValueError, "'backward', 'ortho' or 'forward'"),
        (lambda: xp.searchsorted(given([1]), given([1]), side="middle"), ValueError, "'left' or 'right'"),
        (lambda: xp.arange(0, 1, 0), ValueError, r"arange\(\): argument 'step'"),
        (lambda: xp.expand_dims(given([1]), 3), IndexError, "3"),
        (lambda: xp.diff(given([1]), n=-1), ValueError, r"diff\(\): argument 'n'"),
        (lambda: xp.where(given([1]), given([1]), given([1])), TypeError, r"where\(\): dtype int64 is not allowed"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_tensors_stay_those_of_pytorch() -> None:
    x = given([1, 2], "int8")
    assert (x + given(1, "int32")).dtype is xp.int8 and xp.add(x, given(1, "int32")).dtype is xp.int32
    assert x.size() == (2,)
    with pytest.raises(ValueError, match="step must be greater than zero"):
        _ = x[::-1]
    with pytest.raises(NotImplementedError, match="UInt16"):
        _ = given([1], "uint16") + 1


def test_isin_may_be_inverted() -> None:
    assert xp.isin(given([1, 2, 3]), given([[2], [5]]), invert=True).tolist() == [True, False, True]
    assert xp.isin(given([1.0, xp.nan]), given([xp.nan, 1.0])).tolist() == [True, False]


def test_gradients_flow_through_the_namespace() -> None:
    x = gb.tensor([1.0, 2.0], requires_grad=True)
    xp.sum(xp.multiply(xp.square(x), xp.exp(xp.negative(x)))).backward()
    wanted = [(2 * v - v * v) * 2.718281828459045**-v for v in (1.0, 2.0)]
    assert x.grad is not None and x.grad.tolist() == pytest.approx(wanted)


def test_default_dtypes_follow_those_of_the_engine() -> None:
    before = gb.get_default_dtype()
    gb.set_default_dtype(gb.float64)
    try:
        assert xp.ones(1).dtype is xp.float64 and xp.asarray(1j).dtype is xp.complex128
        assert xp.__array_namespace_info__().default_dtypes()["complex floating"] is xp.complex128
        assert xp.arange(1.0).dtype is xp.linspace(0, 1, 2).dtype is xp.float64
    finally:
        gb.set_default_dtype(before)


def test_libraries_find_the_namespace() -> None:
    compat = pytest.importorskip("array_api_compat")
    assert compat.array_namespace(gb.ones(1), gb.zeros(1)) is xp
    assert compat.size(gb.ones(2, 3)) == 6 and compat.device(gb.ones(1)) == gb.device("cpu")
