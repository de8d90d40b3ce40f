"""Tests of the chapter on the dispatcher."""
