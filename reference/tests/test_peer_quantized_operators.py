"""Operators of quantized tensors beside PyTorch's: integers, quantizers, indices and refusals."""

from __future__ import annotations

import random
import struct
import warnings
from types import ModuleType
from typing import Any

import gaugeblock as gb
import pytest

torch = pytest.importorskip("torch")

MATRIX = """
q.mean() q.mean(1) q.mean((0,1),keepdim=True) q.std() q.std(1) L.std(q,dim=1,correction=0) q.relu() q.relu_()
L.cat([q,q]) L.cat([q,p],1) L.stack([q,q]) L.hstack([q,q]) q.sort() q.sort(0,descending=True) q.sort(dim=1,stable=True)
q.topk(1) q.topk(2,0,largest=False) q.max() q.min() q.max(1) q.min(0) q.clamp(0,1) q.clamp(min=0.3) q.clamp(max=0.3)
F.hardtanh(q) F.hardtanh(q,-2,0.6) F.leaky_relu(q)
F.leaky_relu(q,0.3) F.relu6(q) F.threshold(q,0.5,1.) F.gelu(q) q.index_select(1,i) q.flip([0]) q.flip([0,1])
q.repeat(2,1) q.tile(2) q.masked_fill(m,0.7) q.masked_fill(m,L.tensor(0.7)) q.masked_fill_(m,-1.) q[m] q[i] q[:,i]
q[i,0] q==q q<p q>=0.5 q!=0.5 p>q q<=p L.eq(q,x) F.embedding(i,q) F.pad(q,(1,2)) F.pad(q,(1,0,0,1),value=1.3)
F.pad(q,(1,1),mode='reflect') L.full_like(q,0.4) L.ones_like(q) L.ones_like(c) L.full_like(c,0.4) c==c c.relu()
c.index_select(0,i) q+q q*2 q.exp() q.abs() L.cat([q,x]) L.cat([q,d]) written(q,m,0.3) written(q,i,1.) written(q,0,1.)
written(q,i,x[0]) written(q,i,q[0]) written(q,(0,i),x[0,0])
""".split()
IMAGE = """
F.avg_pool2d(q,2) F.avg_pool2d(q,3,stride=1) F.max_pool2d(q,2) F.max_pool2d(q,3,2,1) F.max_pool1d(q[0],2)
F.avg_pool1d(q[0],2) F.adaptive_avg_pool2d(q,1) F.adaptive_avg_pool2d(q,(2,3)) F.pad(q,(1,1,2,0))
F.pad(q,(1,1,1,2),mode='reflect')
F.pixel_shuffle(q,2) q.mean((2,3)) q.relu() L.cat([q,q],1) q.transpose(1,2).relu()
""".split()
UNIT = "q.sigmoid() q.tanh() F.hardsigmoid(q) q[:,1:].sigmoid()".split()
"""Those that bring a quantizer; PyTorch's for qint32 saturates."""
UNSIGNED = "F.interpolate(q,scale_factor=2) F.interpolate(q,size=(3,5)) F.channel_shuffle(q,2)".split()
"""Those that PyTorch has for quint8 alone."""
DTYPES = ("quint8", "qint8", "qint32")


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def operands(lib: Any, dtype: str, seed: int, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Return the names that the expressions use, the same numbers for each library."""
    drawn = random.Random(seed)
    count = 1
    for size in sizes:
        count *= size
    numbers = [drawn.choice([drawn.uniform(-4, 9), drawn.randrange(-8, 16) / 4]) for _ in range(count)]
    scale, zero_point = drawn.choice([0.25, 0.1, 0.05, 0.7]), 0 if dtype == "qint32" else drawn.choice([0, 3, 60])
    x = lib.tensor(numbers).view(sizes)
    kind, other = getattr(lib, dtype), getattr(lib, "qint8" if dtype != "qint8" else "quint8")

    def written(q: Any, index: Any, value: Any) -> Any:
        q[index] = value
        return q

    return {
        "L": lib, "F": lib.nn.functional, "x": x, "q": lib.quantize_per_tensor(x, scale, zero_point, kind),
        "p": lib.quantize_per_tensor(-x, 0.5, 4, kind), "d": lib.quantize_per_tensor(x, 0.5, 4, other),
        "c": lib.quantize_per_channel(
            x, lib.tensor([0.5, 0.25, 0.1, 1.0][: sizes[0]]), lib.tensor([0, 1, 0, 2][: sizes[0]]), 0, kind
        ),
        "i": lib.tensor([1, 0]), "m": x > 1, "written": written,
    }  # fmt: skip


def told(lib: ModuleType, result: Any) -> Any:
    if isinstance(result, tuple):
        return [told(lib, one) for one in result]
    if not isinstance(result, lib.Tensor):
        return result
    size = tuple(result.shape)
    if not result.is_quantized:
        return str(result.dtype).split(".")[-1], size, result.tolist()
    if "channel" in str(result.qscheme()):
        quantizer: Any = result.q_per_channel_scales().tolist(), result.q_per_channel_axis()
    else:
        quantizer = struct.pack("f", result.q_scale()), result.q_zero_point()
    return str(result.dtype).split(".")[-1], size, result.int_repr().tolist(), quantizer


def outcome(lib: ModuleType, expression: str, dtype: str, seed: int, sizes: tuple[int, ...]) -> tuple[str, Any]:
    names = operands(lib, dtype, seed, sizes)
    try:
        return "gives", told(lib, eval(expression, names))
    except (RuntimeError, TypeError, ValueError, IndexError) as error:  # NotImplementedError is a RuntimeError
        return "refuses", type(error).__name__


def check(expression: str, dtype: str, sizes: tuple[int, ...]) -> None:
    for seed in range(6):
        found, wanted = (outcome(lib, expression, dtype, seed, sizes) for lib in (gb, torch))
        assert found[0] == wanted[0] and (found == wanted or found[0] == "refuses"), seed


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("expression", MATRIX)
def test_matrices(expression: str, dtype: str) -> None:
    check(expression, dtype, (2, 3))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("expression", IMAGE)
def test_images(expression: str, dtype: str) -> None:
    check(expression, dtype, (1, 4, 4, 6))


@pytest.mark.parametrize("dtype", ["quint8", "qint8"])
@pytest.mark.parametrize("expression", UNIT)
def test_results_in_the_unit_range(expression: str, dtype: str) -> None:
    check(expression, dtype, (2, 3))


@pytest.mark.parametrize("expression", UNSIGNED)
def test_what_pytorch_has_for_quint8(expression: str) -> None:
    check(expression, "quint8", (1, 4, 4, 6))
