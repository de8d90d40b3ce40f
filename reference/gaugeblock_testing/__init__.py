"""Stand-ins for a GPU in tests.

`cuda_simulator` is a CUDA driver in host memory. `host_grid` runs the grids of kernels on the host. `ptx_emulator` runs
PTX, and `ptxas` assembles it where NVIDIA's toolkit is installed.

``import gaugeblock`` loads none. ``gaugeblock.cuda.use_driver("simulated")`` and GAUGEBLOCK_CUDA_DRIVER=simulated
load the simulated driver.
"""
