"""gradcheck and gradgradcheck: derivatives compared with finite differences.

The suite has a check of its own, ``gaugeblock gradcheck``, which checks every operator of a backend; this one checks
a function of the user's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..calls.functions import ops
from ..tensor.tensor import Tensor
from . import forward_ad
from .backward import grad
from .functional import pulled_back


class GradcheckError(RuntimeError):
    """Raised when derivatives differ from finite differences."""


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
) -> bool:  # fmt: skip
    """Return whether the gradients of ``func(*inputs)`` agree with central differences of width `eps`.

    Every element is compared, with a tolerance of ``atol + rtol * abs(difference)``, even with `fast_mode`. A mismatch
    raises GradcheckError, or returns False if `raise_exception` is false. Raises ValueError when no input requires a
    gradient, NotImplementedError for batched gradients. Source: torch.autograd.gradcheck.
    """
    if check_batched_grad or check_batched_forward_grad:
        raise NotImplementedError("gradcheck(): batched gradients are not checked; compare them by func.vmap")
    given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    asked = [place for place, one in enumerate(given) if _differentiable(one)]
    if not asked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have "
            "requires_grad=True."
        )
    try:
        outputs = _outputs(func(*given))
        slopes = [_differences(func, given, place, outputs, eps) for place in asked]
        if check_backward_ad:
            for nr, output in enumerate(outputs):
                _compare_backward(output, nr, [given[place] for place in asked], slopes, (atol, rtol, nondet_tol))
                if check_undefined_grad and output.requires_grad and check_grad_dtypes:
                    wanted = [given[place] for place in asked]
                    parts = zip(wanted, _backward(output, wanted, ops.ones_like(output.detach())), strict=True)
                    for number, (one, grown) in enumerate(parts):
                        if grown.dtype is not one.dtype:
                            message = f"the gradient of input {number} is of {grown.dtype}, not of {one.dtype}"
                            raise GradcheckError(message)
        if check_forward_ad:
            for place, found in zip(asked, slopes, strict=True):
                _compare_forward(func, given, place, found, (atol, rtol))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, **options: Any) -> bool:
    """Return whether gradcheck holds for the gradients of ``func(*inputs)`` as a function of inputs and `grad_outputs`.

    `grad_outputs` are random unless given. Options and errors are those of gradcheck.
    Source: torch.autograd.gradgradcheck.
    """
    options = {name: value for name, value in options.items() if name not in ("gen_non_contig_grad_outputs",)}
    given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    if grad_outputs is None:
        outputs = _outputs(func(*given))
        seeds: tuple[Any, ...] = tuple(ops.randn_like(one).requires_grad_() for one in outputs)
    else:
        seeds = tuple(grad_outputs) if isinstance(grad_outputs, (tuple, list)) else (grad_outputs,)

    def gradients(*values: Any) -> tuple[Any, ...]:
        own, weights = values[: len(given)], values[len(given) :]
        wanted = [one for one in own if _differentiable(one)]
        found = grad(_outputs(func(*own)), wanted, list(weights), create_graph=True, allow_unused=True)
        return tuple(one for one in found if one is not None)

    return gradcheck(gradients, (*given, *seeds), **options)


def _differentiable(value: Any) -> bool:
    return isinstance(value, Tensor) and bool(value.requires_grad)  # type: ignore[attr-defined]


def _outputs(result: Any) -> list[Any]:
    """Return the tensors of a result that may have gradients."""
    several = result if isinstance(result, (tuple, list)) else (result,)
    return [one for one in several if isinstance(one, Tensor) and one.meta.dtype.kind > 1]


def _places(tensor: Any) -> Iterator[tuple[tuple[int, ...], complex]]:
    """Yield the index of each element with each direction to perturb it in: 1, and 1j for complex elements."""
    directions: list[complex] = [1.0, 1j] if tensor.dtype.is_complex else [1.0]
    return itertools.product(itertools.product(*map(range, tensor.shape)), directions)


def _differences(
    func: Callable[..., Any], given: Sequence[Any], place: int, outputs: Sequence[Any], eps: float
) -> list[list[Any]]:
    """Return, for each direction of each element of an input, the central difference of every output."""
    elements = given[place].data
    found: list[list[Any]] = []
    for index, direction in _places(elements):
        sides = []
        kept = elements[index].item()
        for step in (eps, -eps):
            elements[index] = kept + step * direction
            sides.append([one.detach().clone() for one in _outputs(func(*given))])
            elements[index] = kept
        found.append([(up - down) / (2 * eps) for up, down in zip(*sides, strict=True)])
    if any(len(one) != len(outputs) for one in found):
        raise GradcheckError("the function does not return the same number of tensors every time")
    return found


def _compare_backward(
    output: Any, nr: int, wanted: list[Any], slopes: list[list[list[Any]]], tolerance: tuple[float, float, float]
) -> None:
    atol, rtol, nondet = tolerance
    for index, direction in _places(output):
        seed = ops.zeros_like(output.detach())
        seed[index] = direction
        both = [_backward(output, wanted, seed) for _ in range(2)]
        for number, (found, again) in enumerate(zip(*both, strict=True)):
            if not ops.allclose(found, again, rtol=0.0, atol=nondet, equal_nan=True):
                raise GradcheckError(f"Backward is not reentrant: two runs for output {nr} and input {number} differ")
            changes = [(one[nr][index] * complex(direction).conjugate()).real.item()
                       if output.dtype.is_complex else one[nr][index].item() for one in slopes[number]]  # fmt: skip
            if wanted[number].dtype.is_complex:
                changes = [complex(re, im) for re, im in zip(changes[::2], changes[1::2], strict=True)]
            numerical = ops.tensor(changes, dtype=found.dtype).reshape(found.shape)
            _check_close(numerical, found, f"output {nr} with respect to input {number}", atol, rtol)


def _backward(output: Any, wanted: list[Any], seed: Any) -> list[Any]:
    return [one.detach() for one in pulled_back((output,), wanted, (seed,), create=False)]  # type: ignore[attr-defined]


def _compare_forward(
    func: Callable[..., Any], given: Sequence[Any], place: int, slopes: list[list[Any]], tolerance: tuple[float, float]
) -> None:
    for (index, direction), expected in zip(_places(given[place]), slopes, strict=True):
        tangent = ops.zeros_like(given[place].detach())
        tangent[index] = direction
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(given[place].detach(), tangent)
            results = _outputs(func(*given[:place], dual, *given[place + 1 :]))
            found = [forward_ad.unpack_dual(one).tangent for one in results]
        for nr, (one, other) in enumerate(zip(expected, found, strict=True)):
            shown = ops.zeros_like(one) if other is None else other.detach()  # type: ignore[attr-defined]
            _check_close(one, shown, f"output {nr} with respect to input {place} (forward mode)", *tolerance)


def _check_close(numerical: Any, analytical: Any, where: str, atol: float, rtol: float) -> None:
    if not ops.allclose(analytical, numerical.to(analytical.dtype), rtol=rtol, atol=atol, equal_nan=True):
        raise GradcheckError(f"Jacobian mismatch for {where},\nnumerical:{numerical}\nanalytical:{analytical}\n")
