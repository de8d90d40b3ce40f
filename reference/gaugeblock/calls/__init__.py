"""Calls: generated functions that resolve overloads, ask for overrides, and keep the plans of calls."""
