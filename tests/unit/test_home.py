"""Tests and what they start leave the reader's own progress alone."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from k8slab.dev.notebooks import execute
from k8slab.progress.record import default_path

HERE = "from k8slab.progress.record import default_path; print(default_path())"


def test_progress_of_tests_goes_into_a_temporary_folder() -> None:
    assert Path(tempfile.gettempdir()).resolve() in default_path().resolve().parents


def test_so_does_that_of_notebooks_that_are_stored_anew(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "execution_count": None, "id": "a", "metadata": {}, "outputs": [], "source": [HERE]}
    path = tmp_path / "where.ipynb"
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    said = Path("".join(execute(path)["cells"][0]["outputs"][0]["text"]).strip())
    assert said.name == "progress.json"
    assert said.parent != Path(os.environ["K8SLAB_HOME"]) and not said.parent.exists(), (
        "a folder of its own, gone since"
    )
