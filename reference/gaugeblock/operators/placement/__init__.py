"""Writing into parts, copies of views, diagonals and splits; `..placements` says where each operator is."""
