"""The gradients of every operator against PyTorch's, of the same calls: ties, zeros, empty tensors, mixed dtypes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.backends.torch import TorchBackend
from gaugeblock_conformance.case import TensorCase
from gaugeblock_conformance.operators.calls import OperatorCall
from gaugeblock_conformance.operators.drawing import drawable
from gaugeblock_conformance.values import COMPLEX, HALVES
from gaugeblock_spec import derivatives, operators

from .peer_calls import calls, elements

torch = pytest.importorskip("torch")

CALLS = 16
CUBIC = 2
SMOOTH = ("linalg", "spectral")
"""Families whose operands are not made of few numbers, and whose results are not compared where they are not finite."""
WITHOUT_TIES = (
    "gradient", "quantile", "nanquantile", "scatter_reduce", "index_reduce", "kthvalue", "float_power.Tensor_Tensor",
)  # fmt: skip
"""Not smooth at ties or 0, or gradients go by the order of equal elements, or (in PyTorch) to some not included."""
TOLERANCES = {"float64": 1e-6, "complex128": 1e-6, "float32": 1e-3, "complex64": 1e-3}
CONSTANT_IN_TORCH = (
    "special_modified_bessel", "special_scaled_modified_bessel", "special_bessel", "special_spherical_bessel",
    "special_airy", "special_chebyshev", "special_shifted_chebyshev", "special_hermite", "special_laguerre",
    "special_legendre", "vander", "svd", "native_group_norm",
    "_fused_rms_norm",
)  # fmt: skip
"""Functions whose results require grad for one engine alone: derivatives unknown to PyTorch, constants, statistics."""
UNLIKE = {
    "ldexp.Tensor": "2 ** int8 overflows in PyTorch's gradient",
    "polar": "PyTorch's gradient by an absolute value of 0 is 0",
    "pdist": "PyTorch's gradient crashes without rows",
    "frexp.Tensor": "PyTorch's gradient overflows for small numbers",
    "linalg_householder_product": "PyTorch divides by the determinant of reflections, which may be 0",
    "orgqr": "PyTorch divides by the determinant of reflections, which may be 0",
    "ormqr": "PyTorch divides by the determinant of reflections, which may be 0",
    **dict.fromkeys(
        ("_ctc_loss", "_ctc_loss.Tensor", "ctc_loss.IntList", "ctc_loss.Tensor"),
        "PyTorch's gradient is right behind log_softmax alone",
    ),
    "_upsample_bilinear2d_aa": "PyTorch's gradient disregards given scales",
    "embedding_bag": "PyTorch's gradient leaves rows behind the last offset undefined",
    "embedding_bag.padding_idx": "PyTorch's gradient leaves rows behind the last offset undefined",
    "cosine_similarity": "PyTorch's gradient knows nothing of the limit eps",
    "poisson_nll_loss": "PyTorch's gradient by small targets is nan",
    "narrow_copy": "PyTorch's gradient is 0 where the start counts from the end",
    "block_diag": "PyTorch's gradient knows no row of a vector without elements",
    "cholesky_inverse": "PyTorch's gradient reads the triangle that is not used",
    "cholesky_solve": "PyTorch's gradient reads the triangle that is not used",
}
"""Rows whose gradients differ at single points, and why."""
LEFT_OUT: dict[str, Callable[[OperatorCall], bool]] = {
    # PyTorch does not conjugate the factor, and add does.
    "index_add": lambda call: isinstance(call.arguments.get("alpha"), complex),
    # PyTorch's kernels divide by the elements of the first operand alone; its functions broadcast before that.
    **dict.fromkeys(
        ("mse_loss", "smooth_l1_loss", "huber_loss"), lambda call: len({case.sizes for case in call.tensors}) > 1
    ),
    # PyTorch's gradient by the target does not know that the logarithms end at -100.
    "binary_cross_entropy": lambda call: bool(np.isin(call.tensors[0].array, (0, 1)).any()),
    # PyTorch's gradient takes int64 alone.
    "index_reduce": lambda call: call.tensors[1].dtype == "int32",
    # PyTorch follows the imaginary part of gradients of the factor's diagonal, along which no Hermitian matrix goes.
    **dict.fromkeys(
        ("cholesky", "linalg_cholesky", "linalg_cholesky_ex"), lambda call: call.tensors[0].dtype in COMPLEX
    ),
    # Of equal elements any may be the one.
    **dict.fromkeys(
        ("nanquantile", "nanquantile.scalar"),
        lambda call: len(np.unique(call.tensors[0].array)) < call.tensors[0].numel,
    ),
    # PyTorch's gradient by a product of fewer places than the source has broadcasts to the places that are not used.
    "scatter_reduce.two": lambda call: (
        call.arguments["reduce"] == "prod" and call.tensors[1].sizes != call.tensors[2].sizes
    ),
    # PyTorch's gradient disregards given scales.
    "_upsample_bilinear2d_aa.vec": lambda call: call.arguments.get("scale_factors") is not None,
    # PyTorch's gradient of complex64 by the largest absolute value is nan.
    "renorm": lambda call: call.tensors[0].dtype == "complex64" and call.arguments["p"] == math.inf,
    # PyTorch's exponentials of half floats, which its gradient takes, come out of memory that was never written.
    **dict.fromkeys(("linalg_matrix_exp", "matrix_exp"), lambda call: call.tensors[0].dtype in HALVES),
    # Places between half floats are rounded before their weights are taken: both engines are far from the true slope.
    "grid_sampler": lambda call: call.arguments["interpolation_mode"] == CUBIC and call.tensors[1].dtype in HALVES,
    # PyTorch's gradient by a complex exponent of 0 is nan where the power is 0.
    "float_power.Scalar": lambda call: call.arguments["self"] == 0,
    # PyTorch records nothing where nothing is chosen.
    "combinations": lambda call: call.arguments.get("r") == 0,
}
"""Rows of which some calls differ."""
OURS, THEIRS = ReferenceBackend(), TorchBackend()
ENGINES = ((THEIRS, torch), (OURS, gb))
Array = Any


class Run:
    """A call on one engine: its results, and the tensors that require grad by the cases that they were made of."""

    def __init__(self, backend: Any, module: Any, call: OperatorCall, arrays: dict[int, Array]) -> None:
        self.backend, self.module = backend, module
        self.leaves: dict[int, Any] = {}
        written = call.operator.partition(".")[0].endswith("_")

        def build(case: TensorCase) -> Any:
            if id(case) not in self.leaves:
                made = backend.from_numpy(np.array(arrays[id(case)]))
                self.leaves[id(case)] = made.requires_grad_(_inexact(made))
            leaf = self.leaves[id(case)]
            return leaf * 1 if written and leaf.requires_grad else leaf

        positional, keywords = call.bind(build)
        results = backend.call(call.operator, *positional, **keywords)
        self.results = list(results) if isinstance(results, tuple | list) else [results]
        self.leaves = {key: leaf for key, leaf in self.leaves.items() if leaf.requires_grad}

    @property
    def followed(self) -> list[bool]:
        return [bool(result.requires_grad) for result in self.results]

    def arrays(self) -> list[Array]:
        return [self.backend.to_numpy(result.detach()) for result in self.results]

    def gradients(self, grads: list[Array]) -> dict[int, Array]:
        """By the leaves; zeros where there is none."""
        results = [result for result in self.results if result.requires_grad]
        seeds = [self.backend.from_numpy(grad) for grad in grads]
        found = self.module.autograd.grad(results, list(self.leaves.values()), seeds, allow_unused=True)
        pairs = zip(self.leaves.items(), found, strict=True)
        return {
            key: np.zeros_like(self.backend.to_numpy(leaf.detach())) if grad is None else self._values(grad)
            for (key, leaf), grad in pairs
        }

    def _values(self, grad: Any) -> Array:
        plain: Array = self.backend.to_numpy((grad + 0).resolve_conj())
        return plain


def _inexact(tensor: Any) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())


def _wide(array: Array) -> Array:
    return array if array.dtype.kind in "cbiu" else array.astype(np.float64)


def _close(ours: Array, theirs: Array, tolerance: float) -> bool:
    ours, theirs = _wide(ours), _wide(theirs)
    if ours.shape != theirs.shape:
        return False
    scale = float(np.max(np.abs(theirs), initial=0, where=np.isfinite(theirs)))
    with np.errstate(all="ignore"):
        return bool(np.allclose(ours, theirs, rtol=tolerance, atol=tolerance * max(scale, 1e-3) / 10, equal_nan=True))


def _tolerance(arrays: list[Array]) -> float:
    names = [str(array.dtype) for array in arrays if array.dtype.kind not in "biu"]
    return max((TOLERANCES.get(name, 0.1) for name in names), default=1e-6)


def compare(call: OperatorCall, rng: np.random.Generator, ties: bool) -> None:
    """AssertionError where our gradients differ from PyTorch's, if it has any and its results are the same."""
    row = operators.load()[call.operator]
    arrays = {
        id(case): elements(case, rng, row, name, ties)
        for name, value in call.arguments.items()
        for case in (value if isinstance(value, list) else [value])
        if isinstance(case, TensorCase)
    }
    if row.family in SMOOTH and not all(array.size for array in arrays.values()):
        return
    try:
        theirs = Run(*ENGINES[0], call, arrays)
        values = theirs.arrays()
    except (RuntimeError, IndexError, ValueError, TypeError):
        return
    if row.family in SMOOTH and not all(np.isfinite(_wide(array)).all() for array in values):
        return
    try:
        ours = Run(*ENGINES[1], call, arrays)
    except RuntimeError:
        with gb.no_grad(), pytest.raises(RuntimeError):
            Run(*ENGINES[1], call, arrays)
        return
    tolerance = _tolerance([*values, *arrays.values()])
    if not all(_close(a, b, tolerance) for a, b in zip(ours.arrays(), values, strict=True)):
        return
    grads = [_grad(array, rng) for array, followed in zip(values, theirs.followed, strict=True) if followed]
    try:
        expected = theirs.gradients(grads) if grads else {}
    except (RuntimeError, TypeError):
        return
    if call.operator.startswith(CONSTANT_IN_TORCH):
        return
    assert ours.followed == theirs.followed, call
    found = ours.gradients(grads) if grads else {}
    for key, grad in expected.items():
        assert found[key].shape == grad.shape and found[key].dtype == grad.dtype, call
        message = f"{found[key]}\nexpected\n{grad}\nof {list(arrays.values())}\ngrads {grads}\n{call}"
        assert _close(found[key], grad, tolerance), message


def _grad(array: Array, rng: np.random.Generator) -> Array:
    grad = rng.normal(size=array.shape)
    return np.asarray(grad + 1j * rng.normal(size=grad.shape) if array.dtype.kind == "c" else grad).astype(array.dtype)


CASES = [
    pytest.param(name, dtype, id=f"{entry.file[:-5]}-{name}-{dtype or 'mixed'}")
    for file in derivatives.table_files()
    for name, entry in derivatives.entries(file).items()
    if drawable(name) and name not in UNLIKE
    for dtype in ("float64", "complex128", None)
    if dtype in (None, *operators.load()[name].dtypes)
]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_gradients_agree(name: str, dtype: str | None) -> None:
    rng = np.random.default_rng(7)
    smooth = operators.load()[name].family in SMOOTH or name.startswith(WITHOUT_TIES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = [call for call in calls(name, dtype, CALLS) if name not in LEFT_OUT or not LEFT_OUT[name](call)]
        for number, call in enumerate(kept):
            compare(call, rng, ties=number % 2 == 1 and not smooth)
