"""The engine: runs a graph backwards.

A pass counts how many edges lead to each node, starts with the roots and runs a node once nothing more can flow into
it. Of the nodes that are ready the one made last comes first, accumulators before all others. The pass runs on the
calling thread. A backward called from inside a node is a pass of its own; every `DEPTH` of them a fresh thread goes
on, so that no stack of frames grows beyond measure.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..core.away import carried
from ..dispatch.state import IN_PYTHON, STATE
from ..tensor.sparse_tensor import SparseTensor
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta
from .anomaly import ANOMALY, check_results, explain_failure
from .autograd_meta import Edge
from .node import FIRST, Node, joined

DEPTH = 60
"""Nested passes on one thread."""
Grads = list[Tensor | None]
_ORDER = itertools.count()


class _Depth(threading.local):
    """Number of nested passes on this thread, and the innermost of them."""

    value: int = 0
    current: Pass | None = None


_DEPTH = carried(_Depth())


class Targets:
    """The edges whose gradients are requested, the nodes that lead to them, and the gradients found. With `run` the
    nodes of the edges run as well, as they do in `backward`."""

    __slots__ = ("found", "leading", "places", "visited")

    def __init__(self, edges: Sequence[Edge | None], roots: Iterable[Node], *, run: bool) -> None:
        self.places: dict[Node, dict[int, list[int]]] = {}
        self.found: Grads = [None] * len(edges)
        for index, edge in enumerate(edges):
            if edge is not None:
                self.places.setdefault(edge[0], {}).setdefault(edge[1], []).append(index)
        self.leading = _leading_to(self.places, roots)
        self.visited = self.leading | self.places.keys()
        if run:
            self.leading = self.visited

    def take(self, node: Node, grads: Grads) -> None:
        """Note the gradients of a node that are asked for."""
        places = self.places.get(node)
        if places is not None:
            for nr, indices in places.items():
                for index in indices:
                    self.found[index] = grads[nr]


def _leading_to(places: dict[Node, Any], roots: Iterable[Node]) -> set[Node]:
    """The nodes from which an edge leads, over others, to one of the places."""
    parents: dict[Node, list[Node]] = {}
    seen = set(roots)
    stack = list(seen)
    while stack:
        node = stack.pop()
        for edge in node.edges:
            if edge is not None:
                parents.setdefault(edge[0], []).append(node)
                if edge[0] not in seen:
                    seen.add(edge[0])
                    stack.append(edge[0])
    leading: set[Node] = set()
    stack = list(places)
    while stack:
        for parent in parents.get(stack.pop(), ()):
            if parent not in leading:
                leading.add(parent)
                stack.append(parent)
    return leading


def run_backward(
    roots: Sequence[tuple[Edge, Tensor | None]], *, keep: bool, create: bool, targets: Targets | None = None
) -> None:
    """One pass from the roots, each with its gradient; with `targets` only as far as they need. `keep` leaves what
    nodes saved in place, `create` records the pass itself. What a node raises comes through."""
    if create:
        _run_at_depth(roots, keep, create, targets)
        return
    IN_PYTHON.append(None)
    try:
        _run_at_depth(roots, keep, create, targets)
    finally:
        IN_PYTHON.pop()


def _run_at_depth(roots: Any, keep: bool, create: bool, targets: Targets | None) -> None:
    if _DEPTH.value and _DEPTH.value % DEPTH == 0:
        _on_a_thread(roots, keep, create, targets)
        return
    _DEPTH.value += 1
    before, STATE.grad = STATE.grad, create
    try:
        _run(roots, keep, targets)
    finally:
        STATE.grad = before
        _DEPTH.value -= 1


def _on_a_thread(roots: Any, keep: bool, create: bool, targets: Targets | None) -> None:
    failed: list[BaseException] = []
    kept = {name: getattr(STATE, name) for name in type(STATE).__annotations__}
    depth = _DEPTH.value

    def run() -> None:
        for name, value in kept.items():
            setattr(STATE, name, value)
        _DEPTH.value = depth + 1
        STATE.grad = create
        try:
            _run(roots, keep, targets)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name=f"gaugeblock backward {depth}")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


class Pass:
    """One pass. As a container it holds the nodes whose tensor hooks it calls: the roots, and all nodes below them
    that the targets need."""

    __slots__ = ("__weakref__", "reached", "roots", "targets")

    def __init__(self, roots: Sequence[Any], reached: dict[Node, int], targets: Targets | None) -> None:
        self.roots = roots
        self.reached = reached
        self.targets = targets

    def __contains__(self, node: object) -> bool:
        if any(node is edge[0] for edge, _ in self.roots):
            return True
        return node in self.reached and (self.targets is None or node in self.targets.visited)


def current_pass() -> Pass:
    """Return the innermost pass that runs on this thread."""
    assert _DEPTH.current is not None
    return _DEPTH.current


def _run(roots: Sequence[tuple[Edge, Tensor | None]], keep: bool, targets: Targets | None) -> None:
    waiting = _dependencies([edge[0] for edge, _ in roots])
    before, _DEPTH.current = _DEPTH.current, Pass(roots, waiting, targets)
    try:
        _loop(roots, waiting, keep, targets)
    finally:
        _DEPTH.current = before


def _loop(
    roots: Sequence[tuple[Edge, Tensor | None]], waiting: dict[Node, int], keep: bool, targets: Targets | None
) -> None:
    buffers: dict[Node, Grads] = {}
    for (root, nr), seed in roots:
        _add(buffers, root, nr, seed)
    ready = [(-node.sequence, next(_ORDER), node) for node in buffers if not waiting.get(node)]
    heapq.heapify(ready)
    plain = targets is None and not ANOMALY.enabled
    grads: Any
    held: Any
    following: Node | None = None
    while True:
        if following is not None:
            node, following = following, None
        elif ready:
            node = heapq.heappop(ready)[2]
        else:
            return
        if plain and node.hooks is None:
            grads = buffers.pop(node)
            if grads[0] is None and not node.runs_undefined and all(grad is None for grad in grads):
                results: Any = (None,) * len(node.edges)
            else:
                results = node.apply(grads)
            if not keep:
                node.release()
        else:
            results = _step(node, buffers.pop(node), keep, targets)
            if results is None:
                continue
        grads = None
        slot = 0
        for edge in node.edges:
            grad = results[slot]
            slot += 1
            if edge is None:
                continue
            onward, nr = edge
            if targets is not None and onward not in targets.visited:
                continue
            left = waiting[onward] = waiting[onward] - 1
            if grad is not None:
                expected = onward.metas[nr]
                if grad.meta is not expected:
                    grad = fitted(grad, expected, node)
                buffer = buffers.get(onward)
                if buffer is None:
                    if not left and plain and onward.sequence == FIRST and onward.hooks is None:
                        # The accumulator may take over a gradient that nothing else holds.
                        results = None if slot == len(node.edges) else [*results[: slot - 1], None, *results[slot:]]
                        grads = [grad]
                        grad = None
                        onward.apply(grads)
                        continue
                    if len(onward.metas) == 1:
                        buffers[onward] = [grad]
                    else:
                        _add(buffers, onward, nr, grad)
                else:
                    held = buffer[nr]
                    if held is None:
                        buffer[nr] = grad
                    else:
                        buffer[nr] = joined(held, grad) if held.__class__ is SparseTensor else held + grad
                    held = buffer = None
            elif onward not in buffers:
                buffers[onward] = [None] * len(onward.metas)
            if not left:
                if following is None and not ready:
                    following = onward
                else:
                    heapq.heappush(ready, (-onward.sequence, next(_ORDER), onward))
        if following is not None and ready:
            heapq.heappush(ready, (-following.sequence, next(_ORDER), following))
            following = None
        results = grad = None


def _step(node: Node, grads: Grads, keep: bool, targets: Targets | None) -> Sequence[Tensor | None] | None:
    """Run one node, hooks included; None for one that nothing asked for leads on from."""
    hooks = node.hooks
    if hooks is not None:
        _before(hooks, grads)
    if targets is not None:
        targets.take(node, grads)
        if node not in targets.leading:
            return None
    if hooks is not None:
        for prehook in tuple(hooks.before.values()):
            changed = prehook(tuple(grads))
            if changed is not None:
                grads[:] = replaced_all(prehook, grads, changed)
    given = tuple(grads) if hooks is not None and hooks.after else ()
    if grads[0] is None and not node.runs_undefined and all(grad is None for grad in grads):
        results: Sequence[Tensor | None] = (None,) * len(node.edges)
    elif ANOMALY.enabled:
        with explain_failure(node):
            results = node.apply(grads)
        check_results(node, results)
    else:
        results = node.apply(grads)
    if hooks is not None:
        for posthook in tuple(hooks.after.values()):
            changed = posthook(tuple(results), given)
            if changed is not None:
                results = replaced_all(posthook, results, changed)
    if not keep:
        node.release()
    return results


def _before(hooks: Any, grads: Grads) -> None:
    """Call tensor hooks in order, each of which may replace the gradient, then store what retain_grad keeps. Hooks get
    None for a result without a gradient."""
    for nr, table in hooks.tensors.items():
        for hook in tuple(table.values()):
            changed = hook(grads[nr])
            if changed is not None:
                grads[nr] = replaced(hook, grads[nr], changed)
    for nr, retain in hooks.retained.items():
        if grads[nr] is not None:
            retain(grads[nr])


def _add(buffers: dict[Node, Grads], node: Node, nr: int, grad: Tensor | None) -> None:
    buffer = buffers.get(node)
    if buffer is None:
        buffer = buffers[node] = [None] * len(node.metas)
    held = buffer[nr]
    buffer[nr] = grad if held is None or grad is None else joined(held, grad)


def _dependencies(roots: Sequence[Node]) -> dict[Node, int]:
    """Return the number of edges that lead to each node which can be reached from the roots."""
    counts: dict[Node, int] = {}
    stack = list(dict.fromkeys(roots))
    seen = set(stack)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None:
                node = edge[0]
                if node in counts:
                    counts[node] += 1
                else:
                    counts[node] = 1
                    if node.edges and node not in seen:
                        stack.append(node)
    return counts


def summable(given: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Return whether a tensor of sizes `wanted` broadcasts to `given`."""
    if len(given) < len(wanted):
        return False
    return all(have == want or want == 1 for have, want in zip(given[len(given) - len(wanted) :], wanted, strict=True))


