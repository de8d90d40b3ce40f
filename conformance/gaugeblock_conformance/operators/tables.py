"""The tables of oracles, and which of them has the oracle of a row."""

from __future__ import annotations

from functools import cache

from ..oracles.activations import ACTIVATIONS
from ..oracles.alignment import ALIGNMENT
from ..oracles.attention import ATTENTION
from ..oracles.components import COMPONENTS
from ..oracles.decompositions import DECOMPOSITIONS
from ..oracles.distances import DISTANCES
from ..oracles.equations import EQUATIONS
from ..oracles.factorizations import FACTORIZATIONS
from ..oracles.fourier import FOURIER, SHIFTS
from ..oracles.grids import GRIDS
from ..oracles.lookups import LOOKUPS
from ..oracles.losses import LOSS_UNITS, LOSSES
from ..oracles.making import MAKING
from ..oracles.moves import MOVES, Oracle
from ..oracles.networks import NETWORKS
from ..oracles.normalizations import NORMALIZATIONS
from ..oracles.ordering import ORDERING
from ..oracles.pieces import PIECES
from ..oracles.polynomials import POLYNOMIALS
from ..oracles.pooling import POOLING
from ..oracles.resampling import RESAMPLING, RESAMPLING_UNITS
from ..oracles.scatters import SCATTERS
from ..oracles.statistics import COUNTS, STATISTICS
from ..oracles.sums import SUMS
from ..oracles.totals import TOTALS
from ..oracles.transcendental import TRANSCENDENTAL
from ..oracles.windows import WINDOWS

# Those that compute in the operands' own dtype, and those that want them wide.
NATIVE: tuple[dict[str, Oracle], ...] = (MOVES, PIECES, ORDERING, MAKING, SHIFTS, WINDOWS, COUNTS)
WIDE: tuple[dict[str, Oracle], ...] = (
    SUMS, TOTALS, ACTIVATIONS, NETWORKS, DECOMPOSITIONS, FACTORIZATIONS, EQUATIONS, FOURIER, POLYNOMIALS,
    TRANSCENDENTAL, COMPONENTS, STATISTICS, SCATTERS,
)  # fmt: skip
# Steps of neural networks.
STEPS: tuple[dict[str, Oracle], ...] = (
    ALIGNMENT, ATTENTION, DISTANCES, GRIDS, LOOKUPS, LOSSES, NORMALIZATIONS, POOLING, RESAMPLING,
)  # fmt: skip
# What errors of sums are measured by, from the operands, where it is not the operator on absolute values.
UNITS: dict[str, Oracle] = {**LOSS_UNITS, **RESAMPLING_UNITS}


@cache
def oracle_of(operator: str) -> tuple[Oracle, bool] | None:
    """The oracle of a row and whether it wants wide operands; None where there is none.

    A row is found by its name, by its name without the overload, or without the underscore of an in-place operator.
    """
    base, _, overload = operator.partition(".")
    plain = f"{base.rstrip('_')}.{overload}".rstrip(".")
    for name in (operator, base, plain, plain.partition(".")[0]):
        for tables, wide in ((NATIVE, False), ((*WIDE, *STEPS), True)):
            for table in tables:
                if name in table:
                    return table[name], wide
    return None
