"""Fast mode: v'Ju for random u and v in the place of all entries of J."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backend import Array
from . import numerical
from .analytical import PARTS, parts, tangent_product, vector_product
from .comparing import Place, Tally, compare, expect_same
from .subject import Subject

if TYPE_CHECKING:
    from .check import Options


def check(
    subject: Subject, results: Sequence[Any], outputs: Sequence[int], options: Options, tally: Tally
) -> None:
    """Compare the projections of every Jacobian; indices of an entry told are None.

    Raises:
        GradcheckError: a projection is wrong.
    """
    random = np.random.default_rng(options.seed)
    likes = [subject.backend.to_numpy(results[output]) for output in outputs]
    weights = [_unit(random, like.shape) for like in likes]
    # Real and imaginary direction of each input have weights of their own.
    moves = [[_unit(random, one.array.shape) for _ in one.steps] for one in subject.inputs]
    slopes = [
        [numerical.along(subject, one, u * step, outputs, options.eps) for u, step in zip(us, one.steps, strict=True)]
        for one, us in zip(subject.inputs, moves, strict=True)
    ]
    for k, (output, like) in enumerate(zip(outputs, likes, strict=True)):
        v = weights[k].reshape(-1)
        for part in parts(like) if options.check_backward_ad else ():
            seed = weights[k] * PARTS.get(part, 1.0)
            found = vector_product(subject, results, output, seed)
            again = vector_product(subject, results, output, seed)
            expect_same(found, again, output, subject.inputs, options.nondet_tol)
            for one, us, slope, gradient in zip(subject.inputs, moves, slopes, found, strict=True):
                sides = [s[k].imag if part == "imag" else s[k].real for s in slope]
                wanted = sum((side @ v) * step for side, step in zip(sides, one.steps, strict=True))
                got = np.sum(gradient.real * us[0]) + (1j * np.sum(gradient.imag * us[1]) if one.is_complex else 0)
                atol = options.atol * float(sum(u.sum() for u in us)) * float(v.sum())
                place = Place("backward", output, one.place, part, like.shape, one.array.shape)
                _compare(wanted, got, place, atol, options.rtol, tally)
    for one, us, slope in zip(subject.inputs, moves, slopes, strict=True) if options.check_forward_ad else ():
        for u, step, side in zip(us, one.steps, slope, strict=True):
            for k, tangent in enumerate(tangent_product(subject, one, u * step, outputs)):
                v = weights[k].reshape(-1)
                place = Place("forward", outputs[k], one.place, "", likes[k].shape, one.array.shape)
                atol = options.atol * float(u.sum()) * float(v.sum())
                _compare(side[k] @ v, tangent @ v, place, atol, options.rtol, tally)


def uniform(random: np.random.Generator, sizes: tuple[int, ...], dtype: Any) -> Array:
    """Numbers from -1 to 1, their imaginary parts too where ``dtype`` is complex."""
    real = random.uniform(-1, 1, sizes)
    drawn = real + 1j * random.uniform(-1, 1, sizes) if np.dtype(dtype).kind == "c" else real
    return np.asarray(drawn, dtype)


def _unit(random: np.random.Generator, sizes: tuple[int, ...]) -> Array:
    """Non-negative weights whose squares add up to one: no two terms cancel."""
    drawn = np.asarray(random.uniform(0, 1, sizes))
    length = np.sqrt((drawn * drawn).sum())
    return drawn / length if length else drawn


def _compare(numeric: Any, analytic: Any, place: Place, atol: float, rtol: float, tally: Tally) -> None:
    whole = Place(place.mode, place.output, place.input, place.part, (), ())
    compare(np.array([[numeric]]), np.array([[analytic]]), whole, atol, rtol, tally)
