"""Stand-ins for a GPU in tests: `cuda_simulator`, a CUDA driver in host memory, `host_grid`, which walks through the
grids of kernels on the host, `ptx_emulator`, and `ptxas`, which assembles PTX where NVIDIA's toolkit is installed.

``import gaugeblock`` loads none. ``gaugeblock.cuda.use_driver("simulated")`` and GAUGEBLOCK_CUDA_DRIVER=simulated
load the simulated driver.
"""
