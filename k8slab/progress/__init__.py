"""Progress: what a reader has done, chapters, quizzes, labs and drills, in one local file.

>>> from tempfile import TemporaryDirectory
>>> from k8slab.progress import Progress
>>> with TemporaryDirectory() as folder:
...     progress = Progress(f"{folder}/progress.json", now=lambda: "2026-05-01T09:00:00Z")
...     progress.done("lab", "09-workqueue", passed=True, points=16, of=16)
...     progress.answered("one-deployment", "who", right=True, questions=["who", "when"])
...     progress.done("drill", "quantities/7", right=False)
...     progress.done("drill", "quantities/7", right=True)
...     print(progress.summary())
KIND    NAME             RESULT                           LAST
quiz    one-deployment   1 of 2 right, 1 not answered yet 2026-05-01
lab     09-workqueue     passed, 16 of 16 points          2026-05-01
drill   quantities       1 right of 1, 2 tries            2026-05-01

Labs whose checks all pass, quizzes and drills that are answered live write into it through `remember`, which never
stands in a notebook's way; `k8slab progress` shows it, and takes it from one machine to another.

The caller's duties: name the kind and the thing; details are scalars.

Simplified: nobody proves anything here. It is the reader's own record: for grades see `k8slab.lab`.
"""

from k8slab.progress.entries import KINDS, ProgressError
from k8slab.progress.record import Progress, remember

__all__ = ["KINDS", "Progress", "ProgressError", "remember"]
