"""Runs the suite against one backend in worker processes and decides a verdict for every requirement."""
