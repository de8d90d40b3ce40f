"""Which operators a backend has for which dtypes, and whether what they give is right."""
