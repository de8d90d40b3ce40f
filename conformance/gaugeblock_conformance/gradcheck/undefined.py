"""Incoming gradients that are undefined: a backward must take them for zeros."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..backend import MissingCapability, Unsupported
from ..backend_autograd import Rule
from .error import GradcheckError
from .subject import Subject

_ABSORBS = Rule("identity", "give", given=(None,))


def check_undefined(subject: Subject, results: Sequence[Any]) -> None:
    """Expect no gradients, or zeros, where all incoming ones are undefined, or one is and the others are zeros, of
    ``results``, which require grad.

    Only on a backend with autograd.func: its functions alone can give no gradient.

    Raises:
        GradcheckError: backward raised, or gave something else.
    """
    if "autograd.func" not in subject.backend.capabilities:
        return
    count = len(results)
    for missing in (range(count), *([k] for k in range(count) if count > 1)):
        _check(subject, results, missing)


def _check(subject: Subject, results: Sequence[Any], missing: Collection[int]) -> None:
    backend = subject.backend
    absorb = backend.call("define_function", _ABSORBS)
    results = [backend.call("apply_function", absorb, r) if k in missing else r for k, r in enumerate(results)]
    arrays = [backend.to_numpy(result) for result in results]
    seeds = [backend.from_numpy(np.zeros(array.shape, array.dtype)) for array in arrays]
    which = "all" if len(missing) == len(results) else f"output {next(iter(missing))}'s"
    try:
        found = subject.gradients(results, seeds)
    except (Unsupported, MissingCapability):
        raise
    except Exception as error:
        raise GradcheckError(
            f"backward fails where {which} incoming gradients are undefined: {type(error).__name__}: {error}"
        ) from error
    for one, gradient in zip(subject.inputs, found, strict=True):
        if gradient is not None and np.any(subject.values(gradient)):
            raise GradcheckError(
                f"the gradient by input {one.place} is not zero where {which} incoming gradients are undefined"
            )
