"""What belongs to each device: its driver, its memory, its pools; the current one."""
