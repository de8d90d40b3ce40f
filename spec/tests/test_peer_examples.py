"""The literal examples of the chapters hold on PyTorch."""

from __future__ import annotations

import warnings

import pytest
from gaugeblock_spec import examples, requirements

torch = pytest.importorskip("torch")

DEVIATIONS = {
    "layouts/blocked-convolution-reads-its-weights-by-their-strides", "layouts/blocked-tensors-have-no-strides",
    "layouts/compressed-results-keep-the-invariants", "layouts/compressed-sums-are-exact",
    "layouts/scales-are-positive-and-finite", "layouts/sparse-gradients-accumulate",
}  # fmt: skip
"""Requirements that PyTorch breaks in their own example."""
SHOWN = [requirement for requirement in requirements.load().values() if requirement.examples]


@pytest.mark.parametrize("requirement", SHOWN, ids=lambda requirement: requirement.id)
def test_example_holds_on_torch(requirement: requirements.Requirement) -> None:
    if any(name.startswith("alloc.") for name in requirement.capabilities) and not torch.cuda.is_available():
        pytest.skip("PyTorch's caching allocator needs a GPU")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = examples.run(requirement, torch)
    if report and requirement.id in DEVIATIONS:
        pytest.xfail("PyTorch 2.13 does otherwise: reports/deviations")
    assert not report, report
