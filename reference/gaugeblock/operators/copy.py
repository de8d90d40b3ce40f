"""Copies: copy_, clone and the copy hooks of the tensor package; any strides, any dtypes, lazy bits resolved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.device import cpu, meta_device
from ..core.dtype import DType
from ..core.memory_format import MemoryFormat, contiguous_format
from ..core.warn import warn
from ..dispatch.dispatcher import REGISTRY, call
from ..iteration.dimensions import broadcast_shapes
from ..iteration.overlap import check_no_internal_overlap, check_no_partial_overlap
from ..kernels.bound_call import Fresh, Into
from ..kernels.pointwise import Launch
from ..memory.elements import read_bytes, write_bytes
from ..memory.storage import allocate_storage, read_device, write_device
from ..tensor import tensor_meta
from ..tensor.hooks import hooks
from ..tensor.tensor import Tensor, make_tensor, new_like
from ..tensor.tensor_meta import CONJUGATE, NEGATIVE, TensorMeta, extent, format_strides, meta_of, recalled, remember
from ..tensor.versions import bump_version
from .composition import Part, composite
from .launch import element_launch
from .operand_checks import check_keeps_sizes
from .plan import Planned, plannable
from .registration import kernel

BUILTIN = (cpu, meta_device)
FORMULA_OF_LAZY = {0: "identity", CONJUGATE: "conj_physical", NEGATIVE: "neg", CONJUGATE | NEGATIVE: "neg_conj"}
ELSEWHERE: dict[str, Callable[[Tensor, Tensor, bool], None]] = {}
"""Device type -> what copies to and from it, with what copy_ says on blocking; the others go through host memory."""


def copy_values(destination: Tensor, source: Tensor, non_blocking: bool = False) -> None:
    """Write `source`, broadcast and converted, into `destination`; no checks, no version change."""
    key = ("copy", source.meta)
    plans = destination.meta.plans
    try:
        launch: Launch | None = plans[key]
    except KeyError:
        if destination.meta.device not in BUILTIN or source.meta.device not in BUILTIN:
            copy_elsewhere(destination, source, non_blocking)
            return
        launch = copying(destination.meta, source.meta)
        remember(plans, key, launch)
    if launch is not None:
        launch.run([destination.pointer, source.pointer])


def host_image(tensor: Tensor) -> Tensor:
    """A tensor in host memory with the sizes, strides and elements of one on another device."""
    meta = tensor.meta
    here = meta_of(meta.sizes, meta.strides, meta.dtype, cpu, meta.lazy)
    data = read_device(meta.device, tensor.pointer, _spanned(meta))
    storage = allocate_storage(len(data))
    write_bytes(storage.pointer, data)
    return make_tensor(here, storage, 0, None)


def _spanned(meta: TensorMeta) -> int:
    return extent(meta.sizes, meta.strides) * meta.dtype.itemsize if meta.numel else 0


def copy_elsewhere(destination: Tensor, source: Tensor, non_blocking: bool) -> None:
    """copy_values where one of the two lies neither on the CPU nor on meta. NotImplementedError without data."""
    kinds = (destination.meta.device.type, source.meta.device.type)
    copy = ELSEWHERE.get(kinds[0]) or ELSEWHERE.get(kinds[1])
    if kinds[0] == "meta":
        return
    if kinds[1] == "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if copy is None:
        copy_through_host(destination, source)
    else:
        copy(destination, source, non_blocking)


def copy_through_host(destination: Tensor, source: Tensor) -> None:
    """copy_values from or to a device whose memory only its allocator reaches. NotImplementedError without data."""
    values = source if source.meta.device in BUILTIN else host_image(source)
    if destination.meta.device is cpu:
        copy_values(destination, values)
        return
    image = host_image(destination)
    copy_values(image, values)
    data = read_bytes(image.pointer, _spanned(image.meta))
    write_device(destination.meta.device, destination.pointer, data)


def copying(destination: TensorMeta, source: TensorMeta) -> Launch | None:
    """The launch that copies, None without data. Raises NotImplementedError for a source without data."""
    if destination.device is not cpu:
        return None
    if source.device is not cpu:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if destination.dtype.quantized or source.dtype.quantized:
        raise RuntimeError(
            f"{source.dtype} cannot be copied to {destination.dtype}: numbers are quantized by quantize_per_tensor() "
            f"and quantize_per_channel(), and dequantize() gives them back"
        )
    formula, compute = formula_of_copy(destination, source)
    return element_launch(formula, destination, [source], compute)


def formula_of_copy(destination: TensorMeta, source: TensorMeta) -> tuple[str, DType]:
    """Return the formula that copies, and the dtype that it is computed in."""
    # Whole numbers are negated as what they become: those without a sign, and zeros, have no negative.
    compute = destination.dtype if destination.lazy and source.dtype.kind < destination.dtype.kind else source.dtype
    return FORMULA_OF_LAZY[destination.lazy ^ source.lazy], compute


@kernel("copy_")
@plannable
def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor | Planned[Tensor]:
    """Write `src`, broadcast and converted to self's dtype, into self; RuntimeError when it does not broadcast."""
    if not isinstance(src, Tensor):
        result: Tensor = call(REGISTRY.find("fill_.Scalar"), self, src)
        return result
    meta, source = self.meta, src.meta
    if self is src:
        bump_version(self)
        return self
    check_no_internal_overlap(meta.sizes, meta.strides)
    if self.storage_impl is src.storage_impl:
        check_no_partial_overlap(self, src)
    if source.sizes != meta.sizes:
        check_keeps_sizes("copy_", meta.sizes, broadcast_shapes((meta.sizes, source.sizes)))
    warn_of_lost_imaginary_part(source, meta)
    bump_version(self)
    copy_values(self, src, non_blocking)
    launch = meta.plans.get(("copy", source))
    if launch is not None and not (source.dtype.is_complex and not meta.dtype.is_complex):
        return Planned(self, Into(*launch.call()).native())
    return self


