"""Derivatives of operators with sparse tensors: what reaches the values, or a strided operand beside them.

A gradient may be sparse or strided. What flows back to a sparse tensor by way of `to_dense`, `values` or a product of
``sparse.mm`` has its indices; other rules leave the gradient in the layout that their operators give.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.layout import sparse_coo
from ..core.promotion import can_cast
from ..dispatch.dispatcher import REGISTRY, call
from ..dispatch.keys import tensors_in
from ..dispatch.operator import Operator
from ..dispatch.state import STATE
from ..operators.invoke import apply
from ..operators.rows import row_of_form
from ..sparse import registration as registration
from ..sparse.compressed_operators import values_like
from ..sparse.coo_tensor import is_coo
from ..sparse.copying import become
from ..sparse.gathering import gathered
from ..sparse.unary import KEEPING_ZERO
from ..tensor.sparse_tensor import SparseTensor
from ..tensor.tensor import Tensor
from .autograd_meta import requires_grad, unpack
from .below_autograd import below
from .grad_mode import enable_grad
from .variable_type_manual import refusing, refusing_out, registered_kernel
from .view_history import check_inplace, rebase

Grads = tuple[Any, ...]


class Derivative(NamedTuple):
    """What is kept of a call, and the gradients by its arguments."""

    backward: Callable[..., Any]
    setup_context: Callable[..., None]


def keeping(*places: int) -> Callable[..., None]:
    """Return what keeps the tensors at some places among the arguments, all arguments and keywords."""

    def setup(ctx: Any, inputs: Grads, output: Any, keyword_only_inputs: Any = None) -> None:
        ctx.save_for_backward(*[inputs[place] for place in places])
        ctx.inputs = tuple([None if isinstance(one, Tensor) else one for one in inputs])
        ctx.shapes = tuple([one.shape if isinstance(one, Tensor) else None for one in inputs])
        ctx.options = keyword_only_inputs or {}

    return setup


def named(name: str, *args: Any, **kwargs: Any) -> Any:
    """Return the result of an operator that sparse layouts declare."""
    return call(REGISTRY.find(name), *args, **kwargs)


def dense(grad: Tensor) -> Tensor:
    """Return a gradient with strides."""
    found: Tensor = named("_to_dense", grad) if isinstance(grad, SparseTensor) else grad
    return found


def at_indices(grad: Tensor, like: Tensor) -> Tensor:
    """Return a gradient at the indices of a sparse tensor, coalesced if they may repeat."""
    mask: Any = like
    if not is_coo(like):
        return named("sparse_mask", grad, like)  # type: ignore[no-any-return]
    if isinstance(grad, SparseTensor) and not is_coo(grad):
        grad = named("_to_sparse", grad, layout=sparse_coo)
    return named("sparse_mask", grad, mask.coalesce())  # type: ignore[no-any-return]


def values_at(grad: Tensor, like: Any) -> Tensor:
    """Return the elements of a gradient that a coalesced or a compressed tensor specifies, as its values."""
    return gathered(grad, like.indices()) if is_coo(like) else values_like(grad, like)


def with_values(like: Any, values: Tensor) -> Tensor:
    """Return a tensor with the indices of a coalesced or a compressed one. It is recorded."""
    sizes = tuple(like.shape)
    if not is_coo(like):
        found: Tensor = named(
            "_sparse_compressed_tensor_unsafe", *like.parts.tensors[:2], values, sizes, layout=like.layout
        )
        return found
    return named(  # type: ignore[no-any-return]
        "_sparse_coo_tensor_with_dims_and_tensors", like.sparse_dim(), like.dense_dim(), sizes, like._indices(), values,
        is_coalesced=True,
    )  # fmt: skip


def to_dense_back(ctx: Any, grad: Tensor) -> Grads:
    (self,) = ctx.saved_tensors
    if ctx.inputs[2] is not False:
        return at_indices(grad, self), None, None
    if is_coo(self):
        return named("_to_sparse.sparse_dim", grad, self.sparse_dim()), None, None
    block = self.parts.block if self.parts.form.blocks else None
    whole = named("_to_sparse", grad, layout=self.layout, blocksize=block, dense_dim=self.dense_dim())
    return whole, None, None


def as_given(ctx: Any, grad: Tensor) -> Grads:
    """Return the gradient of a layout conversion: at the indices of a sparse input, strided for a strided one."""
    (self,) = ctx.saved_tensors
    found = at_indices(grad, self) if isinstance(self, SparseTensor) else dense(grad)
    return found, *[None] * (len(ctx.inputs) - 1)


def passed(ctx: Any, grad: Tensor) -> Grads:
    return grad, *[None] * (len(ctx.inputs) - 1)


def values_back(ctx: Any, grad: Tensor) -> Grads:
    (self,) = ctx.saved_tensors
    return (with_values(self, grad),)


def constructor_back(ctx: Any, grad: Tensor) -> Grads:
    (indices,) = ctx.saved_tensors
    return None, None, None, None, gathered(unpack(grad), unpack(indices))


def compressed_back(ctx: Any, grad: Tensor) -> Grads:
    compressed, plain, values = ctx.saved_tensors
    sizes, layout = ctx.inputs[3], ctx.options["layout"]
    made = named("_sparse_compressed_tensor_unsafe", compressed, plain, values.detach(), sizes, layout=layout)
    return None, None, values_like(unpack(grad), made), None


def sum_back(ctx: Any, grad: Tensor) -> Grads:
    return (apply("expand", grad, tuple(ctx.shapes[0])),)


def sum_dim_back(ctx: Any, grad: Tensor) -> Grads:
    (self,) = ctx.saved_tensors
    dims = ctx.inputs[1]
    keepdim = ctx.inputs[2] if len(ctx.inputs) > 2 else False
    grad = dense(grad)
    if not keepdim:
        every = range(self.dim())
        chosen = every if dims is None or not len(dims) else sorted(dim % max(self.dim(), 1) for dim in dims)
        for dim in chosen:
            grad = apply("unsqueeze", grad, dim)
    found = at_indices(apply("expand", grad, tuple(self.shape)), self)
    return found, *[None] * (len(ctx.inputs) - 1)


def adjoint(matrix: Tensor) -> Tensor:
    """Return the transpose, conjugated."""
    return apply("adjoint", matrix)


def scaled(grad: Tensor, factor: Any) -> Tensor:
    """Return a gradient times the conjugate of a number."""
    return grad if factor == 1 else apply("mul.Scalar", grad, conjugate(factor))


def conjugate(number: Any) -> Any:
    return number.conjugate() if isinstance(number, complex) else number


def mm_back(ctx: Any, grad: Tensor) -> Grads:
    self, mat2 = ctx.saved_tensors
    mine = apply("mm", grad, adjoint(mat2)) if ctx.needs_input_grad[0] else None
    theirs = apply("mm", adjoint(self), grad) if ctx.needs_input_grad[1] else None
    return mine, theirs


def sparse_mm_back(ctx: Any, grad: Tensor) -> Grads:
    self, mat2 = ctx.saved_tensors
    mine, theirs = mm_back(ctx, grad)
    if mine is not None and isinstance(self, SparseTensor):
        mine = at_indices(mine, self)
    if theirs is not None and isinstance(mat2, SparseTensor):
        theirs = at_indices(theirs, mat2)
    return mine, theirs


def addmm_back(ctx: Any, grad: Tensor) -> Grads:
    mat1, mat2 = ctx.saved_tensors
    alpha, beta = ctx.options.get("alpha", 1), ctx.options.get("beta", 1)
    needs = ctx.needs_input_grad
    return (
        scaled(grad, beta) if needs[0] else None,
        scaled(apply("mm", grad, adjoint(mat2)), alpha) if needs[1] else None,
        scaled(apply("mm", adjoint(mat1), grad), alpha) if needs[2] else None,
    )


def mv_back(ctx: Any, grad: Tensor) -> Grads:
    self, vec = ctx.saved_tensors
    needs = ctx.needs_input_grad
    return (
        apply("mul.Tensor", apply("unsqueeze", grad, 1), apply("conj", vec)) if needs[0] else None,
        apply("mv", adjoint(self), grad) if needs[1] else None,
    )


def bmm_back(ctx: Any, grad: Tensor) -> Grads:
    self, mat2 = ctx.saved_tensors
    return (
        apply("bmm", grad, adjoint(mat2)) if ctx.needs_input_grad[0] else None,
        apply("bmm", adjoint(self), grad) if ctx.needs_input_grad[1] else None,
    )


def signed_sum_back(sign: int) -> Callable[..., Any]:
    """Return the backward of ``self + sign * alpha * other``."""

    def backward(ctx: Any, grad: Tensor) -> Grads:
        return grad, scaled(grad, sign * ctx.options.get("alpha", 1))

    return backward


def mul_back(ctx: Any, grad: Tensor) -> Grads:
    self, other = ctx.saved_tensors
    factors = apply("conj", other), apply("conj", self)
    return tuple([
        reduced(apply("mul.Tensor", grad, factor), one) if needed else None
        for one, factor, needed in zip((self, other), factors, ctx.needs_input_grad, strict=True)
    ])  # fmt: skip


def div_back(ctx: Any, grad: Tensor) -> Grads:
    """Return the gradients of a division by a 0-dim tensor."""
    self, other = ctx.saved_tensors
    divisor = apply("conj", other)
    mine = apply("div.Tensor", grad, divisor)
    if not ctx.needs_input_grad[1]:
        return mine, None
    quotient = apply("conj", apply("div.Tensor", self, other))
    return mine, apply("neg", apply("div.Tensor", apply("sum", apply("mul.Tensor", grad, quotient)), divisor))


def reduced(grad: Tensor, like: Tensor) -> Tensor:
    """Return the gradient of a factor; that of a 0-dim factor is the sum over all elements."""
    return apply("sum", grad) if grad.dim() and not like.dim() else grad  # type: ignore[attr-defined]


def by_number_back(name: str) -> Callable[..., Any]:
    """Return the backward of an operator that is linear in the tensor: itself of the gradient, by the conjugate."""
    return lambda ctx, grad: (apply(name, grad, conjugate(ctx.inputs[1])), None)


def to_dtype_back(ctx: Any, grad: Tensor) -> Grads:
    return apply("to.dtype", grad, ctx.saved_tensors[0].dtype), *[None] * (len(ctx.inputs) - 1)


def to_device_back(ctx: Any, grad: Tensor) -> Grads:
    (self,) = ctx.saved_tensors
    return apply("to.device", grad, self.device, self.dtype), *[None] * (len(ctx.inputs) - 1)


def transpose_back(ctx: Any, grad: Tensor) -> Grads:
    return apply("transpose.int", grad, ctx.inputs[1], ctx.inputs[2]), None, None


def permute_back(ctx: Any, grad: Tensor) -> Grads:
    dims: Sequence[int] = [dim % max(len(ctx.inputs[1]), 1) for dim in ctx.inputs[1]]
    return apply("permute", grad, [dims.index(dim) for dim in range(len(dims))]), None


def unsqueeze_back(ctx: Any, grad: Tensor) -> Grads:
    return apply("select.int", grad, ctx.inputs[1], 0), None


def select_back(ctx: Any, grad: Tensor) -> Grads:
    """Return the gradient of `select`: zero, or not specified, outside of the selected part."""
    sizes, (_, dim, index) = ctx.shapes[0], ctx.inputs
    zeros = apply("new_zeros", dense(grad), tuple(sizes))
    found = apply("select_scatter", zeros, dense(grad), dim, index)
    return (named("_to_sparse", found) if is_coo(grad) else found), None, None


def index_select_back(ctx: Any, grad: Tensor) -> Grads:
    (index,) = ctx.saved_tensors
    zeros = apply("new_zeros", dense(grad), tuple(ctx.shapes[0]))
    return apply("index_add", zeros, ctx.inputs[1], index, dense(grad)), None, None


def cat_back(ctx: Any, grad: Tensor) -> Grads:
    dim = (ctx.inputs[1] if len(ctx.inputs) > 1 else 0) % grad.dim()  # type: ignore[attr-defined]
    begin, found = 0, []
    for one in ctx.inputs[0]:
        places = apply("arange.start", begin, begin + one.shape[dim], device=grad.device)
        found.append(apply("index_select", grad, dim, places))
        begin += one.shape[dim]
    return found, None


def unary_back(name: str) -> Callable[..., Any]:
    """Return the backward of an operator that acts on the values: its own derivative there."""

    def backward(ctx: Any, grad: Tensor) -> Grads:
        from .backward import grad as gradients

        self = ctx.saved_tensors[0].detach()
        self = self.coalesce() if is_coo(self) else self
        with enable_grad():
            values = self.values().requires_grad_()
            made = apply(name, values, *ctx.inputs[1:], **ctx.options)
        (found,) = gradients([made], [values], [values_at(unpack(grad), self)])
        return with_values(self, found), *[None] * (len(ctx.inputs) - 1)

    return backward


CONJUGATES = ("conj", "conj_physical")
"""Operators that return a real tensor unchanged."""
DERIVATIVES: dict[str, Derivative] = {
    "_to_sparse": Derivative(as_given, keeping(0)),
    "_to_sparse.sparse_dim": Derivative(as_given, keeping(0)),
    "_to_dense": Derivative(to_dense_back, keeping(0)),
    "_coalesce": Derivative(passed, keeping()),
    "clone": Derivative(passed, keeping()),
    "values": Derivative(values_back, keeping(0)),
    "_sparse_coo_tensor_with_dims_and_tensors": Derivative(constructor_back, keeping(3)),
    "_sparse_compressed_tensor_unsafe": Derivative(compressed_back, keeping(0, 1, 2)),
    "sparse_mask": Derivative(as_given, keeping(0)),
    "sum": Derivative(sum_back, keeping()),
    "sum.dim_IntList": Derivative(sum_dim_back, keeping(0)),
    "mm": Derivative(mm_back, keeping(0, 1)),
    "_sparse_mm": Derivative(sparse_mm_back, keeping(0, 1)),
    "addmm": Derivative(addmm_back, keeping(1, 2)),
    "mv": Derivative(mv_back, keeping(0, 1)),
    "bmm": Derivative(bmm_back, keeping(0, 1)),
    "add.Tensor": Derivative(signed_sum_back(1), keeping()),
    "sub.Tensor": Derivative(signed_sum_back(-1), keeping()),
    "mul.Tensor": Derivative(mul_back, keeping(0, 1)),
    "mul.Scalar": Derivative(by_number_back("mul.Scalar"), keeping()),
    "div.Scalar": Derivative(by_number_back("div.Scalar"), keeping()),
    "div.Tensor": Derivative(div_back, keeping(0, 1)),
    "to.dtype": Derivative(to_dtype_back, keeping(0)),
    **{name: Derivative(to_device_back, keeping(0)) for name in ("to.device", "to.other", "to.dtype_layout")},
    **{name: Derivative(lambda ctx, grad: (apply("conj", grad),), keeping()) for name in CONJUGATES},
    "t": Derivative(lambda ctx, grad: (apply("t", grad),), keeping()),
    "transpose.int": Derivative(transpose_back, keeping()),
    "permute": Derivative(permute_back, keeping()),
    "unsqueeze": Derivative(unsqueeze_back, keeping()),
    "select.int": Derivative(select_back, keeping()),
    "index_select": Derivative(index_select_back, keeping(2)),
    "cat": Derivative(cat_back, keeping()),
    **{name: Derivative(unary_back(name), keeping(0)) for name in (*KEEPING_ZERO, "pow.Tensor_Scalar")},
}
"""Operator -> its derivative where an argument or the result is sparse."""
UNRECORDED = frozenset(
    """detach _indices indices _values _nnz is_coalesced sparse_dim dense_dim crow_indices col_indices ccol_indices
    row_indices zeros_like empty_like is_same_size""".split()
)
"""Operators whose results have no gradient."""
COMPOSED = frozenset(
    """matmul stack unbind.int swapaxes movedim.int movedim.intlist addmv adjoint resolve_conj resolve_neg""".split()
)
"""Operators that are run as what they are made of, which is recorded."""


def sparse_kernel(operator: Operator) -> Callable[..., Any]:
    """Return the autograd kernel of an operator with a sparse tensor among its arguments."""
    name = operator.name
    if name in UNRECORDED:
        return lambda *args, **kwargs: below(operator, args, kwargs)
    if name in DERIVATIVES:
        kernel = registered_kernel(operator, DERIVATIVES[name])
        if name in CONJUGATES:
            return lambda self: kernel(self) if self.meta.dtype.is_complex else self
        return kernel
    if any(one.name == "out" for one in operator.schema.arguments):
        return refusing_out(operator, loses=True)
    if any(one.alias is not None and one.alias.mutable for one in operator.schema.returns):
        return inplace(operator)
    composed = REGISTRY.lookup(operator, "SparseCPU").function if name in COMPOSED else None
    return composed or refusing(operator)


def copied(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Return the elements of `src` in the dtype of `self`, of which nothing is left but a gradient of zeros."""
    return apply("add.Tensor", zeroed(self), apply("to.dtype", src, self.meta.dtype))


