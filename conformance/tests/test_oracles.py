"""What oracles compute where rounding twice would show."""

from __future__ import annotations

import numpy as np
from gaugeblock_conformance.oracles.sums import once_rounded


def test_products_of_single_elements_are_rounded_once() -> None:
    a, b = (np.array([x], np.longdouble) for x in (1.0000001192092896, 0.9999999999999999))
    assert float(once_rounded(np.multiply.outer, a, b)[0, 0]) == 1.0000001192092896 * 0.9999999999999999
    assert float((a * b)[0]) != 1.0000001192092896 * 0.9999999999999999
