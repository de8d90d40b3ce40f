"""The loss of labels without known places in time, by adding up every alignment there is."""

from __future__ import annotations

from itertools import groupby, product
from typing import Any

import numpy as np

from ..backend import Array
from .moves import Oracle


def alignments(logs: Array, labels: list[int], blank: int) -> Any:
    """The negative logarithm of the sum over all paths through [time, classes] that say ``labels``: repetitions are one
    label, and blanks none."""
    total = np.longdouble(0)
    for path in product(range(logs.shape[1]), repeat=len(logs)):
        if [k for k, _ in groupby(path) if k != blank] == labels:
            total += np.exp(sum((logs[time, k] for time, k in enumerate(path)), np.longdouble(0)))
    return -np.log(total)


def losses(logs: Array, targets: Array, times: Any, lengths: Any, blank: int) -> Array:
    """The loss of each sequence of logs [time, batch, classes], or of the only one of [time, classes]; targets
    [batch, length], or those of all sequences one after the other."""
    batch = logs[:, None] if logs.ndim == 2 else logs
    times, lengths = ([int(n) for n in np.reshape(given, -1)] for given in (times, lengths))
    if targets.ndim == 1:
        starts = np.cumsum([0, *lengths])
        labels = [targets[start : start + length] for start, length in zip(starts, lengths, strict=False)]
    else:
        labels = [row[:length] for row, length in zip(targets, lengths, strict=True)]
    each = [alignments(batch[:time, k], labels[k].tolist(), blank) for k, time in enumerate(times)]
    return np.array(each, np.longdouble).reshape(logs.shape[1:-1])


def reduced(
    logs: Array, targets: Array, times: Any, lengths: Any, blank: int, reduction: int, zero_infinity: bool
) -> Array:
    """The losses, their sum, or the mean of losses over the lengths of their labels; ``zero_infinity`` forgives labels
    that no path says."""
    loss = losses(logs, targets, times, lengths, blank)
    loss = np.where(np.isinf(loss), 0, loss) if zero_infinity else loss
    if reduction == 1:
        return np.asarray((loss / np.maximum(np.reshape(lengths, loss.shape), 1)).mean())
    return np.asarray(loss.sum()) if reduction == 2 else loss


ALIGNMENT: dict[str, Oracle] = {
    "ctc_loss": reduced,
    "_ctc_loss": lambda logs, targets, times, lengths, blank, zero_infinity: (
        losses(logs, targets, times, lengths, blank), None
    ),
}
