"""Fourier transforms and windows; `..spectra` says where each operator is."""
