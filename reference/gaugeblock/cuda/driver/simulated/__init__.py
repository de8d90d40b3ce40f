"""The simulated driver: devices in host memory, streams in virtual time."""
