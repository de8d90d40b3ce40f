"""The dtypes that a row lists are taken, and no others."""

from __future__ import annotations

import zlib

import numpy as np
from gaugeblock_spec import operators

from ..backend import UnsupportedDType
from ..budget import STANDARD
from ..oracles.near import OracleFailed, Unjudged
from ..oracles.pointwise import operators_with_oracle
from ..oracles.promotion import CORE
from ..requirement import requirement
from ..session import Session
from .calls import OperatorCall, schema_arguments
from .coverage import shaped, swept
from .drawing import draw, drawable
from .judging import expected
from .wishes import CODE_LENGTH

_REFUSALS = (RuntimeError, NotImplementedError, TypeError)
# Refused with a ValueError.
_OTHERWISE = ("binomial",)


def _cases(listed: bool) -> list[tuple[str, str]]:
    rows = [operators.load()[name] for name in (*swept(), *shaped(), *operators_with_oracle()) if drawable(name)]
    rows = [row for row in rows if listed or row.name not in _OTHERWISE]
    return [(r.name, d) for r in rows for d in CORE if (d in r.dtypes) is listed and not _beside_number(r.name, d)]


def _chosen(s: Session, cases: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """All cases; of a quick run each second one, which of them the seed says."""
    few = s.budget.examples < STANDARD.examples
    chosen = [case for case in cases if not few or (zlib.crc32(repr(case).encode()) + s.seed) % 2]
    places = {name: place for place, name in enumerate(s.in_order(dict.fromkeys(name for name, _ in chosen)))}
    return sorted((case for case in chosen if case[0] in places), key=lambda case: places[case[0]])


def _beside_number(name: str, dtype: str) -> bool:
    """A bool tensor beside a Python number is computed with in the number's dtype."""
    return dtype == "bool" and any(a.type == "Scalar" and a.default is None for a in schema_arguments(name))


def _plainest(name: str, dtype: str) -> OperatorCall:
    """The first call, with no dtype asked for."""
    return draw(name, bytes(CODE_LENGTH), dtype, least=1)


def _is_defined(call: OperatorCall) -> bool:
    with np.errstate(all="ignore"):
        try:
            expected(call)
        except Unjudged:
            return False
        except (LookupError, OracleFailed):
            # NumPy does not compute in this dtype either.
            return True
    return True


@requirement("operators/declared-dtypes-are-taken", slow=True)
def test_listed_dtypes(s: Session) -> None:
    generic = frozenset(swept())

    def body(s: Session, name: str, dtype: str) -> None:
        call = _plainest(name, dtype)
        positional, keywords = call.bind(s.build)
        if name not in generic or _is_defined(call):
            try:
                s.call(name, *positional, **keywords)
            except UnsupportedDType as missing:
                raise s.unexpected(name, missing.__cause__ or missing) from missing

    s.table(_chosen(s, _cases(True)), body)


@requirement("operators/other-dtypes-are-refused", slow=True)
def test_other_dtypes(s: Session) -> None:
    generic = frozenset(swept())

    def body(s: Session, name: str, dtype: str) -> None:
        call = _plainest(name, dtype)
        judged = name not in generic or _is_defined(call)
        if not judged or not any(case.dtype == dtype for case in call.tensors):
            return
        positional, keywords = call.bind(s.build)
        s.expect_raises(_REFUSALS, name, *positional, **keywords)

    s.table(_chosen(s, _cases(False)), body)
