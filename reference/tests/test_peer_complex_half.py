"""complex32 on the engine and on PyTorch: the same calls work, with the same dtypes and values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock_conformance.case import TensorCase
from gaugeblock_spec import operators

from .peer_calls import calls

torch = pytest.importorskip("torch")

CALLS = 6
RANDOM = frozenset(
    "rand_like randn_like normal_ normal uniform_ empty_like new_empty new_empty_strided resize_as_".split()
)
DROPPING = frozenset("dropout alpha_dropout feature_dropout feature_alpha_dropout native_dropout".split())
COMPOSED = frozenset(
    """renorm pixel_shuffle pixel_unshuffle channel_shuffle native_channel_shuffle detach_
    norm.ScalarOpt_dim_dtype""".split()
)
"""Rows that the engine composes of operators that take complex32, and PyTorch refuses."""
REFUSED = frozenset(
    """lu_unpack cumulative_trapezoid.dx inner linalg_matrix_power matrix_power index_reduce cumsum cumprod flip fliplr
    flipud rot90 vander""".split()
)
"""Rows that PyTorch refuses as well, but for sizes for which there is nothing to compute."""
ROUNDED = {"float16": 2e-3, "complex32": 2e-3, "complex128": 1e-14}
"""Dtype of a result -> relative tolerance: PyTorch also rounds sums and products on the way to half."""

EXPRESSIONS = """
promote_types(complex32, {0})
result_type(ones(2, dtype={0}), ones(2, dtype=complex32))
result_type(ones((), dtype={0}), ones(2, dtype=complex32))
result_type(ones(2, dtype={0}), ones((), dtype=complex32))
can_cast(complex32, {0})
can_cast({0}, complex32)
tensor([3 + 2j, 0j, 1j], dtype=complex32).to({0})
tensor([1, 0, 1], dtype={0}).to(complex32)
empty(2, dtype=complex32).copy_(ones(2, dtype={0}))
tensor([[1 + 2j, 3 - 4.5j]] * 4, dtype=complex32).view({0})
"""
TEXTS = """
tensor([1 + 2j, 3 - 4.5j], dtype=complex32)
tensor([-3 + 4j, -11.25 - 27j, 0j], dtype=complex32)
tensor([complex(inf, nan), 1e-3j], dtype=complex32)
tensor([-3 + 4j, -11.25 - 27j], dtype=complex64)
tensor([1e5 + 4j, -11.25 - 27j], dtype=complex128)
ones(2, dtype=float16) + 1j
tensor(1 - 2j, dtype=complex32).conj()
zeros(0, dtype=complex32)
"""
DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex32 complex64 complex128".split()


def outcome(call: Callable[[], Any]) -> Any:
    """The result, or the class of the error: NotImplementedError is a RuntimeError on both."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except (RuntimeError, TypeError, IndexError, ValueError) as error:
            return type(error)


def evaluated(module: Any, text: str) -> Any:
    space = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    return outcome(lambda: eval(text, space | {"inf": float("inf"), "nan": float("nan")}))


def shown(value: Any) -> Any:
    """A result in terms that both engines share."""
    if isinstance(value, (torch.Tensor, gb.Tensor)):
        return str(value.dtype).partition(".")[2], tuple(value.shape), value.stride(), repr(value.tolist())
    return str(value).removeprefix("torch.").removeprefix("gaugeblock.")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", EXPRESSIONS.strip().splitlines())
def test_dtypes_meet_as_on_the_peer(text: str, dtype: str) -> None:
    text = text.format(dtype)
    assert shown(evaluated(gb, text)) == shown(evaluated(torch, text))


@pytest.mark.parametrize("text", TEXTS.strip().splitlines())
def test_tensors_are_printed_as_on_the_peer(text: str) -> None:
    own, peer = repr(evaluated(gb, text)), repr(evaluated(torch, text))
    assert own.replace("gaugeblock.", "torch.") == peer


def peer_tensor(case: TensorCase) -> Any:
    """The tensor of a case on PyTorch, complex32 for complex64."""
    if case.dtype == "bfloat16":
        storage = torch.from_numpy(case.contents.astype(np.float32)).bfloat16()
    else:
        storage = torch.from_numpy(np.nan_to_num(case.contents) if case.dtype == "complex64" else case.contents.copy())
    storage = storage.chalf() if case.dtype == "complex64" else storage
    return storage.as_strided(case.sizes, case.strides, case.offset)


