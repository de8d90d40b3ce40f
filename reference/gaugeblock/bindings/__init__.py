"""Bindings: functions, methods, in-place and out= forms, generated from the spec's schemas."""
