"""Tests of the chapter on dtypes: promotion, conversion, integer and float arithmetic, dtypes of reductions."""
