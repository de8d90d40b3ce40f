"""What PyTorch's parser of allocator configurations reads and refuses, and what ours does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from gaugeblock.cuda.allocator.allocator_config import AllocatorConfig

torch = pytest.importorskip("torch")
DEFAULTS = "large_segment_size_mb:20,expandable_segments:False,roundup_power2_divisions:1"
READ = (
    "", "max_split_size_mb:128", " max_split_size_mb : 20 , ", "max_split_size_mb:12,large_segment_size_mb:12",
    "large_segment_size_mb:11", "max_non_split_rounding_mb:20", "garbage_collection_threshold:0.8",
    "expandable_segments:True", "roundup_power2_divisions:4",
    "roundup_power2_divisions:[128:8,256:16,512:1,2048:8,>:2]", "roundup_power2_divisions:[>:4]",
    "roundup_power2_divisions:[]", "roundup_power2_divisions:[128:4,]", "roundup_power2_divisions:[65536:4]",
    "pinned_use_background_threads:True", "pinned_max_cached_size_mb:64", "max_split_size_mb:30,max_split_size_mb:40",
)  # fmt: skip
REFUSED = (
    "max_split_size_mb:19", "max_split_size_mb:2.5", "max_split_size_mb:32,large_segment_size_mb:64",
    "large_segment_size_mb:10", "max_non_split_rounding_mb:10", "garbage_collection_threshold:0",
    "garbage_collection_threshold:1.0", "garbage_collection_threshold:nan", "expandable_segments:true",
    "expandable_segments:1", "roundup_power2_divisions:0", "roundup_power2_divisions:3",
    "roundup_power2_divisions:[128:3]", "roundup_power2_divisions:[100:4]", "roundup_power2_divisions:[0:4]",
    "roundup_power2_divisions:[128]", "roundup_power2_divisions:[128:4", "max_split_size_mb=20", ",",
    "max_split_size_mb:20,,", "max_split_size_mb:", "max_split_size_mb:20 expandable_segments:True",
)  # fmt: skip
READ_BY_PYTORCH_ALONE = ("foo:1", "max_split_size_mb:-1", "max_split_size_mb:30x", "garbage_collection_threshold:0.5x")
"""Numbers with anything behind them or below 0, and, in builds for the CPU, any key."""


@pytest.fixture
def parse() -> Iterator[Callable[[str], None]]:
    """PyTorch's parser, whose settings are the process's own."""
    yield torch._C._accelerator_setAllocatorSettings
    torch._C._accelerator_setAllocatorSettings(DEFAULTS)


@pytest.mark.parametrize("text", READ)
def test_both_read_it(text: str, parse: Callable[[str], None]) -> None:
    parse(text)
    AllocatorConfig.parse(text)


@pytest.mark.parametrize("text", REFUSED)
def test_both_refuse_it(text: str, parse: Callable[[str], None]) -> None:
    with pytest.raises((ValueError, RuntimeError)):
        parse(text)
    with pytest.raises(ValueError, match="GAUGEBLOCK_CUDA_ALLOC_CONF"):
        AllocatorConfig.parse(text)


@pytest.mark.parametrize("text", READ_BY_PYTORCH_ALONE)
def test_ours_refuses_what_has_no_meaning(text: str, parse: Callable[[str], None]) -> None:
    parse(text)
    with pytest.raises(ValueError, match="GAUGEBLOCK_CUDA_ALLOC_CONF"):
        AllocatorConfig.parse(text)
