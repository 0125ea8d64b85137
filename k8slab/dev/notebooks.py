"""Execute notebooks and store outputs that are the same bytes on every run and machine.

What Jupyter writes anew at each run is renumbered or dropped: widget model ids, times, the kernel's version, memory
addresses, the splitting of streams. What the code computes is left as it is, so that a difference means something.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from k8slab.dev import status

__all__ = ["execute", "main", "normal_form", "write_form"]

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
ADDRESS = re.compile(r"0x[0-9a-f]{6,16}")
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}

Notebook = dict[str, Any]


def execute(path: Path, *, timeout_seconds: int = 300) -> Notebook:
    """The notebook at `path`, run from top to bottom in a new kernel, in normal form.

    Raises nbclient's CellExecutionError when a cell fails that is not tagged `raises-exception`.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.metadata.pop("widgets", None)
    notebook.metadata["kernelspec"] = dict(KERNEL)
    where = {"metadata": {"path": str(path.parent)}}
    with tempfile.TemporaryDirectory() as home:  # a lab that is passed here is not this reader's progress
        variables = {**os.environ, "K8SLAB_HOME": home}
        client = NotebookClient(notebook, timeout=timeout_seconds, kernel_name="python3", resources=where)
        client.execute(env=variables)
    plain: Notebook = json.loads(nbformat.writes(notebook))
    return normal_form(plain)


def normal_form(notebook: Notebook) -> Notebook:
    """A copy without what changes from run to run."""
    plain = json.loads(json.dumps(notebook))
    for cell in plain["cells"]:
        cell["metadata"].pop("execution", None)
        if cell["cell_type"] == "code":
            cell["outputs"] = joined_streams(cell["outputs"])
    plain["metadata"] = {
        "kernelspec": dict(KERNEL),
        "language_info": {"name": "python"},
        **{key: value for key, value in plain["metadata"].items() if key not in ("kernelspec", "language_info")},
    }
    text = json.dumps(plain, ensure_ascii=False)
    state = plain["metadata"].get("widgets", {}).get(STATE, {}).get("state", {})
    for number, model in enumerate(models_in_order(plain, state)):
        text = text.replace(model, f"{number:032x}")
    renumbered: Notebook = json.loads(text)
    for cell in renumbered["cells"]:
        if "outputs" in cell:
            cell["outputs"] = json.loads(ADDRESS.sub("0x0", json.dumps(cell["outputs"])))
    if state:
        widgets = renumbered["metadata"]["widgets"][STATE]
        widgets["state"] = dict(sorted(widgets["state"].items()))
    return renumbered


def joined_streams(outputs: list[Any]) -> list[Any]:
    """Neighbouring pieces of the same stream as one output: where a stream is cut depends on timing."""
    joined: list[Any] = []
    for output in outputs:
        if output["output_type"] != "stream":
            joined.append(output)
            continue
        text = "".join(output["text"])
        if joined and joined[-1].get("name") == output["name"]:
            text = "".join(joined.pop()["text"]) + text
        joined.append({**output, "text": text.splitlines(keepends=True)})
    return joined


def models_in_order(notebook: Notebook, state: dict[str, Any]) -> list[str]:
    """Ids of widget models: by first use in the outputs, then what those refer to, then the rest by content."""
    found: dict[str, None] = {}

    def visit(model: str) -> None:
        if model in state and model not in found:
            found[model] = None
            for reference in re.findall(r"IPY_MODEL_([0-9a-f]{32})", json.dumps(state[model], sort_keys=True)):
                visit(reference)

    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            visit(output.get("data", {}).get(VIEW, {}).get("model_id", ""))
    rest = sorted(state.keys() - found.keys(), key=lambda model: json.dumps(state[model], sort_keys=True))
    return [*found, *rest]


def write_form(notebook: Notebook) -> str:
    """The text of the file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def main(argv: list[str], root: Path, default: Sequence[Path] = ()) -> int:
    """Exit code 1 with --check when a file would change. `default`: the files when none are named.

    How long a chapter took is written down, with the status page, when it is stored anew or has no such number yet.
    """
    parser = argparse.ArgumentParser(prog="python -m k8slab.dev notebook", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, default=default, help="all notebooks if none is named")
    parser.add_argument("--check", action="store_true", help="write nothing; tell which files would change")
    options = parser.parse_args(argv)
    changed, known, measured = 0, status.seconds(root), dict[str, float]()
    for path in options.files:
        began = time.monotonic()
        text = write_form(execute(path))
        took = time.monotonic() - began
        same = path.read_text(encoding="utf-8") == text
        changed += not same
        print(f"{path}: {'as stored' if same else 'would change' if options.check else 'written'}", flush=True)
        if not options.check and not same:
            path.write_text(text, encoding="utf-8")
        name = os.path.relpath(path, root)
        if name.startswith("book/") and (not same or name not in known):
            measured[name] = took
    if measured and not options.check:
        status.record(root, measured)
        (root / status.PAGE).write_text(status.page(root), encoding="utf-8")
    return 1 if changed and options.check else 0
