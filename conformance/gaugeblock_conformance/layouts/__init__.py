"""Tests of the chapter on layouts: coordinate form, compressed rows and columns, blocks."""
