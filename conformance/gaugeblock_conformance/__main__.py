"""``python -m gaugeblock_conformance`` is the command ``gaugeblock``."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())
