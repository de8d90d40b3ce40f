"""The commands ``gaugeblock allocator`` and ``gaugeblock show``, found by their entry points."""
