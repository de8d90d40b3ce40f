"""Tests of the chapter on kernels."""
