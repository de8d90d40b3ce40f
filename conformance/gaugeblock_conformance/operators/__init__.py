"""Chapter operators: the generic tests of every row of the operator table, and what single operators promise."""
