"""The static site: the spec with its tests, the operator table, the scoreboard, deviations and benchmarks.

``build.pages`` makes all of it as a mapping from paths to texts; ``command`` writes that into a folder.
"""
