"""The recorded graph: nodes, names, edges, accumulators, and what is saved."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import broadcastable
from ..strategies.shapes import Sizes
from .leaves import expect_grad, gradient, leaf, ones_like, operands_of_last

_UNTOLD = NoReproducer("a snippet keeps the tensors in variables")

ACCUMULATOR = "AccumulateGrad"
NAMES: list[tuple[Any, ...]] = [
    ("add.Tensor", "AddBackward", None), ("sub.Tensor", "SubBackward", None), ("mul.Tensor", "MulBackward", None),
    ("div.Tensor", "DivBackward", None), ("neg", "NegBackward"), ("exp", "ExpBackward"), ("log", "LogBackward"),
    ("tanh", "TanhBackward"), ("sigmoid", "SigmoidBackward"), ("relu", "ReluBackward"), ("sum", "SumBackward"),
    ("sum.dim_IntList", "SumBackward", [0]), ("mean", "MeanBackward"), ("t", "TBackward"),
    ("mm", "MmBackward", None), ("clone", "CloneBackward"), ("transpose.int", "TransposeBackward", 0, 1),
    ("select.int", "SelectBackward", 0, 1), ("view", "ViewBackward", (4,)), ("unsqueeze", "UnsqueezeBackward", 0),
    ("expand", "ExpandBackward", (3, 2, 2)), ("pow.Tensor_Scalar", "PowBackward", 2),
    ("unbind.int", "UnbindBackward"),
    ("sqrt", "SqrtBackward"), ("abs", "AbsBackward"), ("cumsum", "CumsumBackward", 0),
    ("permute", "PermuteBackward", (1, 0)),
]  # fmt: skip
SAVES: list[tuple[Any, ...]] = [
    ("exp", "result"), ("tanh", "result"), ("sigmoid", "result"), ("sqrt", "result"), ("reciprocal", "result"),
    ("sin", "self"), ("cos", "self"), ("log", "self"), ("abs", "self"), ("mul.Tensor", "other", None),
]  # fmt: skip


def _node(s: Session, y: Handle) -> Any:
    """The node of ``y``, expected to be there."""
    node = s.call("grad_fn", y)
    if node is None:
        s.expect(None, "a node", "grad_fn")
    return node


def _expect_edge(s: Session, node: Any, edge: int, want: Any, slot: int = 0) -> None:
    """Expect the edge to lead to a node, or nowhere, and to that slot of it."""
    edges = s.call("next_functions", node)
    s.expect(len(edges) > edge, True, f"an edge {edge}", *s.of_last(f"len({{}}) > {edge}"))
    s.expect(edges[edge][1], slot, f"slot of edge {edge}", *s.of_last(f"{{}}[{edge}][1]"))
    if want is None or edges[edge][0] is None:
        nowhere = s.of_last(f"{{}}[{edge}][0] is None")
        s.expect(edges[edge][0] is None, want is None, f"edge {edge} leads nowhere", *nowhere)
        return
    s.expect(s.call("same_node", s.call("next_node", node, edge), want), True, f"edge {edge} leads to the producer")


@requirement("autograd/nodes-are-named-after-their-operator")
def test_names(s: Session) -> None:
    def row(s: Session, operator: str, name: str, *arguments: Any) -> None:
        x = leaf(s, [[1.0, 2.0], [3.0, 4.0]])
        y = s.call(operator, x, *[x if a is None else a for a in arguments])
        y = y[0] if isinstance(y, list | tuple) else y
        found = s.call("node_name", _node(s, y))
        s.expect(found[-1:].isdigit(), True, f"{found!r} ends with a number", *s.of_last("{}[-1:].isdigit()"))
        stem = s.of_last("{}.rstrip('0123456789')")
        s.expect(found.rstrip("0123456789"), name, f"name of the node of {operator}", *stem)

    s.table(NAMES, row)


@requirement(
    "autograd/edges-lead-to-the-producers-of-the-arguments",
    "autograd/every-differentiable-result-has-a-node-of-its-call",
)
@forall(steps=hs.lists(hs.tuples(hs.integers(0, 9), hs.integers(0, 9), hs.integers(0, 3)), min_size=1, max_size=8))
def test_graph_is_the_program(s: Session, steps: list[tuple[int, int, int]]) -> None:
    values = [leaf(s, [1.0, 2.0, 3.0]), leaf(s, [4.0, 5.0, 6.0]), s.tensor([1.0, 1.0, 1.0])]
    needs, nodes, slots = [True, True, False], [None, None, None], [0, 0, 0]
    for first, second, kind in steps:
        a, b = first % len(values), second % len(values)
        if kind == 3:
            made = s.call("split_with_sizes", s.call("cat", [values[a]] * 2), [3, 3])
            y, slot = made[1], 1
            needed = needs[a]
        else:
            y = s.call(("mul.Tensor", "add.Tensor", "sub.Tensor")[kind], values[a], values[b])
            slot, needed = 0, needs[a] or needs[b]
        node = s.call("grad_fn", y)
        s.expect(node is not None, needed, "a node of the result", f"{s.text('grad_fn', y)} is not None", [y])
        if needed and kind != 3:
            for edge, place in enumerate((a, b)):
                if nodes[place] is not None:
                    _expect_edge(s, node, edge, nodes[place], slots[place])
                elif needs[place]:
                    _expect_accumulator(s, node, edge, values[place])
                else:
                    _expect_edge(s, node, edge, None)
        if needed and kind == 3:
            s.expect(s.call("output_nr", y), 1, "output number of the second part")
            s.expect(s.call("same_node", node, s.call("grad_fn", made[0])), True, "parts share a node")
        values.append(y)
        needs.append(needed)
        nodes.append(node)
        slots.append(slot)
    made_nodes = [node for node in nodes if node is not None]
    for one in range(1, len(made_nodes)):
        s.expect(s.call("same_node", made_nodes[one - 1], made_nodes[one]), False, "calls have nodes of their own")


def _expect_accumulator(s: Session, node: Any, edge: int, x: Handle) -> None:
    following = s.call("next_node", node, edge)
    if following is None:
        s.expect(None, ACCUMULATOR, f"edge {edge}")
    name = s.call("node_name", following)
    ends = s.of_last(f"{{}}.endswith({ACCUMULATOR!r})")
    s.expect(name.endswith(ACCUMULATOR), True, f"the node behind edge {edge} accumulates", *ends)
    s.expect_same(s.call("node_variable", following), x)


@requirement("autograd/leaf-has-one-accumulator")
@forall(uses=hs.integers(2, 6))
def test_uses_share_an_accumulator(s: Session, uses: int) -> None:
    x = leaf(s, [1.0, 2.0])
    results = [s.call(("exp", "sin", "neg")[k % 3], x) for k in range(uses)]
    first = s.call("next_node", _node(s, results[0]), 0)
    for y in results:
        _expect_accumulator(s, _node(s, y), 0, x)
        s.expect(s.call("same_node", s.call("next_node", _node(s, y), 0), first), True, "one accumulator")
    square = _node(s, s.call("mul.Tensor", x, x))
    for edge in (0, 1):
        s.expect(s.call("same_node", s.call("next_node", square, edge), first), True, "one accumulator")


@requirement("autograd/argument-without-grad-has-an-empty-edge")
@forall(needs=hs.lists(hs.booleans(), min_size=2, max_size=4).filter(any))
def test_empty_edges(s: Session, needs: list[bool]) -> None:
    tensors = [leaf(s, [1.0]) if need else s.tensor([1.0]) for need in needs]
    node = _node(s, s.call("cat", tensors))
    edges = s.call("next_functions", node)
    s.expect(len(edges), len(needs), "number of edges", *s.of_last("len({})"))
    for edge, (x, need) in enumerate(zip(tensors, needs, strict=True)):
        if need:
            _expect_accumulator(s, node, edge, x)
        else:
            _expect_edge(s, node, edge, None)


@requirement("autograd/only-needed-tensors-are-saved")
def test_what_a_product_saves(s: Session) -> None:
    def row(s: Session, operator: str, first: bool, second: bool) -> None:
        x = leaf(s, [2.0, 3.0]) if first else s.tensor([2.0, 3.0])
        y = leaf(s, [5.0, 7.0]) if second else s.tensor([5.0, 7.0])
        node = _node(s, s.call(operator, x, y))
        for name, needed, values in (("self", second, [2.0, 3.0]), ("other", first, [5.0, 7.0])):
            saved = s.call("saved", node, name)
            expression = f"{s.text('saved', node, name)} is not None"
            s.expect(saved is not None, needed, f"{name} is saved by {operator}", expression, operands_of_last(s))
            if isinstance(saved, Handle):
                s.expect_values(saved, values)

    s.table([("mul.Tensor", first, second) for first, second in ((True, False), (False, True), (True, True))], row)


@requirement("autograd/result-is-saved-where-the-gradient-is-made-of-it")
def test_results_and_arguments_saved(s: Session) -> None:
    def row(s: Session, operator: str, name: str, *arguments: Any) -> None:
        x = leaf(s, [0.5, 2.0])
        y = s.call(operator, x, *[s.tensor([3.0, 3.0]) if a is None else a for a in arguments])
        node = _node(s, y)
        names = s.call("saved_names", node)
        s.expect(name in names, True, f"{operator} saves {name}", *s.of_last(f"{name!r} in {{}}"))
        if name == "result":
            s.expect("self" in names, False, f"{operator} saves its argument", *s.of_last("'self' in {}"))
            saved = s.call("saved", node, name)
            s.expect_agreement(saved, y)
        elif name == "self":
            s.expect_values(s.call("saved", node, name), [0.5, 2.0])

    s.table(SAVES, row)


@requirement("autograd/node-turns-output-gradients-into-input-gradients")
@forall(
    shapes=broadcastable(2, max_dims=3, empty=False),
    needs=hs.sampled_from(((True, True), (True, False), (False, True))),
)
def test_nodes_as_functions(s: Session, shapes: tuple[Sizes, Sizes], needs: tuple[bool, bool]) -> None:
    arrays = [np.arange(1.0, 1 + np.prod(sizes, dtype=int)).reshape(sizes) + k for k, sizes in enumerate(shapes)]
    tensors = [leaf(s, a) if need else s.tensor(a) for a, need in zip(arrays, needs, strict=True)]
    y = s.call("mul.Tensor", *tensors)
    found = s.parts(s.call("apply_node", _node(s, y), ones_like(s, y)), 2)
    told = [s.of_last(f"{{}}[{k}] is not None") for k in (0, 1)]
    whole = [np.broadcast_to(a, np.broadcast_shapes(*shapes)) for a in arrays]
    for k, got in enumerate(found):
        s.expect(got is not None, needs[k], f"a gradient for argument {k}", *told[k])
        if isinstance(got, Handle):
            summed = s.call("sum_to_size", got, shapes[k])
            s.expect_values(summed, _sum_to(whole[1 - k], shapes[k]), signed_zero=False)


def _sum_to(array: Any, sizes: Sizes) -> Any:
    lead = array.ndim - len(sizes)
    axes = (*range(lead), *(lead + k for k, n in enumerate(sizes) if n == 1 and array.shape[lead + k] != 1))
    return np.asarray(array.sum(axis=axes)).reshape(sizes)


@requirement("autograd/node-turns-output-gradients-into-input-gradients")
def test_node_of_several_results(s: Session) -> None:
    x = leaf(s, [[1.0, 2.0], [3.0, 4.0]])
    parts = s.call("unbind.int", x)
    node = _node(s, parts[0])
    (found,) = s.parts(s.call("apply_node", node, s.tensor([5.0, 6.0]), s.tensor([7.0, 8.0])), 1)
    s.expect_values(found, [[5.0, 6.0], [7.0, 8.0]])


@requirement("autograd/graph-keeps-nodes-and-not-tensors")
@forall(length=hs.integers(1, 6))
def test_intermediates_are_released(s: Session, length: int) -> None:
    x = leaf(s, [1.0, 2.0])
    y, watched = x, []
    for _ in range(length):
        y = s.call("add.Tensor", y, x)
        watched.append(s.guard("watch_tensor", lambda y=y: s.backend.call("watch_tensor", y.raw)))  # type: ignore[misc]
    total = s.call("sum", y)
    s.expect([alive() for alive in watched], [False] * (length - 1) + [True], "tensors that live", _UNTOLD)
    del y
    if any(alive() for alive in watched):
        gc.collect()
    s.expect([alive() for alive in watched], [False] * length, "tensors that live", _UNTOLD)
    s.expect_values(gradient(s, total, x), [length + 1.0] * 2)


@requirement("autograd/graph-keeps-nodes-and-not-tensors")
def test_graph_outlives_handles(s: Session) -> None:
    x = leaf(s, [2.0, 3.0])
    y = s.call("sum", s.call("mul.Tensor", s.call("exp", s.call("mul.Scalar", x, 0)), x))
    gc.collect()
    s.call("backward", y)
    expect_grad(s, x, [1.0, 1.0])
