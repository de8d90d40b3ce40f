"""Subcommands of ``gaugeblock`` that belong to the suite."""
