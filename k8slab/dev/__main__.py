"""`python -m k8slab.dev`."""

import sys

from k8slab.dev.verbs import main

sys.exit(main())
