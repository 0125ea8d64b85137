"""The developers' verbs, `python -m k8slab.dev VERB` or `make VERB`: book, check, test, notebook, status and others.

Each verb does its own set-up: it makes the environment `.venv` from the locked requirements, goes on inside it, and
installs the system packages it needs where it can. Until then nothing but the standard library is imported.

>>> from k8slab.dev import VERBS
>>> [verb for verb in VERBS if VERBS[verb].needs == "book"]
['book', 'jupyter', 'api', 'deviations', 'status']
>>> VERBS["check"].help
'lint, types, unit tests, changed notebooks (under 3 minutes)'

The caller's duties: run it in a clone, not in an installed package. `K8SLAB_VENV=FOLDER` puts the environment
elsewhere; `K8SLAB_VENV=none` uses the Python that runs, as it is.

Simplified: Linux and macOS; on Windows inside WSL.
"""

from k8slab.dev.verbs import VERBS, Verb, main

__all__ = ["VERBS", "Verb", "main"]
