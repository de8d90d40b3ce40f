"""Wrong records: graphs, saved tensors, recording switches, hooks, functions of the user, anomaly mode."""

from __future__ import annotations

import threading
import warnings
from dataclasses import replace
from typing import Any

from ..backend_autograd import Anomaly, EnableGrad, NoGrad, Rule, SavedTensorsHooks, SetGrad
from .autograd_passes import accepts_text
from .mutant import Intercepted, Patch, rows

_FACTORIES = ("zeros", "ones", "full", "tensor", "eye", "arange", "linspace", "rand", "randn", "empty")


def _entered(changes: dict[type, Any]) -> Patch:
    """Contexts of these classes are replaced by others: context -> context."""
    return lambda c: c.do("enter", changes.get(type(c.args[0]), lambda one: one)(c.args[0]))


def _leaves_recording_on(c: Intercepted) -> Any:
    """Recording is on after every block."""
    given = c.right()
    c.do("enter", EnableGrad())
    return given


def _undecorated(c: Intercepted) -> Any:
    return c.do(c.args[1], *c.args[2:], **c.kwargs)


def _off_in_threads(c: Intercepted) -> Any:
    return c.right() and threading.current_thread() is threading.main_thread()


def _factory(c: Intercepted) -> Any:
    if not c.kwargs.get("requires_grad") or c.do("is_grad_enabled"):
        return c.right()
    return c.do(c.operator, *c.args, **{k: v for k, v in c.kwargs.items() if k != "requires_grad"})


def _integers_require_grad(c: Intercepted) -> Any:
    return True if str(c.backend.dtype(c.args[0])).startswith("int") else c.right()


def _written_integers_require_grad(c: Intercepted) -> Any:
    """What is written from a tensor that requires grad requires it too, whatever its dtype."""
    written = c.memory.setdefault("written", [])
    if c.operator == "requires_grad":
        return c.right() or any(one is c.args[0] for one in written)
    if c.do("is_grad_enabled") and any(c.is_tensor(one) and c.do("requires_grad", one) for one in c.args[1:]):
        written.append(c.args[0])
    return c.right()


def _unnumbered(c: Intercepted) -> Any:
    return str(c.right()).rstrip("0123456789")


def _forward_name(c: Intercepted) -> Any:
    return str(c.right()).replace("Backward", "")


def _reversed_edges(c: Intercepted) -> Any:
    if c.operator == "next_functions":
        return tuple(reversed(c.right()))
    count = len(c.do("next_functions", c.args[0]))
    return c.do("next_node", c.args[0], count - 1 - c.args[1])


def _no_empty_edges(c: Intercepted) -> Any:
    return tuple(edge for edge in c.right() if edge[0] is not None)


def _slots_are_zero(c: Intercepted) -> Any:
    return tuple((node, 0) for node, _ in c.right())


def _distinct_accumulators(c: Intercepted) -> Any:
    return c.right() and "Accumulate" not in c.do("node_name", c.args[0])


def _all_saved(c: Intercepted) -> Any:
    found = c.right()
    return c.do("zeros", (2,)) if found is None else found


def _argument_saved(c: Intercepted) -> Any:
    return tuple(sorted({*c.right(), "self"}))


def _lone_gradient(c: Intercepted) -> Any:
    found = c.right()
    return (*found[:1], *(None for _ in found[1:]))


def _kept(c: Intercepted) -> Any:
    """Results are kept alive."""
    result = c.right()
    kept = c.memory.setdefault("kept", [])
    kept.append(result)
    del kept[:-20]
    return result


def _log(change: Any) -> Patch:
    return lambda c: tuple(change(list(c.right())))


def _newest_first(c: Intercepted) -> Any:
    """A hook that is registered later runs earlier."""
    known = c.memory.setdefault("hooks", {})
    if c.operator == "remove_hook":
        return c.do("remove_hook", known.get(id(c.args[0]), (None, c.args[0]))[1])
    tensor, hook = c.args
    mine = c.memory.setdefault("order", {}).setdefault(id(tensor), (tensor, []))[1]
    for _, handle in mine:
        c.do("remove_hook", handle[1])
    made = [None, c.right()]
    for earlier, handle in mine:
        handle[1] = c.do("register_hook", tensor, earlier)
    mine.insert(0, (hook, made))
    known[id(made[1])] = made
    made[0] = made[1]
    return made[1]


def _nothing_returned(c: Intercepted) -> Any:
    x, hook = c.args
    return c.do(c.operator, x, replace(hook, action="see") if hook.action in ("scale", "give") else hook)


def _not_removed(c: Intercepted) -> Any:
    return None


def _before_accumulation(c: Intercepted) -> Any:
    leaf, hook = c.args
    if hook.action != "value" or not c.do("is_leaf", leaf):
        return c.right()
    return c.do("register_hook", leaf, hook)


def _hook_before_node(c: Intercepted) -> Any:
    node, hook = c.args
    return c.do("register_node_prehook", node, hook)


def _never_packed(c: Intercepted) -> Any:
    return _undecorated(c) if isinstance(c.args[0], SavedTensorsHooks) else c.right()


