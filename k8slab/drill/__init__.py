"""Drills: endless exercises with answers, judged by the mechanisms they are about.

A topic and a seed give one exercise, the same everywhere. The answer is worked out by the package itself (a `Quantity`,
a `Selector`, an API server, the scheduler's plugins …), and a wrong answer is told what it probably confused.

>>> from k8slab.drill import TOPICS, check_task, drill
>>> list(TOPICS)[:3]
['quantities', 'selectors', 'requests-qos']
>>> one = drill("workqueue-delays", seed=1)
>>> print(one.question.splitlines()[0])
`ItemFastSlowRateLimiter(10ms, 1000ms, maxFastAttempts=5)`. How long does a key wait after its 7th failure in a row?
>>> one.check("10ms")
Verdict(right=False, message='The first 5 failures wait fast, those after them slow.')
>>> one.check(one.answer)
Verdict(right=True, message='Right.')
>>> one.check("soon").right
False

Tasks ask for a function instead of an answer, and judge it by many cases:

>>> print(check_task("balanced", lambda used, asked, has: 200).message)
It returned 200, of type int. Expected a whole number from 0 to 100.

`DrillCard(topic)` shows a dozen of them in a page; `k8slab drill TOPIC --seed N` prints one. What
is answered goes into the reader's `k8slab.progress`.

The caller's duties: seeds are numbers or short texts.

Simplified: an exercise asks about what the package simulates; where that leaves something out (scoring plugins, say),
so does the exercise.
"""

from k8slab.drill.answers import Answer, Mistake, Verdict
from k8slab.drill.card import DrillCard
from k8slab.drill.exercise import Drill, Generator
from k8slab.drill.task import Task, TaskVerdict
from k8slab.drill.tasks import TASKS, check_task
from k8slab.drill.topics import TITLES, TOPICS, drill

__all__ = [
    "TASKS",
    "TITLES",
    "TOPICS",
    "Answer",
    "Drill",
    "DrillCard",
    "Generator",
    "Mistake",
    "Task",
    "TaskVerdict",
    "Verdict",
    "check_task",
    "drill",
]
