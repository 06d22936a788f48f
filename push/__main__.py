"""`python -m push`: the command line."""

import sys

from push.cli.main import main

sys.exit(main())
