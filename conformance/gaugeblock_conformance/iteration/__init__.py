"""Tests of the chapter on iteration: broadcasting, strides of results, the plan, threads, writes and reductions."""
