"""Tests of the chapter on autograd."""
