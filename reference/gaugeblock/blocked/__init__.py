"""The blocked layout: channels in blocks of sixteen, as vector units take them. Loaded when it is first used."""
