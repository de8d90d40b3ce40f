"""Conformance suite: checks any tensor backend against the requirements of ``gaugeblock_spec``."""
