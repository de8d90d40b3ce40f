"""Random programs of calls in unusual forms, on which the reference engine must agree with PyTorch at every step.

The forms are sizes as foreign integers, options set to None, deprecated orders of arguments, and attributes of tensors.
The environment variable GAUGEBLOCK_PROGRAMS sets the number of programs (default 10,000).
"""

from __future__ import annotations

import copy
import importlib
import os
import pickle
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")

MODULES = tuple(importlib.import_module(name) for name in ("torch", "gaugeblock"))
PROGRAMS = int(os.environ.get("GAUGEBLOCK_PROGRAMS", "10000"))
LENGTH = 6
BYTES = 24
"""Number of bytes that encode one step."""


class Index:
    """An integer that implements only ``__index__``."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


class Draw:
    """Decisions read from bytes, the same for each engine `module`; 0 when the bytes are used up."""

    def __init__(self, code: bytes, module: Any) -> None:
        self.code = iter(code)
        self.module = module

    def upto(self, most: int) -> int:
        return next(self.code, 0) % (most + 1)

    def one(self, values: Sequence[Any]) -> Any:
        return values[self.upto(len(values) - 1)]

    def dim(self, value: int) -> Any:
        """Return a single integer as one of the classes that PyTorch accepts."""
        made: list[Callable[[int], Any]] = [int, np.int64, np.int32, self.module.tensor, self._short]
        return self.one(made)(value)

    def size(self, value: int, *, first: bool = False) -> Any:
        """Return one of several integers; after the first also as a bool or any object with ``__index__``."""
        if first or self.upto(1):
            return self.dim(value)
        if value in (0, 1) and self.upto(1):
            return bool(value)
        return Index(value) if self.upto(1) else self.module.tensor([value])

    def sizes(self, values: Sequence[int]) -> Any:
        """Return integer arguments for a call: separately, or as one list or tuple."""
        made = [self.size(value, first=not place) for place, value in enumerate(values)]
        form = self.upto(2)
        return tuple(made) if form == 0 and made else ([made] if form == 1 else [tuple(made)])

    def listed(self, values: Sequence[int]) -> Any:
        made = [self.size(value, first=not place) for place, value in enumerate(values)]
        return self.one((list, tuple))(made)

    def none(self, *names: str) -> dict[str, None]:
        """Return some of the options, set to None."""
        return {name: None for name in names if self.upto(1)}

    def _short(self, value: int) -> Any:
        return self.module.tensor(value, dtype=self.module.int16)


def _ordered(draw: Draw, x: Any) -> list[int]:
    dims = list(range(x.dim()))
    return dims[::-1] if draw.upto(1) else dims


def _spread(x: Any) -> list[int]:
    return [2, *x.shape] if x.dim() < 3 else list(x.shape)


Step = Callable[[Any, Any, Draw], Any]
SIZED: dict[str, Step] = {
    "zeros": lambda m, x, d: m.zeros(*d.sizes([d.upto(3), d.upto(2)])),
    "ones": lambda m, x, d: m.ones(*d.sizes([d.upto(3)])),
    "empty": lambda m, x, d: m.empty(*d.sizes([d.upto(3), d.upto(2)])).zero_(),
    "full": lambda m, x, d: m.full(d.listed([d.upto(3), 2]), 1.5),
    "randn": lambda m, x, d: m.randn(*d.sizes([d.upto(3), d.upto(2)])).mul_(0),
    "rand": lambda m, x, d: m.rand(*d.sizes([d.upto(3), d.upto(2)])).mul_(0),
    "randint": lambda m, x, d: m.randint(d.dim(1), d.listed([d.upto(3), 2])),
    "new_zeros": lambda m, x, d: x.new_zeros(*d.sizes([d.upto(3), 2])),
    "new_ones": lambda m, x, d: x.new_ones(*d.sizes([d.upto(3), 2])),
    "new_full": lambda m, x, d: x.new_full(d.listed([d.upto(3)]), 2),
    "eye": lambda m, x, d: m.eye(d.dim(d.upto(3)), d.dim(2)),
    "arange": lambda m, x, d: m.arange(d.dim(d.upto(4))),
    "linspace": lambda m, x, d: m.linspace(0, 1, d.dim(3)),
    "expand": lambda m, x, d: x.expand(*d.sizes(_spread(x))),
    "broadcast_to": lambda m, x, d: m.broadcast_to(x, d.listed(_spread(x))),
    "repeat": lambda m, x, d: x.repeat(*d.sizes([d.upto(2) for _ in _spread(x)])),
    "tile": lambda m, x, d: x.tile(*d.sizes([1 + d.upto(1), 2])),
    "view": lambda m, x, d: x.contiguous().view(*d.sizes([x.numel(), 1])),
    "reshape": lambda m, x, d: x.reshape(*d.sizes([1, x.numel()])),
    "wrong_view": lambda m, x, d: x.view(*d.sizes([x.numel() + 1, 2])),
    "permute": lambda m, x, d: x.permute(*d.sizes(_ordered(d, x))),
    "flip": lambda m, x, d: x.flip(*d.sizes([d.upto(2)])),
    "sum": lambda m, x, d: x.sum(d.listed(_ordered(d, x)[:2])),
    "amax": lambda m, x, d: x.abs().add(1).amax(d.dim(d.upto(2))),
    "mean": lambda m, x, d: x.mean(d.dim(d.upto(2)), keepdim=True),
    "roll": lambda m, x, d: x.roll(d.listed([d.upto(3)]), d.listed([d.upto(2)])),
    "transpose": lambda m, x, d: x.transpose(d.dim(d.upto(2)), d.dim(0)),
    "unsqueeze": lambda m, x, d: x.unsqueeze(d.dim(d.upto(2))),
    "squeeze": lambda m, x, d: x.squeeze(d.dim(d.upto(2))),
    "select": lambda m, x, d: x.select(d.dim(d.upto(2)), d.dim(d.upto(2))),
    "narrow": lambda m, x, d: x.narrow(d.dim(0), d.dim(0), d.dim(d.upto(2))),
    "cumsum": lambda m, x, d: x.cumsum(d.dim(d.upto(2))),
    "softmax": lambda m, x, d: x.softmax(d.dim(d.upto(2))),
    "unfold": lambda m, x, d: x.unfold(d.dim(0), d.dim(1), d.dim(1)),
    "movedim": lambda m, x, d: x.movedim(d.listed([0]), d.listed([d.upto(2)])),
    "flatten": lambda m, x, d: x.flatten(d.dim(0), d.dim(d.upto(2))),
    "split": lambda m, x, d: x.split(d.listed([1, 1])),
    "chunk": lambda m, x, d: x.chunk(d.dim(1 + d.upto(2))),
    "unbind": lambda m, x, d: x.unbind(d.dim(d.upto(2))),
    "topk": lambda m, x, d: x.topk(d.dim(1)).values,
    "diagonal": lambda m, x, d: x.diagonal(d.dim(d.upto(1)), d.dim(0), d.dim(1)),
    "tril": lambda m, x, d: x.tril(d.dim(d.upto(2))),
    "as_strided": lambda m, x, d: x.contiguous().as_strided(d.listed([1, 1]), d.listed([1, 1]), d.dim(0)),
    "pad": lambda m, x, d: m.nn.functional.pad(x, d.listed([1, d.upto(1)])),
    "fft": lambda m, x, d: m.fft.fft(x, d.dim(2), d.dim(d.upto(2))).abs(),
    "size": lambda m, x, d: x.size(d.dim(d.upto(2))),
    "empty_permuted": lambda m, x, d: m.empty_permuted(d.listed([2, 3]), d.listed([1, 0])).zero_(),
}
"""Calls that take integers."""
OPTIONAL: dict[str, Step] = {
    "zeros": lambda m, x, d: m.zeros(2, **d.none("dtype", "layout", "device", "out")),
    "full": lambda m, x, d: m.full((2,), 1, **d.none("dtype", "layout", "device", "out")),
    "arange": lambda m, x, d: m.arange(3, **d.none("dtype", "layout", "device", "out")),
    "eye": lambda m, x, d: m.eye(2, **d.none("dtype", "layout", "device", "out", "m")),
    "zeros_like": lambda m, x, d: m.zeros_like(x, **d.none("dtype", "layout", "device", "memory_format")),
    "new_ones": lambda m, x, d: x.new_ones(2, **d.none("dtype", "layout", "device")),
    "sum": lambda m, x, d: x.sum(**d.none("dim", "dtype")),
    "mean": lambda m, x, d: x.mean(None, **d.none("dtype")),
    "amax": lambda m, x, d: m.amax(x.unsqueeze(0).abs(), **d.none("dim")),
    "amin": lambda m, x, d: x.unsqueeze(0).amin(None, **d.none("keepdim")),
    "argmax": lambda m, x, d: x.argmax(**d.none("dim")),
    "all": lambda m, x, d: m.all(x, **d.none("dim")),
    "std": lambda m, x, d: x.std(**d.none("dim")),
    "prod": lambda m, x, d: x.prod(**d.none("dtype", "dim")),
    "nansum": lambda m, x, d: x.nansum(**d.none("dim", "dtype")),
    "norm": lambda m, x, d: x.norm(**d.none("dim", "dtype")),
    "count_nonzero": lambda m, x, d: x.count_nonzero(**d.none("dim")),
    "cumsum": lambda m, x, d: x.cumsum(0, **d.none("dtype")),
    "softmax": lambda m, x, d: m.softmax(x, 0, **d.none("dtype")),
    "roll": lambda m, x, d: m.roll(x, d.listed([1]), **d.none("dims")),
    "wrong_flip": lambda m, x, d: x.flip(**d.none("dims")),
    "clamp": lambda m, x, d: x.clamp(0, **d.none("max")),
    "clone": lambda m, x, d: x.clone(**d.none("memory_format")),
    "to": lambda m, x, d: x.to(**d.none("dtype", "device")),
    "float": lambda m, x, d: x.float(**d.none("memory_format")),
    "div": lambda m, x, d: m.div(x, 2, **d.none("rounding_mode", "out")),
    "add": lambda m, x, d: m.add(x, 2, **d.none("out", "alpha")),
    "nan_to_num": lambda m, x, d: x.nan_to_num(**d.none("nan", "posinf", "neginf")),
    "repeat_interleave": lambda m, x, d: x.repeat_interleave(2, **d.none("dim", "output_size")),
    "quantile": lambda m, x, d: x.quantile(0.5, **d.none("dim")),
    "unique": lambda m, x, d: x.unique(**d.none("dim")),
    "diff": lambda m, x, d: m.diff(x, **d.none("prepend", "append")),
    "swapdims": lambda m, x, d: m.swapdims(x, dim0=d.dim(0), dim1=d.dim(d.upto(1))),
    "bincount": lambda m, x, d: m.bincount(m.tensor([1, 2]), **d.none("weights")),
    "fft": lambda m, x, d: m.fft.fft(x, **d.none("n", "norm")).abs(),
    "vector_norm": lambda m, x, d: m.linalg.vector_norm(x, **d.none("dim", "dtype")),
    "avg_pool1d": lambda m, x, d: m.nn.functional.avg_pool1d(m.ones(2, 4), 2, **d.none("stride", "ceil_mode")),
    "avg_pool2d": lambda m, x, d: m.nn.functional.avg_pool2d(m.ones(1, 4, 4), 2, **d.none("stride")),
    "linear": lambda m, x, d: m.nn.functional.linear(m.ones(2, 3), m.ones(1, 3), **d.none("bias")),
    "layer_norm": lambda m, x, d: m.nn.functional.layer_norm(m.ones(2, 3), (3,), **d.none("weight", "bias")),
    "conv1d": lambda m, x, d: m.nn.functional.conv1d(m.ones(1, 1, 4), m.ones(1, 1, 2), **d.none("bias")),
    "split_copy": lambda m, x, d: m.split_copy(m.ones(2, 3), 1, **d.none("out")),
    "tensor": lambda m, x, d: m.tensor([1.0], **d.none("dtype", "device")),
    "as_tensor": lambda m, x, d: m.as_tensor([1.0], **d.none("dtype", "device")),
}
"""Calls with options set to None."""


def _matrix(m: Any, d: Draw) -> Any:
    return m.full((2, 2), 1.0 + d.upto(2))


DEPRECATED: dict[str, Step] = {
    "add": lambda m, x, d: m.add(x, d.upto(3), x),
    "sub": lambda m, x, d: x.sub(d.upto(3), x),
    "add_": lambda m, x, d: x.clone().add_(0.5, x),
    "addcmul": lambda m, x, d: m.addcmul(x, d.upto(3), x, x),
    "addcdiv": lambda m, x, d: x.addcdiv(d.upto(3), x, m.ones_like(x)),
    "addmm": lambda m, x, d: m.addmm(2, _matrix(m, d), d.upto(3), _matrix(m, d), _matrix(m, d)),
    "addmm method": lambda m, x, d: _matrix(m, d).addmm(d.upto(3), _matrix(m, d), _matrix(m, d)),
    "addmv": lambda m, x, d: m.addmv(2, _matrix(m, d)[0], _matrix(m, d), m.ones(2)),
    "addr": lambda m, x, d: _matrix(m, d).addr_(d.upto(3), 2, m.ones(2), m.ones(2)),
    "addbmm": lambda m, x, d: _matrix(m, d).addbmm_(1, m.ones(3, 2, 2), m.ones(3, 2, 2)),
    "baddbmm": lambda m, x, d: m.baddbmm(2, m.ones(3, 2, 2), d.upto(3), m.ones(3, 2, 2), m.ones(3, 2, 2)),
    "no form": lambda m, x, d: m.add(x, x, x, x),
}
"""Calls with deprecated orders of arguments."""
NAMES = ("foo", "bar")


def _copied(m: Any, x: Any, d: Draw) -> Any:
    copied: Any = d.one((copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))))(x)
    return copied, dict(vars(copied)), copied.requires_grad


def _derived(m: Any, x: Any, d: Draw) -> Any:
    change = d.one(("detach", "clone", "contiguous", "exp", "t_", "add_", "requires_grad_", "view_as", "data"))
    if change == "data":
        return dict(vars(x.data))
    made = x.view_as(x) if change == "view_as" else getattr(x, change)(*((1,) if change == "add_" else ()))
    return dict(vars(made))


def _component(m: Any, x: Any, d: Draw) -> Any:
    made = m.zeros(2, 2, dtype=m.complex64)
    if d.upto(1):
        made = made.conj()
    value = d.one((2, 2.5, True, None, "a", [1.0], m.ones(2), m.ones(3), m.tensor(3), np.float64(2)))
    setattr(made, d.one(("real", "imag")), value)
    return made.resolve_conj(), made._version


def _deleted(m: Any, x: Any, d: Draw) -> Any:
    leaf = m.ones(2, requires_grad=bool(d.upto(1)))
    if d.upto(1):
        leaf.grad = m.ones(2)
    delattr(leaf, d.one(("grad", "data", "foo", "is_leaf", "shape")))
    return leaf.grad


ATTRIBUTES: dict[str, Step] = {
    "set": lambda m, x, d: setattr(x, d.one(NAMES), d.upto(9)),
    "set metadata": lambda m, x, d: setattr(x, d.one(("shape", "dtype", "ndim", "is_leaf", "device")), 1),
    "set flag": lambda m, x, d: setattr(m.ones(1), "requires_grad", d.one((True, False, 1, None))),
    "get": lambda m, x, d: getattr(x, d.one(NAMES)),
    "delete": lambda m, x, d: delattr(x, d.one(NAMES)),
    "vars": lambda m, x, d: dict(vars(x)),
    "replace": lambda m, x, d: setattr(x, "__dict__", d.one(({"foo": 1}, {}, 3))),
    "copied": _copied, "derived": _derived, "component": _component, "deleted": _deleted,
}  # fmt: skip
"""Operations on attributes of tensors."""
TABLES = (SIZED, OPTIONAL, DEPRECATED, ATTRIBUTES)
STEPS = tuple((f"{place}: {name}", step) for place, table in enumerate(TABLES) for name, step in table.items())


def seen(value: Any) -> Any:
    """Return the properties of a result on which both engines must agree."""
    if isinstance(value, (tuple, list)):
        return [seen(one) for one in value]
    if isinstance(value, MODULES[0].Tensor | MODULES[1].Tensor):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tuple(value.shape), str(value.dtype).rpartition(".")[2], value.detach().resolve_conj().tolist()
    return value


def same(one: Any, other: Any) -> bool:
    """Return whether two observations agree, floats up to a few roundings."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        return bool(np.isclose(one, other, rtol=1e-5, atol=1e-6, equal_nan=True))
    return type(one) is type(other) and bool(one == other)


