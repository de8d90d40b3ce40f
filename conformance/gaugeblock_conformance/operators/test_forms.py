"""The three forms of every operator that has them: the same bits, the right tensor, its metadata kept."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from gaugeblock_spec import operators
from gaugeblock_spec.schema import parse

from ..aliasing import changes_metadata
from ..case import TensorCase, default_strides, extent
from ..failure import NoReproducer
from ..oracles.near import Unjudged
from ..oracles.pointwise import operators_with_oracle
from ..requirement import requirement
from ..session import Handle, Session
from .calls import OperatorCall
from .coverage import shaped, swept
from .drawing import draw, drawable
from .judging import judge
from .outs import blank, out_count, result_of, with_result
from .sweep import sweep

_UNTOLD = NoReproducer("the fields of a result have no form in the snippet, which takes it apart")

# Draws and uninitialised memory have no two equal results.
_LOOSE = ("random",)
# Tried on an ``out=`` with gaps more often than others: libraries have these for contiguous tensors alone.
_STRAY = ("matmul", "tril", "triu", "fft_fftfreq", "fft_rfftfreq", "narrow_copy", "linalg_lu", "lu_unpack",
          "linalg_matmul")  # fmt: skip
_ROOM = 64


@cache
def rows_with(form: str) -> tuple[str, ...]:
    """Rows with ``inplace`` or ``out`` whose arguments can be drawn, draws from a generator left out."""
    rows = [operators.load()[name] for name in (*swept(), *shaped(), *operators_with_oracle()) if drawable(name)]
    kept = [r for r in rows if getattr(r, form) is not None and r.family not in _LOOSE]
    kept = [r for r in kept if r.base_name != "empty" and r.bits == "equal" and form not in r.unoffered]
    if form == "inplace":
        kept = [r for r in kept if _writes_its_first_argument(r)]
    if form == "out":
        kept = [r for r in kept if r.family != "network" and "nn" not in r.variants]
    return tuple(row.name for row in kept)


def _writes_its_first_argument(row: operators.Operator) -> bool:
    """Return whether the in-place form takes its arguments in the order of the functional form."""
    return parse(str(row.inplace)).arguments[0].name == parse(row.schema).arguments[0].name


def _written(operator: str, code: bytes) -> OperatorCall:
    return draw(operator, code, writable=True)


def _packed(operator: str, code: bytes) -> OperatorCall:
    return draw(operator, code, writable=True).packed()


def _fits(s: Session, x: Handle, y: Handle) -> bool:
    return tuple(s.observe("shape", x)) == tuple(s.observe("shape", y)) and s.observe("dtype", x) == s.observe(
        "dtype", y
    )


def _bits(s: Session, y: Handle, like: Handle, signed_zero: bool = True) -> None:
    """Expect the bits of ``like``."""
    if s.has_data:
        s.expect_agreement(y, like, signed_zero=signed_zero)


def _expect_counted(s: Session, x: Handle, before: int) -> None:
    """Expect a higher version than ``before``."""
    if "version" in s.capabilities:
        now = s.dialect.observe("version", x.name)
        s.expect(version(s, x) > before, True, f"a version of {x.name} above {before}", f"{now} > {before}", [x])


def version(s: Session, x: Handle) -> int:
    return int(s.backend.version_of(x.raw)) if "version" in s.capabilities else 0  # type: ignore[attr-defined]


@requirement("operators/forms-agree-bit-for-bit", slow=True)
def test_inplace_bits(s: Session) -> None:
    @with_result
    def body(s: Session, call: OperatorCall, y: Any) -> None:
        positional, keywords = call.bind(s.build)
        if _fits(s, positional[0], y):
            _bits(s, s.call(str(call.row.inplace_name), *positional, **keywords), y)

    sweep(s, rows_with("inplace"), _packed, body, weight=0.03, writable=True)


@requirement("operators/forms-agree-bit-for-bit", slow=True)
def test_out_bits(s: Session) -> None:
    @with_result
    def body(s: Session, call: OperatorCall, y: Any) -> None:
        parts = y if isinstance(y, list | tuple) else [y]
        outs = [s.build(blank(s, part)) for part in parts]
        positional, keywords = call.bind(s.build)
        s.call(str(call.row.out_name), *positional, out=_out(outs), **keywords)
        for out, part in zip(outs, parts, strict=True):
            _bits(s, out, part, call.arguments.get("compute_uv") is not False)

    sweep(s, rows_with("out"), _packed, body, weight=0.03)


@requirement("operators/inplace-form-returns-its-own-tensor", slow=True)
def test_inplace_metadata(s: Session) -> None:
    @with_result
    def body(s: Session, call: OperatorCall, y: Any) -> None:
        positional, keywords = call.bind(s.build)
        x = positional[0]
        if not _fits(s, x, y):
            return
        before = _metadata(s, x)
        counted = version(s, x)
        s.expect_same(s.call(str(call.row.inplace_name), *positional, **keywords), x)
        _expect_metadata(s, x, before)
        if "version" in s.capabilities:
            s.expect_version(x, counted + 1)

    sweep(s, rows_with("inplace"), _written, body, weight=0.03, writable=True)


@requirement("operators/inplace-form-returns-its-own-tensor", slow=True)
def test_writers(s: Session) -> None:
    """Operators that exist in place only, and draws."""

    def body(s: Session, call: OperatorCall) -> None:
        positional, keywords = call.bind(s.build)
        x = positional[0]
        before, counted = _metadata(s, x), version(s, x)
        y, error = s.attempt(call.row.inplace_name or call.operator, *positional, **keywords)
        if error is None:
            s.expect_same(y, x)
            _expect_metadata(s, x, before)
            _expect_counted(s, x, counted)

    sweep(s, writers(), _written, body, weight=0.03, writable=True)


@cache
def writers() -> tuple[str, ...]:
    found = []
    for name in swept():
        row = operators.load()[name]
        written = row.base_name.endswith("_") or (row.family in _LOOSE and row.inplace is not None)
        if written and not changes_metadata(name):
            found.append(name)
    return tuple(found)


def _metadata(s: Session, x: Handle) -> tuple[Any, ...]:
    if "strided" not in s.capabilities:
        return (tuple(s.observe("shape", x)),)
    return (tuple(s.observe("shape", x)), tuple(s.observe("strides", x)), s.observe("storage_offset", x))


def _expect_metadata(s: Session, x: Handle, before: tuple[Any, ...]) -> None:
    if len(before) == 1:
        s.expect_shape(x, before[0])
    else:
        s.expect_geometry(x, *before)


def _gappy(s: Session, y: Handle, layout: int) -> TensorCase:
    """A tensor of the sizes and dtype of ``y`` with its dims the other way round and gaps, in a storage with room
    behind it for a kernel that takes it for contiguous; contiguous for layout 0."""
    case = blank(s, y)
    if not layout:
        return case
    strides = tuple(2 * step for step in reversed(default_strides(tuple(reversed(case.sizes)))))
    return replace(case, strides=strides, offset=layout, storage=3 * extent(case.sizes, strides) + _ROOM)


def _out(outs: list[Handle]) -> Any:
    return outs[0] if len(outs) == 1 else tuple(outs)


def _into_gaps(s: Session, call: OperatorCall) -> None:
    """The form with ``out=`` on tensors with gaps; what lies in the gaps is watched by the session."""
    y = result_of(s, call)
    parts = y if isinstance(y, list | tuple) else [y]
    # An ``out=`` of these without elements may get other strides.
    restrided = call.row.family == "linalg" and y is not None and any(0 in s.observe("shape", part) for part in parts)
    if y is not None and not restrided:
        outs = [s.build(_gappy(s, part, 1 + call.choice % 3)) for part in parts]
        before = [(_metadata(s, out), version(s, out)) for out in outs]
        positional, keywords = call.bind(s.build)
        result = s.call(str(call.row.out_name), *positional, out=_out(outs), **keywords)
        for got, out, kept in zip(result if len(outs) > 1 else [result], outs, before, strict=True):
            s.expect_same(got, out)
            _expect_metadata(s, out, kept[0])
            _expect_counted(s, out, kept[1])
        if call.row.family != "pointwise":
            with suppress(Unjudged):
                judge(s, call, result)


@requirement("operators/out-form-returns-its-out", slow=True)
def test_out_with_gaps(s: Session) -> None:
    sweep(s, rows_with("out"), draw, _into_gaps, weight=0.04)


@requirement("operators/out-form-returns-its-out", needs=("complex",))
def test_out_of_transforms_of_one_dim(s: Session) -> None:
    def body(s: Session, operator: str) -> None:
        x = s.tensor([[0.0, 1.0, 2.0, 3.0], [0.0, 3.0, 6.0, 9.0]])
        want = np.array([[0, 2, 4, 6], [0, -1, -2, -3]], np.complex64)
        out = s.tensor(np.zeros(0, np.complex64))
        s.expect_same(s.call(f"{operator}.out", x, dim=[0], out=out), out)
        s.expect_values(out, want, signed_zero=False)
        s.expect_values(s.call(operator, x, dim=[0]), want, signed_zero=False)

    s.table(["fft_ihfftn", "fft_ihfft2"], body)


@requirement("operators/out-form-returns-its-out", needs=("strided",))
def test_out_of_ranks_by_many_bounds(s: Session) -> None:
    """The result has more dims than the batch of matrices."""

    def body(s: Session, operator: str) -> None:
        x = s.tensor([[3.0, 0.0], [0.0, 1.0]])
        bounds = s.tensor([[0.5], [2.0]], "float64")
        out = s.call("t", s.tensor(np.zeros((1, 2), np.int64)))
        form = str(operators.load()[operator].out_name)
        s.expect_same(s.call(form, x, bounds, out=out), out)
        s.expect_values(out, [[2], [1]], dtype="int64")
        wide = s.call("t", s.tensor(np.zeros((3, 2), np.int64)))
        stack = s.call("stack", [x, x, x])
        s.expect_same(s.call(form, stack, bounds, out=wide), wide)
        s.expect_strides(wide, (1, 2))
        s.expect_values(wide, [[2, 2, 2], [1, 1, 1]], dtype="int64")

    s.table(["linalg_matrix_rank.tol_tensor"], body)


@requirement("operators/out-form-returns-its-out", needs=("version",))
def test_version_of_a_kronecker_product(s: Session) -> None:
    def body(s: Session, operator: str) -> None:
        out = s.tensor([[0.0, 0.0]])
        s.call(f"{operator}.out", s.tensor([[1.0]]), s.tensor([[1.0, 2.0]]), out=out)
        _expect_counted(s, out, 0)

    s.table(["kron"], body)


@requirement("operators/out-form-writes-out-alone")
def test_no_stray_writes(s: Session) -> None:
    base = s.tensor(np.zeros(40, np.float32))
    out = s.call("as_strided", base, (3, 3), (8, 2), 1)
    x = s.tensor(np.ones((3, 3), np.float32))
    for operator, arguments in (("matmul.out", (x, x)), ("tril.out", (x,)), ("triu.out", (x,)), ("add.out", (x, x))):
        s.call(operator, *arguments, out=out)


@requirement("operators/out-form-writes-out-alone", slow=True)
def test_no_stray_writes_of_any_sizes(s: Session) -> None:
    sweep(s, _STRAY, draw, _into_gaps, weight=0.3)


@requirement("operators/several-outputs-come-with-names")
def test_names_of_results(s: Session) -> None:
    def body(s: Session, name: str) -> None:
        row = operators.load()[name]
        call = draw(name, bytes(200))
        positional, keywords = call.bind(s.build)
        result = s.call(name, *positional, **keywords)
        names = [value.name for value in parse(row.schema).returns]
        parts = s.parts(result, len(names))
        raw = s.backend.call(
            name,
            *[h.raw if isinstance(h, Handle) else h for h in positional],
            **{key: h.raw if isinstance(h, Handle) else h for key, h in keywords.items()},
        )
        for k, field in enumerate(names):
            if field is not None:
                found = getattr(raw, field, None)
                s.expect(found is not None, True, f"{name}: field {field} of the result", _UNTOLD)
                same = not s.has_data or s.backend.to_numpy(found).tobytes() == s.read(parts[k]).tobytes()
                s.expect(same, True, f"{name}: field {field} is result {k}", _UNTOLD)

    rows = [operators.load()[n] for n in swept() if out_count(n) > 1]
    # PyTorch offers some of those of networks as they are registered, without names.
    public = [row for row in rows if "nn" not in row.variants and row.bits == "equal"]
    s.table([row.name for row in public if any(r.name for r in parse(row.schema).returns)], body)


@requirement("operators/several-outputs-come-with-names")
def test_out_of_several(s: Session) -> None:
    x = s.tensor([[1.0, 5.0, 3.0], [2.0, 0.0, 4.0]])
    for name, out_name, arguments in (("max.dim", "max.dim_max", (1,)), ("topk", "topk.values", (2,))):
        wanted = s.call(name, x, *arguments)
        outs = (s.tensor([]), s.tensor([], "int64"))
        result = s.call(out_name, x, *arguments, out=outs)
        for got, out, want in zip(s.parts(result, 2), outs, wanted, strict=True):
            s.expect_same(got, out)
            _bits(s, out, want)
    s.expect_raises(TypeError, "max.dim_max", x, 1, out=(s.tensor([]),))
