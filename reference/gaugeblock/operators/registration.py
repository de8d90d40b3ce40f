"""Registering operators: declaration from the spec's rows, kernels by key, and forms derived from the functional one.

    @kernel("index_select")
    def index_select(self, dim, index): ...

A kernel takes the schema's arguments: positional ones by position, keyword-only ones by keyword. From a functional
kernel `derive` makes the in-place form (copy the result into self) and the out= form (plan, check, resize, run), with
the checks that the row's `out_cast` asks for; an operator that writes in place natively registers those forms itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from ..core.away import LONG, away
from ..core.device import cpu
from ..core.dtype import DType, bool_, uint8
from ..core.errors import type_error
from ..core.gc_pause import with_gc_paused
from ..core.promotion import UPSTREAM_NAMES, check_castable
from ..dispatch.dispatcher import REGISTRY
from ..dispatch.keys import tensors_in
from ..iteration.dimensions import resize_output
from ..iteration.overlap import PARTIAL_OVERLAP, Overlap, check_no_internal_overlap, extent_of, pair_overlap
from ..kernels.bound_call import Into, shares
from ..tensor.changing import change_metadata
from ..tensor.hooks import hooks
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, meta_of
from ..tensor.versions import bump_version
from .complex_half import called, is_numpy, taking
from .invoke import invoke
from .operand_checks import check_keeps_sizes
from .plan import Plannable, Planned, planned_by
from .rows import Row, rows

F = TypeVar("F", bound=Callable[..., Any])
BACKENDS = ("CPU", "Meta")
NO_SHARED_OUT = frozenset(
    {"cat", "gather", "hstack", "vstack", "dstack", "index_select", "kthvalue", "masked_select", "stack", "take"}
)
"""Operators whose out= may not even be one of the inputs."""
JOINS = frozenset({"cat", "column_stack", "hstack", "vstack", "dstack", "stack"})
"""Operators that write elements straight to out=, without converting them to the common dtype first."""
TRUTHS = frozenset({"all", "any"})
"""Operators whose out= may be bool or uint8."""
BELOW_AUTOGRAD = {"CompositeImplicitAutograd": "CompositeExplicitAutograd"}
"""Key of a functional form -> key of its out= form, if that is another: calls with out= are not differentiated."""
ACROSS_DEVICES = frozenset(
    {"copy_", "to.other", "type_as", "index.Tensor", "index_put", "index_put_", "fill_.Tensor", "is_same_size"}
)
"""Operators whose tensors may be on different devices."""

LARGE = 1 << 20
"""Elements of a tensor from which a call of NumPy may take longer than a thread costs to start."""


@with_gc_paused
def declare() -> None:
    """Declare every operator form of the spec that is not declared yet."""
    forms = (text for row in rows().values() for text in (row.schema, row.inplace, row.out))
    REGISTRY.define_missing(text for text in forms if text is not None)


def kernel(name: str, *keys: str, derive: bool = True) -> Callable[[F], F]:
    """Register the decorated function as the kernel of operator `name` under `keys` (default: CPU and Meta). With
    `derive`, the row's in-place and out= forms that have no kernel yet get derived ones. KeyError for no such row."""

    def register(function: F) -> F:
        used = keys or BACKENDS
        taken = taking(name, function) if any(key in BACKENDS for key in used) else function
        for key in used:
            REGISTRY.put(name, (key,), on_cpu(name, function) if key == "CPU" else _for_key(name, key, taken))
        row = rows().get(name)
        if derive and row is not None:
            _derive(row, taken, used)
        return function

    return register


def _derive(row: Row, function: Callable[..., Any], keys: tuple[str, ...]) -> None:
    for name, derived in ((row.inplace_name, derived_inplace), (row.out_name, derived_out)):
        if name is not None:
            form = derived(row, function)
            for key in keys if name == row.inplace_name else map(BELOW_AUTOGRAD.get, keys, keys):
                if not REGISTRY.find(name).has_kernel(key):
                    REGISTRY.put(name, (key,), _for_key(name, key, form))


