"""Calls with out= of tensors that require a gradient are refused, unless the operator has no derivative."""

from __future__ import annotations

import re
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_spec import operators

from .peer_calls import calls, elements
from .test_operators_out import NAMES

torch = pytest.importorskip("torch")
DERIVED = re.compile("special_.*(bessel|airy|polynomial)(?!.*x_scalar)")
"""Operators that have a derivative here and none in PyTorch, which records some calls that are refused here."""
LOST = ("fft_ihfftn",)
"""Operators of which PyTorch makes some calls that lose a gradient: over one dim."""
REFUSED = "don't support automatic differentiation"


def outcome(package: Any, backend: Any, name: str, call: Any, arrays: dict[int, Any]) -> str | None:
    """Return "refused", "made" if no result requires a gradient, or "recorded"; None for another error."""

    def given(case: Any) -> Any:
        made = backend.from_numpy(np.array(arrays[id(case)]))
        return made.requires_grad_() if made.dtype.is_floating_point or made.dtype.is_complex else made

    positional, keywords = call.bind(given)
    try:
        with package.no_grad():
            result = backend.call(name, *positional, **keywords)
        parts = result if isinstance(result, tuple) else (result,)
        outs = tuple([package.empty_strided(tuple(one.shape), one.stride(), dtype=one.dtype) for one in parts])
        made = backend.call(name, *positional, **keywords, out=outs if isinstance(result, tuple) else outs[0])
    except (RuntimeError, TypeError, IndexError, ValueError, NotImplementedError) as error:
        return "refused" if REFUSED in str(error) else None
    parts = made if isinstance(made, tuple) else (made,)
    return "recorded" if any(one.requires_grad for one in parts) else "made"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_calls_with_out_are_refused_as_by_the_peer(name: str) -> None:
    from gaugeblock_conformance.backends.torch import TorchBackend

    row, rng = operators.load()[name], np.random.default_rng(3)
    for call in calls(name, "float64", 2) if "float64" in row.dtypes else ():
        arrays = {id(case): elements(case, rng, row, "", ties=False) for case in call.tensors}
        mine = outcome(gb, ReferenceBackend(), name, call, arrays)
        theirs = outcome(torch, TorchBackend(), name, call, arrays)
        if mine is not None and theirs is not None:
            lost = theirs != "made" or DERIVED.match(name) is not None or name in LOST
            assert mine == ("refused" if lost and name != "detach_copy" else "made")