def summed_to(grad: Any, sizes: tuple[int, ...]) -> Any:
    """The gradient summed over the dims along which something of `sizes` was broadcast."""
    given = grad.meta.sizes
    lead = len(given) - len(sizes)
    inner = [lead + dim for dim, size in enumerate(sizes) if size == 1 and given[lead + dim] != 1]
    if inner:
        grad = grad.sum(inner, keepdim=True)
    return grad.sum(tuple(range(lead))) if lead else grad


def fitted(grad: Tensor, wanted: TensorMeta, node: Node) -> Tensor:
    """A gradient made to fit: summed to the sizes, real where they are real, in the dtype. RuntimeError naming the node
    when it does not sum to the sizes or lies on another device."""
    meta = grad.meta
    if meta.sizes != wanted.sizes:
        if not summable(meta.sizes, wanted.sizes):
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient - got {list(meta.sizes)} but expected shape "
                f"compatible with {list(wanted.sizes)}"
            )
        grad = summed_to(grad, wanted.sizes)
    if meta.dtype is not wanted.dtype:
        if meta.dtype.is_complex and not wanted.dtype.is_complex:
            grad = grad.real  # type: ignore[attr-defined]
        if grad.meta.dtype is not wanted.dtype:
            grad = grad.to(wanted.dtype)  # type: ignore[attr-defined]
    if meta.device is not wanted.device:
        if meta.ndim:
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient - expected device {wanted.device} but got "
                f"{meta.device}"
            )
        grad = grad.to(wanted.device)  # type: ignore[attr-defined]
    return grad


