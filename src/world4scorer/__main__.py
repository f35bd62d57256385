"""`python -m world4scorer` is `w4s`."""

import sys

from world4scorer.cli.run import main

sys.exit(main())
