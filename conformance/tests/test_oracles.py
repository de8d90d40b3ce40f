"""Where an exact result or its bound is computed in steps that could each err."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.budget import QUICK
from gaugeblock_conformance.case import TensorCase
from gaugeblock_conformance.iteration import test_reductions as reductions
from gaugeblock_conformance.oracles.factorizations import logdet
from gaugeblock_conformance.oracles.near import Such
from gaugeblock_conformance.oracles.special import digamma
from gaugeblock_conformance.oracles.sums import once_rounded
from gaugeblock_conformance.session import ConformanceError, Session

SUBNORMAL = 2.0**-149


class MeansFurtherOff(ReferenceBackend):
    """The reference, its means larger by ``steps`` of the smallest float32."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps = steps

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        return super().call("add.Scalar", result, self.steps * SUBNORMAL) if operator == "mean" else result


@pytest.mark.parametrize("product", [np.multiply.outer, np.kron])
def test_products_of_single_elements_are_rounded_once(product: Any) -> None:
    a, b = (np.array([x], np.longdouble) for x in (1.0000001192092896, 0.9999999999999999))
    assert float(once_rounded(product, a, b).reshape(())) == 1.0000001192092893


def test_a_mean_between_the_two_smallest_numbers_may_be_either() -> None:
    halves = TensorCase("float32", (2,), (1,), literal=(SUBNORMAL, 0.0))
    check = reductions.test_strided_and_packed_sums.body  # type: ignore[attr-defined]
    for steps in (0, 1):
        check(Session(MeansFurtherOff(steps), QUICK), halves, "mean")
    with pytest.raises(ConformanceError, match="further from the exact result"):
        check(Session(MeansFurtherOff(2), QUICK), halves, "mean")


@pytest.mark.parametrize(
    ("found", "right"),
    [
        (complex(0.0, np.pi), True),
        (complex(0.0, -np.pi), True),
        (complex(1e-9, np.pi), False),
        (complex(0.0, np.pi - 1e-9), False),
        (complex(0.0, 0.0), False),
        (complex(0.0, 3 * np.pi), False),
    ],
)
def test_logarithms_of_negative_determinants_lie_on_both_sides_of_the_cut(found: complex, right: bool) -> None:
    want = logdet(np.diag([1.0 + 0j, -1.0 + 0j]))
    assert isinstance(want, Such)
    eps = np.finfo(np.float64).eps
    claims = want.claims(np.asarray(found))
    near = [abs(complex(one.got) - complex(one.want)) <= eps * one.units * one.scale for one in claims]
    assert all(near) == right


def test_zeros_of_both_signs_are_told_apart() -> None:
    assert digamma(np.array([-0.0, 0.0, 1.0]))[:2].tolist() == [np.inf, -np.inf]
    assert digamma(np.array([[0.0, -0.0]])).tolist() == [[-np.inf, np.inf]]
