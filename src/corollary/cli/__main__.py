"""``python -m corollary.cli``."""

import sys

from corollary.cli import main

sys.exit(main())
