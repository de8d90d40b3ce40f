"""Linear algebra, transforms, statistics and placed writes on random strided tensors, on the engine and on PyTorch."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest

torch = pytest.importorskip("torch")
ROUNDS = 12
RAISED = (IndexError, RuntimeError, ValueError, TypeError, NotImplementedError)
FULL = ["float32", "float64", "complex64", "complex128"]
REAL = ["float32", "float64"]
NUMERIC = ["uint8", "int32", "int64", *FULL]
TOLERANCE = {"float32": 2e-4, "complex64": 2e-4, "float64": 1e-9, "complex128": 1e-9}


class Draw:
    """Random tensors of the peer, often permuted, stepped or expanded, and numbers."""

    def __init__(self, seed: int, dtypes: list[str]) -> None:
        self.random = random.Random(seed)
        torch.manual_seed(seed)
        self.dtype = self.random.choice(dtypes)
        self.batch = self.random.choice([(), (2,), (0,), (3, 1)])
        self.n, self.m, self.k = (self.random.choice([1, 2, 3, 5]) for _ in range(3))

    def tensor(self, *sizes: int, dtype: str | None = None) -> Any:
        kind = getattr(torch, dtype or self.dtype)
        layout = self.random.randrange(4)
        shape = [size * (2 if layout == 1 and d == 0 else 1) for d, size in enumerate(sizes)]
        drawn = (torch.randn(shape) * 3).to(kind) if not kind.is_complex else torch.randn(shape, dtype=kind)
        if layout == 1 and sizes:
            return drawn[::2]
        if layout == 2 and len(sizes) > 1:
            return drawn.transpose(-1, -2).contiguous().transpose(-1, -2)
        return drawn[:1].expand(sizes) if layout == 3 and sizes and sizes[0] else drawn

    def matrix(self, rows: int, columns: int) -> Any:
        return self.tensor(*self.batch, rows, columns)

    def regular(self, n: int) -> Any:
        return self.matrix(n, n) + 8 * torch.eye(n, dtype=getattr(torch, self.dtype))

    def positive(self, n: int) -> Any:
        half = self.matrix(n, n)
        return half @ half.mH + torch.eye(n, dtype=getattr(torch, self.dtype))

    def places(self, size: int, *sizes: int) -> Any:
        return torch.randint(0, max(size, 1), sizes)


Case = tuple[str, list[str], Callable[[Draw], tuple[list[Any], dict[str, Any]]]]


def case(name: str, dtypes: list[str], arguments: Callable[[Draw], list[Any]], **options: Any) -> Case:
    return name, dtypes, lambda d: (arguments(d), options)


CASES: list[Case] = [
    case("linalg.det", FULL, lambda d: [d.matrix(d.n, d.n)]),
    case("linalg.slogdet", FULL, lambda d: [d.regular(d.n)]),
    case("linalg.inv", FULL, lambda d: [d.regular(d.n)]),
    case("linalg.solve", FULL, lambda d: [d.regular(d.n), d.matrix(d.n, d.k)]),
    case("linalg.solve_triangular", FULL, lambda d: [d.regular(d.n), d.matrix(d.n, d.k)], upper=False),
    case("linalg.cholesky", FULL, lambda d: [d.positive(d.n)]),
    case("linalg.lu", FULL, lambda d: [d.matrix(d.n, d.m)]),
    case("linalg.qr", FULL, lambda d: [d.matrix(d.n, d.m)]),
    case("linalg.svdvals", FULL, lambda d: [d.matrix(d.n, d.m)]),
    case("linalg.eigvalsh", FULL, lambda d: [d.positive(d.n)]),
    case("linalg.pinv", FULL, lambda d: [d.matrix(d.n, d.m)]),
    case("linalg.matrix_rank", FULL, lambda d: [d.matrix(d.n, d.m)]),
    case("linalg.matrix_norm", FULL, lambda d: [d.matrix(d.n, d.m), d.random.choice([1, -1, 2, "nuc", "fro"])]),
    case("linalg.cond", FULL, lambda d: [d.regular(d.n), d.random.choice([None, 1, 2, "fro"])]),
    case("linalg.matrix_power", NUMERIC, lambda d: [d.matrix(d.n, d.n), d.random.randint(0, 5)]),
    case("matrix_exp", FULL, lambda d: [d.matrix(d.n, d.n) / 4]),
    case("linalg.cross", NUMERIC, lambda d: [d.tensor(d.n, 3), d.tensor(d.n, 3)]),
    case("kron", NUMERIC, lambda d: [d.tensor(d.n, d.m), d.tensor(d.k)]),
    case("tensordot", FULL, lambda d: [d.tensor(d.n, d.m, d.k), d.tensor(d.k, d.m), ([1, 2], [1, 0])]),
    case("einsum", FULL, lambda d: ["ij,kj,k->i", d.tensor(d.n, d.m), d.tensor(d.k, d.m), d.tensor(d.k)]),
    case("addr", NUMERIC, lambda d: [d.tensor(d.n, d.m), d.tensor(d.n), d.tensor(d.m)]),
    case("trapezoid", FULL, lambda d: [d.tensor(d.n, d.m), d.tensor(d.m)]),
    case("fft.fft", NUMERIC, lambda d: [d.tensor(d.n, d.m), d.random.choice([None, 4]), d.random.choice([0, 1])]),
    case("fft.irfft", FULL, lambda d: [d.tensor(d.n, 4)]),
    case("fft.rfft2", REAL, lambda d: [d.tensor(d.n, d.m, d.k)]),
    case("fft.fftshift", NUMERIC, lambda d: [d.tensor(d.n, d.m)]),
    case("quantile", REAL, lambda d: [d.tensor(d.n, d.m), torch.rand(3, dtype=getattr(torch, d.dtype)), 1]),
    case("histc", REAL, lambda d: [d.tensor(d.n, d.m), d.k, -2, 2]),
    case("cov", FULL, lambda d: [d.tensor(d.n, d.m)]),
    case("renorm", FULL, lambda d: [d.tensor(d.n, d.m, d.k), 2, 1, 1.5]),
    case("gradient", REAL, lambda d: [d.tensor(d.n, d.m)]),
    case("diag_embed", NUMERIC, lambda d: [d.tensor(d.n, d.m), d.random.randint(-2, 2)]),
    case("slice_scatter", NUMERIC, lambda d: [d.tensor(d.n, d.m), d.tensor(d.n, 1), 1, 0, 1]),
    case("scatter_reduce", NUMERIC, lambda d: [d.tensor(d.n, d.m), 0, d.places(d.n, 2, d.m), d.tensor(2, d.m), "sum"]),
    case("index_reduce", NUMERIC, lambda d: [d.tensor(d.n, d.m), 0, d.places(d.n, d.k), d.tensor(d.k, d.m), "prod"]),
    case("unique_consecutive", ["int64"], lambda d: [d.places(3, d.n, d.m)]),
    case("combinations", NUMERIC, lambda d: [d.tensor(d.n), 2, True]),
    case("block_diag", NUMERIC, lambda d: [d.tensor(d.n, d.m), d.tensor(d.k)]),
    case("dist", REAL, lambda d: [d.tensor(d.n, d.m), d.tensor(d.m)]),
    case("float_power", NUMERIC, lambda d: [d.tensor(d.n, d.m).abs(), d.random.choice([2, 0.5])]),
]  # fmt: skip


def find(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module


def own(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return type(value)(own(part) for part in value) if isinstance(value, (list, tuple)) else value
    plain = value.resolve_conj()
    count = plain.untyped_storage().nbytes() // plain.element_size()
    flat = gb.from_numpy(plain.as_strided((count,), (1,), 0).numpy().copy())
    return flat.as_strided(tuple(plain.shape), plain.stride(), plain.storage_offset())


def outcome(call: Callable[[], Any]) -> tuple[list[Any], BaseException | None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = call()
    except RAISED as error:
        return [], error
    return list(found) if isinstance(found, (tuple, list)) else [found], None


@pytest.mark.parametrize(("name", "dtypes", "arguments"), CASES, ids=[name for name, _, _ in CASES])
def test_agrees_with_the_peer(name: str, dtypes: list[str], arguments: Any) -> None:
    for seed in range(ROUNDS):
        values, options = arguments(Draw(seed, dtypes))
        shown = [(tuple(v.shape), v.stride(), v.dtype) if isinstance(v, torch.Tensor) else v for v in values]
        given = own(values)
        peer, refused = outcome(lambda values=values, options=options: find(torch, name)(*values, **options))
        mine, error = outcome(lambda given=given, options=options: find(gb, name)(*given, **options))
        assert (refused is None) == (error is None), f"{seed} {shown}: {refused!r} against {error!r}"
        for expected, found in zip(peer, mine, strict=True):
            assert str(expected.dtype)[6:] == found.dtype.name, f"{seed} {shown}"
            assert tuple(expected.shape) == found.shape, f"{seed} {shown}"
            tolerance = TOLERANCE.get(found.dtype.name, 0.0)
            scale = float(expected.abs().max()) if tolerance and expected.numel() else 1.0
            scale = scale if np.isfinite(scale) else 1.0
            close = np.allclose(
                found.numpy(), expected.resolve_conj().numpy(), tolerance, tolerance * scale, equal_nan=True
            )
            assert close, f"{seed} {shown}: {expected} {found}"
