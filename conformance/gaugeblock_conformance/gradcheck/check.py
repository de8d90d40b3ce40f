"""``gradcheck``: first derivatives of a function, in reverse and forward mode, against finite differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..backend import Backend
from . import fast, numerical
from .analytical import checked, forward_jacobian, parts, reverse_jacobian
from .comparing import Place, Tally, compare, expect_same
from .error import GradcheckError
from .subject import Function, Subject
from .undefined import check_undefined


@dataclass(frozen=True)
class Options:
    """``eps`` is the step of the differences; ``atol`` and ``rtol`` say what may differ; ``nondet_tol`` bounds the
    difference of two backwards of the same; ``seed`` is that of all random vectors."""

    eps: float = 1e-6
    atol: float = 1e-5
    rtol: float = 1e-3
    nondet_tol: float = 0.0
    check_undefined_grad: bool = True
    check_grad_dtypes: bool = False
    check_batched_grad: bool = False
    check_forward_ad: bool = False
    check_backward_ad: bool = True
    fast_mode: bool = False
    seed: int = 0


def gradcheck(
    backend: Backend, function: Function, inputs: Sequence[Any], *, raise_exception: bool = True, **options: Any
) -> bool:
    """Return whether the derivatives of ``function`` at ``inputs`` are right by every input that requires grad.

    ``function`` takes the inputs (tensors of ``backend``, or anything else) and gives a tensor or several; those that
    require grad are differentiated. Complex derivatives follow the conjugate Wirtinger convention; complex results are
    checked by their real and their imaginary part. ``options`` are the fields of :class:`Options`.

    Raises:
        GradcheckError: a derivative is wrong (False is returned instead, if ``raise_exception`` is false).
        ValueError: no input requires grad.
        RuntimeError: elements of an input share memory.
        MissingCapability: the backend has no autograd, or not what an option asks for.
    """
    subject = Subject(backend, function, inputs)
    try:
        check(subject, Options(**options))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def check(subject: Subject, options: Options) -> Tally:
    """As :func:`gradcheck`; what it saw."""
    tally = Tally()
    results = subject.run()
    outputs = [k for k, result in enumerate(results) if subject.requires_grad(result)]
    if not outputs:
        _check_constant(subject, results, options)
        return tally
    method = _check_fast if options.fast_mode else _check_slow
    method(subject, results, outputs, options, tally)
    if options.check_backward_ad:
        if options.check_batched_grad:
            _check_batched(subject, results, outputs, options)
        if options.check_undefined_grad:
            check_undefined(subject, [results[k] for k in outputs])
    return tally


def _check_slow(
    subject: Subject, results: Sequence[Any], outputs: Sequence[int], options: Options, tally: Tally
) -> None:
    """Every entry of every Jacobian."""
    differences = [numerical.jacobian(subject, one, outputs, options.eps) for one in subject.inputs]
    for k, output in enumerate(outputs):
        like = subject.backend.to_numpy(results[output])
        for part in parts(like) if options.check_backward_ad else ():
            found = reverse_jacobian(subject, results, output, part)
            for one, table, analytical in zip(subject.inputs, differences, found, strict=True):
                place = Place("backward", output, one.place, part, like.shape, one.array.shape)
                wanted = table[k].imag if part == "imag" else table[k].real
                wanted = wanted[0] + 1j * wanted[1] if one.is_complex else wanted[0]
                compare(wanted.reshape(analytical.shape), analytical, place, options.atol, options.rtol, tally)
            again = reverse_jacobian(subject, results, output, part)
            expect_same(found, again, output, subject.inputs, options.nondet_tol)
        if options.check_backward_ad and options.check_grad_dtypes:
            _check_dtypes(subject, results, output)
    for one, table in zip(subject.inputs, differences, strict=True) if options.check_forward_ad else ():
        for k, analytical in enumerate(forward_jacobian(subject, one, outputs)):
            sizes = tuple(subject.backend.shape(results[outputs[k]]))
            place = Place("forward", outputs[k], one.place, "", sizes, one.array.shape)
            for wanted, found_one in zip(table[k], analytical, strict=True):
                compare(wanted, found_one, place, options.atol, options.rtol, tally)


def _check_fast(
    subject: Subject, results: Sequence[Any], outputs: Sequence[int], options: Options, tally: Tally
) -> None:
    """Random projections; where one is wrong, every entry, to tell which."""
    try:
        fast.check(subject, results, outputs, options, tally)
    except GradcheckError as error:
        slow = replace(options, fast_mode=False)
        _check_slow(subject, results, outputs, slow, tally)
        raise GradcheckError(
            f"{error.message}; in every single entry the difference is as small as allowed: the Jacobian may be large, "
            "or the function not smooth there",
            error.entry,
        ) from None


def _check_constant(subject: Subject, results: Sequence[Any], options: Options) -> None:
    """Where no result requires grad, none may depend on an input."""
    floating = [k for k, r in enumerate(results) if subject.is_tensor(r) and _is_float(subject, r)]
    for one in subject.inputs:
        for k, table in zip(floating, numerical.jacobian(subject, one, floating, options.eps), strict=True):
            if np.abs(table).max(initial=0.0) > options.atol:
                raise GradcheckError(f"output {k} does not require grad, but depends on input {one.place}")


def _is_float(subject: Subject, tensor: Any) -> bool:
    return subject.backend.to_numpy(tensor).dtype.kind in "fc"


def _check_dtypes(subject: Subject, results: Sequence[Any], output: int) -> None:
    backend = subject.backend
    like = backend.to_numpy(results[output])
    seed = backend.from_numpy(np.ones(like.shape, like.dtype))
    for one, gradient in zip(subject.inputs, subject.gradients([results[output]], [seed]), strict=True):
        want = backend.dtype(subject.arguments[one.place])
        if gradient is not None and backend.dtype(gradient) != want:
            raise GradcheckError(
                f"the gradient of output {output} by input {one.place} is {backend.dtype(gradient)}, the input {want}"
            )


def _check_batched(
    subject: Subject, results: Sequence[Any], outputs: Sequence[int], options: Options, count: int = 3
) -> None:
    """Gradients of several incoming gradients at once are those of one after another."""
    backend, random = subject.backend, np.random.default_rng(options.seed)
    for output in outputs:
        like = backend.to_numpy(results[output])
        seeds = fast.uniform(random, (count, *like.shape), like.dtype)
        together = subject.gradients([results[output]], [backend.from_numpy(seeds)], is_grads_batched=True)
        for k, seed in enumerate(seeds):
            single = subject.gradients([results[output]], [backend.from_numpy(np.array(seed, order="C"))])
            for one, gradient, batch in zip(subject.inputs, single, together, strict=True):
                got = np.zeros(one.array.shape) if batch is None else subject.values(batch)[k]
                want = checked(subject, one, gradient, output)
                if not np.allclose(got, want, options.rtol, options.atol, equal_nan=True):
                    raise GradcheckError(
                        f"the gradient of output {output} by input {one.place} is another where incoming gradients "
                        "come in a batch"
                    )
