"""Every pointwise operator against PyTorch: random layouts, dtypes, forms; exceptions, dtypes, strides and values."""

from __future__ import annotations

import random
import warnings
from typing import Any, NamedTuple

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.operators.rows import Row, rows
from gaugeblock_spec.schema import parse

torch = pytest.importorskip("torch")

SAMPLES = 8
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 3e-6, "complex64": 2e-5, "float64": 1e-11, "complex32": 4e-3}
UNLIKE = {"ldexp.Tensor", "logit", "pow.Scalar", "lcm", "nan_to_num", "digamma", "isinf", "isfinite", "div.Tensor_mode"}
UNLIKE |= {"frexp.Tensor", "complex", "polar", "polygamma", "special_polygamma", "mvlgamma", "special_multigammaln"}
"""Operators where PyTorch rounds in between, takes other strides for constants, or refuses by value."""


OPTIONS = {"alpha": 2, "value": 2, "rounding_mode": "floor", "decimals": 1, "approximate": "tanh"}
"""What keyword-only arguments are given."""


class Pair(NamedTuple):
    peer: Any
    own: Any


def values(rng: random.Random, count: int, dtype: str) -> Any:
    if dtype == "bool":
        return torch.tensor([rng.random() < 0.5 for _ in range(count)])
    if "int" in dtype:
        return torch.tensor([rng.randint(1, 9) for _ in range(count)]).to(getattr(torch, dtype))
    real = torch.tensor([rng.gauss(0, 2) for _ in range(count)], dtype=torch.float64)
    if dtype.startswith("complex"):
        real = torch.complex(real, torch.tensor([rng.gauss(0, 1) for _ in range(count)], dtype=torch.float64))
    return real.to(getattr(torch, dtype))


def strided(rng: random.Random, shape: list[int], dtype: str) -> Pair:
    order = list(range(len(shape)))
    if rng.random() < 0.5:
        rng.shuffle(order)
    strides, step = [0] * len(shape), rng.choice([1, 1, 2])
    for dim in reversed(order):
        strides[dim] = step
        step = step * shape[dim] + rng.choice([0, 0, 0, 1])
    offset = rng.choice([0, 0, 3])
    count = offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if n)
    base = values(rng, max(count, 1), dtype)
    if base.dtype == torch.bfloat16:
        own = gb.from_numpy(base.view(torch.int16).numpy().copy()).view(gb.bfloat16)
    else:
        own = gb.from_numpy(base.numpy().copy())
    return Pair(base.as_strided(shape, strides, offset), own.as_strided(shape, strides, offset))


def draw(rng: random.Random, row: Row) -> tuple[list[Any], dict[str, Any], list[int]]:
    shape = [rng.choice([2, 3, 5, 17]) for _ in range(rng.choice([0, 1, 2, 3]))]
    dtype = rng.choice(row.dtypes)
    args: list[Any] = []
    for argument in parse(row.schema).positional:
        if argument.name == "alpha":
            continue
        own = "bool" if argument.name == "condition" else dtype if rng.random() < 0.6 else rng.choice(row.dtypes)
        if argument.base_type == "Tensor":
            broadcast = [1 if rng.random() < 0.2 else size for size in shape] if args else shape
            args.append(strided(rng, broadcast, own))
        elif argument.base_type == "Scalar":
            args.append(rng.choice([2, 3, 2.5, 1.0]))
        else:
            args.append({"bool": False, "float": 0.25, "int": 2}[argument.base_type])
    options: dict[str, Any] = {}
    for argument in parse(row.schema).keyword_only:
        options[argument.name] = OPTIONS[argument.name]
    return args, options, shape


def outcome(call: Any) -> tuple[Any, BaseException | None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call(), None
    except (RuntimeError, TypeError, NotImplementedError, ValueError, IndexError, OverflowError) as error:
        return None, error


def array(tensor: Any) -> np.ndarray[Any, Any]:
    wider = {"bfloat16": tensor.float, "complex32": tensor.cfloat}
    found: np.ndarray[Any, Any] = wider.get(str(tensor.dtype).partition(".")[2], tensor.detach)().numpy()
    return found


def public(module: Any, base: str) -> Any:
    """``special.i0e`` for "special_i0e"; what PyTorch keeps in torch._C._nn stands in nn.operators."""
    if hasattr(torch._C._nn, base):
        return getattr(torch._C._nn if module is torch else gb.nn.operators, base)
    return getattr(module.special, base[8:]) if base.startswith("special_") else getattr(module, base)


def run(row: Row, form: str, args: list[Any], options: dict[str, Any], out: Pair) -> tuple[Any, Any]:
    peers = [a.peer if isinstance(a, Pair) else a for a in args]
    owns = [a.own if isinstance(a, Pair) else a for a in args]
    if form == "inplace":
        name = row.base + "_"
        if "method" not in row.variants:
            peer, own = public(torch, name), public(gb, name)
            return outcome(lambda: peer(*peers, **options)), outcome(lambda: own(*owns, **options))
        return outcome(lambda: getattr(peers[0], name)(*peers[1:], **options)), outcome(
            lambda: getattr(owns[0], name)(*owns[1:], **options)
        )
    peer, own = public(torch, row.base), public(gb, row.base)
    if form == "out":
        return outcome(lambda: peer(*peers, out=out.peer, **options)), outcome(
            lambda: own(*owns, out=out.own, **options)
        )
    return outcome(lambda: peer(*peers, **options)), outcome(lambda: own(*owns, **options))


@pytest.mark.parametrize("name", [r.name for r in rows().values() if r.family == "pointwise" and r.name not in UNLIKE])
def test_agrees_with_the_peer(name: str) -> None:
    row = rows()[name]
    rng = random.Random(name)
    forms = ["plain", *(["inplace"] if row.inplace else []), *(["out"] if row.out else [])]
    for _ in range(SAMPLES):
        args, options, shape = draw(rng, row)
        form = rng.choice(forms)
        out = strided(rng, shape, rng.choice(row.dtypes))
        kinds = [(str(a.peer.dtype), tuple(a.peer.shape), a.peer.stride()) if isinstance(a, Pair) else a for a in args]
        case = f"{form} {kinds} {options} out {out.own.dtype}"
        (expected, refused), (found, error) = run(row, form, args, options, out)
        if refused is not None or error is not None:
            assert (refused is None) == (error is None), f"{case}: {refused!r} against {error!r}"
            continue
        assert str(expected.dtype)[6:] == found.dtype.name, case
        assert tuple(expected.shape) == found.shape, case
        if 1 not in found.shape:
            assert expected.stride() == found.stride(), case
        tolerance = max([TOLERANCE.get(str(a.peer.dtype)[6:], 1e-11) for a in args if isinstance(a, Pair)] or [0.0])
        tolerance = max(tolerance, TOLERANCE.get(found.dtype.name, 0.0), 3e-6)
        close = np.isclose(array(expected), array(found), rtol=tolerance, atol=tolerance, equal_nan=True)
        assert close.all() or not np.isfinite(array(expected)).all(), f"{case}: {array(expected)} {array(found)}"
