"""Autograd's calls in snippets, in torch's names; what needs the suite's hooks, rules and log goes by the adapter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..backend_autograd import Anomaly, DualLevel, EnableGrad, InferenceMode, NoGrad, SetGrad
from ..dialect import Dialect

Writer = Callable[[Dialect, Sequence[Any], Mapping[str, Any]], str]

_CONTEXTS: dict[type, Callable[[Any], str]] = {
    NoGrad: lambda context: "no_grad()",
    EnableGrad: lambda context: "enable_grad()",
    SetGrad: lambda context: f"set_grad_enabled({context.enabled})",
    InferenceMode: lambda context: f"inference_mode({context.enabled})",
    Anomaly: lambda context: f"autograd.detect_anomaly(check_nan={context.check_nan})",
    DualLevel: lambda context: "autograd.forward_ad.dual_level()",
}


def _module(d: Dialect) -> str:
    return d.setup.split()[-1]


def _backward(d: Dialect, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    several = isinstance(args[0], list | tuple)
    names = ("grad_tensors" if several else "gradient", "retain_graph", "create_graph", "inputs")
    given = dict(zip(("gradients", *names[1:]), args[1:], strict=False)) | dict(kwargs)
    named = {names[0] if name == "gradients" else name: value for name, value in given.items()}
    rest = d.arguments((), named)
    if several:
        return f"{_module(d)}.autograd.backward({', '.join([d.literal(args[0]), *rest])})"
    return f"{d.literal(args[0])}.backward({', '.join(rest)})"


def _enter(d: Dialect, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    written = _CONTEXTS.get(type(args[0]))
    if written is None:
        return Dialect.expression(d, "enter", tuple(args), dict(kwargs))
    return f"(entered := {_module(d)}.{written(args[0])}, entered.__enter__())[0]"


def _function(path: str) -> Writer:
    return lambda d, a, k: f"{_module(d)}.{path}({', '.join(d.arguments(tuple(a), dict(k)))})"


def _member(text: str) -> Writer:
    return lambda d, a, k: f"{d.literal(a[0])}.{text}"


def _assigned(name: str) -> Writer:
    return lambda d, a, k: f"setattr({d.literal(a[0])}, {name!r}, {d.literal(a[1])})"


AUTOGRAD_WRITERS: dict[str, Writer] = {
    "backward": _backward,
    "gradients": _function("autograd.grad"),
    "grad": _member("grad"),
    "set_grad": _assigned("grad"),
    "set_requires_grad": _assigned("requires_grad"),
    "is_leaf": _member("is_leaf"),
    "retain_grad": _member("retain_grad()"),
    "retains_grad": _member("retains_grad"),
    "output_nr": _member("output_nr"),
    "is_inference": _member("is_inference()"),
    "is_grad_enabled": _function("is_grad_enabled"),
    "is_inference_mode_enabled": _function("is_inference_mode_enabled"),
    "variable": _function("autograd.Variable"),
    "enter": _enter,
    "leave": _member("__exit__(None, None, None)"),
    "grad_fn": _member("grad_fn"),
    "node_name": _member("name()"),
    "next_functions": _member("next_functions"),
    "next_node": lambda d, a, k: f"{d.literal(a[0])}.next_functions[{a[1]}][0]",
    "same_node": lambda d, a, k: f"{d.literal(a[0])} is {d.literal(a[1])}",
    "saved": lambda d, a, k: f"{d.literal(a[0])}._saved_{a[1]}",
    "node_variable": _member("variable"),
    "remove_hook": _member("remove()"),
    "make_dual": _function("autograd.forward_ad.make_dual"),
    "unpack_dual": _function("autograd.forward_ad.unpack_dual"),
}
