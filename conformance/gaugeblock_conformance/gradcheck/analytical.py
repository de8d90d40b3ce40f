"""Jacobians as the backend's autograd gives them: by rows in reverse mode, by columns in forward mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend import Array, Backend
from ..backend_autograd import DualLevel, entered
from .error import GradcheckError
from .subject import Input, Subject

PARTS = {"real": 1.0, "imag": 1j}
"""What seeds the derivative of a complex output's real part, and of its imaginary part."""


def parts(output: Array) -> tuple[str, ...]:
    """The parts of an output that are differentiated apart."""
    return ("real", "imag") if output.dtype.kind == "c" else ("",)


def vector_product(subject: Subject, results: Sequence[Any], output: int, seed: Array, **flags: Any) -> list[Array]:
    """The gradient of result ``output`` by each input, with incoming gradient ``seed``: arrays of the inputs' sizes,
    zeros where there is none.

    Raises:
        GradcheckError: a gradient has not the sizes of its input.
    """
    like = subject.backend.to_numpy(results[output])
    incoming = subject.backend.from_numpy(np.array(seed, like.dtype, order="C"))
    found = subject.gradients([results[output]], [incoming], **flags)
    return [checked(subject, one, gradient, output) for one, gradient in zip(subject.inputs, found, strict=True)]


def checked(subject: Subject, one: Input, gradient: Any, output: int) -> Array:
    """The elements of a gradient by input ``one``."""
    if gradient is None:
        return np.zeros(one.array.shape, np.complex128 if one.is_complex else np.float64)
    check_sizes(subject.backend, one, gradient, f"of output {output} ")
    return subject.values(gradient)


def check_sizes(backend: Backend, one: Input, gradient: Any, of: str) -> None:
    """Raise GradcheckError unless a gradient has the sizes of input ``one``; ``of`` says what it is the gradient of."""
    sizes = tuple(backend.shape(gradient))
    if sizes != one.array.shape:
        raise GradcheckError(f"the gradient {of}by input {one.place} has sizes {sizes}, the input {one.array.shape}")


def reverse_jacobian(subject: Subject, results: Sequence[Any], output: int, part: str) -> list[Array]:
    """Per input the gradients of every element of (a part of) one result: [elements of the input, of the result]."""
    like = subject.backend.to_numpy(results[output])
    rows = []
    for place in range(like.size):
        seed = np.zeros(like.size, like.dtype)
        seed[place] = PARTS.get(part, 1.0)
        rows.append(vector_product(subject, results, output, seed.reshape(like.shape)))
    if not rows:
        return [np.zeros((one.array.size, 0)) for one in subject.inputs]
    return [np.array([row[k].reshape(-1) for row in rows]).T for k in range(len(subject.inputs))]


def tangent_product(subject: Subject, one: Input, direction: Array, outputs: Sequence[int]) -> list[Array]:
    """The tangents of the results numbered ``outputs`` where ``one`` alone has a tangent, ``direction``: flat arrays,
    zeros where there is none."""
    backend = subject.backend
    with entered(backend.call, DualLevel()):
        tangent = backend.from_numpy(np.array(direction, one.array.dtype, order="C"))
        moved = list(subject.arguments)
        moved[one.place] = backend.call("make_dual", moved[one.place], tangent)
        results = subject.run(moved)
        found = []
        for output in outputs:
            primal, tangent = backend.call("unpack_dual", results[output])
            if tangent is not None and tuple(backend.shape(tangent)) != tuple(backend.shape(primal)):
                raise GradcheckError(
                    f"forward mode: the tangent of output {output} has sizes {tuple(backend.shape(tangent))}, "
                    f"the output {tuple(backend.shape(primal))}"
                )
            values = subject.values(primal)
            found.append(np.zeros_like(values) if tangent is None else subject.values(tangent))
    return [values.reshape(-1) for values in found]


def forward_jacobian(subject: Subject, one: Input, outputs: Sequence[int]) -> list[Array]:
    """As :func:`.numerical.jacobian`, by forward mode."""
    columns = []
    for step in one.steps:
        rows = []
        for place in range(one.array.size):
            direction = np.zeros(one.array.size, np.complex128 if one.is_complex else np.float64)
            direction[place] = step
            rows.append(tangent_product(subject, one, direction.reshape(one.array.shape), outputs))
        columns.append(rows)
    if not one.array.size:
        return [np.zeros((len(one.steps), 0, 0)) for _ in outputs]
    return [np.array([[row[k] for row in rows] for rows in columns]) for k in range(len(outputs))]
