"""Tests of the chapter interop: one piece of memory under two libraries."""
