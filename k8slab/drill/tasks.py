"""Coding tasks: the reader writes one function, and it is judged by many cases against the scheduler itself.

>>> from k8slab.drill import check_task
>>> print(check_task("node-name", lambda pod, node_name: None))
Not yet. It returned None. Expected a Status: SUCCESS, or Status(Code.…,
    'reason').
Broken: It answers every case, with the type that was asked for.
Case 1:
  spec.nodeName: None
  node_name: 'node-2'

The caller's duties: a function that never returns is not survived; interrupt the cell.

Simplified: see `k8slab.scheduler`; a right answer to all cases is no proof.
"""

from __future__ import annotations

import random
from typing import Any

from k8slab.drill.cycle_tasks import CYCLE_TASKS
from k8slab.drill.node_tasks import NODE_TASKS
from k8slab.drill.task import Task, TaskVerdict
from k8slab.drill.topics import seed_text

__all__ = ["TASKS", "check_task"]

_IN_ORDER = (
    "pool", "gang", "place-gang", "prioritize", "victims", "balanced", "pre-bind", "fit", "anti-affinity", "node-name",
)  # fmt: skip
_BY_NAME = {task.name: task for task in (*CYCLE_TASKS, *NODE_TASKS)}

TASKS: dict[str, Task] = {name: _BY_NAME[name] for name in _IN_ORDER}
"""The coding tasks by name, in the order of the page `review/custom-scheduler-quiz`."""


def check_task(name: str, function: Any, seed: int | str = 1) -> TaskVerdict:
    """Judge the reader's `function`; print what comes back. ValueError: an unknown task, or a seed that is none.

    The cases depend on the name and the seed only. Whatever the function does, there is a verdict and no traceback.
    """
    if name not in TASKS:
        raise ValueError(f"task {name!r}: expected one of {', '.join(TASKS)}")
    return TASKS[name].check(function, random.Random(f"{seed_text(seed)}/task/{name}"))
