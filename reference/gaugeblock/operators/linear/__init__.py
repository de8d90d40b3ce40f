"""Linear algebra; which module has which operator says `..linear_algebra`."""
