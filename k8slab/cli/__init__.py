"""The command `k8slab`.

>>> from k8slab.cli import main
>>> main(["--version"])
k8slab 0.1.0
0
>>> main(["run", "--nodes", "0", "web.yaml"])    # a wrong command line; stderr says which argument, and why
2

Exit codes: 0 all is well, 1 the answer is no (something is not ready, a manifest is wrong), 2 the command line is
wrong.

Simplified: nothing; `k8slab --help` lists what there is.
"""

from k8slab.cli.main import main

__all__ = ["main"]
