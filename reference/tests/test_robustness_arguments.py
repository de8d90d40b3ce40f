"""Arguments that make no sense, to every public function and method: a clean exception, and no memory left behind."""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings
from collections.abc import Callable
from random import Random
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.calls.overloads import functions
from gaugeblock.memory import host_allocator

CLEAN = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, OverflowError, BufferError, MemoryError)
LEFT_OUT = {"set_default_dtype", "set_num_threads", "set_printoptions", "use_deterministic_algorithms", "from_blob",
            "load", "save", "seed", "manual_seed", "set_rng_state"}  # fmt: skip
INTERNAL = {"__class__", "__init_subclass__", "__subclasshook__", "__new__", "__setattr__", "__delattr__", "__init__",
            "__getattribute__", "__deepcopy__", "__reduce__", "__getstate__"}  # fmt: skip
CALLS = 2000


def nested(depth: int) -> list[Any]:
    result: list[Any] = []
    for _ in range(depth):
        result = [result]
    return result


def shrunk() -> gb.Tensor:
    x = gb.ones(3)
    x.untyped_storage().resize_(0)
    return x


VALUES: list[Callable[[], Any]] = [
    *(lambda value=value: value for value in (
        None, True, -1, 0, 2, 2**50, 2**63 - 1, 2**63, -(2**63), 2**70, float("nan"), float("inf"), 1.5, 1j, "x",
        "meta", (), [1, 2], (-1,), (2**40, 2**40), [float("nan")], slice(None), b"ab", gb.float16,
        gb.device("cpu"),
    )),
    object,
    lambda: nested(100),
    lambda: gb.ones(3),
    lambda: gb.zeros(0),
    lambda: gb.ones(()),
    lambda: gb.ones(2, 3, device="meta"),
    lambda: gb.ones(2, 2, dtype=gb.complex64).conj(),
    lambda: gb.arange(6).view(2, 3).t(),
    lambda: gb.ones(3, dtype=gb.bool),
    lambda: np.ones(3),
    lambda: np.array("s"),
    shrunk,
]  # fmt: skip
KEYWORDS = ("dim", "keepdim", "out", "dtype", "device", "alpha", "size", "memory_format", "value", "generator")


def callables() -> dict[str, Any]:
    named = {name: getattr(gb, name) for name in {*functions(), *gb.__all__} - LEFT_OUT}
    methods = {f"Tensor.{name}": getattr(gb.Tensor, name) for name in dir(gb.Tensor) if name not in INTERNAL}
    return {name: value for name, value in sorted({**named, **methods}.items()) if callable(value)}


def run(seed: int) -> list[str]:
    """The calls that ended in anything but a result or a clean exception."""
    random = Random(seed)
    targets = callables()
    names = list(targets)
    strange = []
    for _ in range(CALLS):
        name = random.choice(names)
        places = [random.randrange(len(VALUES)) for _ in range(random.randrange(4))]
        options = {random.choice(KEYWORDS): random.randrange(len(VALUES)) for _ in range(random.random() < 0.2)}
        args = [VALUES[place]() for place in places]
        if name.startswith("Tensor."):
            args.insert(0, random.choice([gb.ones(3), gb.zeros(2, 3).t(), gb.ones(()), gb.ones(2, device="meta")]))
        try:
            targets[name](*args, **{key: VALUES[place]() for key, place in options.items()})
        except CLEAN:
            pass
        except Exception as error:
            strange.append(f"{name}{places}{options}: {type(error).__name__}: {error}")
    return strange


def main(seed: int) -> None:
    warnings.simplefilter("ignore")
    run(seed)
    gc.collect()
    before = host_allocator.statistics().allocated_bytes
    strange = run(seed)
    gc.collect()
    left = host_allocator.statistics().allocated_bytes - before
    sys.exit("\n".join(strange) if strange else f"{left} bytes left" if left > 1 << 16 else 0)


def test_every_call_ends_cleanly() -> None:
    for seed in (1, 2):
        child = subprocess.run(
            [sys.executable, __file__, str(seed)], capture_output=True, text=True, timeout=240, check=False
        )
        assert child.returncode == 0, child.stderr[-3000:]


if __name__ == "__main__":
    main(int(sys.argv[1]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda F, x: F.l1_loss(x, 3), r"l1_loss\(\): argument 'target' must be Tensor, not int"),
        (lambda F, x: F.mse_loss(None, x), r"mse_loss\(\): argument 'input' must be Tensor, not NoneType"),
        (lambda F, x: F.embedding_bag([], b"x"), r"embedding_bag\(\): argument 'input' must be Tensor, not list"),
        (lambda F, x: F.interpolate(1.5), r"interpolate\(\): argument 'input' must be Tensor, not float"),
        (lambda F, x: F.softmax(2), r"softmax\(\): argument 'input' must be Tensor, not int"),
        (lambda F, x: F.relu(7, True), r"relu_\(\): argument '\w+' .*must be Tensor, not int"),
        (lambda F, x: F.l1_loss(x), r"l1_loss\(\) missing 1 required"),
    ],
)
def test_functions_of_networks_name_what_is_no_tensor(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(gb.nn.functional, gb.ones(2, 2))


def _loop() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize(
    "call",
    [
        lambda loop: gb.tensor(loop),
        lambda loop: gb.ones(2)[loop],
        lambda loop: gb.ones(2).__setitem__(loop, 1),
        lambda loop: gb.ones(2, requires_grad=True).add(loop),
        lambda loop: gb.stack(loop),
        lambda loop: gb.zeros(loop),
        lambda loop: gb.einsum("a", loop),
        lambda loop: gb.tensordot(gb.ones(2), gb.ones(2), loop),
        lambda loop: gb.autograd.grad(loop, loop),
        lambda loop: gb.stft(gb.ones(3), loop),
        lambda loop: gb.nn.functional.pad(gb.ones(2), loop),
    ],
)
def test_a_list_that_contains_itself_is_refused(call: Any) -> None:
    loop = _loop()
    with pytest.raises((TypeError, ValueError, IndexError)):
        call(loop)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: gb.add(gb.ones(2), gb.ones(3)), "add"),
        (lambda: gb.multinomial(gb.ones(2, 2, 2), 1), "multinomial"),
        (lambda: gb.ones(2, dtype=gb.int64).exp_(), "exp_"),
        (lambda: gb.diff(gb.ones(2), -1), "diff"),
        (lambda: gb.mm(gb.ones(2), gb.ones(2)), "mm"),
        (lambda: gb.ones(3) in gb.ones(2), "__contains__"),
    ],
)
def test_errors_of_kernels_name_the_operator(call: Any, name: str) -> None:
    with pytest.raises(RuntimeError, match=name):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: gb.nn.functional.lp_pool1d(2, 2**62, 1), r"lp_pool1d\(\): argument 'input' must be Tensor"),
        (lambda x: gb.nn.functional.lp_pool2d(x, "a", 1), r"lp_pool2d\(\): argument 'norm_type' must be float"),
        (lambda x: x.mvlgamma(2**62), "mvlgamma: argument 'p' must be at most"),
        (lambda x: gb.heaviside(x, [0], other=x), r"^heaviside\(\)"),
        (lambda x: gb.pow(x, x, other=2), r"^pow\(\)"),
    ],
)
def test_calls_that_would_not_end_or_name_helpers(call: Any, message: str) -> None:
    with pytest.raises((TypeError, RuntimeError), match=message):
        call(gb.ones(3))


def test_a_watched_tensor_is_detached_in_place_by_the_function() -> None:
    x = gb.ones(2, requires_grad=True) * 2
    assert gb.detach_(x) is x
    assert not x.requires_grad
