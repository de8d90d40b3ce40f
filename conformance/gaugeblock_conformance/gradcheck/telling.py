"""A wrong or missing derivative as a few lines of the backend's own API, or why there are none."""

from __future__ import annotations

import numpy as np

from ..case import TensorCase
from ..dialect import Dialect, TorchDialect
from ..failure import NoReproducer
from ..trace import Name
from .error import NOTHING_RECORDED, Entry
from .trials import Trial

_MANY = 80
"""Operands with more elements fill a snippet with numbers."""


def snippet(dialect: Dialect, trial: Trial, order: str, entry: Entry | None) -> str:
    """Return source text that fails where the check failed, or, without ``entry``, takes the derivatives; else comments
    that say why there is none."""
    why = _untold(dialect, trial, order, entry)
    if why is not None:
        return NoReproducer(why).told("\n".join([*_operands(dialect, trial), _call(dialect, trial)]))
    lines = _quotient(dialect, trial, entry) if entry is not None else _taken(dialect, trial, order)
    text = "\n".join([*_operands(dialect, trial), *lines])
    return "\n".join([*dialect.imports(text), text]) + "\n"


def _untold(dialect: Dialect, trial: Trial, order: str, entry: Entry | None) -> str | None:
    """Why no few lines can show it, or None."""
    if trial.hint.prepare or trial.hint.finish:
        return "operands and results are shaped by further operators before they are compared"
    if not dialect.gradient or "backend." in "".join([*_operands(dialect, trial), _call(dialect, trial)]):
        return "the check needs derivatives by way of the adapter"
    of_tensors = isinstance(dialect, TorchDialect)
    if not of_tensors and trial.writes:
        return "functions are differentiated, and the operator writes to its operand"
    if not of_tensors and any(case.dtype.startswith("complex") for case in trial.inputs):
        return "libraries define gradients by complex numbers in different ways, between which the adapter converts"
    if entry is None:
        return None if of_tensors or order == "first_order" else "derivatives of derivatives are taken by the suite"
    if order != "first_order":
        return "finite differences of gradients are taken by the suite"
    if trial.writes:
        return "the operator writes to its operand"
    if entry.output_index is None or entry.input_index is None:
        return "sums over all entries are compared with random weights"
    if any(case.numel > _MANY for case in trial.call.tensors):
        return f"an operand has more than {_MANY} elements"
    return None


def _names(trial: Trial) -> dict[int, str]:
    return {id(case): f"x{k}" for k, case in enumerate(trial.call.tensors)}


def _operands(dialect: Dialect, trial: Trial) -> list[str]:
    names = _names(trial)
    return [line for case in trial.call.tensors for line in dialect.create(names[id(case)], case)]


def _call(dialect: Dialect, trial: Trial) -> str:
    names = _names(trial)

    def named(case: TensorCase) -> Name:
        return Name(names[id(case)])

    args, kwargs = trial.call.bind(named)
    return dialect.expression(trial.call.operator, tuple(args), kwargs)


def _quotient(dialect: Dialect, trial: Trial, entry: Entry) -> list[str]:
    """Gradient and difference quotient of one entry, and what must hold of them."""
    case = trial.inputs[entry.input]
    x = _names(trial)[id(case)]
    result = f"{_call(dialect, trial)}[{entry.output}]" if trial.several else f"({_call(dialect, trial)})"
    index = "".join(f"[{k}]" for k in entry.output_index or ())
    place = "".join(f"[{k}]" for k in entry.input_index or ())
    # Libraries define the gradient of a complex result differently.
    whole = bool(dialect.vjp) and not entry.part
    part = f"{dialect.alias}.{entry.part}({result})" if entry.part else result
    value = result if whole else part + index
    if trial.needs_seed and isinstance(dialect, TorchDialect):
        value = f"({dialect.alias}.manual_seed(7), {value})[1]"
    slope = f"((f({{x}} + {{h}}) - f({{x}} - {{h}})){index if whole else ''} / 2e-6).item()"
    slopes = [slope.format(x=x, h=h) for h in (["step", "1j * step"] if case.dtype.startswith("complex") else ["step"])]
    step = np.zeros(case.sizes, dtype=case.dtype)
    step[entry.input_index or ()] = 1e-6
    seed = np.zeros(entry.output_sizes, dtype=case.dtype)
    seed[entry.output_index or ()] = 1.0
    gradient = (dialect.vjp if whole else dialect.gradient).format(f="f", x=x, seed="seed")
    return [
        *dialect.watched(x),
        f"f = lambda {x}: {value}",
        *(dialect.create("seed", seed) if whole else []),
        f"gradient = {gradient}{place}.item()",
        *dialect.create("step", step),
        f"numerical = {' + 1j * '.join(slopes)}",
        "assert abs(gradient - numerical) <= 1e-5 + 1e-3 * abs(numerical), gradient",
    ]


def _taken(dialect: Dialect, trial: Trial, order: str) -> list[str]:
    """The call, and its derivatives of the ``order`` taken, whatever they are."""
    names = _names(trial)
    if not isinstance(dialect, TorchDialect):
        call = f"{_call(dialect, trial)}[0]" if trial.several else f"({_call(dialect, trial)})"
        lines = []
        for case in trial.inputs:
            x = names[id(case)]
            lines += [
                f"{x}_gradient = {dialect.gradient.format(f=f'(lambda {x}: {call}.sum())', x=x)}",
                f"assert {x}_gradient.shape == {case.sizes!r}, {x}_gradient.shape",
            ]
        return lines
    library = dialect.alias
    inputs = ", ".join(names[id(case)] for case in trial.inputs)
    call = _call(dialect, trial)
    seed = [f"{library}.manual_seed(7)"] if trial.needs_seed else []
    if order == "forward_mode":
        dual = f"{library}.autograd.forward_ad"
        made = [f"    {n} = {dual}.make_dual({n}, {library}.ones_like({n}))" for n in inputs.split(", ")]
        return [*seed, f"with {dual}.dual_level():", *made, f"    {call}"]
    lines = [
        *seed,
        *[f"{name}.requires_grad_()" for name in inputs.split(", ")],
        f"y = {call}",
        "ys = [r for r in (y if isinstance(y, (list, tuple)) else [y]) if r.requires_grad]",
        f"assert ys, '{NOTHING_RECORDED}'",
        f"grads = {library}.autograd.grad(sum(r.abs().sum() for r in ys), [{inputs}], "
        f"allow_unused=True{', create_graph=True' if order == 'second_order' else ''})",
    ]
    if order == "second_order":
        lines += [
            "gs = [g for g in grads if g is not None and g.requires_grad]",
            f"{library}.autograd.grad(sum(g.abs().sum() for g in gs), [{inputs}], allow_unused=True)",
        ]
    return lines
