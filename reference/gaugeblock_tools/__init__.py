"""Tools beside the engine: allocator traces replayed, memory and strides drawn, and their commands.

They read what the engine records, such as the snapshots of ``gaugeblock.cuda.memory``, and call its functions; the
engine imports none of them.
"""
