"""The public API: methods of Tensor and namespaces of functions, made of the calls of operators."""
