"""Which methods of ``tinygrad.Tensor`` are which operators of the spec; kinds as in :mod:`.array_api_table`.

Missing here: results whose dtype is tinygrad's default int32 by its documentation (sums and places), and functions for
which it promises no accuracy.
"""

from __future__ import annotations

from .expressions import table

TINYGRAD = table(
    """
    # pointwise
    abs                    uif     self.abs()
    neg                    if      self.neg()
    square                 uif     self.square()
    sqrt                   f       self.sqrt()
    reciprocal             f       self.reciprocal()
    ceil                   uif     self.ceil()
    floor                  uif     self.floor()
    trunc                  uif     self.trunc()
    round                  uif     self.round()
    sign                   ui      self.sign()
    relu                   f       self.relu()
    isnan                  uif     self.isnan()
    isinf                  uif     self.isinf()
    isfinite               uif     self.isfinite()
    logical_not            b       self.logical_not()
    bitwise_not            bui     self.bitwise_not()
    add.Tensor             uif     self.add(other)
    sub.Tensor             uif     self.sub(other)
    mul.Tensor             buif    self.mul(other)
    div.Tensor             f       self.div(other)
    floor_divide           ui      self.div(other, rounding_mode='floor')
    remainder.Tensor       ui      self.mod(other)
    fmod.Tensor            ui      self.fmod(other)
    maximum                buif    self.maximum(other)
    minimum                buif    self.minimum(other)
    copysign.Tensor        f       self.copysign(other)
    eq.Tensor              buif    self.eq(other)
    ne.Tensor              buif    self.ne(other)
    lt.Tensor              buif    self < other
    le.Tensor              buif    self <= other
    gt.Tensor              buif    self > other
    ge.Tensor              buif    self >= other
    bitwise_and.Tensor     bui     self.bitwise_and(other)
    bitwise_or.Tensor      bui     self.bitwise_or(other)
    bitwise_xor.Tensor     bui     self.bitwise_xor(other)
    clamp                  uif     self.clamp(min, max)
    where.self             buif    condition.where(self, other)
    masked_fill.Scalar     buif    self.masked_fill(mask, value)
    # numbers beside a tensor
    add.Scalar             uif     self + other
    sub.Scalar             uif     self - other
    mul.Scalar             uif     self * other
    div.Scalar             f       self / other
    eq.Scalar              buif    self == other
    ne.Scalar              buif    self != other
    lt.Scalar              uif     self < other
    le.Scalar              uif     self <= other
    gt.Scalar              uif     self > other
    ge.Scalar              uif     self >= other
    # reductions and scans
    sum                    f       self.sum(dtype=dtype)
    sum.dim_IntList        f       self.sum(axis=dim, keepdim=keepdim, dtype=dtype)
    prod                   f       self.prod(dtype=dtype)
    prod.dim_int           f       self.prod(axis=dim, keepdim=keepdim, dtype=dtype)
    mean                   f       self.mean()
    mean.dim               f       self.mean(axis=dim, keepdim=keepdim)
    var.correction f self.var(axis=dim, correction=1 if correction is None else correction, keepdim=keepdim)
    std.correction f self.std(axis=dim, correction=1 if correction is None else correction, keepdim=keepdim)
    amax                   buif    self.max(axis=dim, keepdim=keepdim)
    amin                   buif    self.min(axis=dim, keepdim=keepdim)
    max                    buif    self.max()
    min                    buif    self.min()
    any                    bif     self.any()
    any.dim                bif     self.any(axis=dim, keepdim=keepdim)
    all                    bif     self.all()
    all.dim                bif     self.all(axis=dim, keepdim=keepdim)
    cumsum                 f       self.cumsum(axis=dim)
    cumprod                f       self.cumprod(axis=dim)
    # shapes
    reshape                buif    self.reshape(shape)
    view                   buif    self.view(size)
    permute                buif    self.permute(dims)
    transpose.int          buif    self.transpose(dim0, dim1)
    squeeze                buif    self.squeeze()
    squeeze.dim            buif    self.squeeze(dim)
    unsqueeze              buif    self.unsqueeze(dim)
    expand                 buif    self.expand(size)
    flip                   buif    self.flip(dims)
    roll                   buif    self.roll(shifts, dims or None)
    repeat                 buif    self.repeat(repeats)
    flatten.using_ints     buif    self.flatten(start_dim, end_dim)
    unflatten.int          buif    self.unflatten(dim, sizes)
    cat                    buif    Tensor.cat(*tensors, dim=dim)
    stack                  buif    Tensor.stack(*tensors, dim=dim)
    chunk                  buif    self.chunk(chunks, dim)
    split.Tensor           buif    self.split(split_size, dim)
    unfold                 buif    self.unfold(dimension, size, step)
    tril                   buif    self.tril(diagonal)
    triu                   buif    self.triu(diagonal)
    gather                 buif    self.gather(dim, index)
    masked_select          buif    self.masked_select(mask)
    # matrices
    matmul                 f       self.matmul(other)
    # making and conversion
    zeros                  buif    Tensor.zeros(size, dtype=dtype)
    ones                   buif    Tensor.ones(size, dtype=dtype)
    empty.memory_format    buif    Tensor.empty(size, dtype=dtype)
    full                   buif    Tensor.full(size, fill_value, dtype=dtype)
    zeros_like             buif    self.zeros_like(dtype=dtype or self.dtype)
    ones_like              buif    self.ones_like(dtype=dtype or self.dtype)
    full_like              buif    self.full_like(fill_value, dtype=dtype or self.dtype)
    eye                    buif    Tensor.eye(n, dtype=dtype)
    eye.m                  buif    Tensor.eye(n, m, dtype=dtype)
    arange                 uif     Tensor.arange(end, dtype=dtype)
    arange.start           uif     Tensor.arange(start, end, dtype=dtype)
    arange.start_step      uif     Tensor.arange(start, end, step, dtype=dtype)
    linspace               f       Tensor.linspace(start, end, steps, dtype=dtype)
    to.dtype               buif    self.cast(dtype)
    clone                  buif    self.clone()
    detach                 buif    self.detach()
    is_floating_point      buif    self.is_floating_point()
    """
)