def run(module: Any, step: Step, x: Any, code: bytes) -> Any:
    """Run a step and return its observed result, or the name of its error's class."""
    try:
        return seen(step(module, x, Draw(code, module)))
    except Exception as error:
        return type(error).__name__


def check(code: bytes) -> None:
    """Run the program of `code` on both engines and fail at the first difference, showing the program so far."""
    shape = [(), (3,), (2, 3), (2, 1, 3)][code[0] % 4]
    elements = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) - 1
    values = [module.tensor(elements.tolist()) for module in MODULES]
    said: list[str] = []
    for place in range(LENGTH):
        piece = code[1 + place * BYTES : 1 + (place + 1) * BYTES]
        table = TABLES[piece[0] % len(TABLES)]
        name, step = list(table.items())[piece[1] % len(table)]
        said.append(name)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = [run(module, step, x, piece[2:]) for module, x in zip(MODULES, values, strict=True)]
        assert same(*found), f"{shape}: {'; '.join(said)} {piece[2:].hex()}\ntorch: {found[0]}\nreference: {found[1]}"


@settings(
    max_examples=PROGRAMS, deadline=None, database=None, derandomize=True, phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
)  # fmt: skip
@given(code=st.binary(min_size=1 + BYTES * LENGTH, max_size=1 + BYTES * LENGTH))
def test_calls_in_unusual_forms_agree_with_torch(code: bytes) -> None:
    check(code)


def test_every_step_is_run_with_success() -> None:
    rng = np.random.default_rng(0)
    left = {name for name, _ in STEPS if not name.endswith(("no form", "set metadata"))}
    for name, step in STEPS:
        for _ in range(60):
            x = MODULES[0].tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
            x.foo = x.bar = 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if not isinstance(run(MODULES[0], step, x, rng.bytes(BYTES)), str):
                    left.discard(name)
                    break
    assert left == {"0: wrong_view", "1: wrong_flip"}
