"""What a test may expect of a tensor, each as one call that fails with a snippet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .backend import Array, dtype_name, numpy_dtype
from .comparison import first_mismatch
from .failure import ConformanceError
from .trace import Call, names_in
from .values import COMPLEX, FLOATS

if TYPE_CHECKING:
    from .purity import Root
    from .session import Handle, Session

_OBSERVERS = {
    "strides": ("stride", tuple),
    "shape": ("size", tuple),
    "storage_offset": ("storage offset", int),
    "storage_nbytes": ("storage size in bytes", int),
    "data_ptr": ("data pointer", int),
}


class Judge:
    """Mixed into :class:`~gaugeblock_conformance.session.Session`: its expectations."""

    def expect_shape(self: Session, x: Handle, want: Sequence[int]) -> None:
        self._expect_observed("shape", x, tuple(want))

    def expect_strides(self: Session, x: Handle, want: Sequence[int]) -> None:
        self._expect_observed("strides", x, tuple(want))

    def expect_offset(self: Session, x: Handle, want: int) -> None:
        self._expect_observed("storage_offset", x, want)

    def expect_nbytes(self: Session, x: Handle, want: int) -> None:
        """Expect the byte size of the storage under ``x``."""
        self._expect_observed("storage_nbytes", x, want)

    def expect_geometry(
        self: Session, x: Handle, sizes: Sequence[int], strides: Sequence[int], offset: int = 0
    ) -> None:
        """Expect sizes, strides and storage offset together."""
        self.expect_shape(x, sizes)
        self.expect_strides(x, strides)
        self.expect_offset(x, offset)

    def expect_dtype(self: Session, x: Handle, want: str) -> None:
        got = self.observe("dtype", x)
        if got != want:
            lines = [
                f"got = {self.dialect.observe('dtype', x.name)}",
                f"assert got == {self.dialect.dtype_value(want)}, got",
            ]
            raise self.failure(f"wrong dtype of {self.origin(x)}", want, str(got), lines, {x.name})

    def expect_values(
        self: Session, x: Handle, want: Any, ulp: float = 0, signed_zero: bool = True, dtype: str | None = None
    ) -> None:
        """Expect shape, dtype and elements.

        ``want`` is an array, or nested lists taken as ``dtype``. ``ulp`` bounds the distance in units in the last
        place; 0 means equal (NaN equals NaN; zeros by sign unless ``signed_zero`` is false).
        """
        array = np.asarray(want, dtype=numpy_dtype(dtype) if dtype else getattr(want, "dtype", np.float32))
        self.expect_shape(x, array.shape)
        self.expect_dtype(x, dtype_name(array.dtype))
        if not self.has_data:
            return
        got = self.read(x)
        at = first_mismatch(got, array, ulp, signed_zero)
        if at is not None:
            self._fail_element(x, at, array[at], got[at], ulp, signed_zero)

    def expect_close(self: Session, x: Handle, want: Array, tolerance: Array | float) -> None:
        """Expect elements within an absolute error bound (an array of bounds, or one for all); NaN and infinities
        exactly. ``want`` may be of a higher precision than ``x``."""
        self.expect_shape(x, want.shape)
        if not self.has_data:
            return
        got = self.read(x)
        wide = got.astype(np.complex128 if got.dtype.kind == "c" else np.longdouble)
        with np.errstate(all="ignore"):
            near = np.abs(wide - want) <= tolerance
            same = (wide == want) | (np.isnan(wide) & np.isnan(want))
        bad = ~(near | same)
        if bad.any():
            at = tuple(int(i) for i in np.argwhere(np.atleast_1d(bad))[0][: want.ndim])
            bound = float(np.broadcast_to(tolerance, want.shape)[at])
            expression = self.dialect.element(x.name, at)
            plain = complex(want[at]) if got.dtype.kind == "c" else float(want[at])
            lines = [f"got = {expression}", *_assert_near(plain, bound)]
            message = f"wrong value of {self.origin(x)} at {at}: further from the exact result than {bound:.3g}"
            raise self.failure(message, repr(plain), repr(got[at].item()), lines, {x.name})

    def expect_shares(self: Session, x: Handle, y: Handle) -> None:
        """Expect both tensors on one storage."""
        if self.observe("storage_id", x) != self.observe("storage_id", y):
            self._fail_sharing(x, y, True, f"{self.origin(x)} does not share the storage of {y.name}")

    def expect_fresh(self: Session, x: Handle, *others: Handle) -> None:
        """Expect ``x`` on a storage of its own."""
        mine = self.observe("storage_id", x)
        for y in others:
            if self.observe("storage_nbytes", y) and mine == self.observe("storage_id", y):
                self._fail_sharing(x, y, False, f"{self.origin(x)} shares the storage of {y.name}")

    def expect_same(self: Session, x: Handle, y: Handle) -> None:
        """Expect the very same tensor object (an operator that returns its input)."""
        if x.raw is not y.raw:
            lines = [f"assert {x.name} is {y.name}"]
            raise self.failure(f"{self.origin(x)} is not {y.name} itself", "the same object", "another one", lines,
                               {x.name, y.name})  # fmt: skip

    def expect(
        self: Session, got: Any, want: Any, what: str, expression: str | None = None, names: Sequence[Handle] = ()
    ) -> None:
        """Expect a plain Python value (not a tensor).

        Without ``expression`` the value must be what the last call returned; with it, ``names`` are the tensors that
        the expression mentions.
        """
        nan = isinstance(want, float) and want != want and isinstance(got, float) and got != got
        if (got == want and type(got) is type(want)) or nan:
            return
        wanted = {h.name for h in names}
        if expression is None:
            expression = "repr(None)"
            steps = self.steps()
            if steps and getattr(steps[-1], "targets", ()):
                expression = steps[-1].targets[0]  # type: ignore[union-attr]
                wanted.add(expression)
        lines = [f"got = {expression}", f"assert repr(got) == {repr(want)!r}, got"]
        raise self.failure(f"{what}: expected {want!r}, got {got!r}", repr(want), repr(got), lines, wanted)

    def expect_raises(
        self: Session, classes: type[Exception] | tuple[type[Exception], ...], operator: str, *args: Any,
        match: str | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        """Expect the call to raise one of ``classes`` (with ``match`` found in its text) and to change nothing."""
        allowed = classes if isinstance(classes, tuple) else (classes,)
        names = " or ".join(c.__name__ for c in allowed)
        _, error = self.attempt(operator, *args, **kwargs)
        step = self.steps()[-1]
        wanted = {h.name for h in _handles((args, kwargs))}
        call = self.dialect.statement(step)  # type: ignore[arg-type]
        self.steps().pop()
        tuple_text = f"({', '.join(c.__name__ for c in allowed)})" if len(allowed) > 1 else allowed[0].__name__
        if error is None:
            lines = ["try:", f"    {call}", f"except {tuple_text}:", "    pass", "else:",
                     f"    raise AssertionError({'no ' + names!r})"]  # fmt: skip
            raise self.failure(f"{operator} accepted what it must refuse", names, "no exception", lines, wanted,
                               cause=f"{operator} accepts bad input")  # fmt: skip
        if not isinstance(error, allowed):
            message = f"{operator} raised {type(error).__name__} instead of {names}"
            lines = ["try:", f"    {call}", f"except {tuple_text}:", "    pass"]
            raise self.failure(message, names, f"{type(error).__name__}: {error}", lines, wanted)
        if match is not None and not re.search(match, str(error)):
            message = f"{operator}: the error does not say {match!r}"
            lines = ["import re", "try:", f"    {call}", f"except {tuple_text} as error:",
                     f"    assert re.search({match!r}, str(error)), error"]  # fmt: skip
            raise self.failure(message, match, str(error), lines, wanted)

    def expect_version(self: Session, x: Handle, want: int) -> None:
        """Expect the in-place version counter (capability ``version``)."""
        got = self.backend.version_of(x.raw)  # type: ignore[attr-defined]
        if got != want:
            lines = [f"got = {self.dialect.observe('version', x.name)}", f"assert got == {want}, got"]
            raise self.failure(f"wrong version of {self.origin(x)}", str(want), str(got), lines, {x.name})

    def observe(self: Session, what: str, x: Handle) -> Any:
        """What the backend's observer ``what`` says of ``x``."""
        return self._guard(what, lambda: getattr(self.backend, what)(x.raw))

    def read(self: Session, x: Handle) -> Array:
        """The elements of ``x`` as an array."""
        array: Array = self._guard("to_numpy", lambda: self.backend.to_numpy(x.raw))
        return array

    def origin(self: Session, x: Handle) -> str:
        """``x`` and the operator that made it, for a message."""
        for step in reversed(self.steps()):
            if x.name in getattr(step, "targets", ()):
                return f"{step.operator}'s result"  # type: ignore[union-attr]
        return x.name

    def failure(
        self: Session, message: str, expected: str, got: str, lines: list[str], wanted: set[str] | list[str] = (),  # type: ignore[assignment]
        cause: str | None = None,
    ) -> ConformanceError:  # fmt: skip
        """The error to raise: ``lines`` conclude the snippet, ``wanted`` are the variables that they mention."""
        if not lines:
            wanted = _last_names(self)
        snippet = self.snippet(lines, set(wanted))
        key = cause or re.sub(r"\d+", "N", message)
        return ConformanceError(message, expected, got, self.drawn(), snippet, key)

    def fail_storage(self: Session, operator: str, result: Handle, first: Handle, shared: bool) -> NoReturn:
        says = "shares storage with an input" if shared else f"is not on the storage of {first.name}"
        self._fail_sharing(result, first, not shared, f"{operator}'s result {says}, against its schema")

    def fail_repeat(self: Session, operator: str, result: Handle, first: Array, second: Array) -> NoReturn:
        step = next(s for s in reversed(self.steps()) if result.name in getattr(s, "targets", ()))
        again = self.dialect.expression(step.operator, step.args, step.kwargs)  # type: ignore[union-attr]
        lines = [f"again = {again}", f"assert repr({result.name}.tolist()) == repr(again.tolist())"]
        wanted = {result.name, *_text_names(step)}
        raise self.failure(f"{operator} gave another result when it was called again", str(first), str(second), lines,
                           wanted, cause=f"{operator} not repeatable")  # fmt: skip

    def fail_storage_cell(
        self: Session, root: Root, cell: int, want: Any, got: Any, message: str, cause: str
    ) -> NoReturn:
        name = next((n for n, r in self.created() if r is root), "x1")
        values = self.dialect.cell(name, cell)
        lines = [f"got = {values}", *_assert_value(want, 0, True)] if hasattr(want, "item") else [f"print({name})"]
        everything = {name, *(t for s in self.steps() for t in getattr(s, "targets", ()))}
        raise self.failure(f"{message} (storage element {cell})", repr(_plain(want)), repr(_plain(got)), lines,
                           everything, cause=cause)  # fmt: skip

    def _fail_sharing(self: Session, x: Handle, y: Handle, want_shared: bool, message: str) -> NoReturn:
        sign = "==" if want_shared else "!="
        left, right = (self.dialect.observe("storage_id", h.name) for h in (x, y))
        texts = ("one storage", "two storages") if want_shared else ("two storages", "one storage")
        raise self.failure(message, *texts, [f"assert {left} {sign} {right}"], {x.name, y.name})

    def _expect_observed(self: Session, what: str, x: Handle, want: Any) -> None:
        words, kind = _OBSERVERS[what]
        got = kind(self.observe(what, x))
        if got != want:
            lines = [f"got = {self.dialect.observe(what, x.name)}", f"assert got == {want!r}, got"]
            raise self.failure(f"wrong {words} of {self.origin(x)}", repr(want), repr(got), lines, {x.name})

    def _fail_element(
        self: Session, x: Handle, at: tuple[int, ...], want: Any, got: Any, ulp: float, signed_zero: bool
    ) -> NoReturn:
        lines = [f"got = {self.dialect.element(x.name, at)}", *_assert_value(want, ulp, signed_zero)]
        message = f"wrong value of {self.origin(x)}" + (f" (more than {ulp:g} ULP off)" if ulp else "")
        raise self.failure(f"{message} at {at}", repr(_plain(want)), repr(_plain(got)), lines, {x.name})


