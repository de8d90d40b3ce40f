"""Why a cell may lie above the limit: one line for each group of cells, shown beside them."""

from __future__ import annotations

from dataclasses import dataclass

from .cases import Case


@dataclass(frozen=True)
class Explanation:
    """A reason for the cells of some operators; empty tuples stand for all layouts or sizes."""

    operators: tuple[str, ...]
    layouts: tuple[str, ...]
    sizes: tuple[int, ...]
    reason: str

    def covers(self, case: Case) -> bool:
        """Return whether the reason is meant for a case."""
        return (
            case.operator.name in self.operators
            and (not self.layouts or case.layout in self.layouts)
            and (not self.sizes or case.size in self.sizes)
        )


EXPLANATIONS = (
    Explanation(
        ("sum", "mean"),
        ("contiguous", "transposed", "bfloat16"),
        (100_000, 1_000_000, 10_000_000),
        "floats are summed in float64, so that the sum is rounded once: conversions and additions of twice the width",
    ),
    Explanation(
        ("cat",),
        ("contiguous", "bfloat16"),
        (16, 1_000, 10_000),
        "a list of tensors is looked through in Python, half a microsecond more than for arguments of their own",
    ),
    Explanation(
        ("softmax",),
        ("bfloat16",),
        (),
        "powers of half floats are computed twice, in float32, instead of being kept rounded between the passes",
    ),
    Explanation(
        ("softmax",),
        ("contiguous",),
        (),
        "powers are within one unit, and results 2 ULP off at most, where PyTorch's are up to 32 off",
    ),
    Explanation(
        ("mul", "sigmoid"),
        ("stride 2", "bfloat16"),
        (1_000_000, 10_000_000),
        "PyTorch's threads spin for a while after a call and hold a core; with OMP_WAIT_POLICY=passive 0.5 to 1.25",
    ),
    Explanation(
        ("copy",),
        ("stride 2",),
        (1_000_000,),
        "the elements of a column of a gapped matrix lie on pages of their own, and are brought together in tiles",
    ),
)


def explain(case: Case) -> str:
    """The reason for a case, or nothing."""
    return next((e.reason for e in EXPLANATIONS if e.covers(case)), "")
