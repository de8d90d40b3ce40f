"""Which operators a backend has for which dtypes and layouts, and whether what they give is right."""