def _plain(value: Any) -> Any:
    if hasattr(value, "dtype") and value.dtype.name == "bfloat16":
        return float(value)
    return value.item() if hasattr(value, "item") else value


def _assert_value(want: Any, ulp: float, signed_zero: bool) -> list[str]:
    """The line that asserts ``got`` against one expected element."""
    plain, name = _plain(want), dtype_name(want.dtype)
    if name in FLOATS:
        if plain != plain:
            return ["assert got != got, got"]
        if ulp and np.isfinite(plain):
            spacing = float(np.spacing(np.abs(want)).astype(np.float64)) if name != "bfloat16" else abs(plain) / 128
            return _assert_near(plain, ulp * spacing)
        if plain == 0 and signed_zero:
            return [f"assert got == 0 and copysign(1, got) == {np.copysign(1.0, plain)}, got"]
    if name in COMPLEX:
        if ulp and np.isfinite(plain):
            return _assert_near(plain, ulp * float(np.spacing(max(abs(want.real), abs(want.imag)))))
        return [f"assert repr(got) == {str(plain)!r}, got"]
    return [f"assert got == {plain!r}, got"]


def _assert_near(plain: complex | float, bound: float) -> list[str]:
    if plain != plain:
        return ["assert got != got, got"]
    if isinstance(plain, float) and abs(plain) == float("inf"):
        return [f"assert got == {plain!r}, got"]
    return [f"assert abs(got - {plain!r}) <= {bound:.4g}, got"]


def _handles(value: Any) -> list[Handle]:
    if isinstance(value, list | tuple):
        return [h for item in value for h in _handles(item)]
    if isinstance(value, dict):
        return _handles(list(value.values()))
    return [value] if hasattr(value, "raw") else []


def _text_names(step: Any) -> list[str]:
    return [*names_in(step.args), *names_in(step.kwargs)]


def _last_names(s: Session) -> set[str]:
    steps = s.steps()
    if not steps or not isinstance(steps[-1], Call):
        return set()
    return {*_text_names(steps[-1]), *steps[-1].targets, *steps[-1].mutates}
