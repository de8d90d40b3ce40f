"""Tests of the chapter on views: the index formula, view operators, indexing, versions and overlap."""