def replaced(hook: Callable[..., Any], grad: Tensor | None, changed: Any) -> Any:
    """Return the gradient that a hook returned to replace `grad`. Raises TypeError unless it is a tensor, RuntimeError
    unless `grad` has the same sizes, dtype and device."""
    name = getattr(hook, "__name__", hook)
    if not isinstance(changed, Tensor):
        raise TypeError(f"expected Variable, but hook '{name}' returned '{type(changed).__name__}'")
    if grad is None:
        raise RuntimeError(f"hook '{name}' can't replace a None gradient with a non-None value")
    was, now = grad.meta, changed.meta
    if now.sizes != was.sizes:
        raise RuntimeError(
            f"hook '{name}' has changed the size of value: expected {list(was.sizes)}, got {list(now.sizes)}"
        )
    if now.dtype is not was.dtype:
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {was.dtype} got {now.dtype})")
    if now.device is not was.device:
        raise RuntimeError(f"hook '{name}' has changed the device of value (was {was.device} got {now.device})")
    return changed


def replaced_all(hook: Callable[..., Any], grads: Sequence[Tensor | None], changed: Any) -> list[Any]:
    """Return the gradients that a node's hook returned to replace `grads`; each may be None. Raises TypeError unless it
    is a tuple, RuntimeError for another number of gradients."""
    name = getattr(hook, "__name__", hook)
    if not isinstance(changed, tuple):
        raise TypeError(f"expected tuple, but hook '{name}' returned '{type(changed).__name__}'")
    if len(changed) != len(grads):
        raise RuntimeError(
            f"hook '{name}' has returned an incorrect number of values (got {len(changed)}, but expected {len(grads)})"
        )
    return [None if now is None else replaced(hook, was, now) for was, now in zip(grads, changed, strict=True)]
