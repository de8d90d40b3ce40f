"""The configuration of the caching allocator: `key:value,key:[key:value,...]`, white space ignored.

Keys, their ranges and their meaning are those of PyTorch 2.13; the variable is GAUGEBLOCK_CUDA_ALLOC_CONF.
From them follows how a request is rounded, which pool serves it, and how much a fresh segment for it takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

KIB: Final = 1 << 10
MIB: Final = 1 << 20
GIB: Final = 1 << 30

MIN_BLOCK: Final = 512
"""Sizes and addresses of blocks are multiples of this."""
SMALL_LIMIT: Final = MIB
"""The largest rounded size that the small pool serves."""
SMALL_SEGMENT: Final = 2 * MIB
MIN_LARGE_REQUEST: Final = 10 * MIB
"""From this rounded size on, a segment is made to measure."""
ROUND_LARGE: Final = 2 * MIB
LARGE_SEGMENT: Final = 20 * MIB
"""The segment of large requests below MIN_LARGE_REQUEST, unless the configuration says otherwise."""
DIVISION_INTERVALS: Final = 16
"""Intervals with divisions of their own: from each power of two to the next, from 1 MiB on; the first and the last
stand for all sizes below and above."""


def round_size(size: int, divisions: Sequence[int] = ()) -> int:
    """`size` > 0 rounded up to a multiple of 512 or, where its interval has divisions, to the next of these."""
    if size < MIN_BLOCK:
        return MIN_BLOCK
    if divisions:
        count = divisions[division_interval(size)]
        if count > 1 and size > MIN_BLOCK * count:
            floor = 1 << size.bit_length() - 1
            step = floor >> count.bit_length() - 1
            return size if size == floor else floor << 1 if step == 0 else size + step - 1 & -step
    return size + MIN_BLOCK - 1 & -MIN_BLOCK


def division_interval(size: int) -> int:
    """The place, among the intervals, of the one that `size` lies in."""
    return min(max(size.bit_length() - MIB.bit_length(), 0), DIVISION_INTERVALS - 1)


def segment_size(rounded: int, large_segment: int = LARGE_SEGMENT) -> int:
    """Return how much to ask of the device for a block of `rounded` bytes."""
    if rounded <= SMALL_LIMIT:
        return SMALL_SEGMENT
    return large_segment if rounded < MIN_LARGE_REQUEST else rounded + ROUND_LARGE - 1 & -ROUND_LARGE


EXBIBYTE: Final = 1 << 60
"""A size in bytes above every request."""
VARIABLE: Final = "GAUGEBLOCK_CUDA_ALLOC_CONF"
MOST_MEBIBYTES: Final = EXBIBYTE // MIB
"""So many MiB are 1 EiB."""
MOST_DIGITS: Final = 18


@dataclass(frozen=True)
class AllocatorConfig:
    """The settings. Sizes in bytes; None for no limit. `text` is what it was read from.

    `release_lock_on_cudamalloc`, `backend`, `pinned_use_background_threads` and `pinned_use_cuda_host_register` are
    accepted and kept; nothing depends on them. The limits of pinned memory are pinned_memory.py's.
    """

    large_segment_size: int = LARGE_SEGMENT
    max_split_size: int | None = None
    max_non_split_rounding: int | None = None
    garbage_collection_threshold: float = 0.0
    roundup_power2_divisions: tuple[int, ...] = ()
    expandable_segments: bool = False
    per_process_memory_fraction: float = 1.0
    throw_on_cudamalloc_oom: bool = False
    graph_capture_record_stream_reuse: bool = False
    release_lock_on_cudamalloc: bool = False
    backend: str = "native"
    pinned_use_background_threads: bool = False
    pinned_max_round_threshold: int | None = None
    pinned_max_cached_size: int | None = None
    pinned_use_cuda_host_register: bool = False
    pinned_num_register_threads: int = 1
    pinned_reserve_segment_size: int = 0
    pinned_free_catch_all: bool = False
    text: str = ""

    @property
    def non_split_rounding(self) -> int:
        """By how much an unsplit block may exceed a request for an oversize block."""
        return self.large_segment_size if self.max_non_split_rounding is None else self.max_non_split_rounding

    @classmethod
    def of(cls, config: AllocatorConfig | str) -> AllocatorConfig:
        """`config` itself, or what its text says."""
        return config if isinstance(config, AllocatorConfig) else cls.parse(config)

    @classmethod
    def parse(cls, text: str) -> AllocatorConfig:
        """Read a configuration. ValueError names the key, the value and what is allowed."""
        if not isinstance(text, str):
            raise TypeError(f"{VARIABLE}: must be a str such as 'max_split_size_mb:128', not {type(text).__name__}")
        settings = dict(_pairs(text))
        fields: dict[str, Any] = {}
        for key, value in settings.items():
            reader = READERS.get(key)
            if reader is None:
                raise ValueError(f"{VARIABLE}: unknown key {key!r}; allowed: {', '.join(sorted(READERS))}")
            field, read = reader
            fields[field] = read(key, value)
        config = replace(cls(), **fields, text=text)
        config._check_sizes()
        return config

    def _check_sizes(self) -> None:
        for key, size in (
            ("max_split_size_mb", self.max_split_size),
            ("max_non_split_rounding_mb", self.max_non_split_rounding),
        ):
            if size is not None and size < self.large_segment_size:
                _wrong(key, str(size // MIB), f"at least large_segment_size_mb ({self.large_segment_size // MIB})")

    def as_settings(self) -> dict[str, Any]:
        """Return what a snapshot tells of it, under PyTorch's names."""
        divisions = self.roundup_power2_divisions or (0,) * DIVISION_INTERVALS
        return {
            "PYTORCH_CUDA_ALLOC_CONF": self.text,
            "max_split_size": -1 if self.max_split_size is None else self.max_split_size,
            "garbage_collection_threshold": self.garbage_collection_threshold,
            "expandable_segments": self.expandable_segments,
            "pinned_num_register_threads": self.pinned_num_register_threads,
            "release_lock_on_cudamalloc": self.release_lock_on_cudamalloc,
            "pinned_use_cuda_host_register": self.pinned_use_cuda_host_register,
            "roundup_power2_divisions": {str(1 << place): count for place, count in enumerate(divisions)},
            "graph_capture_record_stream_reuse": self.graph_capture_record_stream_reuse,
        }


