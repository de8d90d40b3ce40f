"""The driver over CuPy: NVIDIA GPUs."""
