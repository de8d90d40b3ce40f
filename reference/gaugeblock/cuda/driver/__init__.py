"""The driver of a CUDA device: what it promises, and which one the process uses."""