Value = str | list[tuple[str, str | None]]


def _pairs(text: str) -> list[tuple[str, Value]]:
    """The keys and values of a configuration; a list's elements are pairs, or single words with None."""
    words = re.findall(r"[,:\[\]]|[^,:\[\]]+", "".join(text.split()))
    found: list[tuple[str, Value]] = []
    at = 0

    def word(expected: str | None) -> str:
        nonlocal at
        given = words[at] if at < len(words) else ""
        if given != expected if expected is not None else given in ",:[]":
            raise ValueError(
                f"{VARIABLE}: expected {repr(expected) if expected else 'a word'} after {''.join(words[:at])!r}, "
                f"got {repr(given) if given else 'the end'}; the form is 'key:value,key:[key:value,...]'"
            )
        at += 1
        return given

    def listed() -> list[tuple[str, str | None]]:
        elements: list[tuple[str, str | None]] = []
        word("[")
        while at < len(words) and words[at] != "]":
            name = word(None)
            value = None
            if at < len(words) and words[at] == ":":
                word(":")
                value = word(None)
            elements.append((name, value))
            if at >= len(words) or words[at] != "]":
                word(",")
        word("]")
        return elements

    while at < len(words):
        key = word(None)
        word(":")
        found.append((key, listed() if at < len(words) and words[at] == "[" else word(None)))
        if at < len(words):
            word(",")
    return found


def _wrong(key: str, value: object, allowed: str) -> None:
    raise ValueError(f"{VARIABLE}: {key}:{value} is not allowed; {key} must be {allowed}")


def _integer(key: str, value: object, allowed: str) -> int:
    if not (isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= MOST_DIGITS):
        _wrong(key, value, allowed)
    return int(str(value))


def _mebibytes(least: int, allowed: str) -> Callable[[str, Value], int]:
    def read(key: str, value: Value) -> int:
        count = _integer(key, value, allowed)
        if not least <= count < MOST_MEBIBYTES:
            _wrong(key, value, allowed)
        return count * MIB

    return read