def _same_value_unpacked(c: Intercepted) -> Any:
    context = c.args[0]
    if isinstance(context, SavedTensorsHooks) and context.action == "scale":
        context = replace(context, action="same")
    return c.do(c.operator, context, *c.args[1:], **c.kwargs)


def _recorded_unscaled(c: Intercepted) -> Any:
    """Gradients with create_graph are computed from the packed values."""
    unscaled = c.memory.setdefault("unscaled", [])
    if c.operator == "under":
        y = c.right()
        if isinstance(c.args[0], SavedTensorsHooks) and c.args[0].action == "scale":
            unscaled.append((y, _same_value_unpacked(c)))
        return y
    others = [other for y, other in unscaled if y is c.args[0]]
    if not others or not c.kwargs.get("create_graph"):
        return c.right()
    return c.do("gradients", others[-1], *c.args[1:], **c.kwargs)


def _packed_as_it_is(c: Intercepted) -> Any:
    return c.do(c.operator, replace(c.args[0], action="same"), *c.args[1:], **c.kwargs)


def _entry_without_gradient(entry: Any) -> bool:
    return isinstance(entry, tuple) and entry[1] is None


def _hooked_each(c: Intercepted) -> Any:
    """A hook on several tensors is called once for each tensor."""
    tensors, hook = c.args
    return [c.do("register_hook", x, hook) for x in tensors][-1]


def _rule(**changes: Any) -> Patch:
    """Rules with other parts: field -> (rule) -> value."""

    def patch(c: Intercepted) -> Any:
        rule = c.args[0]
        return c.do("define_function", replace(rule, **{name: change(rule) for name, change in changes.items()}))

    return patch


def _as_many(rule: Rule) -> Any:
    """Missing gradients are None, and further ones are dropped."""
    if rule.backward != "give" or rule.forward != "product":
        return rule.given
    return (*rule.given, None, None, None)


def _identity_itself(c: Intercepted) -> Any:
    result = c.right()
    tensors = [a for a in c.args if c.is_tensor(a)]
    if tensors and c.is_tensor(result) and c.backend.data_ptr(result) == c.backend.data_ptr(tensors[0]):
        return tensors[0]
    return result


def _exempt_as_float(c: Intercepted) -> Any:
    result = c.right()
    if not isinstance(result, tuple) or not str(c.backend.dtype(result[-1])).startswith("int"):
        return result
    return (*result[:-1], c.do("mul.Scalar", result[0], 0))


def _silenced(c: Intercepted) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return c.right()


_DEEP = 1000


def _walked(node: Any, depth: int) -> None:
    if depth > _DEEP:
        raise RecursionError("maximum recursion depth exceeded")
    if node is not None:
        edges = node.next_functions
        if edges:
            _walked(edges[0][0], depth + 1)


def _recursive(c: Intercepted) -> Any:
    """The graph is walked by a function that calls itself."""
    c.by(lambda: _walked(c.do("__getattr__", c.args[0], "grad_fn"), 0))
    return c.right()


