"""gradcheck, gradgradcheck and forward mode say of right and of wrong functions what torch's own checks say."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance import discovery
from gaugeblock_conformance.gradcheck import GradcheckError, gradcheck, gradgradcheck

torch = pytest.importorskip("torch")
Function = Callable[..., Any]


@pytest.fixture(scope="module")
def backend() -> Any:
    return discovery.load(discovery.resolve("torch:cpu"))


def _real(*sizes: int, seed: int = 0) -> Any:
    drawn = np.random.default_rng(seed).uniform(0.3, 2.0, sizes)
    return torch.from_numpy(np.asarray(drawn)).requires_grad_()


def _complex(*sizes: int, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    return torch.from_numpy(random.uniform(0.3, 2.0, sizes) - 1j * random.uniform(0.3, 2.0, sizes)).requires_grad_()


def _broken(
    backward: Function, forward: Function = lambda x: x * x, jvp: Function | None = None, kept: bool = True
) -> Function:
    """A function whose gradient is ``backward(x, gradient)`` and whose tangent is ``jvp(x, tangent)``."""

    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return forward(x)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.set_materialize_grads(kept)
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return backward(*ctx.saved_tensors, *gradients)

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return (jvp or (lambda x, t: 2 * x * t))(*ctx.saved_tensors, tangent)

    return Broken.apply


def _random(x: Any, g: Any) -> Any:
    return 2 * x * g * (1 + 1e-9 * torch.rand_like(x))


def _refuses_undefined(x: Any, g: Any) -> Any:
    if g is None:
        raise RuntimeError("no gradient")
    return 2 * x * g


def _one_entry(x: Any, g: Any) -> Any:
    wrong = torch.ones_like(x)
    wrong.view(-1)[-1] = 1.5
    return 2 * x * g * wrong


CASES: list[tuple[str, Function, list[Any]]] = [
    ("sin", torch.sin, [_real(2, 3)]),
    ("no dim", torch.exp, [_real()]),
    ("empty", torch.exp, [torch.zeros(0, 2, dtype=torch.float64, requires_grad=True)]),
    ("product", torch.matmul, [_real(2, 3), _real(3, 2, seed=1)]),
    ("one of two", torch.mul, [_real(2, 3), _real(2, 3, seed=1).detach()]),
    ("not contiguous", torch.tanh, [_real(3, 2).detach().t().requires_grad_()]),
    ("number beside", lambda x, k: x.sum(k), [_real(2, 3), 1]),
    ("several results", lambda x: torch.sort(x, 1), [_real(2, 3)]),
    ("unused", lambda x, y: x * 2, [_real(2), _real(2, seed=1)]),
    ("non-leaf", lambda x: x.sin(), [_real(2) * 2]),
    ("complex", lambda z: z * z + z.conj(), [_complex(2)]),
    ("complex to real", torch.abs, [_complex(2, 2)]),
    ("real to complex", lambda x: torch.complex(x, x * x), [_real(3)]),
    ("both", lambda x, z: x * z, [_real(2), _complex(2)]),
    ("sign", _broken(lambda x, g: -2 * x * g), [_real(2)]),
    ("factor", _broken(lambda x, g: 2.01 * x * g), [_real(2)]),
    ("nearly", _broken(lambda x, g: 2.000002 * x * g), [_real(2)]),
    ("one entry", _broken(_one_entry), [_real(2, 3)]),
    ("not deterministic", _broken(_random), [_real(2)]),
    ("no conjugate", _broken(lambda z, g: 2 * z * g), [_complex(2)]),
    ("conjugate", _broken(lambda z, g: 2 * z.conj() * g), [_complex(2)]),
    ("undefined", _broken(_refuses_undefined, kept=False), [_real(2)]),
    ("undefined handled", _broken(lambda x, g: None if g is None else 2 * x * g, kept=False), [_real(2)]),
    ("not zero", _broken(lambda x, g: 2 * x * g + (g == 0)), [_real(1)]),
    ("nothing", _broken(lambda x, g: None), [_real(2)]),
    ("wrong tangent", _broken(lambda x, g: 2 * x * g, jvp=lambda x, t: -2 * x * t), [_real(2)]),
    ("not a number", _broken(lambda x, g: g * float("nan")), [_real(2)]),
    ("constant", lambda x: x.detach() * 0 + 1, [_real(2)]),
    ("cut", lambda x: x.detach() * 2, [_real(2)]),
]
NAMES = [name for name, _, _ in CASES]


def _both(mine: Function, theirs: Function) -> tuple[Any, Any]:
    return _verdict(mine), _verdict(theirs)


def _verdict(check: Function) -> Any:
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return check()
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("mode", ["slow", "fast", "forward", "fast forward", "dtypes", "batched"])
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_first_derivatives(backend: Any, case: tuple[str, Function, list[Any]], mode: str) -> None:
    _, function, inputs = case
    options = {
        "fast_mode": "fast" in mode, "check_forward_ad": "forward" in mode, "check_grad_dtypes": mode == "dtypes",
        "check_batched_grad": mode == "batched",
    }  # fmt: skip
    mine, theirs = _both(
        lambda: gradcheck(backend, function, inputs, raise_exception=False, **options),
        lambda: torch.autograd.gradcheck(function, inputs, raise_exception=False, **options),
    )
    assert mine == theirs


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("case", [c for c in CASES if c[0] not in ("constant", "cut", "nothing")], ids=lambda c: c[0])
def test_second_derivatives(backend: Any, case: tuple[str, Function, list[Any]], fast: bool) -> None:
    _, function, inputs = case
    mine, theirs = _both(
        lambda: gradgradcheck(backend, function, inputs, raise_exception=False, fast_mode=fast),
        lambda: torch.autograd.gradgradcheck(function, inputs, raise_exception=False, fast_mode=fast),
    )
    assert mine == theirs


@pytest.mark.parametrize("fast", [False, True])
def test_error_names_the_entry(backend: Any, fast: bool) -> None:
    x = _real(2, 3)
    with pytest.raises(GradcheckError) as caught:
        gradcheck(backend, _broken(_one_entry), [x], fast_mode=fast)
    entry = caught.value.entry
    assert entry is not None
    assert (entry.output, entry.input, entry.output_index, entry.input_index) == (0, 0, (1, 2), (1, 2))
    assert entry.analytical == pytest.approx(1.5 * entry.numerical)
    assert "output 0[1, 2] by input 0[1, 2]: numerical" in str(caught.value)


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        ([lambda: _real(2).detach()], ValueError),
        ([lambda: _real(1).detach().expand(3).requires_grad_()], RuntimeError),
    ],
)
def test_refused_inputs(backend: Any, inputs: list[Function], error: type[Exception]) -> None:
    made = [make() for make in inputs]
    with pytest.raises(error):
        torch.autograd.gradcheck(torch.exp, made)
    with pytest.raises(error, match="gradcheck: input"):
        gradcheck(backend, torch.exp, made)


def test_single_precision_is_warned_of(backend: Any) -> None:
    x = _real(2).detach().float().requires_grad_()
    with pytest.warns(UserWarning, match="double precision"):
        gradcheck(backend, torch.exp, [x], raise_exception=False)
