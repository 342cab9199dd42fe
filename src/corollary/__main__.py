"""``python -m corollary``."""

import sys

from corollary.cli import main

sys.exit(main())