MUTANTS = (
    *rows(
        "autograd",
        ("no-grad-is-ignored", "autograd/recorded-iff-grad-is-needed autograd/recording-switches-nest", ("enter",),
         _entered({NoGrad: lambda one: EnableGrad()})),
        ("enable-grad-is-ignored", "autograd/recording-switches-nest", ("enter",),
         _entered({EnableGrad: lambda one: NoGrad()})),
        ("set-grad-always-switches-off", "autograd/recording-switches-nest", ("enter",),
         _entered({SetGrad: lambda one: SetGrad(False)})),
        ("recording-is-on-after-every-block", "autograd/recording-switches-nest", ("leave",), _leaves_recording_on),
        ("switches-do-not-decorate", "autograd/recording-switches-decorate", ("decorated",), _undecorated),
        ("threads-begin-with-recording-off", "autograd/recording-belongs-to-its-thread", ("is_grad_enabled",),
         _off_in_threads),
        ("factories-forget-grad-unrecorded", "autograd/factories-may-ask-for-grad-unrecorded", _FACTORIES, _factory),
        ("integral-results-require-grad", "autograd/integral-results-never-require-grad", ("requires_grad",),
         _integers_require_grad),
        ("written-integers-require-grad", "autograd/integers-that-are-written-take-no-history",
         ("fill_.Tensor", "masked_fill_.Tensor", "requires_grad"), _written_integers_require_grad),
        ("integers-may-require-grad", "autograd/only-floating-and-complex-tensors-require-grad", ("requires_grad_",),
         accepts_text("dtype", lambda c: c.args[0])),
        ("all-results-are-leaves", "autograd/leaves-are-what-no-node-made", ("is_leaf",), lambda c: True),
        ("detached-results-are-no-leaves", "autograd/leaves-are-what-no-node-made autograd/detach-cuts-the-graph",
         ("is_leaf",), lambda c: c.right() and bool(c.do("requires_grad", c.args[0]))),
        ("nodes-have-no-number", "autograd/nodes-are-named-after-their-operator", ("node_name",), _unnumbered),
        ("nodes-are-named-as-operators", "autograd/nodes-are-named-after-their-operator", ("node_name",),
         _forward_name),
        ("edges-are-in-reverse", "autograd/edges-lead-to-the-producers-of-the-arguments",
         ("next_functions", "next_node"),
         _reversed_edges),
        ("empty-edges-are-left-out", "autograd/argument-without-grad-has-an-empty-edge", ("next_functions",),
         _no_empty_edges),
        ("edges-lead-to-the-first-result", "autograd/edges-lead-to-the-producers-of-the-arguments", ("next_functions",),
         _slots_are_zero),
        ("each-use-has-an-accumulator", "autograd/leaf-has-one-accumulator", ("same_node",), _distinct_accumulators),
        ("factors-are-always-saved", "autograd/only-needed-tensors-are-saved", ("saved",), _all_saved),
        ("arguments-are-saved-beside-results", "autograd/result-is-saved-where-the-gradient-is-made-of-it",
         ("saved_names",), _argument_saved),
        ("node-gives-one-gradient", "autograd/node-turns-output-gradients-into-input-gradients", ("apply_node",),
         _lone_gradient),
        ("graph-keeps-its-tensors", "autograd/graph-keeps-nodes-and-not-tensors", ("add.Tensor",), _kept),
        ("latest-node-runs-last", "autograd/latest-node-runs-first", ("autograd_log",),
         _log(lambda entries: entries[::-1])),
        ("nodes-run-for-each-gradient", "autograd/node-waits-for-all-its-gradients", ("autograd_log",),
         _log(lambda entries: [*entries, *entries[-1:]])),
        ("newest-hook-runs-first", "autograd/hooks-run-in-the-order-of-registration", ("register_hook", "remove_hook"),
         _newest_first),
        ("what-hooks-return-is-ignored",
         "autograd/hooks-run-in-the-order-of-registration autograd/retained-gradient-is-the-one-after-hooks",
         ("register_hook", "register_node_hook", "register_node_prehook"), _nothing_returned),
        ("removed-hooks-run", "autograd/hooks-can-be-removed", ("remove_hook",), _not_removed),
        ("post-accumulate-hooks-see-the-increment", "autograd/post-accumulate-hooks-see-the-field",
         ("register_post_accumulate_grad_hook",), _before_accumulation),
        ("node-hooks-run-before-the-node", "autograd/node-hooks-run-around-the-node", ("register_node_hook",),
         _hook_before_node),
        ("saved-tensors-are-not-packed", "autograd/saved-tensors-can-be-packed", ("under",), _never_packed),
        ("unpacked-tensors-are-ignored", "autograd/unpacked-tensors-count-in-recorded-gradients", ("under",),
         _same_value_unpacked),
        ("recorded-gradients-ignore-what-was-unpacked", "autograd/unpacked-tensors-count-in-recorded-gradients",
         ("under", "gradients"), _recorded_unscaled),
        ("packing-may-write", "autograd/packing-may-not-write", ("under",),
         accepts_text("modifying its input in place", _packed_as_it_is)),
        ("hooks-of-missing-gradients-are-left-out", "autograd/hooks-of-missing-gradients-get-none", ("autograd_log",),
         _log(lambda entries: [entry for entry in entries if not _entry_without_gradient(entry)])),
        ("hook-on-several-tensors-runs-for-each", "autograd/hook-on-several-tensors-runs-once",
         ("register_multi_grad_hook",), _hooked_each),
        ("missing-tangents-arrive-as-none", "autograd/missing-tangents-are-zeros", ("define_function",),
         _rule(materialize=lambda rule: rule.materialize and not rule.tangent)),
        ("missing-gradients-of-functions-are-none", "autograd/functions-give-one-gradient-per-argument",
         ("define_function",), _rule(given=_as_many)),
        ("functions-may-give-any-sizes", "autograd/gradient-sizes-must-sum-to-the-argument", ("backward",),
         accepts_text("shape|size", lambda c: None)),
        ("dirty-arguments-are-not-marked", "autograd/function-may-write-to-its-argument", ("define_function",),
         _rule(forward=lambda rule: "unmarked" if rule.forward == "inplace" else rule.forward)),
        ("returned-argument-is-itself", "autograd/function-may-return-its-argument", ("apply_function",),
         _identity_itself),
        ("exempt-results-require-grad", "autograd/function-may-exempt-results", ("apply_function",), _exempt_as_float),
        ("once-differentiable-is-ignored", "autograd/once-differentiable-functions-refuse-twice", ("define_function",),
         _rule(backward=lambda rule: "right" if rule.backward == "plain" else rule.backward)),
        ("missing-gradients-arrive-as-none", "autograd/missing-output-gradients-are-zero", ("define_function",),
         _rule(materialize=lambda rule: False)),
        ("anomaly-mode-finds-nothing", "autograd/anomaly-mode-finds-nan", ("enter",),
         _entered({Anomaly: lambda one: Anomaly(check_nan=False)})),
        ("anomaly-mode-is-silent", "autograd/anomaly-mode-shows-the-call", ("backward",), _silenced),
    ),
    *rows(
        "autograd",
        ("graphs-are-walked-recursively", "autograd/long-chains-need-no-recursion", ("backward",), _recursive),
    ),
)
