"""A wrong derivative as a few lines of the backend's own API, where these can say it."""

from __future__ import annotations

from ..case import TensorCase
from ..dialect import Dialect, TorchDialect
from ..trace import Name
from .error import Entry
from .trials import Trial


def snippet(dialect: Dialect, trial: Trial, order: str, fast: bool, entry: Entry | None) -> str:
    """Source text that fails where the check failed, or, without ``entry``, runs the check."""
    if entry is None or not _tellable(dialect, trial, order, entry):
        body = [
            "from gaugeblock_conformance.gradcheck.operators import assert_derivative",
            f"assert_derivative(backend, {trial.call.operator!r}, {order!r}, {trial.dtype!r}, {trial.place}, "
            f"{trial.seed}, {fast})",
        ]
        text = "\n".join(body)
        return "\n".join([*dialect.imports(f"{text} backend."), text]) + "\n"
    return _own(dialect, trial, entry)


def _tellable(dialect: Dialect, trial: Trial, order: str, entry: Entry) -> bool:
    real = entry.part == "" and all(case.dtype == "float64" for case in trial.inputs)
    plain = not trial.hint.prepare and not trial.hint.finish and not trial.needs_seed and not trial.writes
    known = entry.output_index is not None and entry.input_index is not None
    return isinstance(dialect, TorchDialect) and real and plain and known and order == "first_order"


def _own(dialect: Dialect, trial: Trial, entry: Entry) -> str:
    """Gradient and difference quotient of one entry, and what must hold of them."""
    names = {id(case): f"x{k}" for k, case in enumerate(trial.call.tensors)}
    lines = [line for case in trial.call.tensors for line in dialect.create(names[id(case)], case)]
    x = names[id(trial.inputs[entry.input])]

    def named(case: TensorCase) -> Name:
        return Name(names[id(case)])

    args, kwargs = trial.call.bind(named)
    call = dialect.expression(trial.call.operator, tuple(args), kwargs)
    result = f"{call}[{entry.output}]" if trial.several else call
    index = "".join(f"[{k}]" for k in entry.output_index or ())
    place = "".join(f"[{k}]" for k in entry.input_index or ())
    lines += [
        f"{x}.requires_grad_()",
        f"f = lambda {x}: {result}{index}",
        f"gradient = {dialect.setup.split()[-1]}.autograd.grad(f({x}), {x})[0]{place}.item()",
        f"step = {dialect.setup.split()[-1]}.zeros_like({x})",
        f"step{place or '[()]'} = 1e-6",
        f"numerical = ((f({x} + step) - f({x} - step)) / 2e-6).item()",
        "assert abs(gradient - numerical) <= 1e-5 + 1e-3 * abs(numerical), (gradient, numerical)",
    ]
    text = "\n".join(lines)
    return "\n".join([*dialect.imports(text), text]) + "\n"
