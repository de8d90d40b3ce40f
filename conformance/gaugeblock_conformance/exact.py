"""Conversion of a backend's answers to exact NumPy and Python types.

A subclass of ``ndarray``, ``int``, ``str`` or ``tuple`` may compare equal to anything. This module reads its value
through the methods of the base class, and only that value is compared.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gaugeblock_spec import operators

from .backend import Array, Backend


class WrongAnswer(TypeError):
    """Raised when an observer of the backend returns a type that the protocol does not allow."""

    def __init__(self, observer: str, wanted: str, got: Any) -> None:
        self.wanted = wanted
        self.got = type(got).__name__
        super().__init__(f"{observer} gave an object of type {self.got}, not {wanted}")


def exact_array(value: Any) -> Array:
    """Return ``value`` as a base ``ndarray`` over the same memory; a NumPy scalar becomes a zero-dimensional array.

    Raises:
        WrongAnswer: ``value`` is neither, or its elements are Python objects.
    """
    if type(value) is not np.ndarray:
        if isinstance(value, np.ndarray):
            value = np.ndarray.view(value, np.ndarray)
        elif type(value) in _SCALARS:
            value = np.asarray(value)
        else:
            raise WrongAnswer("to_numpy", "a NumPy array", value)
    if value.dtype.hasobject:
        raise WrongAnswer("to_numpy", "an array of numbers", value.reshape(-1)[0] if value.size else None)
    array: Array = value
    return array


def exact_int(observer: str, value: Any) -> int:
    """Return ``value`` as an exact ``int``. Raises WrongAnswer unless it is an integer."""
    if type(value) is int:
        return value
    try:
        return int(operator.index(value))
    except TypeError:
        raise WrongAnswer(observer, "an int", value) from None


def exact_ints(observer: str, value: Any) -> tuple[int, ...]:
    """Return ``value`` as an exact tuple of exact ints. Raises WrongAnswer unless it is a sequence of integers."""
    try:
        return tuple([exact_int(observer, item) for item in value])
    except TypeError as error:
        if isinstance(error, WrongAnswer):
            raise
        raise WrongAnswer(observer, "a sequence of ints", value) from None


def exact_text(observer: str, value: Any) -> str:
    """Return ``value`` as an exact ``str``. Raises WrongAnswer unless it is one."""
    if type(value) is str:
        return value
    if not isinstance(value, str):
        raise WrongAnswer(observer, "a str", value)
    return str.__add__(value, "")


def exact_identity(value: Any) -> Any:
    """Return a ``storage_id`` with exact ints, strings and tuples of them; any other object is returned unchanged."""
    if type(value) is int:
        return value
    if isinstance(value, int):
        return exact_int("storage_id", value)
    if isinstance(value, str):
        return exact_text("storage_id", value)
    if isinstance(value, tuple):
        return tuple([exact_identity(item) for item in tuple.__iter__(value)])
    return value


class ExactBackend:
    """A wrapper whose observers return exact types; all other attributes are those of the backend.

    If the backend has ``finish``, ``call`` waits for the result by it.
    """

    def __init__(self, backend: Backend) -> None:
        self.inner = backend
        self.capabilities = frozenset(exact_text("capabilities", name) for name in backend.capabilities)
        self._finish: Callable[[Any], object] | None = getattr(backend, "finish", None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        """Run one operator, and wait for its result."""
        result = self.inner.call(operator, *args, **kwargs)
        if self._finish is not None and operator in operators.load():
            self._finish(result)
        return result

    def from_numpy(self, array: Array, requires_grad: bool = False) -> Any:
        """Return a new tensor with the array's values."""
        return self.inner.from_numpy(array, requires_grad) if requires_grad else self.inner.from_numpy(array)

    def to_numpy(self, tensor: Any) -> Array:
        """Return the logical values."""
        return exact_array(self.inner.to_numpy(tensor))

    def shape(self, tensor: Any) -> Sequence[int]:
        return exact_ints("shape", self.inner.shape(tensor))

    def strides(self, tensor: Any) -> Sequence[int]:
        """Return the strides in elements."""
        return exact_ints("strides", self.inner.strides(tensor))

    def storage_offset(self, tensor: Any) -> int:
        return exact_int("storage_offset", self.inner.storage_offset(tensor))

    def dtype(self, tensor: Any) -> str:
        return exact_text("dtype", self.inner.dtype(tensor))

    def storage_id(self, tensor: Any) -> Any:
        return exact_identity(self.inner.storage_id(tensor))

    def storage_nbytes(self, tensor: Any) -> int:
        return exact_int("storage_nbytes", self.inner.storage_nbytes(tensor))

    def data_ptr(self, tensor: Any) -> int:
        return exact_int("data_ptr", self.inner.data_ptr(tensor))

    def version_of(self, tensor: Any) -> int:
        """Return the in-place version counter (capability ``version``)."""
        return exact_int("version_of", self.inner.version_of(tensor))  # type: ignore[attr-defined]


def use_that_raised(error: Exception) -> str | None:
    """Return the name of the observer, builder or operator that raised ``error``; None if the backend did not."""
    trace = error.__traceback__
    while trace is not None:
        names = trace.tb_frame.f_locals
        if isinstance(names.get("self"), ExactBackend):
            return str(names.get("operator", trace.tb_frame.f_code.co_name))
        trace = trace.tb_next
    return None


def exact(backend: Backend) -> Backend:
    """Wrap ``backend`` in an :class:`ExactBackend` unless it is one."""
    if isinstance(backend, ExactBackend):
        return backend
    return ExactBackend(backend)


_SCALARS = frozenset(np.dtype(code).type for code in np.typecodes["All"] if code not in "OSUVMm")
