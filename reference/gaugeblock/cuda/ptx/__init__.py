"""Pointwise kernels for NVIDIA GPUs, from the formulas of the CPU's kernels: PTX by LLVM, without a GPU or a compiler.

    plan = ptx.launch_plan(kernel, shape, strides, values, capability=(9, 0), multiprocessors=132)
    module = driver.module_load(device, plan.image)            # keep it by plan.name: equal names, equal images
    function = driver.module_function(device, module, plan.name)
    driver.launch(device, function, plan.grid, plan.block, plan.shared_bytes, stream, plan.arguments)

- `kernel` is a PointwiseKernel: formula, operand dtypes, compute dtype, result dtypes. The plan of a pointwise call
  has it (`operators.pointwise.plan_call(...).launch.kernel`), and `operators.pointwise.formula_kernel` makes
  one. It only describes: nothing is compiled for the CPU until it is called there.
- `shape` and `strides` are those of the built TensorIterator (`iterator.shape`, and `.strides` of its operands):
  coalesced, innermost first, strides in bytes, one tuple per operand in memory, outputs first. Stride 0 broadcasts.
- `values` are the call's, outputs first: the address of each tensor, and Python numbers as they are.
- `fault` is the address of an i32 on the device, set to 1 when an integer is divided by zero; 0 when nobody looks.

`prepare(kernel, shape, strides, capability, multiprocessors)` is the part that does not depend on addresses, memoised;
`prepare(...).plan(values)` takes some microseconds. Contiguous operands (and inputs of one element) are read 16 bytes
at a time where they are aligned, and so are rows where the outputs are contiguous in the innermost dim; everything else
goes through the strides, element by element. Indices have 32 bits where these reach. Images
are kept on disk by content, in the folder of the CPU's objects. `gaugeblock_testing.host_grid` walks through the same
grid on this processor, and `gaugeblock_testing.ptx_emulator` runs the PTX itself, instruction by instruction: so are
kernels tested where there is no GPU.
"""

from __future__ import annotations

from .launching import LaunchPlan, PreparedLaunch, launch_plan, prepare

__all__ = ["LaunchPlan", "PreparedLaunch", "launch_plan", "prepare"]
