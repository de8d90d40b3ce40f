"""Pictures for learners: `gaugeblock show strides EXPRESSION` draws how tensors read the cells of their storage."""
