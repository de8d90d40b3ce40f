"""``gaugeblock bench``: backends side by side, over the protocol of the suite."""
