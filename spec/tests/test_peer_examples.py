"""The literal examples of the chapters hold on PyTorch."""

from __future__ import annotations

import warnings

import pytest
from gaugeblock_spec import examples, requirements

torch = pytest.importorskip("torch")

SHOWN = [requirement for requirement in requirements.load().values() if requirement.examples]


@pytest.mark.parametrize("requirement", SHOWN, ids=lambda requirement: requirement.id)
def test_example_holds_on_torch(requirement: requirements.Requirement) -> None:
    if any(name.startswith("alloc.") for name in requirement.capabilities) and not torch.cuda.is_available():
        pytest.skip("PyTorch's caching allocator needs a GPU")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = examples.run(requirement, torch)
    assert not report, report
