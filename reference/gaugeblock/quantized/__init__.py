"""Quantized tensors: integers that stand for numbers by a scale and a zero point. Loaded when they are first used."""
