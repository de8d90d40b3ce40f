"""Stand-ins for a GPU in tests: `cuda_simulator`, a CUDA driver in host memory, and `ptx_emulator`.

``import gaugeblock`` loads neither. ``gaugeblock.cuda.use_driver("simulated")`` and GAUGEBLOCK_CUDA_DRIVER=simulated
load the simulated driver.
"""