def zeroed(self: Tensor) -> Tensor:
    """Return a tensor without specified elements whose gradient is zero."""
    return apply("mul.Scalar", apply("sparse_mask", self, apply("zeros_like", self)), 0)


WRITES: dict[str, Callable[..., Any]] = {
    "copy_": copied, "zero_": zeroed, "t_": functools.partial(apply, "t"),
    "transpose_": functools.partial(apply, "transpose.int"),
}  # fmt: skip
"""Write -> what it writes, for those that are no in-place form of an operator."""


def inplace(operator: Operator) -> Callable[..., Any]:
    """Return the autograd kernel of a write: what the operator gives otherwise is recorded, then written. It raises
    NotImplementedError, while calls are recorded, for a write without such a form."""
    name = operator.name
    functional = WRITES.get(name) or (functools.partial(apply, row_of_form()[name]) if name in row_of_form() else None)

    def write(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not STATE.grad or not any(map(requires_grad, tensors_in((self, *args, *kwargs.values())))):
            return below(operator, (self, *args), kwargs)
        if functional is None:
            raise NotImplementedError(
                f"{name}: such a write to a sparse tensor is not recorded; write where gradients are off, or to a "
                f"detached tensor"
            )
        check_inplace(self)
        # The clone is what the derivatives keep, since the tensor itself changes.
        made = functional(apply("clone", self), *args, **kwargs)
        if made.layout is not self.layout or not can_cast(made.meta.dtype, self.meta.dtype):
            return below(operator, (self, *args), kwargs)  # raises the error of the kernel
        if not isinstance(self, SparseTensor):
            return apply("copy_", self, made)
        made = apply("to.dtype", made, self.meta.dtype)
        become(self, unpack(made))
        rebase(self, made.autograd.grad_fn, made.autograd.output_nr)
        return self

    return write


for _name in (
    "_to_sparse", "_to_sparse.sparse_dim", "_sparse_coo_tensor_with_dims_and_tensors", "sparse_mask", "_sparse_mm",
    "_sparse_compressed_tensor_unsafe",
):  # fmt: skip
    REGISTRY.find(_name).derivative = DERIVATIVES[_name]
