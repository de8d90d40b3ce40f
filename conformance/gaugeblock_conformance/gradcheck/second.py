"""``gradgradcheck``: derivatives of the gradients, by the inputs and by the incoming gradients."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..backend import Backend
from . import fast
from .analytical import check_sizes
from .check import Options, check
from .comparing import Tally
from .error import GradcheckError
from .subject import Function, Subject


def gradgradcheck(
    backend: Backend,
    function: Function,
    inputs: Sequence[Any],
    grad_outputs: Sequence[Any] | None = None,
    *,
    raise_exception: bool = True,
    **options: Any,
) -> bool:
    """Return whether the gradients of ``function`` are differentiated rightly, by its inputs and by ``grad_outputs``
    (drawn from -1 to 1, one for each result that requires grad, if they are not given).

    Options and exceptions are those of :func:`.check.gradcheck`.
    """
    chosen = Options(**options)
    try:
        check_second(Subject(backend, function, inputs), chosen, grad_outputs)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def check_second(subject: Subject, options: Options, grad_outputs: Sequence[Any] | None = None) -> Tally:
    """As :func:`gradgradcheck`; what it saw."""
    backend, count = subject.backend, len(subject.arguments)
    results = subject.run()
    outputs = [k for k, result in enumerate(results) if subject.requires_grad(result)]
    if not outputs:
        raise GradcheckError("no output requires grad, so that there are no gradients to be differentiated")
    if grad_outputs is None:
        grad_outputs = _seeds(backend, [results[k] for k in outputs], options.seed)
    seeds = list(grad_outputs)

    def gradients(*arguments: Any, **flags: Any) -> tuple[Any, ...]:
        results = subject.run(arguments[:count])
        chosen = [results[k] for k in outputs]
        found = subject.gradients(chosen, arguments[count:], arguments[:count], **flags)
        for one, gradient in zip(subject.inputs, found, strict=True):
            if gradient is not None:
                check_sizes(backend, one, gradient, "")
        return tuple(gradient for gradient in found if gradient is not None)

    recorded = partial(gradients, create_graph=True)
    return check(Subject(backend, recorded, (*subject.arguments, *seeds), gradients), options)


def _seeds(backend: Backend, outputs: Sequence[Any], seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    likes = [backend.to_numpy(output) for output in outputs]
    drawn = [fast.uniform(random, like.shape, like.dtype) for like in likes]
    return [backend.from_numpy(np.array(array, order="C"), requires_grad=True) for array in drawn]
