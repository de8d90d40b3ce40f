"""Any operator on the simulated device: the CPU's kernel, deferred, over the device's bytes.

What a call gives is learnt from its kernel for tensors without data; the results are allocated on the device, and the
CPU's kernel is put on the current stream. A call whose result depends on values, or that is refused, waits and runs on
copies in host memory, so that its errors are those of the CPU.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

from ...dispatch.dispatcher import MISSING, Operator, missing_kernel, redispatch
from ...operators.copy import copy_values
from ...operators.formulas import FORMULAS
from ...operators.generator import Generator
from ...tensor.tensor import Tensor
from ..random import launch_generator
from .deferred import defer, defer_loop, plain_state
from .host_fallback import on_host
from .known_loops import FRESH, call_key, known_loop, learn_loop
from .operands import Operands
from .outlined_call import HOST_KEYS, Outlined, keys_for, outlined_call
from .pointwise import FORMS, pointwise_loop
from .twins import host_views

WAITING = frozenset(
    """linalg_inv inverse linalg_solve linalg_lu_factor linalg_cholesky cholesky quantile nanquantile is_nonzero
    binary_cross_entropy""".split()
)
"""Operators whose kernels look at values before they say that they succeeded: their calls wait."""


def run_deferred(operator: Operator, keys: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The boxed kernel of the key CUDA on the simulated driver.

    Raises RuntimeError for tensors on several devices, NotImplementedError for operators from outside.
    """
    name = operator.name
    key = call_key(name, args, kwargs) if name in FRESH else None
    known = None if key is None else known_loop(args, key)
    if known is not None:
        return known.launched(name, args)
    check_known(operator)
    operands = Operands(operator, args, kwargs)
    kwargs, generator = launch_generator(operator, operands.device, kwargs)
    found = None
    if operands.tensors and name.partition(".")[0] not in WAITING:
        found = outlined_call(operator, operands, args, kwargs)
    if found is None:
        return on_host(operator, operands, args, kwargs, generator)
    if name in FORMS and _launch_loop(name, operands, args, kwargs, found.results, key):
        return found.results
    if found.fresh or operands.written:
        _launch(operator, operands, args, kwargs, found, generator)
    return found.results


def _launch_loop(
    name: str, operands: Operands, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Tensor, key: Any
) -> bool:
    """Put the loop of a pointwise call on the stream, and remember it by a key; False where it takes more than one."""
    if not result.meta.numel:
        return True
    with plain_state():
        loop = pointwise_loop(name, args, kwargs, (result,))
    if loop is None:
        return False
    nbytes = result.meta.nbytes + sum(tensor.meta.nbytes for tensor in operands.tensors)
    defer_loop(operands.index, name, loop.launch, loop.values, nbytes, loop.kept)
    if key is not None:
        learn_loop(args, key, loop, result, operands.index, nbytes)
    return True


def check_known(operator: Operator) -> None:
    """NotImplementedError for an operator from outside, unless it was declared with a formula."""
    if "::" in operator.name and operator.name.partition(".")[0].removesuffix("_") not in FORMULAS:
        raise missing_kernel(operator, MISSING, "CUDA")


def _launch(
    operator: Operator,
    operands: Operands,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    outlined: Outlined,
    generator: Generator | None,
) -> None:
    """Put the CPU's kernel on the stream: it writes where the operator does, and its results into the fresh ones."""
    with plain_state():
        views = host_views()
        given = [views.of(value) for value in args]
        options = {name: views.of(value) for name, value in kwargs.items()}
        fresh = outlined.fresh
        targets = [views.of(one) if any(one is new for new in fresh) else None for one in flat(outlined.results)]

    def work() -> None:
        found = redispatch(operator, keys_for(HOST_KEYS, given, options), *given, **options)
        for target, part in zip(targets, flat(found), strict=True):
            if target is not None:
                copy_values(target, part)

    nbytes = sum(tensor.meta.nbytes for tensor in (*operands.tensors, *fresh))
    whole = taking_back(work, operands.written) if operands.indexed and operands.written else work
    defer(operands.index, operator.name, whole, nbytes, generator)


def taking_back(work: Callable[[], None], written: list[Tensor]) -> Callable[[], None]:
    """`work`, which writes nothing when it refuses an index, and then takes back the count of a change, unless the
    tensor has been changed since. No storage is kept alive for that."""
    counted = [(weakref.ref(tensor.storage_impl), tensor.storage_impl.version) for tensor in written]

    def run() -> None:
        try:
            work()
        except (IndexError, RuntimeError):
            for reference, version in counted:
                storage = reference()
                if storage is not None and storage.version == version:
                    storage.version -= 1
            raise

    return run


def flat(value: Any) -> list[Tensor]:
    """The tensors of a result, those in lists too, in order."""
    if isinstance(value, (tuple, list)):
        return [part for one in value for part in flat(one)]
    return [value] if isinstance(value, Tensor) else []
