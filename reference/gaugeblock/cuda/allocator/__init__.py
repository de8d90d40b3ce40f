"""The caching allocator of device memory, by PyTorch's rules: it needs a driver, and no engine."""
