"""Launch plans through a driver: the simulated device checks every launch; the host runs the grid, or its PTX."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from gaugeblock.core.dtype import bool_, complex64, float16, float32, int64
from gaugeblock.cuda import ptx
from gaugeblock.cuda.ptx.layout import Layout
from gaugeblock.kernels.conversion import Immediate
from gaugeblock.kernels.pointwise import PointwiseKernel
from gaugeblock.operators.pointwise import formula_kernel
from gaugeblock_testing.cuda_simulator import SimulatedDriver
from gaugeblock_testing.cuda_simulator.modules import StandIn
from gaugeblock_testing.host_grid import stand_in
from gaugeblock_testing.ptx_emulator import Machine

Array = np.ndarray[Any, Any]


class Device:
    """One device with what a launch needs: arrays on it, kernels loaded and stood in for."""

    def __init__(self, emulated: bool) -> None:
        self.emulated = emulated
        self.driver = SimulatedDriver(devices=1, total_memory=1 << 24, backed=True)
        self.stream = self.driver.stream_create(0)

    def put(self, array: Array) -> int:
        pointer = self.driver.malloc(0, array.nbytes)
        self.driver.memcpy(0, pointer, array.ctypes.data, array.nbytes, "h2d", self.stream)
        return pointer

    def fetch(self, pointer: int, like: Array) -> Array:
        found = np.empty_like(like)
        self.driver.memcpy(0, found.ctypes.data, pointer, found.nbytes, "d2h", self.stream)
        self.driver.stream_synchronize(0, self.stream)
        return found

    def launch(self, kernel: PointwiseKernel, shape: Any, strides: Any, values: list[Any], fault: int = 0) -> None:
        properties = self.driver.properties(0)
        given = ((properties.major, properties.minor), properties.multi_processor_count)
        prepared = ptx.prepare(kernel, shape, strides, *given)
        plan = prepared.plan(values, fault)
        module = self.driver.module_load(0, plan.image)
        function = self.driver.module_function(0, module, plan.name)
        self.driver.define_kernel(plan.name, self.walk(kernel, prepared.on_grid(values)[0], plan))
        self.driver.launch(0, function, plan.grid, plan.block, plan.shared_bytes, self.stream, plan.arguments)


    def walk(self, kernel: PointwiseKernel, layout: Layout, plan: ptx.LaunchPlan) -> StandIn:
        """What runs in the kernel's place: the host's grid, or the emulator with the very image."""
        if not self.emulated:
            return stand_in(kernel, layout)
        machine = Machine(plan.image)
        return lambda grid, block, shared_bytes, values: machine.run(plan.name, grid, block, plan.arguments)


@pytest.fixture(params=[False, True], ids=["grid", "emulated"])
def device(request: pytest.FixtureRequest) -> Device:
    return Device(request.param)


@pytest.mark.parametrize("dtype", [float16, float32, complex64, int64], ids=lambda dtype: dtype.name)
def test_contiguous(device: Device, dtype: Any) -> None:
    a, b = (np.arange(start, start + 1000).astype(dtype.numpy) for start in (1, 7))
    out = device.put(np.zeros_like(a))
    kernel = formula_kernel("add", (dtype, dtype), dtype, dtype)
    device.launch(kernel, (1000,), ((dtype.itemsize,),) * 3, [out, device.put(a), device.put(b)])
    np.testing.assert_array_equal(device.fetch(out, a), a + b)


def test_strided_with_a_number(device: Device) -> None:
    condition, a = np.arange(12) % 5 == 0, np.arange(12, dtype=np.float32)
    out = device.put(np.zeros(12, np.float32))
    kernel = formula_kernel("where", (bool_, float32, Immediate(float32)), float32, float32)
    strides = ((4, 16), (1, 4), (12, 4))
    device.launch(kernel, (4, 3), strides, [out, device.put(condition), device.put(a), -1.5])
    expected = np.where(condition.reshape(3, 4), a.reshape(4, 3).T, np.float32(-1.5))
    np.testing.assert_array_equal(device.fetch(out, a).reshape(3, 4), expected)


def test_faults_stay_on_the_device(device: Device) -> None:
    a, b = np.arange(100), np.arange(100) % 7
    kernel = formula_kernel("remainder", (int64, int64), int64, int64)
    out, fault = device.put(a), device.put(np.zeros(1, np.int32))
    values = [out, device.put(a), device.put(b + 1)]
    device.launch(kernel, (100,), ((8,),) * 3, values, fault)
    assert device.fetch(fault, np.zeros(1, np.int32))[0] == 0
    np.testing.assert_array_equal(device.fetch(out, a), a % (b + 1))
    values[2] = device.put(b)
    device.launch(kernel, (100,), ((8,),) * 3, values, fault)
    assert device.fetch(fault, np.zeros(1, np.int32))[0] == 1


def test_every_dtype_of_parameters_has_its_size(device: Device) -> None:
    kernel = formula_kernel("add", (complex64, Immediate(complex64)), complex64, complex64)
    a = np.arange(6, dtype=np.complex64)
    out = device.put(a)
    device.launch(kernel, (6,), ((8,), (8,)), [out, device.put(a), 1 + 2j])
    np.testing.assert_array_equal(device.fetch(out, a), a + (1 + 2j))
    plan = ptx.launch_plan(kernel, (1 << 30,), ((8,), (8,)), [0, 0, 1j])
    assert [ctypes.sizeof(argument) for argument in plan.arguments] == [8] * 5
