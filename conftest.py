"""Whatever is tested here, the reader's own progress stays as it is: kernels and browsers that tests start inherit it.

At the top, so that `pytest --nbval book/…` and `pytest labs/…` find it too.
"""

from __future__ import annotations

import os
import tempfile

HOME = tempfile.TemporaryDirectory(prefix="k8slab-home-")
os.environ["K8SLAB_HOME"] = HOME.name
