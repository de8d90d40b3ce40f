"""Losses over classes and alignments, against the sums that define them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import gaugeblock as gb
import gaugeblock.nn.functional as F
import numpy as np
import pytest

REDUCTIONS = ("none", "mean", "sum")


def numbers(*sizes: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=sizes)


def reduced(losses: Any, reduction: str) -> Any:
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sizes", [(1, 3), (9, 3), (2, 3, 2, 4), (3, 5, 1, 7)])
def test_likelihood(sizes: tuple[int, ...], weighted: bool, reduction: str) -> None:
    scores, classes = numbers(*sizes), sizes[1]
    wanted = np.random.default_rng(1).integers(0, classes, (sizes[0], *sizes[2:]))
    weight = np.arange(1.0, classes + 1) if weighted else np.ones(classes)
    picked = np.take_along_axis(scores, wanted[:, None], 1)[:, 0]
    factors = np.where(wanted == 1, 0, weight[wanted])
    losses = -picked * factors
    with np.errstate(invalid="ignore"):
        expected = losses if reduction == "none" else losses.sum() / (factors.sum() if reduction == "mean" else 1)
    given = gb.tensor(weight) if weighted else None
    apart = gb.tensor(np.ascontiguousarray(scores.T)).permute(*reversed(range(len(sizes))))
    for source in (gb.tensor(scores), apart):
        for _ in range(2):
            found = F.nll_loss(source, gb.tensor(wanted), given, ignore_index=1, reduction=reduction)
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, equal_nan=True)


def test_likelihood_without_samples_and_classes() -> None:
    assert math.isnan(F.nll_loss(gb.zeros(0, 3), gb.zeros(0, dtype=gb.int64)).item())
    assert F.nll_loss(gb.zeros(0, 3), gb.zeros(0, dtype=gb.int64), reduction="sum").item() == 0
    none = gb.full((2,), -100)
    assert F.nll_loss(gb.zeros(2, 0), none, reduction="none").tolist() == [0, 0]
    with pytest.raises(IndexError, match="Target 0 is out of bounds"):
        F.nll_loss(gb.zeros(2, 0), gb.zeros(2, dtype=gb.int64))


@pytest.mark.parametrize(("reduction", "share"), [("mean", -1.5), ("sum", -3.0)])
def test_gradient_of_a_likelihood(reduction: str, share: float) -> None:
    step = gb.tensor([2, 9, 0, 9])[::2]
    for target in (gb.tensor([2, 0]), step, gb.tensor([2, 0], dtype=gb.uint8)):
        for _ in range(3):  # the first calls are kept
            scores = gb.zeros(2, 3, requires_grad=True)
            F.nll_loss(scores, target, reduction=reduction).backward(gb.tensor(3.0))
            assert scores.grad.tolist() == [[0, 0, share], [share, 0, 0]]
    scores = gb.zeros(2, 3, requires_grad=True)
    F.nll_loss(scores, gb.tensor([2, -100]), reduction=reduction).backward()
    assert scores.grad.tolist() == [[0, 0, -1], [0, 0, 0]]
    given = gb.tensor(3.0, requires_grad=True)
    (slope,) = gb.autograd.grad(F.nll_loss(scores, step, reduction=reduction), scores, given, create_graph=True)
    slope.sum().backward()
    assert given.grad.item() == 2 * share / 3


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("classes", [1, 4, 21])
@pytest.mark.parametrize("power", [1, 2])
def test_margins(power: int, classes: int, reduction: str) -> None:
    scores, wanted = numbers(6, classes), np.random.default_rng(2).integers(0, classes, 6)
    weight = np.linspace(0.5, 2.0, classes)
    rooms = np.maximum(0, 0.75 - scores[np.arange(6), wanted][:, None] + scores) ** power
    rooms[np.arange(6), wanted] = 0
    expected = reduced((rooms * weight[wanted][:, None]).sum(1) / classes, reduction)
    for source in (gb.tensor(scores), gb.tensor(np.ascontiguousarray(scores.T)).t()):
        found = F.multi_margin_loss(source, gb.tensor(wanted), power, 0.75, gb.tensor(weight), reduction=reduction)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


def test_a_kept_call_of_margins_refuses_what_the_first_one_did_not_have() -> None:
    scores, wanted = gb.zeros(2, 3), gb.tensor([0, 2])
    for margin in (1.0, 2.0, 0.5):
        assert F.multi_margin_loss(scores, wanted, margin=margin).item() == pytest.approx(margin * 2 / 3)
    with pytest.raises(RuntimeError, match="only p == 1 and p == 2"):
        gb.ops.aten.multi_margin_loss(scores, wanted, 3, 1)
    with pytest.raises(RuntimeError, match="target out of range"):
        F.multi_margin_loss(scores, gb.tensor([0, 3]))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("classes", [1, 4, 19])
def test_margins_of_labels(classes: int, reduction: str) -> None:
    scores = numbers(5, classes)
    labels = np.stack([np.random.default_rng(k).permutation(classes) for k in range(5)])
    labels[np.arange(classes) >= np.arange(5)[:, None]] = -1
    losses, marks = [], np.zeros((5, classes))
    for k, row in enumerate(labels):
        own = list(itertools.takewhile(lambda label: label >= 0, row))
        marks[k, own] = 1
        others = [c for c in range(classes) if c not in own]
        losses.append(sum(max(0.0, 1 - scores[k, a] + scores[k, b]) for a in own for b in others) / classes)
    found = F.multilabel_margin_loss(gb.tensor(scores), gb.tensor(labels), reduction=reduction)
    np.testing.assert_allclose(found.numpy(), reduced(np.array(losses), reduction), rtol=1e-12)
    shown = gb.ops.aten.multilabel_margin_loss_forward(gb.tensor(scores), gb.tensor(labels), 1)
    assert shown.is_target.numpy().tolist() == marks.tolist()


def alignments(logs: np.ndarray[Any, Any], labels: list[int], blank: int) -> float:
    """Return minus the logarithm of the summed probabilities of all alignments with the labels."""
    total = 0.0
    for path in itertools.product(range(logs.shape[1]), repeat=len(logs)):
        if [one for one, _ in itertools.groupby(path) if one != blank] == labels:
            total += math.exp(sum(logs[time, one] for time, one in enumerate(path)))
    return -math.log(total) if total else math.inf


@pytest.mark.parametrize("blank", [0, 2])
@pytest.mark.parametrize("labels", [[], [1], [1, 1], [1, 1, 1, 1]])
def test_all_alignments_are_counted(labels: list[int], blank: int) -> None:
    scores = gb.tensor(numbers(5, 1, 3), requires_grad=True)
    logs = scores.log_softmax(2)
    expected = alignments(logs.detach().numpy()[:4, 0], labels, blank)
    target = gb.tensor([labels], dtype=gb.int32) if labels else gb.zeros(1, 0, dtype=gb.int64)
    for lengths in ([4], [len(labels)]), (gb.tensor([4]), gb.tensor([len(labels)])):
        loss = F.ctc_loss(logs, target, *lengths, blank, "sum")
        assert loss.item() == pytest.approx(expected, rel=1e-12)
    if expected < math.inf:
        assert gb.autograd.gradcheck(lambda x: F.ctc_loss(x.log_softmax(2), target, [4], [len(labels)], blank), scores)
    else:
        assert F.ctc_loss(logs, target, [4], [len(labels)], blank, zero_infinity=True).item() == 0


def test_alignment_gradients_with_and_without_a_graph() -> None:
    logs = gb.tensor(numbers(7, 3, 5)).log_softmax(2).requires_grad_()
    target = gb.tensor([1, 2, 2, 4, 3, 1])
    loss = F.ctc_loss(logs, target, [7, 5, 6], [3, 1, 2], reduction="sum")
    (plain,) = gb.autograd.grad(loss, logs, retain_graph=True)
    (recorded,) = gb.autograd.grad(loss, logs, create_graph=True)
    np.testing.assert_allclose(plain.numpy(), recorded.detach().numpy(), rtol=1e-10, atol=1e-14)
    # At each time of a sequence exactly one state is taken.
    np.testing.assert_allclose(plain.sum(2).numpy()[:5], -1, rtol=1e-10)
    assert plain.numpy()[5:, 1].any() == 0


def test_labels_that_there_are_not() -> None:
    logs = gb.zeros(3, 2, 4)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="within the 4 classes"):
            F.ctc_loss(logs, gb.tensor([[1, 4], [1, 1]]), [3, 3], [2, 1])
    # The second label of a sequence of one is not read.
    assert F.ctc_loss(logs, gb.tensor([[1, 4], [1, 1]]), [3, 3], [1, 1]).item() < math.inf
