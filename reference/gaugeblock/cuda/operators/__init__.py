"""Operators on CUDA devices: deferred on the simulated one, as PTX or through CuPy on GPUs."""
