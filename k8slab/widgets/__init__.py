"""Steppers and quizzes: what a reader steps through and answers, in JupyterLab and on a page without a kernel.

A `Stepper` records what something did and shows it as frames; anything with `view()`, `step()` and `trace` will do.
A `Quiz` asks the questions of a bank. Both work without ipywidgets too: as text.

>>> from k8slab.scheduler import Explanation, NodeVerdict
>>> from k8slab.widgets import Quiz, Stepper
>>> cycle = Explanation("default/web", [NodeVerdict("node-1")], [], [], [], [], {})
>>> Stepper(cycle)
Stepper('Which node for web?', 2 steps, 2 in the main story)
>>> yes = {"text": "the scheduler", "correct": True, "explanation": "It binds.", "holds": "value == 'scheduler'"}
>>> no = {"text": "the kubelet", "correct": False, "explanation": "It starts.", "holds": "value == 'kubelet'"}
>>> question = {"id": "who", "source": "M10", "question": "Who places Pods?", "options": [yes, no],
...             "evidence": "'scheduler'"}
>>> Quiz({"title": "Who does what", "questions": [question]})
Quiz('Who does what', 1 question)

The caller's duties: whoever is recorded must not be stepped by somebody else between two steps of a live Stepper;
banks whose evidence is checked must be trusted.

Simplified: a Stepper shows at most 1,000 steps, at most 30 of them as the main story; objects are shown without
managedFields and token volumes, and leases and the writing of Events are left out.
"""

from k8slab.widgets.assets import register_view
from k8slab.widgets.frames import Moment, Recorder, Steppable, expand
from k8slab.widgets.matrix import SchedulingCycle
from k8slab.widgets.quiz import (
    Bank,
    EvidenceProblem,
    Option,
    Question,
    Quiz,
    QuizError,
    Score,
    check_evidence,
    load_bank,
)
from k8slab.widgets.stepper import Stepper
from k8slab.widgets.story import add_lane

__all__ = [
    "Bank",
    "EvidenceProblem",
    "Moment",
    "Option",
    "Question",
    "Quiz",
    "QuizError",
    "Recorder",
    "SchedulingCycle",
    "Score",
    "Steppable",
    "Stepper",
    "add_lane",
    "check_evidence",
    "expand",
    "load_bank",
    "register_view",
]