UNJUDGED = table(
    """
    # pointwise
    exp                    f       self.exp()
    exp2                   f       self.exp2()
    log                    f       self.log()
    log2                   f       self.log2()
    log10                  f       self.log10()
    logaddexp              f       self.logaddexp(other)
    rsqrt                  f       self.rsqrt()
    sin                    f       self.sin()
    cos                    f       self.cos()
    tan                    f       self.tan()
    asin                   f       self.asin()
    acos                   f       self.acos()
    atan                   f       self.atan()
    sinh                   f       self.sinh()
    cosh                   f       self.cosh()
    tanh                   f       self.tanh()
    asinh                  f       self.asinh()
    acosh                  f       self.acosh()
    atanh                  f       self.atanh()
    sigmoid                f       self.sigmoid()
    erf                    f       self.erf()
    pow.Tensor_Tensor      f       self.pow(exponent)
    pow.Tensor_Scalar      f       self.pow(exponent)
    lerp.Tensor            f       self.lerp(end, weight)
    lerp.Scalar            f       self.lerp(end, weight)
    # activations
    relu6                  f       self.relu6()
    gelu                   f       self.gelu(approximate)
    celu                   f       self.celu(alpha)
    leaky_relu             f       self.leaky_relu(negative_slope)
    hardtanh               f       self.hardtanh(min_val, max_val)
    hardswish              f       self.hardswish()
    silu                   f       self.silu()
    mish                   f       self.mish()
    softplus               f       self.softplus(beta)
    log_sigmoid            f       self.logsigmoid()
    softmax.int            f       self.softmax(dim)
    log_softmax.int        f       self.log_softmax(dim)
    # reductions and scans
    logsumexp              f       self.logsumexp(dim, keepdim)
    logcumsumexp           f       self.logcumsumexp(dim)
    # places
    diagonal               f       self.diagonal(offset, dim1, dim2)
    scatter.src            f       self.scatter(dim, index, src)
    scatter_add            f       self.scatter_reduce(dim, index, src, 'sum')
    scatter_reduce.two     f       self.scatter_reduce(dim, index, src, reduce, include_self)
    sort                   f       self.sort(dim, descending)
    topk                   f       self.topk(k, dim, largest)
    # products and networks
    mm                     f       self.matmul(mat2)
    bmm                    f       self.matmul(mat2)
    mv                     f       self.matmul(vec)
    dot                    f       self.dot(tensor)
    einsum                 f       Tensor.einsum(equation, *tensors)
    conv2d                 f       input.conv2d(weight, bias, groups, stride, dilation, padding)
    avg_pool2d f self.avg_pool2d(kernel_size, stride or None, 1, padding, ceil_mode, count_include_pad)
    max_pool2d             f       self.max_pool2d(kernel_size, stride or None, dilation, padding, ceil_mode)
    scaled_dot_product_attention f query.scaled_dot_product_attention(key, value, attn_mask, dropout_p, is_causal)
    """
)
"""Functions that are only differentiated: tinygrad promises no accuracy for them."""
