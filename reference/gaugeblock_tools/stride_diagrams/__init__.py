"""Diagrams of how tensors read the cells of their storage: `gaugeblock show strides EXPRESSION`."""
