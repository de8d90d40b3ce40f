"""The casting lists of autocast beside PyTorch's, which its dispatcher tells without a GPU."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from gaugeblock.amp.casting_lists import POLICIES
from gaugeblock.dispatch import REGISTRY

torch = pytest.importorskip("torch")
F = torch.nn.functional
FROM_POLICY = {
    "lower": ("float16", "float16", "float16"), "float32": ("float32",) * 3, "dtype": ("float32",) * 3,
    "widest": ("float32", "float16", "float32"),
}  # fmt: skip
"""Policy -> the dtypes of results of two operands in float32, two in float16, and one in each."""
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "mm": lambda x, y: torch.mm(x(3, 3), y(3, 3)), "mv": lambda x, y: torch.mv(x(3, 3), y(3)),
    "addr": lambda x, y: torch.addr(x(3), y(3), y(3)), "linear": lambda x, y: F.linear(x(3), y(3, 3)),
    "einsum": lambda x, y: torch.einsum("ij,jk", x(3, 3), y(3, 3)), "prelu": lambda x, y: torch.prelu(x(3), y(1)),
    "linalg_vecdot": lambda x, y: torch.linalg.vecdot(x(3), y(3)),
    "addcdiv": lambda x, y: torch.addcdiv(x(3), y(3), y(3)), "atan2": lambda x, y: torch.atan2(x(3), y(3)),
    "cross": lambda x, y: torch.cross(x(3), y(3), 0), "dot": lambda x, y: torch.dot(x(3), y(3)),
    "tensordot": lambda x, y: torch.tensordot(x(3, 3), y(3, 3), 1),
    "bilinear": lambda x, y: F.bilinear(x(2, 3), y(2, 3), y(4, 3, 3)), "acos": lambda x, _: torch.acos(x(3)),
    "exp": lambda x, _: torch.exp(x(3)), "sum": lambda x, _: x(3).sum(), "cumsum": lambda x, _: x(3).cumsum(0),
    "softmax.int": lambda x, _: x(3).softmax(0), "prod": lambda x, _: x(3).prod(),
    "layer_norm": lambda x, _: F.layer_norm(x(3, 3), (3,)), "pow.Tensor_Scalar": lambda x, _: x(3) ** 2,
    "mse_loss": lambda x, y: F.mse_loss(x(3), y(3)), "renorm": lambda x, _: torch.renorm(x(3, 3), 2, 0, 1.0),
    "upsample_nearest2d": lambda x, _: F.interpolate(x(1, 1, 2, 2), scale_factor=2),
    "_upsample_nearest_exact2d": lambda x, _: F.interpolate(x(1, 1, 2, 2), scale_factor=2, mode="nearest-exact"),
}  # fmt: skip


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_operators_on_the_lists(device: str) -> None:
    key = f"Autocast{device.upper()}"
    theirs = {one.removeprefix("aten::") for one in torch._C._dispatch_get_registrations_for_dispatch_key(key)}
    assert set(POLICIES[device]) == theirs & set(REGISTRY.operators)


@pytest.fixture
def cuda_autocast() -> Iterator[None]:
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cuda", torch.float16)
    yield
    torch.set_autocast_enabled("cuda", False)


@pytest.mark.parametrize("operator", CALLS)
@pytest.mark.usefixtures("cuda_autocast")
def test_policies_on_cuda(operator: str) -> None:
    """Tensors without data have CUDA's keys on a machine without one."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    def result(first: Any, second: Any) -> str:
        def empty(dtype: Any) -> Callable[..., Any]:
            return lambda *sizes: torch.empty(*sizes, device="cuda", dtype=dtype)

        with FakeTensorMode(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return str(CALLS[operator](empty(first), empty(second)).dtype).removeprefix("torch.")

    single, half = torch.float32, torch.float16
    assert (result(single, single), result(half, half), result(single, half)) == FROM_POLICY[POLICIES["cuda"][operator]]
