"""What a test may expect of a tensor, each as one call that fails with a snippet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from . import accusation
from .assertion import assert_near, assert_value, plain
from .backend import Array, dtype_name, numpy_dtype
from .comparison import first_mismatch
from .conversation import Conversation, Handle
from .trace import Call, names_in

_OBSERVERS = {
    "strides": ("stride", tuple),
    "shape": ("size", tuple),
    "storage_offset": ("storage offset", int),
    "storage_nbytes": ("storage size in bytes", int),
    "data_ptr": ("data pointer", int),
}


class Judge(Conversation):
    """Mixed into :class:`~gaugeblock_conformance.session.Session`: its expectations."""

    def expect_shape(self, x: Handle, want: Sequence[int]) -> None:
        self._expect_observed("shape", x, tuple(want))

    def expect_strides(self, x: Handle, want: Sequence[int]) -> None:
        self._expect_observed("strides", x, tuple(want))

    def expect_offset(self, x: Handle, want: int) -> None:
        self._expect_observed("storage_offset", x, want)

    def expect_nbytes(self, x: Handle, want: int) -> None:
        """Expect the byte size of the storage under ``x``."""
        self._expect_observed("storage_nbytes", x, want)

    def expect_geometry(
        self, x: Handle, sizes: Sequence[int], strides: Sequence[int], offset: int = 0
    ) -> None:
        """Expect sizes, strides and storage offset together."""
        self.expect_shape(x, sizes)
        self.expect_strides(x, strides)
        self.expect_offset(x, offset)

    def expect_dtype(self, x: Handle, want: str) -> None:
        got = self.observe("dtype", x)
        if got != want:
            lines = [
                f"got = {self.dialect.observe('dtype', x.name)}",
                f"assert got == {self.dialect.dtype_value(want)}, got",
            ]
            raise self.failure(f"wrong dtype of {self.origin(x)}", want, str(got), lines, {x.name})

    def expect_values(
        self, x: Handle, want: Any, ulp: float = 0, signed_zero: bool = True, dtype: str | None = None
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
        got = self._read_like(x, array.shape, array.dtype)
        at = first_mismatch(got, array, ulp, signed_zero)
        if at is not None:
            self._fail_element(x, at, array[at], got[at], ulp, signed_zero)

    def expect_close(self, x: Handle, want: Array, tolerance: Array | float) -> None:
        """Expect elements within an absolute error bound (an array of bounds, or one for all); NaN and infinities
        exactly. ``want`` may be of a higher precision than ``x``."""
        self.expect_shape(x, want.shape)
        if not self.has_data:
            return
        got = self._read_like(x, want.shape, None)
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
            lines = [f"got = {expression}", *assert_near(plain, bound)]
            message = f"wrong value of {self.origin(x)} at {at}: further from the exact result than {bound:.3g}"
            raise self.failure(message, repr(plain), repr(got[at].item()), lines, {x.name})

    def _read_like(self, x: Handle, shape: tuple[int, ...], dtype: np.dtype[Any] | None) -> Array:
        """Return the elements of ``x``. Fails if the adapter returns another shape or dtype than the tensor's."""
        got = self.read(x)
        if got.shape != shape or (dtype is not None and got.dtype != dtype):
            want, given = f"{shape} {dtype or got.dtype}", f"{got.shape} {got.dtype}"
            message = f"to_numpy gives an array of {given} for {self.origin(x)}, which is {want}"
            raise self.failure(message, want, given, [], {x.name}, cause="to_numpy gives another shape or dtype")
        return got

    def expect_shares(self, x: Handle, y: Handle) -> None:
        """Expect both tensors on one storage."""
        if self.observe("storage_id", x) != self.observe("storage_id", y):
            accusation.wrong_sharing(self, x, y, True, f"{self.origin(x)} does not share the storage of {y.name}")

    def expect_fresh(self, x: Handle, *others: Handle) -> None:
        """Expect ``x`` on a storage of its own."""
        mine = self.observe("storage_id", x)
        for y in others:
            if self.observe("storage_nbytes", y) and mine == self.observe("storage_id", y):
                accusation.wrong_sharing(self, x, y, False, f"{self.origin(x)} shares the storage of {y.name}")

    def expect_same(self, x: Handle, y: Handle) -> None:
        """Expect the very same tensor object (an operator that returns its input)."""
        if x.raw is not y.raw:
            lines = [f"assert {x.name} is {y.name}"]
            raise self.failure(f"{self.origin(x)} is not {y.name} itself", "the same object", "another one", lines,
                               {x.name, y.name})  # fmt: skip

    def expect(
        self, got: Any, want: Any, what: str, expression: str | None = None, names: Sequence[Handle] = ()
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
            last = self.steps()[-1] if self.steps() else None
            if isinstance(last, Call) and last.targets:
                expression = last.targets[0]
                wanted.add(expression)
        lines = [f"got = {expression}", f"assert repr(got) == {repr(want)!r}, got"]
        given = "a tensor" if isinstance(got, Handle) else "tensors" if _handles(got) else repr(got)
        raise self.failure(f"{what}: expected {want!r}, got {given}", repr(want), given, lines, wanted)

    def parts(self, result: Any, count: int) -> Sequence[Any]:
        """The tensors of an operator that gives several; expects ``count`` of them."""
        if isinstance(result, list | tuple) and len(result) == count:
            return result
        made = _handles(result)
        names = ", ".join(h.name for h in made)
        lines = [f"got = len([{names}])", f"assert got == {count}, got"]
        message = f"{self.origin(made[0]) if made else 'the result'}: wrong number of tensors"
        raise self.failure(message, str(count), str(len(made)), lines, {h.name for h in made})

    def expect_raises(
        self, classes: type[Exception] | tuple[type[Exception], ...], operator: str, *args: Any,
        match: str | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        """Expect the call to raise one of ``classes`` (with ``match`` found in its text) and to change nothing."""
        allowed = classes if isinstance(classes, tuple) else (classes,)
        _, error = self.attempt(operator, *args, **kwargs)
        if isinstance(error, allowed) and (match is None or re.search(match, str(error))):
            return
        step = self.steps().pop()
        assert isinstance(step, Call)
        wanted = {*names_in(step.args), *names_in(step.kwargs)}
        call = self.dialect.statement(step)
        names = " or ".join(c.__name__ for c in allowed)
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
        message = f"{operator}: the error does not say {match!r}"
        lines = ["import re", "try:", f"    {call}", f"except {tuple_text} as error:",
                 f"    assert re.search({match!r}, str(error)), error"]  # fmt: skip
        raise self.failure(message, str(match), str(error), lines, wanted)

    def expect_version(self, x: Handle, want: int) -> None:
        """Expect the in-place version counter (capability ``version``)."""
        got = self.backend.version_of(x.raw)  # type: ignore[attr-defined]
        if got != want:
            lines = [f"got = {self.dialect.observe('version', x.name)}", f"assert got == {want}, got"]
            raise self.failure(f"wrong version of {self.origin(x)}", str(want), str(got), lines, {x.name})

    def _expect_observed(self, what: str, x: Handle, want: Any) -> None:
        words, kind = _OBSERVERS[what]
        got = kind(self.observe(what, x))
        if got != want:
            lines = [f"got = {self.dialect.observe(what, x.name)}", f"assert got == {want!r}, got"]
            raise self.failure(f"wrong {words} of {self.origin(x)}", repr(want), repr(got), lines, {x.name})

    def _fail_element(
        self, x: Handle, at: tuple[int, ...], want: Any, got: Any, ulp: float, signed_zero: bool
    ) -> NoReturn:
        lines = [f"got = {self.dialect.element(x.name, at)}", *assert_value(want, ulp, signed_zero)]
        message = f"wrong value of {self.origin(x)}" + (f" (more than {ulp:g} ULP off)" if ulp else "")
        raise self.failure(f"{message} at {at}", repr(plain(want)), repr(plain(got)), lines, {x.name})


def _handles(value: Any) -> list[Handle]:
    if isinstance(value, list | tuple):
        return [h for item in value for h in _handles(item)]
    if isinstance(value, dict):
        return _handles(list(value.values()))
    return [value] if hasattr(value, "raw") else []
