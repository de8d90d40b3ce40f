"""The calls of :mod:`..backend_interop` that are not names of torch's: what NumPy makes of tensors, and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..dialect import Dialect

Function = Callable[..., Any]
Writer = Callable[[Dialect, Sequence[Any], Any], str]


def warnings_of(module: Any, call: Function) -> Function:
    """Return what tells the warnings of a call; a module that can is told to give those again that it gave before."""

    def told(operator: str, *args: Any) -> tuple[str, ...]:
        with _always(module), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(operator, *args)
        return tuple([str(warning.message) for warning in caught])

    return told


@contextmanager
def _always(module: Any) -> Iterator[None]:
    switch = getattr(module, "set_warn_always", None)
    if switch is None:
        yield
        return
    before = module.is_warn_always_enabled()
    switch(True)
    try:
        yield
    finally:
        switch(before)


NUMPY_CALLS: dict[str, Function] = {
    "np_asarray": np.asarray,
    "np_array": np.array,
    "np_from_dlpack": np.from_dlpack,
}
"""Functions of NumPy's that take tensors."""


EXCHANGE = ("from_dlpack", "__dlpack__", "__dlpack_device__", "np_from_dlpack", "warnings_of")
"""Calls of a namespace of the array API that has the capability ``dlpack``."""


def exchange(namespace: Any, operator: str, run: Callable[[str, Any, Any], Any]) -> Function:
    """Return the function behind a name of EXCHANGE; ``run`` makes a call of any."""
    if operator == "warnings_of":
        return warnings_of(namespace, lambda name, *args: run(name, args, {}))
    if operator in NUMPY_CALLS:
        return NUMPY_CALLS[operator]
    if operator == "from_dlpack":
        return lambda x, **options: namespace.from_dlpack(x, **options)
    return lambda x, **options: getattr(x, operator)(**options)


def write_exchange(d: Dialect, args: Sequence[Any], kwargs: Any, operator: str) -> str:
    """Return a call of EXCHANGE as users write it."""
    given = d.arguments(tuple(args), kwargs)
    if operator in NUMPY_WRITERS:
        return NUMPY_WRITERS[operator](d, args, kwargs)
    if operator == "from_dlpack":
        return f"{d.alias}.from_dlpack({', '.join(given)})"
    return f"{given[0]}.{operator}({', '.join(given[1:])})"


def _written(function: str) -> Writer:
    return lambda d, args, kwargs: f"{function}({', '.join(d.arguments(tuple(args), kwargs))})"


NUMPY_WRITERS: dict[str, Writer] = {name: _written(f"np.{name.removeprefix('np_')}") for name in NUMPY_CALLS}
