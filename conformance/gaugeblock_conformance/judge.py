"""What a test may expect of a tensor, each as one call that fails with a snippet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from . import accusation, causes
from .assertion import assert_near, assert_value, plain
from .backend import Array, dtype_name, numpy_dtype
from .comparison import first_of, mismatches
from .conversation import Conversation
from .failure import ConformanceError, NoReproducer
from .handle import Handle
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

    def expect_dtype(self, x: Handle, want: str) -> str:
        """Expect this dtype, or the one that the library's own rules have for it; return which."""
        if self.own_rules:
            want = self.own_rules.dtype(*self._maker(x), want)
        got = self.observe("dtype", x)
        if got != want:
            lines = [
                f"got = {self.dialect.observe('dtype', x.name)}",
                f"assert got == {self.dialect.dtype_value(want)}, got",
            ]
            raise self.failure(f"wrong dtype of {self.origin(x)}", want, str(got), lines, {x.name})
        return want

    def expect_values(
        self, x: Handle, want: Any, ulp: float = 0, signed_zero: bool = True, dtype: str | None = None
    ) -> None:
        """Expect shape, dtype and elements.

        ``want`` is an array, or nested lists taken as ``dtype``. ``ulp`` bounds the distance in units in the last
        place; 0 means equal (NaN equals NaN; zeros by sign unless ``signed_zero`` is false).
        """
        array = np.asarray(want, dtype=numpy_dtype(dtype) if dtype else getattr(want, "dtype", np.float32))
        wrong = self._first_wrong(x, array, ulp, signed_zero)
        if wrong is not None:
            self._fail_element(x, *wrong, ulp, signed_zero)

    def expect_agreement(self, x: Handle, like: Handle, signed_zero: bool = True) -> None:
        """Expect shape, dtype and elements of ``like``, which the backend made as well: the snippet computes both."""
        wrong = self._first_wrong(x, self.read(like).copy(), 0, signed_zero)
        if wrong is not None:
            self._fail_beside(x, like, *wrong)

    def _first_wrong(
        self, x: Handle, array: Array, ulp: float, signed_zero: bool
    ) -> tuple[tuple[int, ...], Any, Any] | None:
        """Return the place of the first wrong element, what it should be, and what it is."""
        if self.own_rules and not self.own_rules.counted(self.maker(x), self._operands(x)):
            return None
        self.expect_shape(x, array.shape)
        array = array.astype(numpy_dtype(self.expect_dtype(x, dtype_name(array.dtype))), copy=False)
        if not self.has_data:
            return None
        got = self._read_like(x, array.shape, array.dtype)
        if got.tobytes() == array.tobytes():
            return None
        at = first_of(self._asked(x, mismatches(got, array, ulp, signed_zero), got, array))
        return None if at is None else (at, array[at], got[at])

    def expect_close(
        self, x: Handle, want: Array, tolerance: Array | float, free: Array | bool = False
    ) -> None:
        """Expect elements within an absolute error bound (an array of bounds, or one for all).

        NaN and infinities are expected exactly; of a complex number that is not finite only that, where the bound is
        infinite. ``want`` may be of a higher precision than ``x``; where ``free`` is true an element may be anything.
        """
        self.expect_shape(x, want.shape)
        if not self.has_data:
            return
        got = self._read_like(x, want.shape, None)
        wide = got.astype(np.complex128 if got.dtype.kind == "c" else np.longdouble)
        with np.errstate(all="ignore"):
            near = np.abs(wide - want) <= tolerance
            # The bound of an infinite element may be infinite.
            near &= np.isfinite(want) if want.dtype.kind == "f" else np.isfinite(want) | ~np.isfinite(wide)
            same = (wide == want) | (np.isnan(wide) & np.isnan(want))
        at = first_of(self._asked(x, np.asarray(~(near | same | free)), got, want))
        if at is not None:
            self._fail_near(x, at, want[at], got[at], float(np.broadcast_to(tolerance, want.shape)[at]))

    def _asked(self, x: Handle, wrong: Array, got: Array, want: Array) -> Array:
        """The elements of ``wrong`` that the library's own rules do not leave open."""
        if not self.own_rules or not wrong.any():
            return wrong
        return self.own_rules.asked(*self._maker(x), wrong, got, want, lambda: self._operands(x), lambda: self._dims(x))

    def _read_like(self, x: Handle, shape: tuple[int, ...], dtype: np.dtype[Any] | None) -> Array:
        """Return the elements of ``x``. Fails if the adapter returns another shape or dtype than the tensor's."""
        got = self.read(x)
        if got.shape != shape or (dtype is not None and got.dtype != dtype):
            want, given = f"{shape} {dtype or got.dtype}", f"{got.shape} {got.dtype}"
            message = f"to_numpy gives an array of {given} for {self.origin(x)}, which is {want}"
            why = NoReproducer("what is wrong is what the adapter's to_numpy makes of the tensor")
            raise self.failure(message, want, given, why, {x.name}, cause="to_numpy gives another shape or dtype")
        return got

    def expect_shares(self, x: Handle, y: Handle) -> None:
        """Expect both tensors on one storage."""
        if self.observe("storage_id", x) != self.observe("storage_id", y) and self._sharing(x):
            accusation.wrong_sharing(self, x, y, True, f"{self.origin(x)} does not share the storage of {y.name}")

    def expect_fresh(self, x: Handle, *others: Handle) -> None:
        """Expect ``x`` on a storage of its own."""
        mine = self.observe("storage_id", x)
        for y in others:
            if self.observe("storage_nbytes", y) and mine == self.observe("storage_id", y) and self._sharing(x):
                accusation.wrong_sharing(self, x, y, False, f"{self.origin(x)} shares the storage of {y.name}")

    def _sharing(self, x: Handle) -> bool:
        """Return whether the library's own rules leave it to the spec what ``x`` shares."""
        return self.own_rules.sharing(*self._maker(x))

    def expect_same(self, x: Handle, y: Handle) -> None:
        """Expect the very same tensor object (an operator that returns its input)."""
        if x.raw is not y.raw and self._sharing(x):
            lines = [f"assert {x.name} is {y.name}"]
            raise self.failure(f"{self.origin(x)} is not {y.name} itself", "the same object", "another one", lines,
                               {x.name, y.name})  # fmt: skip

    def expect(
        self, got: Any, want: Any, what: str, expression: str | NoReproducer | None = None,
        names: Sequence[Handle] = (),
    ) -> None:  # fmt: skip
        """Expect a plain Python value (not a tensor).

        Without ``expression`` the value must be what the last call returned; with it, ``names`` are the tensors that
        the expression mentions. Where no expression gives the value, say why.
        """
        nan = isinstance(want, float) and want != want and isinstance(got, float) and got != got
        if (got == want and type(got) is type(want)) or nan:
            return
        if expression is None:
            expression, names = self.of_last("{}")
        wanted = {h.name for h in names}
        lines: list[str] | NoReproducer = (
            expression
            if isinstance(expression, NoReproducer)
            else [f"got = {expression}", f"assert repr(got) == {repr(want)!r}, got"]
        )
        given = "a tensor" if isinstance(got, Handle) else "tensors" if _handles(got) else repr(got)
        raise self.failure(f"{what}: expected {want!r}, got {given}", repr(want), given, lines, wanted)

    def expect_of_last(self, got: Any, want: Any, what: str, form: str | NoReproducer) -> None:
        """Expect a plain Python value that ``form`` makes of what the last call gave, which stands for its braces."""
        if isinstance(form, NoReproducer):
            self.expect(got, want, what, form)
        else:
            self.expect(got, want, what, *self.of_last(form))

    def of_last(self, form: str) -> tuple[str | NoReproducer, list[Handle]]:
        """An expression for what the last call gave, put for the braces in ``form``, and the variables that it
        mentions."""
        last = self.steps()[-1] if self.steps() else None
        if not isinstance(last, Call):
            return NoReproducer("no call was made"), []
        if not last.targets:
            called = self.dialect.expression(*last.shown)
            return form.format(called), [Handle(None, name) for name in {*names_in(last.args), *names_in(last.kwargs)}]
        names = ", ".join(last.targets)
        text = f"({names},)" if last.unpack and len(last.targets) == 1 else f"({names})" if last.unpack else names
        return form.format(text), [Handle(None, name) for name in last.targets if name != "_"]

    def parts(self, result: Any, count: int) -> Sequence[Any]:
        """The tensors of an operator that gives several; expects ``count`` of them."""
        if isinstance(result, list | tuple) and len(result) == count:
            return result
        made = _handles(result)
        if count and hasattr(result, "raw"):
            lines = [f"got = type({result.name}).__name__", f"assert isinstance({result.name}, (list, tuple)), got"]
            message = f"{self.origin(result)} is one tensor, not a list of {count}"
            raise self.failure(message, "list or tuple", type(result.raw).__name__, lines, {result.name})
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
        if not self.own_rules.promised(operator, allowed):
            return
        _, error = self.attempt(operator, *args, **kwargs)
        if error is None:
            message = f"{operator} accepted what it must refuse"
            self._fail_refusal(error, allowed, message, f"{operator} accepts bad input")
        if not self._is_one_of(error, operator, allowed):
            own = self.own_rules.accepted(operator, allowed)
            message = f"{operator} raised {type(error).__name__} instead of {_either(own)}"
            self._fail_refusal(error, own, message, causes.of_refusal(operator, error, message))
        if match is None or re.search(match, str(error)) or not self.own_rules.says(operator):
            return
        call, wanted = self._refused()
        message = f"{operator}: the error does not say {match!r}"
        cause = causes.of_refusal(operator, error, message)
        caught = self.own_rules.accepted(operator, allowed)
        lines = ["import re", *_imports(caught), "try:", f"    {call}", f"except {_caught(caught)} as error:",
                 f"    assert re.search({match!r}, str(error)), error"]  # fmt: skip
        raise self.failure(message, str(match), str(error), lines, wanted, cause)

    def expect_refusal(
        self, error: Exception | None, classes: type[Exception] | tuple[type[Exception], ...], what: str
    ) -> None:
        """Expect the last call, which was attempted, to have raised an exception of one of ``classes``."""
        allowed = classes if isinstance(classes, tuple) else (classes,)
        operator = next((s.operator for s in reversed(self.steps()) if isinstance(s, Call)), "")
        if error is None and not self.own_rules.promised(operator, allowed):
            return
        if error is None or not self._is_one_of(error, operator, allowed):
            got = "none" if error is None else type(error).__name__
            own = self.own_rules.accepted(operator, allowed)
            message = f"{what}: expected {_either(own)}, got {got}"
            self._fail_refusal(error, own, message, causes.of_refusal(operator, error, message))

    def _is_one_of(self, error: Exception, operator: str, classes: tuple[type[Exception], ...]) -> bool:
        """Return whether an exception is of one of ``classes``, or stands for one by the library's own rules."""
        return isinstance(error, classes) or self.own_rules.stands_for(operator, classes, error)

    def expect_accepted(self, error: Exception, what: str) -> NoReturn:
        """Fail because the last call, which was attempted, raised ``error``."""
        call, wanted = self._refused()
        raise self.failure(what, "no exception", f"{type(error).__name__}: {error}", [call], wanted)

    def _fail_refusal(
        self, error: Exception | None, allowed: tuple[type[Exception], ...], message: str, cause: str | None = None
    ) -> NoReturn:
        call, wanted = self._refused()
        names = _either(allowed)
        lines = [*_imports(allowed), "try:", f"    {call}", f"except {_caught(allowed)}:", "    pass"]
        if error is None:
            lines += ["else:", f"    raise AssertionError({'no ' + names!r})"]
        got = "no exception" if error is None else f"{type(error).__name__}: {error}"
        raise self.failure(message, names, got, lines, wanted, cause=cause)

    def _refused(self) -> tuple[str, set[str]]:
        """The last call as a statement, taken out of the steps before it, and the variables that it mentions."""
        step = self.steps().pop()
        assert isinstance(step, Call)
        return self.dialect.statement(step), {*names_in(step.args), *names_in(step.kwargs)}

    def expect_version(self, x: Handle, want: int) -> None:
        """Expect the in-place version counter (capability ``version``)."""
        got = self.backend.version_of(x.raw)  # type: ignore[attr-defined]
        if got != want:
            lines = [f"got = {self.dialect.observe('version', x.name)}", f"assert got == {want}, got"]
            raise self.failure(f"wrong version of {self.origin(x)}", str(want), str(got), lines, {x.name})

    def _expect_observed(self, what: str, x: Handle, want: Any) -> None:
        words, kind = _OBSERVERS[what]
        got = kind(self.observe(what, x))
        if what == "strides" and got != want and not self.own_rules.strided(*self._maker(x), self.observe("shape", x)):
            return
        if got != want:
            expression = self.dialect.observe(what, x.name)
            if kind is tuple and not expression.startswith("tuple("):
                # What the backend gives may be a list, which equals no tuple.
                expression = f"tuple({expression})"
            lines = [f"got = {expression}", f"assert got == {want!r}, got"]
            raise self.failure(f"wrong {words} of {self.origin(x)}", repr(want), repr(got), lines, {x.name})

    def _fail_near(self, x: Handle, at: tuple[int, ...], want: Any, got: Any, bound: float) -> NoReturn:
        exact = complex(want) if got.dtype.kind == "c" else float(want)
        lines = [f"got = {self.dialect.element(x.name, at)}", *assert_near(exact, bound)]
        message = f"wrong value of {self.origin(x)} at {at}: further from the exact result than {bound:.3g}"
        raise self._by_value(x, message, repr(exact), repr(plain(got)), lines, {x.name})

    def _fail_element(
        self, x: Handle, at: tuple[int, ...], want: Any, got: Any, ulp: float, signed_zero: bool
    ) -> NoReturn:
        lines = [f"got = {self.dialect.element(x.name, at)}", *assert_value(want, ulp, signed_zero)]
        message = f"wrong value of {self.origin(x)}" + (f" (more than {ulp:g} ULP off)" if ulp else "")
        raise self._by_value(x, f"{message} at {at}", repr(plain(want)), repr(plain(got)), lines, {x.name})

    def _fail_beside(self, x: Handle, like: Handle, at: tuple[int, ...], want: Any, got: Any) -> NoReturn:
        lines = [
            f"got = {self.dialect.element(x.name, at)}",
            f"want = {self.dialect.element(like.name, at)}",
            "assert repr(got) == repr(want), got",
        ]
        message = f"wrong value of {self.origin(x)} at {at}"
        wanted = {x.name, like.name}
        raise self._by_value(x, message, repr(plain(want)), repr(plain(got)), lines, wanted)

    def _by_value(
        self, x: Handle, message: str, want: str, got: str, lines: list[str], wanted: set[str]
    ) -> ConformanceError:
        # However exact it was asked to be.
        return _by_value(self.failure(message, want, got, lines, wanted, f"wrong value of {self.origin(x)}"))

    def fail_computed(self, what: str, why: NoReproducer) -> NoReturn:
        """Fail because ``what`` is computed of the elements of results does not hold."""
        raise _by_value(self.failure(f"{what}: expected True, got False", "True", "False", why))


def _by_value(error: ConformanceError) -> ConformanceError:
    error.by_value = True
    return error


def _either(classes: tuple[type[Exception], ...]) -> str:
    return " or ".join(c.__name__ for c in classes)


def _caught(classes: tuple[type[Exception], ...]) -> str:
    names = ", ".join(c.__name__ for c in classes)
    return f"({names})" if len(classes) > 1 else names


def _imports(classes: tuple[type[Exception], ...]) -> list[str]:
    """Lines that make classes which are not Python's own known by their names."""
    own = [one for one in classes if one.__module__ != "builtins"]
    return [f"from {one.__module__} import {one.__name__}" for one in own]


def _handles(value: Any) -> list[Handle]:
    if isinstance(value, list | tuple):
        return [h for item in value for h in _handles(item)]
    if isinstance(value, dict):
        return _handles(list(value.values()))
    return [value] if hasattr(value, "raw") else []
