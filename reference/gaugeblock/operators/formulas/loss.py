"""Formulas of losses, element by element."""

from __future__ import annotations

import functools

from ...kernels.expression import Expr, constant, select
from ...kernels.functions import fabs, maximum, minimum
from ...kernels.special import Function, in_double
from .table import Formula, table

LOWEST_LOGARITHM = -100.0
"""Logarithms of probabilities are not let below this."""


def squared_difference(self: Expr, target: Expr) -> Expr:
    """(self - target)**2."""
    distance = self - target
    return distance * distance


def smooth_l1(self: Expr, target: Expr, beta: Expr) -> Expr:
    """Half the squared distance over beta within beta, else the distance less half of beta."""
    distance = fabs(self - target)
    return select(distance < beta, distance * distance * 0.5 / beta, distance - beta * 0.5)


def huber(self: Expr, target: Expr, delta: Expr) -> Expr:
    """Half the squared distance within delta, else delta times the distance less half of delta."""
    distance = fabs(self - target)
    return select(distance <= delta, distance * distance * 0.5, delta * (distance - delta * 0.5))


def cross_entropy(library: Function, self: Expr, target: Expr) -> Expr:
    """-(target log(self) + (1 - target) log(1 - self))."""
    low = constant(LOWEST_LOGARITHM, self.type)
    positive = maximum(library("log", self), low)
    negative = maximum(library("log1p", -self), low)
    return (target - 1.0) * negative - target * positive


def _log_sigmoid(library: Function, x: Expr) -> Expr:
    return minimum(x, constant(0.0, x.type)) - library("log1p", library("exp", -fabs(x)))


def cross_entropy_of_logits(library: Function, self: Expr, target: Expr) -> Expr:
    """cross_entropy of the sigmoid of self."""
    return (1.0 - target) * self - _log_sigmoid(library, self)


def weighted_cross_entropy_of_logits(library: Function, self: Expr, target: Expr, positive: Expr) -> Expr:
    """The same with a weight for the positive part."""
    return (1.0 - target) * self - (target * (positive - 1.0) + 1.0) * _log_sigmoid(library, self)


def soft_margin(library: Function, self: Expr, target: Expr) -> Expr:
    """log(1 + e**(-self target))."""
    return -_log_sigmoid(library, self * target)


FORMULAS = table(
    (
        Formula("squared_difference", squared_difference, 2),
        Formula("smooth_l1", smooth_l1, 3),
        Formula("huber", huber, 3),
        Formula("cross_entropy", functools.partial(in_double, cross_entropy), 2),
        Formula("cross_entropy_of_logits", functools.partial(in_double, cross_entropy_of_logits), 2),
        Formula("cross_entropy_of_logits.weighted", functools.partial(in_double, weighted_cross_entropy_of_logits), 3),
        Formula("soft_margin", functools.partial(in_double, soft_margin), 2),
    )
)