def _for_key(name: str, key: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself; on the CPU one that answers signals, without data one that first looks that no other tensor
    is among them."""
    if key == "CPU":
        return on_cpu(None, function)
    if key != "Meta" or name in ACROSS_DEVICES:
        return function
    guard = functools.partial(_on_one_device, name)
    return function.wrapped(guard) if isinstance(function, Plannable) else guard(function)


def on_cpu(name: str | None, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` as the CPU kernel of operator `name`, which is None for a form derived from another kernel.

    A function of a module with NumPy is called away from the main thread when a tensor among its arguments is large:
    compiled loops look for signals themselves. A kernel sees complex32 and the 8-bit floats only if it takes them.
    """
    if not is_numpy(function):
        return taking(name, function)
    wrapper = functools.partial(_answering, name)
    return function.wrapped(wrapper) if isinstance(function, Plannable) else wrapper(function)


def _answering(name: str | None, function: Callable[..., Any]) -> Callable[..., Any]:

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        check = bool(kwargs)
        for value in args:
            for part in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(part, Tensor):
                    if part.meta.numel >= LARGE:
                        return away(LONG, called, name, function, args, kwargs)
                    check = check or not part.meta.dtype.computes
        return called(name, function, args, kwargs) if check else function(*args, **kwargs)

    run.unguarded = function  # type: ignore[attr-defined]
    return run


def unguarded(kernel: Callable[..., Any], metas: Iterable[TensorMeta]) -> Callable[..., Any]:
    """Return a kernel without the wrappers that calls on small tensors of other dtypes do not need."""
    if all(meta.numel < LARGE and meta.dtype.computes for meta in metas):
        while (inner := getattr(kernel, "unguarded", None)) is not None:
            kernel = inner
    return kernel


def _on_one_device(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        check_one_device(name, [*tensors_in((*args, *kwargs.values()))])
        return function(*args, **kwargs)

    return guarded


def check_one_device(name: str, tensors: list[Tensor]) -> None:
    """RuntimeError unless all tensors are on the first one's device, or are 0-dim CPU tensors after it."""
    if not tensors:
        return
    first = tensors[0].meta.device
    for tensor in tensors:
        meta = tensor.meta
        if meta.device is not first and (meta.ndim or meta.device is not cpu):
            raise RuntimeError(
                f"{name.partition('.')[0]}(): Expected all tensors to be on the same device, but found at least two "
                f"devices, {first} and {meta.device}!"
            )


def derived_inplace(row: Row, function: Callable[..., Any]) -> Plannable[..., Any]:
    """The in-place form: the functional result written into self."""

    @functools.wraps(function)
    def inplace(self: Tensor, *args: Any, **kwargs: Any) -> Tensor | Planned[Tensor]:
        check_no_internal_overlap(self.meta.sizes, self.meta.strides)
        plan = planned_by(function, (self, *args), kwargs)
        (meta,), call, operands = plan.metas, plan.call, plan.operands
        check_keeps_sizes(f"{row.base}_", self.meta.sizes, meta.sizes)
        check_castable(meta.dtype, self.meta.dtype)
        _store(self, plan.result)
        if call is None or (operands is not None and (not operands or operands[0] is not self)):
            return self
        return Planned(self, storing(call), operands)

    return Plannable(inplace)


SMALL_BYTES = 16384
"""A copy of this size costs less than what the general path does beside the operator's work."""


def storing(call: Callable[..., Any], *, apart: bool = False) -> Callable[..., Tensor | None]:
    """Return the call that writes what `call` makes into its first operand; with `apart` it returns None where that
    may share memory with another."""
    copies = dict[tuple[TensorMeta, TensorMeta], Callable[..., Tensor | None]]()

    def run(self: Tensor, *others: Any) -> Tensor | None:
        result = None if apart and shares(self, others) else call(self, *others)
        if result is None:
            return None
        key = self.meta, result.meta
        copy = copies.get(key)
        if copy is not None:
            return copy(self, result)
        launch = self.meta.plans.get(("copy", result.meta))
        if launch is not None:
            copies[key] = Into(*launch.call()).native()
        return _store(self, result)

    return run


def derived_out(row: Row, function: Callable[..., Any]) -> Plannable[..., Any]:
    """Return the out= form, which runs the kernel's plan into the given tensors, or copies what has no plan."""

    @functools.wraps(function)
    def into(*given: Any, out: Any, **options: Any) -> Any:
        outs = out if isinstance(out, (tuple, list)) else (out,)
        for tensor in outs:
            if not isinstance(tensor, Tensor):
                type_error(row.base, "out", tensor, "Tensor")
        args, kwargs = computed_in_out(row, given, options, outs[0])
        inputs = [*tensors_in((*args, *kwargs.values()))]
        for tensor in outs:
            check_out_overlap(tensor, inputs, shared=row.base not in NO_SHARED_OUT)
        plan = planned_by(function, args, kwargs)
        for tensor, meta in zip(outs, plan.metas, strict=True):
            check_out_dtype(row, meta.dtype, tensor.meta.dtype)
        if row.base in JOINS and plan.metas[0].dtype is not outs[0].meta.dtype:
            wanted = [invoke("to.dtype", tensor, outs[0].meta.dtype) for tensor in args[0]]
            plan = planned_by(function, (wanted, *args[1:]), kwargs)
        same = args is given and all(tensor.meta is meta for tensor, meta in zip(outs, plan.metas, strict=True))
        _write_results(plan, outs, as_made=row.family == "linalg")
        writer = plan.writer() if same else _copying(plan, outs) if args is given else None
        operands = None if plan.operands is None else (out, *plan.operands)
        if isinstance(out, Tensor):
            return Planned(out, writer, operands)
        make = getattr(plan.kind, "_make", tuple)
        return Planned(make(outs), writer and _writing_several(writer, make), operands)

    return Plannable(into)


def _copying(plan: Planned[Any], outs: Sequence[Tensor]) -> Callable[..., Tensor | None] | None:
    """Return the call that computes a result and copies it into a tensor with other strides, which shares no memory
    with the operands; None where more is asked for than a copy."""
    (made, *others), (out, *_) = plan.metas, outs
    call, launch = plan.call, out.meta.plans.get(("copy", made))
    if call is None or launch is None or others or made.sizes != out.meta.sizes or made.dtype is not out.meta.dtype:
        return None
    if made.lazy or out.meta.lazy or out.meta.has_autograd:
        return None
    copy = Into(*launch.call()).native()

    def write(out: Tensor, *values: Any) -> Tensor | None:
        result = None if shares(out, values) else call(*values)
        return None if result is None else copy(out, result)

    return write


def _writing_several(
    write: Callable[..., Any], make: Callable[[Iterable[Tensor]], Any]
) -> Callable[..., tuple[Tensor, ...] | None]:
    """Return the call that writes into tensors given as a tuple, which it returns as `make` makes it."""
    return lambda outs, *values: None if write(*outs, *values) is None else make(outs)


def _write_results(plan: Planned[Any], outs: Sequence[Tensor], as_made: bool) -> None:
    """Write the results of a plan into tensors, resized where they have other sizes, which an error undoes."""
    before = [tensor.meta for tensor in outs]
    if plan.reads(outs) and any(meta.sizes != made.sizes for meta, made in zip(before, plan.metas, strict=True)):
        _ = plan.result  # computed before a resized tensor has other elements
    try:
        for tensor, made in zip(outs, plan.metas, strict=True):
            resize_out(tensor, made, as_made=as_made)
        if not plan.write(outs):
            results = plan.result
            for tensor, result in zip(outs, results if isinstance(results, tuple) else (results,), strict=True):
                _store(tensor, result)
    except BaseException:
        for tensor, meta in zip(outs, before, strict=True):
            change_metadata(tensor, meta, tensor.storage_impl, tensor.offset)
        raise


def computed_in_out(
    row: Row, args: tuple[Any, ...], kwargs: dict[str, Any], out: Tensor
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a factory, reduction or scan that computes in the dtype of its out=. Raises RuntimeError for an
    out= of another dtype than `dtype` says, or one that is not floating where it must be."""
    if out.meta.device is not cpu and "Device? device" in row.schema:
        kwargs = {**kwargs, "device": out.meta.device}
    if row.family == "factory" and row.takes_dtype:
        return args, {**kwargs, "dtype": out.meta.dtype}
    if row.family not in ("reduction", "scan"):
        return args, kwargs
    given: Tensor = args[0]
    wanted, own = out.meta.dtype, given.meta.dtype
    chosen = kwargs.get("dtype")
    if chosen is not None and row.result == "real":
        chosen = chosen.to_real()
    if chosen is not None and chosen is not wanted:
        raise RuntimeError(f"{row.base}(): Expected out tensor to have dtype {chosen.name}, but got {wanted.name}")
    if row.out_cast in ("any", "number") and chosen is None and row.takes_dtype:
        return args, {**kwargs, "dtype": wanted}
    if row.out_cast == "floating" and own.is_floating_point and wanted.is_complex:
        check_out_dtype(row, own, wanted)
    if row.out_cast == "floating" and own.to_real() is not wanted and own.kind >= 2 and wanted.is_floating_point:
        return (invoke("to.dtype", given, wanted.to_complex() if own.is_complex else wanted), *args[1:]), kwargs
    return args, kwargs


def check_out_overlap(out: Tensor, inputs: list[Tensor], *, shared: bool = True) -> None:
    """RuntimeError when `out` meets itself, or part of an input, in memory; unless `shared` also all of an input."""
    check_no_internal_overlap(out.meta.sizes, out.meta.strides)
    for tensor in inputs:
        verdict = pair_overlap(extent_of(out), extent_of(tensor))
        if verdict is Overlap.PARTIAL or (verdict is Overlap.FULL and not shared):
            raise RuntimeError(PARTIAL_OVERLAP)


def check_out_dtype(row: Row, result: DType, output: DType) -> None:
    """RuntimeError when out= of this dtype may not take the result, by the row's `out_cast`."""
    if result is output or row.out_cast == "any" or (row.out_cast == "number" and output is not bool_):
        return
    if row.base in TRUTHS and output in (bool_, uint8):
        return
    if row.base in JOINS and output.kind < result.kind:
        raise TypeError(
            f"{row.base}(): input types can't be cast to the desired output type {UPSTREAM_NAMES[output.name]}"
        )
    if row.out_cast == "exact" or (row.out_cast == "floating" and result.is_floating_point and output.is_complex):
        raise RuntimeError(
            f"{row.base}(): Expected out tensor to have dtype {UPSTREAM_NAMES[result.name]}, but got "
            f"{UPSTREAM_NAMES[output.name]} instead"
        )
    check_castable(result, output)


def write_out(out: Tensor, result: Tensor) -> Tensor:
    """Copy `result` into `out`, resized to its shape (with a warning when it had elements), and count the change."""
    resize_out(out, result.meta)
    return _store(out, result)


def resize_out(out: Tensor, made: TensorMeta, *, as_made: bool = False) -> None:
    """Resize `out` for a result of meta `made`: with `as_made` to the strides of that, else row-major."""
    meta = out.meta
    if meta.device is not made.device:
        raise RuntimeError(f"Expected out tensor to be on device {made.device}, but it is on {meta.device}")
    if meta.sizes != made.sizes:
        target = contiguous_meta(made.sizes, meta.dtype, meta.device)
        if as_made and made.dense:
            target = meta_of(made.sizes, made.strides, meta.dtype, meta.device)
        resize_output(out, target)


def _store(out: Tensor, result: Tensor) -> Tensor:
    bump_version(out)
    hooks.copy_into(out, result)
    return out


declare()
