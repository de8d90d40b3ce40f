"""What the results of every operator share with its operands, and what a write to them does, beside PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.backends.torch import TorchBackend
from gaugeblock_conformance.operators.calls import OperatorCall
from gaugeblock_conformance.operators.drawing import drawable
from gaugeblock_spec import operators

from .peer_calls import calls, elements

torch = pytest.importorskip("torch")

CALLS = 6
ENGINES = ((TorchBackend(), torch), (ReferenceBackend(), gb))
UNLIKE = {
    "embedding_renorm_": "PyTorch's has no derivative, and no one asks for that of a table that is renormed",
    "bernoulli_.Tensor": "integers take history in PyTorch",
    "addmv": "PyTorch resizes nothing to the sizes of what is added, with a warning",
    "embedding_bag": "PyTorch's offsets of no bag have an element",
    "embedding_bag.padding_idx": "PyTorch's offsets of no bag have an element",
}
"""Rows whose results differ, and why."""


def told(engine: tuple[Any, Any], call: OperatorCall, arrays: dict[int, Any], *, recording: bool) -> list[Any] | None:
    """Of each result: operands that it is or shares elements with, whether it may be written to, what that counts;
    at last the gradients of the sum of operands and results. None of a call that is refused."""
    backend, module = engine
    leaves: dict[int, Any] = {}
    operands: dict[int, Any] = {}

    def build(case: Any) -> Any:
        if id(case) not in operands:
            made = backend.from_numpy(np.array(arrays[id(case)]))
            if recording and (made.is_floating_point() or made.is_complex()):
                leaves[id(case)] = made.requires_grad_()
                made = made * 1
            operands[id(case)] = made
        return operands[id(case)]

    positional, keywords = call.bind(build)
    try:
        found = backend.call(call.operator, *positional, **keywords)
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
        return None
    results = [one for one in (found if isinstance(found, tuple | list) else [found]) if isinstance(one, module.Tensor)]
    parts = [_written(one, list(operands.values())) for one in results if one.numel()]
    if any(part is not None for part in parts) and leaves:
        parts.append(_gradients([*operands.values(), *results], list(leaves.values())))
    return parts


def _written(result: Any, operands: list[Any]) -> Any:
    shared = []
    for place, operand in enumerate(operands):
        if result is operand:
            shared.append((place, "itself"))
        elif result.untyped_storage().data_ptr() == operand.untyped_storage().data_ptr():
            shared.append((place, result.data_ptr() - operand.data_ptr(), *result.stride()))
    if not shared:
        return None
    refusal = ""
    try:
        result.mul_(3)
    except RuntimeError:
        refusal = "refused"
    return shared, refusal, result._version, [operand._version for operand in operands], result.requires_grad


def _gradients(terms: list[Any], leaves: list[Any]) -> Any:
    squares = [(term * term.conj()).real.sum() for term in terms if term.requires_grad]
    if not squares:
        return "no gradient"
    try:
        sum(squares).backward()
    except (RuntimeError, NotImplementedError):
        return "no gradient"
    return [None if leaf.grad is None else np.round(_values(leaf.grad), 6).tolist() for leaf in leaves]


def _values(grad: Any) -> Any:
    wide = grad.cdouble() if grad.is_complex() else grad.double()
    return (wide + 0).resolve_conj().numpy() + 0.0


@pytest.mark.parametrize("name", [name for name in operators.load() if drawable(name) and name not in UNLIKE])
def test_writes_to_results_agree(name: str) -> None:
    row, rng = operators.load()[name], np.random.default_rng(3)
    for dtype in ("float64", "complex128", "int64"):
        if dtype not in row.dtypes:
            continue
        for call in calls(name, dtype, CALLS):
            wanted = {id(case): key for key, case in call.arguments.items()}
            arrays = {id(case): elements(case, rng, row, wanted.get(id(case), ""), ties=False) for case in call.tensors}
            for recording in (True, False):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    theirs, ours = (told(engine, call, arrays, recording=recording) for engine in ENGINES)
                if ours is not None and theirs is not None:
                    assert repr(ours) == repr(theirs), f"{call}"