def warn_of_lost_imaginary_part(source: TensorMeta, destination: TensorMeta) -> None:
    """UserWarning when complex values go into a real dtype other than bool."""
    if source.dtype.is_complex and not destination.dtype.is_complex and destination.dtype.kind:
        warn("Casting complex values to real discards the imaginary part")


@kernel("clone")
@plannable
def clone(self: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor | Planned[Tensor]:
    """A fresh tensor with the same values; the layout is kept unless a memory format is given."""
    meta = self.meta
    strides = format_strides("clone", meta.sizes, meta.strides, memory_format)
    return planned_copy(meta_of(meta.sizes, strides, meta.dtype, meta.device), self)


def planned_copy(meta: TensorMeta, source: Tensor) -> Planned[Tensor]:
    """Plan a copy with this meta; it has no call where each one warns."""
    if meta.device is cpu is source.meta.device:
        fresh, call = recalled(meta.plans, ("copied", source.meta), _fresh_and_call, meta, source.meta)
        return Planned.unrun(fresh, (source,), call, (source,))
    result = new_like(meta)
    copy_values(result, source)
    return Planned(result, None)


@plannable
def copied(source: Tensor, meta: TensorMeta) -> Tensor | Planned[Tensor]:
    """Return a copy of a tensor with this meta."""
    return planned_copy(meta, source)


def _fresh_and_call(meta: TensorMeta, source: TensorMeta) -> tuple[Fresh, Callable[..., Any] | None]:
    launch = recalled(meta.plans, ("copy", source), copying, meta, source)
    kernel, tail = (None, ()) if launch is None else launch.call()
    fresh = Fresh(kernel, (meta,), tail)
    return fresh, None if source.dtype.is_complex and not meta.dtype.is_complex else fresh.native()


def fresh_copy(result: Tensor, source: Tensor) -> Callable[..., Any] | None:
    """Return the call that makes a tensor like `result`, a copy of `source` that may be reshaped; None for a view, and
    where no loop has been planned."""
    meta, copied = result.meta, source.meta
    filled = meta if meta.sizes == copied.sizes else tensor_meta.contiguous_meta(copied.sizes, meta.dtype, meta.device)
    launch = None if result.base is not None else filled.plans.get(("copy", copied))
    return None if launch is None else Fresh(launch.call()[0], (meta,), launch.call()[1]).native()


hooks.copy_into = copy_values


COPIES = """as_strided_copy detach_copy diagonal_copy expand_copy narrow_copy permute_copy select_copy.int
    slice_copy.Tensor split_copy.Tensor split_with_sizes_copy squeeze_copy squeeze_copy.dim squeeze_copy.dims t_copy
    transpose_copy.int unbind_copy.int unfold_copy unsqueeze_copy view_as_complex_copy view_as_real_copy view_copy
    view_copy.dtype""".split()
"""Operators named after the view that they copy."""
# Views that no lazy tensor has, for its memory would be read as something else.
_OF_MEMORY = ("view_as_real", "view.dtype")


def copying_view(view: str) -> Callable[..., Any]:
    """The function that copies what `view` returns, each part of a list by itself."""

    def copy(part: Part, self: Tensor, *args: Any, **kwargs: Any) -> Any:
        given = part("clone", self) if self.meta.lazy and view in _OF_MEMORY else self
        found: Any = part("reshape" if view == "view" else view, given, *args, **kwargs)
        if isinstance(found, (tuple, list)):
            return tuple([part("clone", one, memory_format=contiguous_format) for one in found])
        return part("clone", found, memory_format=contiguous_format)

    return composite(copy)


kernel("alias_copy")(copying_view("detach"))
for _name in COPIES:
    kernel(_name)(copying_view(_name.replace("_copy", "")))


@kernel("positive", "CompositeExplicitAutograd")
def positive(self: Tensor) -> Tensor:
    """`self`. Raises RuntimeError for bool."""
    if self.meta.dtype.kind == 0:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self
