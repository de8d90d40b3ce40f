"""Which functions of the Python array API standard are which operators of the spec.

Kinds of dtypes and forms are those for which the standard documents what the spec's row says. Where it documents
something else (the sign of NaN), or leaves it open (how near a logarithm is to the exact value, where NaN is sorted
to), a kind or an operator is missing here: such calls are reported as not offered.
"""

from __future__ import annotations

from .expressions import table

STANDARD = table(
    """
    # pointwise
    abs                    uif     abs(self)
    neg                    if      negative(self)
    sign                   ui      sign(self)
    square                 uif     square(self)
    reciprocal             f       reciprocal(self)
    sqrt                   f       sqrt(self)
    ceil                   uif     ceil(self)
    floor                  uif     floor(self)
    trunc                  uif     trunc(self)
    round                  uif     round(self)
    isnan                  uifc    isnan(self)
    isinf                  uifc    isinf(self)
    isfinite               uifc    isfinite(self)
    signbit                f       signbit(self)
    logical_not            b       logical_not(self)
    bitwise_not            bui     bitwise_invert(self)
    positive               uifc    positive(self)
    conj                   fc      conj(self)
    real                   c       real(self)
    imag                   c       imag(self)
    add.Tensor             uifc    add(self, other)
    sub.Tensor             uifc    subtract(self, other)
    mul.Tensor             uifc    multiply(self, other)
    div.Tensor             f       divide(self, other)
    floor_divide           ui      floor_divide(self, other)
    remainder.Tensor       uif     remainder(self, other)
    pow.Tensor_Tensor      f       pow(self, exponent)
    copysign.Tensor        f       copysign(self, other)
    nextafter              f       nextafter(self, other)
    maximum                uif     maximum(self, other)
    minimum                uif     minimum(self, other)
    max.other              uif     maximum(self, other)
    min.other              uif     minimum(self, other)
    eq.Tensor              buifc   equal(self, other)
    ne.Tensor              buifc   not_equal(self, other)
    lt.Tensor              uif     less(self, other)
    le.Tensor              uif     less_equal(self, other)
    gt.Tensor              uif     greater(self, other)
    ge.Tensor              uif     greater_equal(self, other)
    logical_and            b       logical_and(self, other)
    logical_or             b       logical_or(self, other)
    logical_xor            b       logical_xor(self, other)
    bitwise_and.Tensor     bui     bitwise_and(self, other)
    bitwise_or.Tensor      bui     bitwise_or(self, other)
    bitwise_xor.Tensor     bui     bitwise_xor(self, other)
    bitwise_left_shift.Tensor   ui bitwise_left_shift(self, other)
    bitwise_right_shift.Tensor  ui bitwise_right_shift(self, other)
    clamp                  uif     clip(self, min, max)
    clamp.Tensor           uif     clip(self, min, max)
    where.self             buifc   where(condition, self, other)
    # numbers beside an array
    add.Scalar             uifc    self + other
    sub.Scalar             uifc    self - other
    rsub.Scalar            uifc    other - self
    mul.Scalar             uifc    self * other
    div.Scalar             f       self / other
    pow.Tensor_Scalar      f       self ** exponent
    pow.Scalar             f       self ** exponent
    floor_divide.Scalar    ui      self // other
    remainder.Scalar       uif     self % other
    remainder.Scalar_Tensor uif    self % other
    eq.Scalar              buifc   self == other
    ne.Scalar              buifc   self != other
    lt.Scalar              uif     self < other
    le.Scalar              uif     self <= other
    gt.Scalar              uif     self > other
    ge.Scalar              uif     self >= other
    bitwise_and.Scalar     bui     self & other
    bitwise_or.Scalar      bui     self | other
    bitwise_xor.Scalar     bui     self ^ other
    bitwise_left_shift.Tensor_Scalar  ui  self << other
    bitwise_right_shift.Tensor_Scalar ui  self >> other
    bitwise_and.Scalar_Tensor         bui self & other
    bitwise_or.Scalar_Tensor          bui self | other
    bitwise_xor.Scalar_Tensor         bui self ^ other
    bitwise_left_shift.Scalar_Tensor  ui  self << other
    bitwise_right_shift.Scalar_Tensor ui  self >> other
    # reductions and scans
    sum                    if      sum(self, dtype=dtype)
    sum.dim_IntList        if      sum(self, axis=dim, keepdims=keepdim, dtype=dtype)
    prod                   if      prod(self, dtype=dtype)
    prod.dim_int           if      prod(self, axis=dim, keepdims=keepdim, dtype=dtype)
    mean                   f       mean(self)
    mean.dim               f       mean(self, axis=dim, keepdims=keepdim)
    var.correction f var(self, axis=dim, correction=1 if correction is None else correction, keepdims=keepdim)
    std.correction f std(self, axis=dim, correction=1 if correction is None else correction, keepdims=keepdim)
    amax                   uif     max(self, axis=dim, keepdims=keepdim)
    amin                   uif     min(self, axis=dim, keepdims=keepdim)
    max                    uif     max(self)
    min                    uif     min(self)
    max.dim                ui      (max(self, axis=dim, keepdims=keepdim), argmax(self, axis=dim, keepdims=keepdim))
    min.dim                ui      (min(self, axis=dim, keepdims=keepdim), argmin(self, axis=dim, keepdims=keepdim))
    argmax                 ui      argmax(self, axis=dim, keepdims=keepdim)
    argmin                 ui      argmin(self, axis=dim, keepdims=keepdim)
    any                    bifc    any(self)
    any.dim                bifc    any(self, axis=dim, keepdims=keepdim)
    any.dims               bifc    any(self, axis=dim, keepdims=keepdim)
    all                    bifc    all(self)
    all.dim                bifc    all(self, axis=dim, keepdims=keepdim)
    all.dims               bifc    all(self, axis=dim, keepdims=keepdim)
    count_nonzero          buifc   count_nonzero(self, axis=dim)
    count_nonzero.dim_IntList buifc count_nonzero(self, axis=dim)
    cumsum                 if      cumulative_sum(self, axis=dim, dtype=dtype)
    cumprod                if      cumulative_prod(self, axis=dim, dtype=dtype)
    diff                   uifc    diff(self, axis=dim, n=n)
    # sorting and searching: the standard leaves the places of NaN open
    sort ui (sort(self, axis=dim, descending=descending), argsort(self, axis=dim, descending=descending))
    sort.stable ui (sort(self, axis=dim, descending=descending), argsort(self, axis=dim, descending=descending))
    argsort                ui      argsort(self, axis=dim, descending=descending)
    argsort.stable         ui      argsort(self, axis=dim, descending=descending)
    nonzero                buifc   stack(nonzero(self), axis=1)
    argwhere               buifc   stack(nonzero(self), axis=1)
    searchsorted.Tensor    ui      searchsorted(sorted_sequence, self, side='right' if right else side or 'left')
    isin.Tensor_Tensor     ui      isin(elements, test_elements, invert=invert)
    # shapes
    reshape                buifc   reshape(self, shape)
    permute                buifc   permute_dims(self, dims)
    movedim.int            buifc   moveaxis(self, source, destination)
    movedim.intlist        buifc   moveaxis(self, source, destination)
    unsqueeze              buifc   expand_dims(self, axis=dim)
    broadcast_to           buifc   broadcast_to(self, size)
    flip                   buifc   flip(self, axis=dims)
    roll                   buifc   roll(self, shifts if dims else shifts[0], axis=dims or None)
    tile                   buifc   tile(self, dims)
    repeat_interleave.self_int buifc repeat(self, repeats, axis=dim)
    cat                    buifc   concat(tensors, axis=dim)
    stack                  buifc   stack(tensors, axis=dim)
    unbind.int             buifc   unstack(self, axis=dim)
    broadcast_tensors      buifc   broadcast_arrays(*tensors)
    meshgrid.indexing      buifc   meshgrid(*tensors, indexing=indexing)
    tril                   buifc   tril(self, k=diagonal)
    triu                   buifc   triu(self, k=diagonal)
    index_select           buifc   take(self, index, axis=dim)
    take_along_dim         buifc   take_along_axis(self, indices, axis=dim)
    # matrices
    matmul                 uifc    matmul(self, other)
    linalg_vecdot          fc      vecdot(x, y, axis=dim)
    outer                  fc      linalg.outer(self, vec2)
    linalg_det             f       linalg.det(A)
    linalg_slogdet         f       tuple(linalg.slogdet(A))
    linalg_inv             f       linalg.inv(A)
    linalg_cholesky        f       linalg.cholesky(self, upper=upper)
    linalg_eigvalsh        f       linalg.eigvalsh(self)
    linalg_svdvals         f       linalg.svdvals(A)
    linalg_qr              f       tuple(linalg.qr(A, mode=mode))
    linalg_svd             f       tuple(linalg.svd(A, full_matrices=full_matrices))
    linalg_matrix_power    f       linalg.matrix_power(self, n)
    linalg_diagonal        buifc   linalg.diagonal(A, offset=offset)
    linalg_vector_norm     f       linalg.vector_norm(self, axis=dim, keepdims=keepdim, ord=ord)
    linalg_matrix_norm     f       linalg.matrix_norm(self, keepdims=keepdim, ord=ord)
    linalg_cross           f       linalg.cross(self, other, axis=dim)
    # spectra
    fft_fft                c       fft.fft(self, n=n, axis=dim, norm=norm or 'backward')
    fft_ifft               c       fft.ifft(self, n=n, axis=dim, norm=norm or 'backward')
    fft_rfft               f       fft.rfft(self, n=n, axis=dim, norm=norm or 'backward')
    fft_irfft              c       fft.irfft(self, n=n, axis=dim, norm=norm or 'backward')
    fft_fftshift           fc      fft.fftshift(self, axes=dim)
    fft_ifftshift          fc      fft.ifftshift(self, axes=dim)
    # making and conversion
    zeros                  buifc   zeros(size, dtype=dtype)
    ones                   buifc   ones(size, dtype=dtype)
    empty.memory_format    buifc   empty(size, dtype=dtype)
    full                   buifc   full(size, fill_value, dtype=dtype)
    zeros_like             buifc   zeros_like(self, dtype=dtype)
    ones_like              buifc   ones_like(self, dtype=dtype)
    empty_like             buifc   empty_like(self, dtype=dtype)
    full_like              buifc   full_like(self, fill_value, dtype=dtype)
    eye                    buifc   eye(n, dtype=dtype)
    eye.m                  buifc   eye(n, m, dtype=dtype)
    arange                 uif     arange(end, dtype=dtype)
    arange.start           uif     arange(start, end, dtype=dtype)
    arange.start_step      uif     arange(start, end, step, dtype=dtype)
    linspace               f       linspace(start, end, steps, dtype=dtype)
    to.dtype               buifc   astype(self, dtype, copy=copy)
    clone                  buifc   asarray(self, copy=True)
    is_floating_point      buifc   isdtype(self.dtype, 'real floating')
    is_complex             buifc   isdtype(self.dtype, 'complex floating')
    """
)
