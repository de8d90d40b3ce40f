"""What results must be, computed without any backend: exactly, or in higher precision and rounded once."""
