"""Hooks that a pass calls: passes to chosen inputs, results without a gradient, and hooks on several tensors."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as hs

from ..backend_autograd import Hook
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from .leaves import clear_log, leaf

NAMES = "xyab"
CHOICES = hs.lists(hs.sampled_from(range(len(NAMES))), min_size=1, max_size=3, unique=True)


def _two_chains(s: Session) -> tuple[list[Handle], Handle]:
    """Return the leaves x and y with the results a = 2 x and b = 3 y, and the sum of a and b."""
    x, y = leaf(s, [1.0]), leaf(s, [1.0])
    a, b = s.call("mul.Scalar", x, 2), s.call("mul.Scalar", y, 3)
    return [x, y, a, b], s.call("add.Tensor", a, b)


def _needed(chosen: list[int]) -> set[int]:
    """Return the indices of the chosen tensors and of all tensors on the path to them."""
    return {*chosen, *(k + 2 for k in chosen if k < 2)}


@requirement("autograd/hooks-of-missing-gradients-get-none")
@forall(operator=hs.sampled_from(("unbind.int", "split.Tensor", "chunk")), used=hs.integers(0, 2))
def test_unused_parts(s: Session, operator: str, used: int) -> None:
    clear_log(s)
    x = leaf(s, [1.0, 2.0, 3.0])
    parts = s.parts(s.call(operator, x, *{"unbind.int": (), "split.Tensor": (1,), "chunk": (3,)}[operator]), 3)
    for k, part in enumerate(parts):
        s.call("register_hook", part, Hook(f"h{k}", "value"))
    s.call("backward", s.call("sum", parts[used]))
    want = tuple((f"h{k}", (1.0 if operator == "unbind.int" else [1.0]) if k == used else None) for k in range(3))
    s.expect(s.call("autograd_log"), want, "gradients that hooks saw")


@requirement("autograd/hooks-follow-the-chosen-inputs")
@forall(chosen=CHOICES)
def test_tensor_hooks_with_inputs(s: Session, chosen: list[int]) -> None:
    clear_log(s)
    tensors, total = _two_chains(s)
    for name, one in zip(NAMES, tensors, strict=True):
        s.call("register_hook", one, Hook(name))
    s.call("backward", total, inputs=[tensors[k] for k in chosen])
    want = sorted(NAMES[k] for k in _needed(chosen))
    s.expect_of_last(sorted(s.call("autograd_log")), want, "hooks that ran", "sorted({})")


@requirement("autograd/hooks-follow-the-chosen-inputs", needs=("autograd.graph",))
@forall(chosen=CHOICES)
def test_node_hooks_with_inputs(s: Session, chosen: list[int]) -> None:
    clear_log(s)
    tensors, total = _two_chains(s)
    for name, one in list(zip(NAMES, tensors, strict=True))[2:]:
        node = s.call("grad_fn", one)
        s.call("register_node_prehook", node, Hook(f"before {name}"))
        s.call("register_node_hook", node, Hook(f"behind {name}"))
    s.call("backward", total, inputs=[tensors[k] for k in chosen])
    ran = [f"{when} {NAMES[k]}" for k in _needed(chosen) if k > 1 for when in ("before", "behind")]
    s.expect_of_last(sorted(s.call("autograd_log")), sorted(ran), "hooks that ran", "sorted({})")


@requirement("autograd/hook-on-several-tensors-runs-once")
@forall(watched=CHOICES, chosen=CHOICES, passes=hs.integers(1, 2))
def test_hook_on_several_tensors(s: Session, watched: list[int], chosen: list[int], passes: int) -> None:
    clear_log(s)
    tensors, total = _two_chains(s)
    s.call("register_multi_grad_hook", [tensors[k] for k in watched], Hook("all", "value"))
    gradients = [[2.0], [3.0], [1.0], [1.0]]
    want: list[Any] = []
    for _ in range(passes):
        s.call("backward", total, inputs=[tensors[k] for k in chosen], retain_graph=True)
        needed = _needed(chosen)
        if needed & set(watched):
            want.append(("all", tuple(gradients[k] if k in needed else None for k in watched)))
    s.expect(s.call("autograd_log"), tuple(want), "gradients that the hook saw")


@requirement("autograd/hook-on-several-tensors-runs-once")
def test_hook_on_several_tensors_of_whole_passes(s: Session) -> None:
    clear_log(s)
    x, y = leaf(s, [2.0]), leaf(s, [5.0])
    handle = s.call("register_multi_grad_hook", [x, y], Hook("all", "value"))
    s.call("backward", s.call("mul.Tensor", x, y))
    s.call("backward", s.call("mul.Tensor", x, x))
    s.call("remove_hook", handle)
    s.call("backward", s.call("mul.Tensor", x, y))
    want = (("all", ([5.0], [2.0])), ("all", ([4.0], None)))
    s.expect(s.call("autograd_log"), want, "gradients that the hook saw")
