"""Names of PyTorch that are out of scope, with the reasons."""

from __future__ import annotations

MASKED = "it is a prototype in PyTorch; use torch.where and masked_fill"
COMPILING = "the engine compiles its kernels itself; programs are not traced"
QUANTIZING = "whole modules are not converted; quantize_per_tensor and fake_quantize_per_tensor_affine work on tensors"
NAMES: dict[str, str] = {
    "masked": MASKED, "func.linearize": COMPILING,
    "compile": COMPILING, "jit": COMPILING, "export": COMPILING, "fx": COMPILING,
    "quasirandom": "its direction numbers are a table of 21201 rows, which belongs to a sampling library",
    "linalg.ldl_factor": "the LDL factorization is not implemented; use lu_factor",
    "linalg.ldl_factor_ex": "the LDL factorization is not implemented; use lu_factor_ex",
    "linalg.ldl_solve": "the LDL factorization is not implemented; use lu_solve",
    "_neg_view": "only x.conj().imag sets the negative bit",
    "distributed": "the spec covers a single process", "distributions": "it only composes operators",
    "onnx": "graphs are not exported",
    "quantization": QUANTIZING, "ao": QUANTIZING,
}  # fmt: skip
"""Name below ``torch`` -> why it is out of scope."""


def refusal(module: str, name: str) -> AttributeError:
    """Return the AttributeError for a name that `module` lacks, with the reason if the name is out of scope."""
    inner = f"{module}.{name}".partition(".")[2]
    reason = NAMES.get(inner)
    if reason is None:
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    return AttributeError(f"module {module!r} has no attribute {name!r}: torch.{inner} is out of scope, {reason}")
