"""A trace under many configurations, ranked, and the one to try first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from .replay import Replay, replay
from .replay_device import UNLIMITED
from .smallest_device import smallest_device
from .trace import Trace
from .units import counted, size_text

VARIABLE = "PYTORCH_CUDA_ALLOC_CONF"
CLOSE = 0.01
"""Reserved peaks that differ by less than this share are as good as each other."""


class Row(NamedTuple):
    """A configuration, what it does, and whether it acts only on a device whose size is stated."""

    config: str
    effect: str
    needs_limit: bool = False


_WHOLE = "blocks from that size on stay whole, for requests of about their size"
_ROUNDED = "sizes rounded up to parts of powers of two, so that freed blocks fit again"
_LARGER = "larger segments for requests below 10 MiB; a key that older PyTorch lacks"
_OLD = "unused blocks go back to the device above that share; older PyTorch sets the fraction by a function only"

CONFIGURATIONS = (
    Row("", "the defaults"),
    Row("expandable_segments:True", "one segment per stream and pool that grows, instead of many of fixed size"),
    *(Row(f"max_split_size_mb:{size}", _WHOLE) for size in (32, 64, 128, 256, 512)),
    Row("max_split_size_mb:128,max_non_split_rounding_mb:64", f"{_WHOLE}, or up to 64 MiB smaller"),
    *(Row(f"roundup_power2_divisions:{count}", _ROUNDED) for count in (4, 8, 16)),
    Row("expandable_segments:True,roundup_power2_divisions:8", f"segments that grow; {_ROUNDED}"),
    Row("max_split_size_mb:128,roundup_power2_divisions:8", f"{_WHOLE}; {_ROUNDED}"),
    *(Row(f"large_segment_size_mb:{size}", _LARGER) for size in (64, 128)),
    *(
        Row(f"garbage_collection_threshold:{share},per_process_memory_fraction:0.95", _OLD, True)
        for share in (0.6, 0.8)
    ),
    Row(
        "max_split_size_mb:128,garbage_collection_threshold:0.8,per_process_memory_fraction:0.95",
        f"{_WHOLE}; {_OLD}",
        True,
    ),
)
"""What a sweep tries, the plainest first: of configurations that are as good, the first one is recommended."""


@dataclass(frozen=True)
class Sweep:
    """Replays from best to worst, what each configuration does, the one with the defaults, what was left out, and the
    smallest devices by configuration, where these were searched (UNLIMITED for none)."""

    ranked: list[Replay]
    effects: dict[str, str]
    default: Replay
    left_out: list[str]
    smallest: dict[str, int]

    @property
    def best(self) -> Replay:
        return self.ranked[0]


def sweep(
    trace: Trace,
    device_memory: int | None = None,
    mode: str = "fixed",
    rows: Iterable[Row] = CONFIGURATIONS,
    fit: bool = False,
    progress: Callable[[Row], None] = lambda _: None,
) -> Sweep:
    """Replay under every row; those that need the device's size are left out when it is not stated.

    Ranked by requests that failed, then by the reserved peak (within 1% of the lowest of those that are left), then by
    retries and device mallocs, then as the table is ordered. With `fit`, the smallest device of each configuration is
    searched too, and ranks before the reserved peak.

    Raises:
        ConfigProblem: the configuration of a row is not one.
    """
    rows = list(rows)
    if not any(row.config == "" for row in rows):
        rows.insert(0, CONFIGURATIONS[0])
    replays = []
    smallest = {}
    for row in rows:
        if device_memory is not None or not row.needs_limit:
            progress(row)
            replays.append(replay(trace, row.config, device_memory, mode))
            if fit:
                found = smallest_device(trace, row.config, mode)
                smallest[row.config] = UNLIMITED if found is None else found
    return Sweep(
        ranked=_ranked(replays, {one.config: smallest.get(one.config, one.peak_reserved) for one in replays}),
        effects={row.config: row.effect for row in rows},
        default=next(one for one in replays if one.config == ""),
        left_out=[row.config for row in rows if device_memory is None and row.needs_limit],
        smallest=smallest,
    )


def _ranked(replays: list[Replay], needs: dict[str, int]) -> list[Replay]:
    order = {id(one): place for place, one in enumerate(replays)}
    left = list(replays)
    ranked = []
    while left:
        failures = min(one.out_of_memory for one in left)
        able = [one for one in left if one.out_of_memory == failures]
        bound = min(needs[one.config] for one in able) * (1 + CLOSE)
        close = [one for one in able if needs[one.config] <= bound]
        # Retries and mallocs cost time; a tenth more of either is not worth another setting.
        best = min(close, key=lambda one: (one.retries, _steps(one.device_mallocs), order[id(one)]))
        ranked.append(best)
        left.remove(best)
    return ranked


def _steps(count: int) -> int:
    """A count on a scale of an eighth of a power of two."""
    return count if count < 16 else (count.bit_length() << 3) + (count >> (count.bit_length() - 4) & 7)


def recommendation(result: Sweep) -> list[str]:
    """In plain words what to try, the line to paste first when there is one."""
    best, default = result.best, result.default
    if result.smallest and best.out_of_memory == default.out_of_memory:
        return _by_device(result)
    if not default.fits and best.out_of_memory < default.out_of_memory:
        won = "all requests are served" if best.fits else f"{counted(best.out_of_memory, 'request')} not served"
        return [
            f"{VARIABLE}={best.config}",
            f"{won} on this device, against {counted(default.out_of_memory, 'failure')} with the defaults "
            f"({result.effects[best.config]})",
        ]
    saved = default.peak_reserved - best.peak_reserved
    if best.config == "" or saved <= CLOSE * default.peak_reserved:
        words = [f"keep the defaults: no configuration of the table reserves clearly less than {_peak(default)}"]
        if not default.fits:
            words.append("none makes the trace fit either: it needs less memory, or a larger device")
        return words
    return [
        f"{VARIABLE}={best.config}",
        f"the reserved peak falls from {_peak(default)} to {_peak(best)} "
        f"({saved / default.peak_reserved:.0%} less; {result.effects[best.config]})",
    ]


def _by_device(result: Sweep) -> list[str]:
    need, now = result.smallest[result.best.config], result.smallest[""]
    if need >= UNLIMITED:
        return ["no device serves this trace: it has a request larger than any"]
    if now - need <= 2 * CLOSE * now:
        return [f"keep the defaults: no configuration of the table fits a device clearly below {size_text(now)}"]
    return [
        f"{VARIABLE}={result.best.config}",
        f"the smallest device that serves the trace falls from {size_text(now)} to {size_text(need)} "
        f"({(now - need) / now:.0%} less; {result.effects[result.best.config]})",
    ]


def _peak(one: Replay) -> str:
    return size_text(one.peak_reserved)
