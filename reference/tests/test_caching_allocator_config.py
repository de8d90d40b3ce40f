"""The configuration of the caching allocator: what is read, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from gaugeblock.cuda.allocator.allocator_config import AllocatorConfig
from gaugeblock.cuda.allocator.caching_allocator import CachingAllocator
from gaugeblock.cuda.devices import Runtime
from gaugeblock_testing.cuda_simulator import SimulatedDriver

MIB = 1 << 20


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {"max_split_size": None, "large_segment_size": 20 * MIB, "non_split_rounding": 20 * MIB}),
        ("max_split_size_mb:128", {"max_split_size": 128 * MIB}),
        (" max_split_size_mb : 20 , ", {"max_split_size": 20 * MIB}),
        ("large_segment_size_mb:11", {"large_segment_size": 11 * MIB, "non_split_rounding": 11 * MIB}),
        ("max_non_split_rounding_mb:48", {"non_split_rounding": 48 * MIB}),
        ("max_split_size_mb:12,large_segment_size_mb:12", {"max_split_size": 12 * MIB}),
        ("garbage_collection_threshold:0.8", {"garbage_collection_threshold": 0.8}),
        ("expandable_segments:True,max_split_size_mb:99", {"expandable_segments": True, "max_split_size": 99 * MIB}),
        ("expandable_segments:False", {"expandable_segments": False}),
        ("per_process_memory_fraction:0.5", {"per_process_memory_fraction": 0.5}),
        ("throw_on_cudamalloc_oom:True", {"throw_on_cudamalloc_oom": True}),
        ("roundup_power2_divisions:4", {"roundup_power2_divisions": (4,) * 16}),
        (
            "roundup_power2_divisions:[128:8,256:16,512:1,2048:8,>:2]",
            {"roundup_power2_divisions": (8,) * 8 + (16, 1, 0, 8) + (2,) * 4},
        ),
        ("roundup_power2_divisions:[]", {"roundup_power2_divisions": (0,) * 16}),
        ("roundup_power2_divisions:[128:4,]", {"roundup_power2_divisions": (4,) * 8 + (0,) * 8}),
        ("roundup_power2_divisions:[>:4]", {"roundup_power2_divisions": (4,) * 16}),
        ("roundup_power2_divisions:[1:2,65536:4]", {"roundup_power2_divisions": (2,) + (0,) * 14 + (4,)}),
        ("pinned_num_register_threads:8,pinned_use_background_threads:True", {"pinned_num_register_threads": 8}),
        ("pinned_max_cached_size_mb:64,backend:native", {"pinned_max_cached_size": 64 * MIB}),
    ],
)
def test_a_configuration_is_read(text: str, values: dict[str, Any]) -> None:
    config = AllocatorConfig.parse(text)
    assert {name: getattr(config, name) for name in values} == values
    assert config.text == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("foo:1", "unknown key 'foo'; allowed: .*max_split_size_mb"),
        ("max_split_size_mb=20", "expected ':' after 'max_split_size_mb=20', got the end"),
        ("max_split_size_mb:20 expandable_segments:True", "expected ',' after '.*20expandable_segments'"),
        ("max_split_size_mb:20,,", "expected a word after 'max_split_size_mb:20,', got ','"),
        (",", "expected a word after '', got ','"),
        ("max_split_size_mb:", "expected a word after 'max_split_size_mb:', got the end"),
        ("max_split_size_mb:19", r"max_split_size_mb:19 .* at least large_segment_size_mb \(20\)"),
        ("max_split_size_mb:-1", "max_split_size_mb:-1 .* a whole number"),
        ("max_split_size_mb:2.5", "max_split_size_mb:2.5 .* a whole number"),
        ("max_split_size_mb:1099511627776", "max_split_size_mb:1099511627776 .* a whole number below 2..40"),
        ("large_segment_size_mb:" + "9" * 5000, "large_segment_size_mb:9{5000} .* above 10 and below 2..40"),
        ("roundup_power2_divisions:" + "8" * 5000, "roundup_power2_divisions:8{5000} .* a power of two"),
        ("max_split_size_mb:32,large_segment_size_mb:64", r"max_split_size_mb:32 .* \(64\)"),
        ("max_non_split_rounding_mb:10", r"max_non_split_rounding_mb:10 .* at least"),
        ("large_segment_size_mb:10", "large_segment_size_mb:10 .* a whole number above 10"),
        ("garbage_collection_threshold:0", "garbage_collection_threshold:0 .* between 0.0 and 1.0, both excluded"),
        ("garbage_collection_threshold:1.0", "both excluded"),
        ("garbage_collection_threshold:nan", "both excluded"),
        ("per_process_memory_fraction:1.01", "per_process_memory_fraction:1.01 .* from 0.0 to 1.0"),
        ("expandable_segments:true", "expandable_segments:true .* True or False"),
        ("expandable_segments:1", "expandable_segments:1 .* True or False"),
        ("roundup_power2_divisions:3", "roundup_power2_divisions:3 .* a power of two"),
        ("roundup_power2_divisions:[128:3]", "roundup_power2_divisions:3 .* a power of two"),
        ("roundup_power2_divisions:[100:4]", "roundup_power2_divisions:100 .* power-of-two numbers of MiB"),
        ("roundup_power2_divisions:[0:4]", "power-of-two numbers of MiB"),
        ("roundup_power2_divisions:[128:4", "expected ',' after .* got the end"),
        ("roundup_power2_divisions:0", "roundup_power2_divisions:0 .* a power of two, 1 for none"),
        ("roundup_power2_divisions:[128]", "a number, or a list such as"),
        ("pinned_num_register_threads:256", "from 1 to 128"),
        ("pinned_num_register_threads:6", "a power of two from 1 to 128"),
        ("backend:cudaMallocAsync", "backend:cudaMallocAsync .* native"),
    ],
)
def test_a_wrong_configuration_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="GAUGEBLOCK_CUDA_ALLOC_CONF") as caught:
        AllocatorConfig.parse(text)
    with pytest.raises(ValueError, match=message):
        raise caught.value


def test_a_configuration_is_text() -> None:
    with pytest.raises(TypeError, match="must be a str"):
        AllocatorConfig.parse(5)  # type: ignore[arg-type]


def test_the_environment_is_read_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAUGEBLOCK_CUDA_ALLOC_CONF", "max_split_size_mb:64")
    runtime = Runtime(SimulatedDriver(backed=False, devices=2))
    assert runtime.memory(0).allocator.config.max_split_size == 64 * MIB
    monkeypatch.delenv("GAUGEBLOCK_CUDA_ALLOC_CONF")
    assert runtime.memory(1).allocator.config == AllocatorConfig()


def test_an_allocator_takes_another_configuration_from_then_on() -> None:
    memory = CachingAllocator(SimulatedDriver(total_memory=1 << 30, backed=False))
    memory.config = "max_split_size_mb:32,per_process_memory_fraction:0.5"
    assert (memory.memory_fraction, memory.config.max_split_size) == (0.5, 32 * MIB)
    memory.malloc(40 * MIB)
    stats = memory.memory_stats()
    assert (stats["oversize_allocations.current"], stats["max_split_size"]) == (1, -1)
    with pytest.raises(ValueError, match="unknown key"):
        memory.config = "foo:1"
    assert memory.config.max_split_size == 32 * MIB


def test_a_snapshot_tells_the_settings() -> None:
    text = "max_split_size_mb:32,roundup_power2_divisions:2"
    settings = CachingAllocator(SimulatedDriver(backed=False), 0, text).snapshot()["allocator_settings"]
    assert (settings["PYTORCH_CUDA_ALLOC_CONF"], settings["max_split_size"]) == (text, 32 * MIB)
    assert settings["roundup_power2_divisions"] == {str(1 << place): 2 for place in range(16)}


def test_a_mode_is_fixed_or_faithful() -> None:
    with pytest.raises(ValueError, match="'fixed' or 'faithful', got 'fast'"):
        CachingAllocator(SimulatedDriver(backed=False), mode="fast")  # type: ignore[arg-type]
