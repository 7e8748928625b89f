"""``python -m neuromap``: the command line."""

import sys

from neuromap.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
