"""Gradients of views, indexed reads and writes of parts against PyTorch's, for all strides and conjugated tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest

torch = pytest.importorskip("torch")

Function = Callable[[Any, Any], Any]


def index(lib: Any, *values: int) -> Any:
    return lib.tensor(values, dtype=lib.int64)


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "row-major": lambda x: x * 1,
    "transposed": lambda x: (x * 1).transpose(0, 1),
    "stepped": lambda x: (x * 1)[:, ::2],
    "repeated": lambda x: (x * 1)[:1].expand(5, 6),
    "conjugated": lambda x: (x * 1).conj(),
    "conjugated part": lambda x: (x * 1).t().conj()[1:],
}
FUNCTIONS: dict[str, Function] = {
    "select": lambda lib, x: x.select(1, -2),
    "slice": lambda lib, x: x[1:-1, ::2],
    "long slice": lambda lib, x: x[:, -100:100:3],
    "no elements": lambda lib, x: x[3:1],
    "narrow": lambda lib, x: x.narrow(-1, 1, 2),
    "diagonal": lambda lib, x: x.diagonal(1),
    "upright diagonal": lambda lib, x: x.diagonal(-1, 1, 0),
    "overlapping windows": lambda lib, x: x.unfold(0, 3, 1),
    "windows with gaps": lambda lib, x: x.unfold(1, 1, 2),
    "permute": lambda lib, x: x.unsqueeze(0).permute(2, 0, 1),
    "movedim": lambda lib, x: x.unsqueeze(0).movedim((0, 1), (2, 0)),
    "expand": lambda lib, x: x.unsqueeze(1).expand(-1, 4, -1),
    "squeeze": lambda lib, x: x[:, :1].squeeze(1),
    "unflatten": lambda lib, x: x[:2].reshape(-1).unflatten(0, (2, -1)),
    "split": lambda lib, x: lib.cat(x.split(2, 1)[::-1], 1),
    "one of a split": lambda lib, x: x.split(2)[1],
    "unbind": lambda lib, x: x.unbind(1)[0] * 2,
    "unequal parts": lambda lib, x: lib.tensor_split(x, (1, 2), 1)[1],
    "parts that overlap": lambda lib, x: lib.cat(lib.tensor_split(x, (2, 1), 0)),
    "index with repeats": lambda lib, x: x[index(lib, 0, 0, -1, 1)],
    "index behind": lambda lib, x: x[:, index(lib, 1, 1, 0)],
    "two indices": lambda lib, x: x[index(lib, 0, 2, 0), index(lib, 1, -1, 1)],
    "index of two dims": lambda lib, x: x[index(lib, 0, 1, 1, 2).reshape(2, 2)],
    "mask": lambda lib, x: x[lib.tensor([True, False, True] + [False] * (x.shape[0] - 3))],
    "index and slice": lambda lib, x: x[index(lib, 1, 1), 1:],
    "take": lambda lib, x: x.take(index(lib, 0, -1, 0)),
    "gather": lambda lib, x: x.gather(0, index(lib, 0, 1, 1, 1).reshape(2, 2)),
    "take_along_dim": lambda lib, x: lib.take_along_dim(x, index(lib, 0, -1).reshape(2, 1), 0),
    "repeat": lambda lib, x: x.repeat(2, 1, 3),
    "repeat_interleave": lambda lib, x: x.repeat_interleave(index(lib, *range(x.shape[0])), 0),
    "roll": lambda lib, x: x.roll((1, -2), (0, 1)),
    "rot90": lambda lib, x: lib.rot90(x, 3),
    "diff": lambda lib, x: lib.diff(x, 2, 0, prepend=x[:1]),
    "masked_fill": lambda lib, x: x.masked_fill(lib.eye(*x.shape, dtype=lib.bool), 2.0),
    "select_scatter": lambda lib, x: lib.select_scatter(x, x[0] * 2, 0, 1),
    "slice_scatter": lambda lib, x: lib.slice_scatter(x, x[:, :1] * 2, 1, 1, 2),
    "index_put": lambda lib, x: x.index_put((index(lib, 0, 2),), x[:2] * 2),
    "index_add": lambda lib, x: x.index_add(0, index(lib, 1, 1), x[:2], alpha=3),
    "index_copy": lambda lib, x: x.index_copy(1, index(lib, 0), x[:, 1:2] * 2),
    "scatter": lambda lib, x: x.scatter(0, index(lib, 0, 1).reshape(1, 2), x[:1, :2] * 2),
    "zeros around": lambda lib, x: lib.nn.functional.pad(x, (1, -1, 2, 0)),
    "reflected": lambda lib, x: lib.nn.functional.pad(x.unsqueeze(0), (1, 2), "reflect"),
    "replicated": lambda lib, x: lib.nn.functional.pad(x.unsqueeze(0), (3, -1), "replicate"),
    "circular": lambda lib, x: lib.nn.functional.pad(x.unsqueeze(0), (2, 1), "circular"),
}
REAL_IN_TORCH = ("select_scatter", "slice_scatter")
"""What PyTorch differentiates for real numbers alone."""


def gradients(lib: Any, array: Any, layout: str, function: Function, *, twice: bool) -> list[Any]:
    """The result, and the gradient of a sum of it, or of a square of that gradient."""
    leaf = lib.from_numpy(array.copy()).requires_grad_()
    result = function(lib, LAYOUTS[layout](leaf))
    seeds = np.arange(1.0, result.numel() + 1).reshape(tuple(result.shape)) * (1 + 0.5j)
    seed = lib.from_numpy(seeds if array.dtype.kind == "c" else np.ascontiguousarray(seeds.real)).requires_grad_(twice)
    (grad,) = lib.autograd.grad(result, leaf, seed, create_graph=twice)
    found = [result, grad]
    if twice:
        found += lib.autograd.grad((grad * grad.conj()).real.sum(), seed)
    return [one.detach().resolve_conj().numpy() for one in found]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_agree_for_every_layout(name: str) -> None:
    rng = np.random.default_rng(3)
    array = rng.normal(size=(5, 6)) + 1j * rng.normal(size=(5, 6))
    for layout in LAYOUTS:
        for values in (array, np.ascontiguousarray(array.real))[name in REAL_IN_TORCH :]:
            for twice in (False, True):
                theirs = gradients(torch, values, layout, FUNCTIONS[name], twice=twice)
                ours = gradients(gb, values, layout, FUNCTIONS[name], twice=twice)
                for a, b in zip(ours, theirs, strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, err_msg=f"{layout}, twice {twice}")


@pytest.mark.parametrize(
    ("make", "size", "stride", "offset"),
    [
        (lambda x: x * 1, (2, 3), (1, 1), 2),
        (lambda x: x * 1, (3, 3), (0, 1), None),
        (lambda x: (x * 1)[1:], (2, 2), (3, 2), 1),
        (lambda x: (x * 1)[::2, 1:], (4,), (2,), None),
        (lambda x: (x * 1)[:1].expand(3, 6), (2, 2), (1, 3), 0),
        (lambda x: (x * 1).t(), (0, 3), (1, 1), 0),
    ],
)
def test_any_view_of_the_storage(make: Callable[[Any], Any], size: Any, stride: Any, offset: int | None) -> None:
    array = np.arange(30.0).reshape(5, 6)
    found = []
    for lib in (gb, torch):
        leaf = lib.from_numpy(array.copy()).requires_grad_()
        view = make(leaf).as_strided(size, stride, offset)
        seed = lib.from_numpy(np.arange(1.0, view.numel() + 1).reshape(size))
        found.append(lib.autograd.grad(view, leaf, seed)[0].numpy())
    np.testing.assert_array_equal(*found)


def test_a_view_of_a_tensor_that_overlaps_itself() -> None:
    found = []
    for lib in (gb, torch):
        leaf = lib.ones(3, dtype=lib.float64, requires_grad=True)
        overlapping = (leaf * 1).as_strided((2, 2), (1, 1))
        view = overlapping.as_strided((3,), (1,))
        found.append(lib.autograd.grad(view, overlapping, lib.arange(1.0, 4.0, dtype=lib.float64))[0].numpy())
    np.testing.assert_array_equal(*found)


def changed(write: Function) -> Function:
    """What a write makes of a copy."""

    def function(lib: Any, x: Any) -> Any:
        copy = x * 1
        write(copy, x)
        return copy

    return function


def seen(view: Callable[[Any], Any], write: Function) -> Function:
    """What a view of a copy shows after a write into the copy."""

    def function(lib: Any, x: Any) -> Any:
        copy = x * 1
        part = view(copy)
        write(copy, x)
        return part * part

    return function


WRITES: dict[str, Function] = {
    "imaginary part": changed(lambda z, x: z.imag.mul_(3)),
    "imaginary part of the conjugate": changed(lambda z, x: z.conj().imag[:, 1:].mul_(x.real[:, 1:])),
    "conjugate": changed(lambda z, x: z.conj()[0].mul_(1 + 2j)),
    "turned": changed(lambda z, x: z.t()[1].mul_(x[:, 0])),
    "diagonal": changed(lambda z, x: z.diagonal().copy_(x[0, :3] * 2)),
    "windows": changed(lambda z, x: z.t().unfold(0, 2, 2)[0].zero_()),
    "rows": changed(lambda z, x: z[1:].mul_(x[:-1])),
    "imaginary part, seen": seen(lambda z: z.imag, lambda z, x: z.mul_(x)),
    "conjugate, seen": seen(lambda z: z.conj(), lambda z, x: z[0].mul_(x[1])),
    "pairs": lambda lib, x: changed(lambda z, y: lib.view_as_complex(z).mul_(x))(lib, lib.view_as_real(x)),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("twice", [False, True], ids=["first", "second"])
def test_gradients_after_writes_through_views(name: str, twice: bool) -> None:
    rng = np.random.default_rng(4)
    array = rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4))
    found = []
    for lib in (gb, torch):
        leaf = lib.from_numpy(array.copy()).requires_grad_()
        result = WRITES[name](lib, leaf)
        seeds = np.arange(1.0, result.numel() + 1).reshape(tuple(result.shape)) * (1 + 0.5j)
        seed = lib.from_numpy(seeds if result.is_complex() else np.ascontiguousarray(seeds.real)).requires_grad_(twice)
        grads = lib.autograd.grad(result, leaf, seed, create_graph=twice)
        if twice:
            grads = lib.autograd.grad(grads[0].abs().sum(), (leaf, seed), allow_unused=True, materialize_grads=True)
        found.append([grad.resolve_conj().numpy() for grad in grads])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in WRITES if name != "pairs"])
def test_tangents_after_writes_through_views(name: str) -> None:
    rng = np.random.default_rng(6)
    array, direction = (rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4)) for _ in range(2))
    found = []
    for lib in (gb, torch):
        forward: Any = lib.autograd.forward_ad
        with forward.dual_level():
            dual = forward.make_dual(lib.from_numpy(array.copy()), lib.from_numpy(direction.copy()))
            tangent = forward.unpack_dual(WRITES[name](lib, dual)).tangent
            assert not tangent.requires_grad
            found.append(tangent.resolve_conj().numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
