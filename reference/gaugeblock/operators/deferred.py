"""Operators whose modules are loaded when they are first called, so that importing the engine stays quick.

The modules in the folders are those. An operator's function bears its name, with "_" for the dot before the overload,
or that of all its overloads; ``det=linalg_det`` names another one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from .plan import Plannable, Planned, planned_by
from .registration import kernel, on_cpu

INPLACE = {
    "numeric.components": "conj_physical_",
    "numeric.distributions": "cauchy_ log_normal_ geometric_",
    "numeric.powers": "float_power_.Tensor float_power_.Scalar",
}
"""In-place forms that are not simply the result of the functional one written into self."""
KERNELS = {
    "linear.decompositions": """linalg_eigh linalg_eig linalg_eigvals linalg_qr geqrf linalg_householder_product
        orgqr=linalg_householder_product ormqr linalg_svd linalg_svdvals""",
    "linear.equations": """linalg_det det=linalg_det linalg_slogdet linalg_inv_ex linalg_inv inverse=linalg_inv
        linalg_solve_ex linalg_solve linalg_matrix_exp matrix_exp=linalg_matrix_exp linalg_solve_triangular
        triangular_solve""",
    "linear.factorizations": """linalg_cholesky_ex linalg_cholesky cholesky cholesky_inverse cholesky_solve
        linalg_lu_factor_ex linalg_lu_factor lu_unpack linalg_lu_solve lu_solve""",
    "linear.matrix_norms": """linalg_lstsq linalg_pinv linalg_pinv.rcond_tensor linalg_pinv.atol_rtol_tensor
        linalg_pinv.atol_rtol_float=linalg_pinv_atol_rtol_tensor pinverse=linalg_pinv linalg_matrix_rank
        linalg_matrix_rank.tol_tensor linalg_matrix_rank.atol_rtol_tensor
        linalg_matrix_rank.atol_rtol_float=linalg_matrix_rank_atol_rtol_tensor""",
    "linear.outer_products": "linalg_cross linalg_vander addbmm",
    "networks.activation": "native_dropout glu rrelu_with_noise",
    "networks.alignment": "_ctc_loss _ctc_loss.Tensor=_ctc_loss_tensor",
    "networks.batch_normalization": "native_batch_norm",
    "networks.class_losses": "nll_loss_forward nll_loss2d_forward multi_margin_loss multilabel_margin_loss_forward",
    "networks.convolution": "convolution",
    "networks.distances": "cdist pdist",
    "networks.embedding": "embedding embedding_renorm_ embedding_bag embedding_bag.padding_idx",
    "networks.grids": "grid_sampler_2d grid_sampler_3d",
    "networks.losses": """mse_loss smooth_l1_loss huber_loss binary_cross_entropy
        binary_cross_entropy_with_logits soft_margin_loss""",
    "networks.padding": """constant_pad_nd reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d
        replication_pad2d replication_pad3d _pad_circular""",
    "networks.pooling": """max_pool1d max_pool2d max_pool3d max_pool2d_with_indices max_pool3d_with_indices
        avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
        adaptive_max_pool2d adaptive_max_pool3d""",
    "networks.row_normalization": "native_group_norm native_layer_norm _fused_rms_norm",
    "networks.unpooling": "fractional_max_pool2d fractional_max_pool3d max_unpool2d max_unpool3d",
    "networks.upsampling": """_upsample_bilinear2d_aa _upsample_bicubic2d_aa upsample_nearest1d
        upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d
        _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d""",
    "networks.windows": "im2col col2im",
    "numeric.components": "frexp.Tensor polar complex",
    "numeric.distributions": "poisson binomial",
    "numeric.powers": "renorm",
    "numeric.statistics": "bincount histc histogram.bins_tensor histogram.bin_ct unique_consecutive mode",
    "numeric.tensor_shape": """diag_embed fill_diagonal_ nonzero_static select_scatter slice_scatter
        diagonal_scatter as_strided_scatter""",
    "spectral.transforms": """fft_fft fft_ifft fft_rfft fft_irfft fft_hfft fft_ihfft fft_fftn fft_ifftn
        fft_rfftn fft_irfftn fft_hfftn fft_ihfftn fft_fft2 fft_ifft2 fft_rfft2 fft_irfft2 fft_hfft2 fft_ihfft2""",
}
"""Module -> its operators with a kernel for CPU and Meta."""
EXPLICIT = {
    "linear.outer_products": "addr trace",
    "networks.distances": "dist",
    "networks.padding": "pixel_shuffle pixel_unshuffle channel_shuffle native_channel_shuffle=channel_shuffle",
    "numeric.distributions": "normal.Tensor_float normal.float_Tensor normal.Tensor_Tensor normal.float_float",
    "numeric.powers": "float_power.Tensor_Tensor float_power.Tensor_Scalar float_power.Scalar",
    "numeric.tensor_shape": "unsafe_chunk unsafe_split.Tensor unsafe_split_with_sizes",
}
"""Operators made of others, with a derivative of their own or with one kernel for all devices."""
COMPOSITES = {
    "linear.contractions": "linalg_multi_dot chain_matmul tensordot linalg_vecdot linalg_matmul linalg_diagonal einsum",
    "linear.decompositions": "qr svd linalg_eigvalsh",
    "linear.equations": """slogdet logdet linalg_matrix_power matrix_power=linalg_matrix_power linalg_tensorinv
        linalg_tensorsolve""",
    "linear.factorizations": "linalg_lu",
    "linear.matrix_norms": """linalg_norm linalg_norm.ord_str linalg_matrix_norm linalg_matrix_norm.str_ord
        linalg_cond linalg_cond.p_str nuclear_norm nuclear_norm.dim frobenius_norm.dim""",
    "linear.outer_products": "block_diag cartesian_prod combinations cross kron vander",
    "networks.activation": "dropout alpha_dropout feature_dropout feature_alpha_dropout prelu rrelu",
    "networks.alignment": "ctc_loss.IntList ctc_loss.Tensor=ctc_loss_tensor",
    "networks.attention": "scaled_dot_product_attention linear bilinear",
    "networks.batch_normalization": "batch_norm instance_norm",
    "networks.class_losses": "nll_loss nll_loss2d nll_loss_nd cross_entropy_loss multilabel_margin_loss",
    "networks.convolution": """conv1d conv1d.padding conv2d conv2d.padding conv3d conv3d.padding
        conv_transpose1d conv_transpose2d.input conv_transpose3d.input""",
    "networks.distances": "cosine_similarity pairwise_distance",
    "networks.embedding": "one_hot",
    "networks.grids": "grid_sampler affine_grid_generator",
    "networks.losses": """hinge_embedding_loss margin_ranking_loss
        cosine_embedding_loss triplet_margin_loss l1_loss kl_div poisson_nll_loss""",
    "networks.padding": "pad",
    "networks.pooling": "max_pool1d_with_indices adaptive_max_pool1d",
    "networks.row_normalization": "group_norm layer_norm rms_norm",
    "networks.upsampling": """_upsample_bilinear2d_aa.vec _upsample_bicubic2d_aa.vec upsample_nearest1d.vec
        upsample_nearest2d.vec upsample_nearest3d.vec _upsample_nearest_exact1d.vec
        _upsample_nearest_exact2d.vec _upsample_nearest_exact3d.vec upsample_linear1d.vec
        upsample_bilinear2d.vec upsample_trilinear3d.vec upsample_bicubic2d.vec""",
    "numeric.calculus": """gradient.scalarint gradient.scalararray gradient.array gradient.scalarrayint
        gradient.scalarrayarray gradient.tensorarrayint gradient.tensorarray
        trapezoid.x trapezoid.dx trapz.x=trapezoid trapz.dx=trapezoid cumulative_trapezoid.x cumulative_trapezoid.dx""",
    "numeric.components": "isreal conj_physical",
    "numeric.powers": "mvlgamma special_multigammaln=mvlgamma",
    "numeric.statistics": "cov corrcoef quantile quantile.scalar nanquantile nanquantile.scalar",
    "numeric.tensor_shape": """diagflat broadcast_tensors meshgrid.indexing sum_to_size atleast_1d atleast_2d
        atleast_3d atleast_1d.Sequence atleast_2d.Sequence atleast_3d.Sequence""",
    "spectral.short_time": "stft stft.center istft",
    "spectral.transforms": "fft_fftshift fft_ifftshift",
}
"""Operators made of others."""


class Deferred(Plannable[..., Any]):
    """A function of a module that is loaded when it is first called; the CPU kernel of `operator`, if that is given."""

    def __init__(self, module: str, function: str, operator: str | None = None) -> None:
        self.__name__ = function
        self._operator = operator
        self._module = module
        self._loaded: Callable[..., Any] | None = None

    def _function(self) -> Callable[..., Any]:
        if self._loaded is None:
            module, name = import_module(self._module), self.__name__
            function = getattr(module, name.replace(".", "_"), None) or getattr(module, name.partition(".")[0])
            self._loaded = on_cpu(self._operator, function) if self._operator else function
        return self._loaded

    @property
    def unguarded(self) -> Callable[..., Any]:
        """The loaded function, which the call cache keeps for small tensors."""
        return self._function()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return (self._loaded or self._function())(*args, **kwargs)

    def planned(self, *args: Any, **kwargs: Any) -> Planned[Any]:
        """Return the result, and the call behind it if the function plans."""
        return planned_by(self._function(), args, kwargs)

    def wrapped(self, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Plannable[..., Any]:
        """Return the kernel that plans and runs in a wrapper."""
        return Plannable(wrapper(self.planned))


def register_deferred() -> None:
    """Register the operators of the tables."""
    _register(INPLACE)
    _register(KERNELS)
    _register({"numeric.powers": INPLACE["numeric.powers"]}, "CompositeExplicitAutograd")
    _register(EXPLICIT, "CompositeExplicitAutograd")
    _register(COMPOSITES, "CompositeImplicitAutograd")


def _register(modules: Mapping[str, str], *keys: str) -> None:
    for module, names in modules.items():
        for entry in names.split():
            name, _, other = entry.partition("=")
            kernel(name, *keys)(Deferred(f"{__package__}.{module}", other or name, None if keys else name))
