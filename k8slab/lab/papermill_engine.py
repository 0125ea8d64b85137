"""Papermill's part: a submission is carried out by an engine that plays the checks in place of a kernel.

Papermill injects the parameter `student`, times the cells and writes the executed notebook. The engine runs no
cell in this process: a graded cell's output is the result of its check, which a limited child process played.

Upstream: papermill/engines.py (Engine, NotebookExecutionManager)
Simplified: cells that are neither solution nor check are left as they are.
"""

from __future__ import annotations

import logging
import re
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from k8slab.lab.model import Report
from k8slab.lab.show import report_text
from k8slab.lab.source import Lab, LabError, Notebook, grading, solution_of, source
from k8slab.lab.verify import verify

__all__ = ["execute"]

ENGINE = "k8slab"
_CHECK = re.compile(r"""^check\((?:["'](?P<name>[\w-]+)["'])?\)""")


def execute(
    lab: Lab, notebook: Notebook, student: str, seed: str, elsewhere: Collection[str] = ()
) -> tuple[Report, str]:
    """The report on an assembled notebook, and the text of the executed notebook. LabError without papermill.
    `elsewhere`: as for `verify`."""
    try:
        import nbformat
        import papermill
        from papermill.engines import papermill_engines
    except ImportError:
        raise LabError("grading with feedback needs papermill: pip install 'k8slab[book]'") from None
    logging.getLogger("papermill").setLevel(logging.ERROR)
    report = verify(lab, solution_of(notebook, student), seed=seed, elsewhere=elsewhere)
    papermill_engines.register(ENGINE, _engine())  # the same for all: threads share papermill's table
    with tempfile.TemporaryDirectory() as folder:  # papermill would take braces in the path for parameters
        done = Path(folder) / "feedback.ipynb"
        papermill.execute_notebook(
            nbformat.from_dict(notebook),
            str(done),
            parameters={"student": student},  # the seed is the teacher's: hidden cases are made from it
            engine_name=ENGINE,
            kernel_name="python3",
            progress_bar=False,
            request_save_on_cell_execute=False,
            lab=lab,
            report=report,
        )
        text: str = nbformat.writes(without_traces(nbformat.read(done, as_version=4)))
    return report, text + "\n"


def without_traces(notebook: Any) -> Any:
    """Without what papermill says of the machine and the time: its paths, a copy of what it was given, durations."""
    said = notebook.metadata.get("papermill", {})
    notebook.metadata["papermill"] = {key: said.get(key) for key in ("exception", "parameters")}
    for number, cell in enumerate(notebook.cells):
        cell.metadata.pop("papermill", None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell["id"] = f"injected-parameters-{number}"  # papermill's is a random one
    return notebook


def _engine() -> Any:
    """An engine whose checks answer with the report that it is given."""
    import nbformat
    from papermill.engines import Engine

    class Checks(Engine):  # type: ignore[misc]
        """Fills in the outputs of graded cells."""

        @classmethod
        def execute_managed_notebook(
            cls, nb_man: Any, kernel_name: str, *, lab: Lab, report: Report, **kwargs: Any
        ) -> None:
            results = {result.check.name: result for result in report.results}
            for cell in nb_man.nb.cells:
                found = _CHECK.match(source(cell).strip()) if cell.cell_type == "code" else None
                if found is None:
                    continue
                name = found["name"]
                some = report if not name else Report(lab.name, (results[name],), report.seed, (), report.problem)
                if name and not grading(cell).get("grade"):
                    continue
                text = report_text(lab, some) + "\n"
                cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=text)]

    return Checks
