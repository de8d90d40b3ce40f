"""Losses, distances, embeddings, dropout and attention: values, reductions, weights, refusals."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any

import gaugeblock as gb
import gaugeblock.nn.functional as F
import pytest

X, Y = gb.tensor([1.0, -2.0, 3.0]), gb.tensor([1.5, 1.0, 3.0])


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (F.l1_loss, [0.5, 3.0, 0.0]),
        (F.mse_loss, [0.25, 9.0, 0.0]),
        (F.smooth_l1_loss, [0.125, 2.5, 0.0]),
        (lambda x, y, **k: F.smooth_l1_loss(x, y, beta=2.0, **k), [0.0625, 2.0, 0.0]),
        (lambda x, y, **k: F.huber_loss(x, y, delta=2.0, **k), [0.125, 4.0, 0.0]),
        (F.soft_margin_loss, [math.log1p(math.exp(-1.5)), math.log1p(math.exp(2.0)), math.log1p(math.exp(-9.0))]),
        (lambda x, y, **k: F.poisson_nll_loss(x, y, **k), [math.e - 1.5, math.exp(-2) + 2, math.exp(3) - 9]),
        (F.kl_div, [1.5 * math.log(1.5) - 1.5, 2.0, 3 * math.log(3) - 9]),
    ],
)
def test_reductions(loss: Any, expected: list[float]) -> None:
    assert loss(X, Y, reduction="none").tolist() == pytest.approx(expected, rel=1e-6)
    assert loss(X, Y, reduction="sum").item() == pytest.approx(sum(expected), rel=1e-6)
    with pytest.warns(UserWarning, match="batchmean") if loss is F.kl_div else nullcontext():
        assert loss(X, Y).item() == pytest.approx(sum(expected) / 3, rel=1e-6)
    assert loss(X.double(), Y.double(), reduction="none").dtype is gb.float64
    with pytest.raises(ValueError, match="not a valid value for reduction"):
        loss(X, Y, reduction="median")


def test_weighted_means() -> None:
    weight = gb.tensor([2.0, 1.0, 1.0])
    assert F.mse_loss(X, Y, weight=weight).item() == pytest.approx(9.5 / 4)
    assert F.huber_loss(X, Y, weight=weight).item() == pytest.approx((0.25 + 2.5) / 3)
    with pytest.warns(UserWarning, match="please use reduction='sum'"):
        assert F.l1_loss(X, Y, size_average=False).item() == 3.5
    with pytest.warns(UserWarning, match="target size"):
        F.mse_loss(gb.zeros(2, 1), gb.zeros(1, 2))


def test_binary_cross_entropy() -> None:
    p, t = gb.tensor([0.25, 1.0, 0.0]), gb.tensor([1.0, 0.0, 0.0])
    assert F.binary_cross_entropy(p, t, reduction="none").tolist() == pytest.approx([math.log(4), 100.0, 0.0])
    logits = gb.tensor([0.0, 100.0, -100.0])
    found = F.binary_cross_entropy_with_logits(logits, t, reduction="none", pos_weight=gb.tensor([3.0, 1.0, 1.0]))
    assert found.tolist() == pytest.approx([3 * math.log(2), 100.0, 0.0])
    for wrong in (1.5, -0.5, math.nan):
        with pytest.raises(RuntimeError, match="between 0 and 1"):
            F.binary_cross_entropy(gb.tensor([wrong]), gb.zeros(1))


def test_class_losses() -> None:
    scores = gb.tensor([[-1.0, -2.0, -3.0], [-4.0, -5.0, -6.0]])
    weight = gb.tensor([1.0, 3.0, 0.5])
    assert F.nll_loss(scores, gb.tensor([1, 0]), weight).item() == pytest.approx((6 + 4) / 4)
    assert F.nll_loss(scores, gb.tensor([1, -100]), reduction="none").tolist() == [2.0, 0.0]
    assert math.isnan(F.nll_loss(scores, gb.tensor([-100, -100])).item())
    even = gb.zeros(2, 4)
    assert F.cross_entropy(even, gb.tensor([1, 2])).item() == pytest.approx(math.log(4))
    assert F.cross_entropy(even, gb.full((2, 4), 0.25), label_smoothing=0.5).item() == pytest.approx(math.log(4))
    smooth = F.cross_entropy(scores, gb.tensor([0, 2]), weight, label_smoothing=0.3, reduction="sum").item()
    assert smooth == pytest.approx(0.7 * (0.40760597 + 0.5 * 2.40760597) + 0.1 * 2 * (0.40760597 + 3 * 1.40760597
                                   + 0.5 * 2.40760597))  # fmt: skip
    spatial = F.cross_entropy(gb.zeros(1, 2, 3, 3), gb.zeros(1, 3, 3, dtype=gb.int64), reduction="none")
    assert spatial.shape == (1, 3, 3)
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        F.nll_loss(scores, gb.tensor([0, 3]))
    with pytest.raises(ValueError, match="to match target batch_size"):
        F.cross_entropy(even, gb.tensor([1]))


def test_smoothed_classes_where_there_are_none() -> None:
    x, probabilities, ignored = gb.zeros(2, 0), gb.zeros(2, 0), gb.full((2,), -100)
    found = F.cross_entropy(x, probabilities, label_smoothing=0.25, reduction="none")
    assert found.tolist() == [0.0, 0.0]
    assert F.cross_entropy(x, probabilities, label_smoothing=0.25).isnan().item()
    assert F.cross_entropy(x, ignored, label_smoothing=0.25, reduction="none").isnan().all().item()


def test_margins() -> None:
    x = gb.tensor([[0.1, 0.2, 0.4, 0.8]])
    assert F.multilabel_margin_loss(x, gb.tensor([[3, 0, -1, 1]])).item() == pytest.approx(0.85)
    assert F.multi_margin_loss(x, gb.tensor([3])).item() == pytest.approx((0.3 + 0.4 + 0.6) / 4)
    assert F.multi_margin_loss(x, gb.tensor([3]), p=2).item() == pytest.approx((0.09 + 0.16 + 0.36) / 4)
    assert F.hinge_embedding_loss(X, gb.tensor([1, -1, -1]), reduction="none").tolist() == [1.0, 3.0, 0.0]
    assert F.margin_ranking_loss(X, Y, gb.tensor([1.0, -1.0, 1.0]), 1.0, reduction="none").tolist() == [1.5, 0.0, 1.0]
    a, b = gb.tensor([[3.0, 4.0]]), gb.tensor([[4.0, 3.0]])
    assert F.cosine_embedding_loss(a, b, gb.tensor([1])).item() == pytest.approx(0.04)
    assert F.cosine_embedding_loss(a, b, gb.tensor([-1]), margin=0.5).item() == pytest.approx(0.46)
    assert F.triplet_margin_loss(a, a, b, eps=0.0).item() == 0.0
    assert F.triplet_margin_with_distance_loss(a, b, a, margin=2.0).item() == pytest.approx(2 + math.sqrt(2), rel=1e-5)


def test_distances() -> None:
    a, b = gb.tensor([[0.0, 0.0], [3.0, 4.0]]), gb.tensor([[0.0, 0.0]])
    assert [gb.cdist(a, b, p)[1].item() for p in (0.0, 1.0, 2.0, math.inf)] == [2.0, 7.0, 5.0, 4.0]
    assert gb.cdist(gb.ones(3, 1, 2, 5), gb.zeros(4, 3, 5)).shape == (3, 4, 2, 3)
    assert gb.cdist(gb.empty(2, 0), gb.empty(3, 0)).tolist() == [[0.0] * 3] * 2
    assert F.pdist(gb.tensor([[0.0], [1.0], [3.0]])).tolist() == [1.0, 3.0, 2.0]
    assert F.cosine_similarity(gb.tensor([[3.0, 4.0]]), gb.tensor([4.0, 3.0])).tolist() == pytest.approx([0.96])
    assert F.pairwise_distance(a, b, eps=0.0, keepdim=True).tolist() == [[0.0], [5.0]]


def test_embeddings() -> None:
    table = gb.arange(8.0).reshape(4, 2)
    assert F.embedding(gb.tensor([[3, 0]]), table).tolist() == [[[6.0, 7.0], [0.0, 1.0]]]
    for _ in range(3):  # indices that are not row-major
        assert F.embedding(gb.tensor([[3, 0], [1, 2]]).t(), table)[:, :, 0].tolist() == [[6.0, 2.0], [0.0, 4.0]]
    assert F.embedding(gb.tensor([], dtype=gb.int64), table).shape == (0, 2)
    bags, offsets = gb.tensor([0, 1, 2, 3]), gb.tensor([0, 3, 3])
    for mode, expected in (("sum", [6.0, 9.0]), ("mean", [2.0, 3.0]), ("max", [4.0, 5.0])):
        assert F.embedding_bag(bags, table, offsets, mode=mode).tolist() == [expected, [0.0, 0.0], [6.0, 7.0]]
    skipped = F.embedding_bag(bags, table, offsets, mode="mean", padding_idx=1)
    assert skipped[0].tolist() == [2.0, 3.0]
    assert F.embedding_bag(bags.reshape(2, 2), table, mode="sum").tolist() == [[2.0, 4.0], [10.0, 12.0]]
    long = gb.tensor([[3.0, 4.0], [0.3, 0.4]])
    assert F.embedding(gb.tensor([0, 1]), long, max_norm=1.0)[0].tolist() == pytest.approx([0.6, 0.8], rel=1e-5)
    assert F.one_hot(gb.tensor([2, 0])).tolist() == [[0, 0, 1], [1, 0, 0]]
    with pytest.raises(IndexError, match="5 is no row of 4"):
        F.embedding(gb.tensor([5]), table)


def test_dropout() -> None:
    x = gb.ones(200, 200)
    kept = F.dropout(x, 0.25)
    assert set(kept.flatten().tolist()) == {0.0, gb.tensor(1 / 0.75).item()}
    assert abs(kept.mean().item() - 1) < 0.05
    assert F.dropout(x, 0.5, training=False) is x
    assert F.dropout(x, 1.0).sum().item() == 0.0
    channels = F.dropout2d(gb.ones(20, 10, 3, 3))
    assert (channels.amax((2, 3)) == channels.amin((2, 3))).all().item()
    noisy = F.alpha_dropout(gb.randn(300, 300), 0.3, training=True)
    assert abs(noisy.mean().item()) < 0.05
    assert abs(noisy.std().item() - 1) < 0.05
    result, mask = gb.native_dropout(x, 0.5, True)
    assert mask.dtype is gb.bool
    assert result.tolist() == (mask * 2.0).tolist()


def test_attention() -> None:
    q = gb.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    v = gb.tensor([[[1.0], [3.0]]])
    high = 1 / (1 + math.exp(-1))
    found = F.scaled_dot_product_attention(q, q, v, scale=1.0)
    assert found.flatten().tolist() == pytest.approx([3 - 2 * high, 1 + 2 * high])
    causal = F.scaled_dot_product_attention(q, q, v, scale=1.0, is_causal=True)
    assert causal.flatten().tolist() == pytest.approx([1.0, 1 + 2 * high])
    mask = gb.tensor([[False, True], [False, False]])
    assert F.scaled_dot_product_attention(q, q, v, mask).flatten().tolist() == [3.0, 0.0]
    grouped = F.scaled_dot_product_attention(gb.ones(4, 3, 2), gb.ones(2, 3, 2), gb.ones(2, 3, 5), enable_gqa=True)
    assert grouped.shape == (4, 3, 5)
    assert F.scaled_dot_product_attention(q.half(), q.half(), v.half()).dtype is gb.float16