def own_tensor(case: TensorCase) -> Any:
    """The same tensor on the engine."""
    peer = peer_tensor(case)
    whole = peer.as_strided((peer.untyped_storage().nbytes() // peer.element_size(),), (1,), 0)
    bits = {2: torch.int16, 4: torch.int32}.get(peer.element_size())
    name = str(peer.dtype).removeprefix("torch.")
    plain = name not in ("bfloat16", "complex32")
    storage = gb.from_numpy(whole.numpy()) if plain else gb.from_numpy(whole.view(bits).numpy()).view(getattr(gb, name))
    return storage.as_strided(case.sizes, case.strides, case.offset)


def parts(result: Any) -> list[Any]:
    return [one for part in result for one in parts(part)] if isinstance(result, (list, tuple)) else [result]


def numbers(tensor: Any) -> np.ndarray[Any, Any]:
    """The elements, of complex numbers in double precision."""
    wide = tensor.cdouble() if tensor.is_complex() else tensor.float() if "bfloat16" in str(tensor.dtype) else tensor
    found: np.ndarray[Any, Any] = wide.resolve_conj().resolve_neg().detach().numpy()
    return found


def check_result(own: Any, peer: Any, case: str, *, valued: bool) -> None:
    if not isinstance(peer, torch.Tensor):
        assert own == peer, case
        return
    name = str(peer.dtype).removeprefix("torch.")
    assert (own.dtype.name, tuple(own.shape)) == (name, tuple(peer.shape)), case
    if not valued:
        return
    with np.errstate(all="ignore"):
        mine, theirs = numbers(own), numbers(peer)
        size = np.abs(theirs[np.isfinite(theirs)]).max(initial=1.0)
        tolerance = ROUNDED.get(name, 0.0)
        agree = np.isclose(mine, theirs, rtol=tolerance, atol=tolerance * size, equal_nan=True)
    assert agree[np.isfinite(theirs)].all(), case


def named(value: Any, module: Any) -> Any:
    """An argument; a dtype as that of a module, complex32 for complex64."""
    if type(value).__name__ != "DType":
        return value
    return getattr(module, "complex32" if str(value) == "complex64" else str(value))


def called(module: Any, call: Any, build: Callable[[TensorCase], Any]) -> Any:
    base, _, overload = call.operator.partition(".")
    operator = getattr(getattr(module.ops.aten, base), overload or "default")
    args, kwargs = call.bind(build)
    return outcome(
        lambda: operator(*[named(one, module) for one in args], **{k: named(v, module) for k, v in kwargs.items()})
    )


ROWS = [
    row.name for row in operators.load().values()
    if "complex64" in row.dtypes and row.name not in COMPOSED and not row.name.startswith("conv")
]  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_rows_take_it_or_refuse_it_as_the_peer(name: str) -> None:
    base = name.partition(".")[0]
    for call in calls(name, "complex64", CALLS):
        halves = [case for case in call.tensors if case.dtype == "complex64"]
        if not halves or not all(case.numel for case in call.tensors):
            continue
        peer, own = called(torch, call, peer_tensor), called(gb, call, own_tensor)
        if isinstance(peer, type) or isinstance(own, type):
            assert isinstance(own, type) and (isinstance(peer, type) or name in REFUSED), f"{call}: {own} {peer}"
            continue
        for mine, theirs in zip(parts(own), parts(peer), strict=True):
            check_result(mine, theirs, repr(call), valued=base not in RANDOM | DROPPING)


def test_sums_and_products_have_the_bits_of_the_peer() -> None:
    rng = np.random.default_rng(5)
    bits = [rng.integers(0, 1 << 32, 20000, dtype=np.uint32).view(np.int32) for _ in range(2)]
    peers = [torch.from_numpy(one).view(torch.complex32) for one in bits]
    owns = [gb.from_numpy(one).view(gb.complex32) for one in bits]
    for name in ("sub", "mul", "eq", "neg", "isnan", "conj_physical"):
        count = 2 if name in ("sub", "mul", "eq") else 1
        theirs, mine = (getattr(m, name)(*x[:count]) for m, x in ((torch, peers), (gb, owns)))
        a, b = numbers(mine), numbers(theirs)
        finite = np.isfinite(numbers(peers[0])) & np.isfinite(numbers(peers[1]))
        assert np.array_equal(a[finite], b[finite], equal_nan=True), name
