"""Operators of the spec as functions of ``paddle``; kinds as in :mod:`.array_api_table`.

Operators in place are named by their schema (``add_.Tensor``). Missing here: functions whose Paddle documentation says
something else (``gather``, ``scatter``, ``median``) or nothing (``copy_``, ``sign`` of NaN), those for which it
promises no accuracy, and the views of the spec that it does not call views (``expand``, ``split``).
"""

from __future__ import annotations

from .expressions import table

PADDLE = table(
    """
    # pointwise
    abs                    if      abs(self)
    neg                    if      neg(self)
    square                 if      square(self)
    sqrt                   f       sqrt(self)
    reciprocal             f       reciprocal(self)
    ceil                   f       ceil(self)
    floor                  f       floor(self)
    trunc                  f       trunc(self)
    round                  f       round(self)
    isnan                  if      isnan(self)
    isinf                  if      isinf(self)
    isfinite               if      isfinite(self)
    isposinf               if      isposinf(self)
    isneginf               if      isneginf(self)
    signbit                f       signbit(self)
    conj                   fc      conj(self)
    real                   c       real(self)
    imag                   c       imag(self)
    logical_not            b       logical_not(self)
    bitwise_not            bui     bitwise_not(self)
    add.Tensor             ifc     add(self, other)
    sub.Tensor             ifc     subtract(self, other)
    mul.Tensor             ifc     multiply(self, other)
    div.Tensor             fc      divide(self, other)
    floor_divide           i       floor_divide(self, other)
    remainder.Tensor       if      remainder(self, other)
    maximum                if      maximum(self, other)
    minimum                if      minimum(self, other)
    fmax                   if      fmax(self, other)
    fmin                   if      fmin(self, other)
    copysign.Tensor        f       copysign(self, other)
    nextafter              f       nextafter(self, other)
    heaviside              f       heaviside(self, values)
    eq.Tensor              buifc   equal(self, other)
    ne.Tensor              buifc   not_equal(self, other)
    lt.Tensor              uif     less_than(self, other)
    le.Tensor              uif     less_equal(self, other)
    gt.Tensor              uif     greater_than(self, other)
    ge.Tensor              uif     greater_equal(self, other)
    logical_and            b       logical_and(self, other)
    logical_or             b       logical_or(self, other)
    logical_xor            b       logical_xor(self, other)
    bitwise_and.Tensor     bui     bitwise_and(self, other)
    bitwise_or.Tensor      bui     bitwise_or(self, other)
    bitwise_xor.Tensor     bui     bitwise_xor(self, other)
    clamp                  if      clip(self, min, max)
    where.self             buifc   where(condition, self, other)
    # numbers beside a tensor
    add.Scalar             if      self + other
    sub.Scalar             if      self - other
    rsub.Scalar            if      other - self
    mul.Scalar             if      self * other
    div.Scalar             f       self / other
    eq.Scalar              if      self == other
    ne.Scalar              if      self != other
    lt.Scalar              if      self < other
    le.Scalar              if      self <= other
    gt.Scalar              if      self > other
    ge.Scalar              if      self >= other
    # in place
    add_.Tensor            if      self.add_(other)
    sub_.Tensor            if      self.subtract_(other)
    mul_.Tensor            if      self.multiply_(other)
    zero_                  buifc   self.zero_()
    fill_.Scalar           buifc   self.fill_(value)
    masked_fill_.Scalar    if      self.masked_fill_(mask, value)
    # reductions and scans
    sum                    f       sum(self, dtype=dtype)
    sum.dim_IntList        f       sum(self, axis=dim, keepdim=keepdim, dtype=dtype)
    prod                   f       prod(self, dtype=dtype)
    prod.dim_int           f       prod(self, axis=dim, keepdim=keepdim, dtype=dtype)
    mean                   f       mean(self)
    mean.dim               f       mean(self, axis=dim, keepdim=keepdim)
    var.correction f var(self, axis=dim, correction=1 if correction is None else correction, keepdim=keepdim)
    amax                   if      amax(self, axis=dim, keepdim=keepdim)
    amin                   if      amin(self, axis=dim, keepdim=keepdim)
    max                    if      max(self)
    min                    if      min(self)
    any                    b       any(self)
    any.dim                b       any(self, axis=dim, keepdim=keepdim)
    all                    b       all(self)
    all.dim                b       all(self, axis=dim, keepdim=keepdim)
    argmax                 if      argmax(self, axis=dim, keepdim=keepdim)
    argmin                 if      argmin(self, axis=dim, keepdim=keepdim)
    count_nonzero          if      count_nonzero(self, axis=dim)
    cumsum                 f       cumsum(self, axis=dim, dtype=dtype)
    cumprod                f       cumprod(self, dim=dim, dtype=dtype)
    diff                   if      diff(self, n=n, axis=dim)
    # sorting and searching
    sort f (sort(self, axis=dim, descending=descending), argsort(self, axis=dim, descending=descending))
    argsort.stable         if      argsort(self, axis=dim, descending=descending, stable=True)
    topk                   if      topk(self, k, axis=dim, largest=largest, sorted=sorted)
    nonzero                buif    nonzero(self)
    searchsorted.Tensor    if      searchsorted(sorted_sequence, self, right=right)
    isin.Tensor_Tensor     if      isin(elements, test_elements, invert=invert)
    # shapes; those that Paddle documents as views share storage
    reshape                buifc   reshape(self, shape)
    view                   buifc   self.view(size)
    permute                buifc   transpose(self, dims)
    transpose.int          buifc   swapaxes(self, dim0, dim1)
    squeeze                buifc   squeeze(self)
    squeeze.dim            buifc   squeeze(self, axis=dim)
    unsqueeze              buifc   unsqueeze(self, dim)
    broadcast_to           buifc   broadcast_to(self, size)
    narrow                 buifc   narrow(self, dim, start, length)
    diagonal               buifc   diagonal(self, offset=offset, axis1=dim1, axis2=dim2)
    unfold                 buifc   self.unfold(dimension, size, step)
    unbind.int             buifc   unbind(self, axis=dim)
    flatten.using_ints     buifc   flatten(self, start_dim, end_dim)
    unflatten.int          buifc   unflatten(self, dim, sizes)
    as_strided             buifc   as_strided(self, size, stride, offset=storage_offset)
    flip                   buifc   flip(self, dims)
    roll                   buifc   roll(self, shifts if dims else shifts[0], axis=dims or None)
    rot90                  if      rot90(self, k, dims)
    tile                   buifc   tile(self, dims)
    repeat_interleave.self_int if  repeat_interleave(self, repeats, axis=dim)
    cat                    buifc   concat(tensors, axis=dim)
    stack                  buifc   stack(tensors, axis=dim)
    tril                   if      tril(self, diagonal)
    triu                   if      triu(self, diagonal)
    index_select           if      index_select(self, index, axis=dim)
    gather                 if      take_along_axis(self, index, dim, broadcast=False)
    masked_select          if      masked_select(self, mask)
    masked_fill.Scalar     if      masked_fill(self, mask, value)
    view_as_real           c       as_real(self)
    view_as_complex        f       as_complex(self)
    # matrices
    matmul                 f       matmul(self, other)
    mm                     f       mm(self, mat2)
    bmm                    f       bmm(self, mat2)
    mv                     f       mv(self, vec)
    dot                    f       dot(self, tensor)
    outer                  f       outer(self, vec2)
    kron                   f       kron(self, other)
    trace                  f       trace(self)
    # making and conversion
    zeros                  buifc   zeros(size, dtype=dtype)
    ones                   buifc   ones(size, dtype=dtype)
    empty.memory_format    buif    empty(size, dtype=dtype)
    full                   buif    full(size, fill_value, dtype=dtype)
    zeros_like             buif    zeros_like(self, dtype=dtype)
    ones_like              buif    ones_like(self, dtype=dtype)
    empty_like             buif    empty_like(self, dtype=dtype)
    full_like              buif    full_like(self, fill_value, dtype=dtype)
    eye                    if      eye(n, dtype=dtype)
    eye.m                  if      eye(n, m, dtype=dtype)
    arange.start_step      if      arange(start, end, step, dtype=dtype)
    linspace               f       linspace(start, end, steps, dtype=dtype)
    to.dtype               buif    cast(self, dtype)
    clone                  buifc   clone(self)
    detach                 buifc   self.detach()
    is_floating_point      buifc   is_floating_point(self)
    is_complex             buifc   is_complex(self)
    """
)