def _fraction(closed: bool) -> Callable[[str, Value], float]:
    allowed = "a number from 0.0 to 1.0" if closed else "a number between 0.0 and 1.0, both excluded"

    def read(key: str, value: Value) -> float:
        try:
            number = float(str(value))
        except ValueError:
            number = -1.0
        if not (0.0 <= number <= 1.0 if closed else 0.0 < number < 1.0):
            _wrong(key, value, allowed)
        return number

    return read


def _threads(key: str, value: Value) -> int:
    allowed = "a power of two from 1 to 128"
    count = _integer(key, value, allowed)
    if count not in (1, 2, 4, 8, 16, 32, 64, 128):
        _wrong(key, value, allowed)
    return count


def _one_of(values: Mapping[str, Any], allowed: str) -> Callable[[str, Value], Any]:
    def read(key: str, value: Value) -> Any:
        if not isinstance(value, str) or value not in values:
            _wrong(key, value, allowed)
        return values[str(value)]

    return read


def _power_of_two(key: str, value: object, allowed: str, zero: bool) -> int:
    number = _integer(key, value, allowed)
    if number & number - 1 or (number == 0 and not zero):
        _wrong(key, value, allowed)
    return number


def _divisions(key: str, value: Value) -> tuple[int, ...]:
    """Divisions by interval, from 1 MiB to 32 GiB and more; a single number stands for all."""
    counts = "a power of two, or 0 for none"
    if isinstance(value, str):
        return (_power_of_two(key, value, "a power of two, 1 for none", zero=False),) * DIVISION_INTERVALS
    found = [0] * DIVISION_INTERVALS
    last = -1
    for name, given in value:
        if given is None:
            _wrong(key, f"[{name}]", "a number, or a list such as [256:4,>:2]")
        count = _power_of_two(key, given, counts, zero=True)
        if name == ">":
            found[last + 1 :] = [count] * (DIVISION_INTERVALS - last - 1)
            continue
        boundary = _power_of_two(key, name, "a list of power-of-two numbers of MiB with divisions, or '>'", zero=False)
        place = min(boundary.bit_length() - 1, DIVISION_INTERVALS - 1)
        if last < 0:
            found[:place] = [count] * place
        found[place] = count
        last = place
    return tuple(found)


_boolean = _one_of({"True": True, "False": False}, "True or False")
_backend = _one_of({"native": "native"}, "native (this engine has no other allocator)")
READERS: Final[dict[str, tuple[str, Callable[[str, Value], Any]]]] = {
    "large_segment_size_mb": ("large_segment_size", _mebibytes(11, "a whole number above 10 and below 2**40")),
    "max_split_size_mb": ("max_split_size", _mebibytes(0, "a whole number below 2**40")),
    "max_non_split_rounding_mb": ("max_non_split_rounding", _mebibytes(0, "a whole number below 2**40")),
    "garbage_collection_threshold": ("garbage_collection_threshold", _fraction(closed=False)),
    "roundup_power2_divisions": ("roundup_power2_divisions", _divisions),
    "expandable_segments": ("expandable_segments", _boolean),
    "per_process_memory_fraction": ("per_process_memory_fraction", _fraction(closed=True)),
    "throw_on_cudamalloc_oom": ("throw_on_cudamalloc_oom", _boolean),
    "graph_capture_record_stream_reuse": ("graph_capture_record_stream_reuse", _boolean),
    "release_lock_on_cudamalloc": ("release_lock_on_cudamalloc", _boolean),
    "backend": ("backend", _backend),
    "pinned_use_background_threads": ("pinned_use_background_threads", _boolean),
    "pinned_max_round_threshold_mb": ("pinned_max_round_threshold", _mebibytes(0, "a whole number below 2**40")),
    "pinned_max_cached_size_mb": ("pinned_max_cached_size", _mebibytes(0, "a whole number below 2**40")),
    "pinned_use_cuda_host_register": ("pinned_use_cuda_host_register", _boolean),
    "pinned_num_register_threads": ("pinned_num_register_threads", _threads),
    "pinned_reserve_segment_size_mb": ("pinned_reserve_segment_size", _mebibytes(0, "a whole number below 2**40")),
    "pinned_free_catch_all": ("pinned_free_catch_all", _boolean),
}
