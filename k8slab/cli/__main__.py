"""`python -m k8slab.cli`, for where the script is not on the path.

Simplified: nothing.
"""

import sys

from k8slab.cli.main import main

sys.exit(main())
