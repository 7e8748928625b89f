"""``python -m neuromap``: the command line."""

import sys

from neuromap.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
