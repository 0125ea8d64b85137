"""Build the book with Jupyter Book 1 and its browser edition, and serve the built pages on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import webbrowser
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from k8slab.dev import browser_edition
from k8slab.dev.environment import SetUpError

__all__ = ["build", "serve", "write_starters"]

FIRST_PORT = 8000
PORTS_TRIED = 100


def build(root: Path, output: Path | None = None) -> Path:
    """Build the pages strictly (every warning fails, every reference is checked) and return their folder.

    `output`: where `_build` goes, the top folder if not given. SetUpError when the build fails. The browser edition
    is built first, so that the pages know whether to lead to it.
    """
    write_starters(root)
    edition = browser_edition.build(root)
    command = [str(Path(sys.executable).parent / "jupyter-book"), "build", str(root), "--toc", "book/_toc.yml"]
    command += ["-W", "-n", "--keep-going"]
    if output is not None:
        command += ["--path-output", str(output)]
    variables = {**os.environ, "K8SLAB_BROWSER_EDITION": "1" if edition else "0"}
    done = subprocess.run(command, cwd=root, env=variables, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise SetUpError(f"the book does not build (exit code {done.returncode}); the warnings are above")
    html = (output or root) / "_build" / "html"
    browser_edition.copy_into(html, edition)
    return html


def write_starters(root: Path) -> None:
    """The labs as pages: what a learner starts with, cut from each lab's source."""
    from k8slab.lab import labs

    folder = root / "book" / "labs"
    folder.mkdir(exist_ok=True)
    for lab in labs():
        path = folder / f"{lab.name}.ipynb"
        text = json.dumps(lab.starter, indent=1, ensure_ascii=False) + "\n"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


class Pages(SimpleHTTPRequestHandler):
    """Files of one folder, without a line in the terminal for each."""

    def log_message(self, format: str, *args: object) -> None:
        return

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


def server(html: Path, first_port: int = FIRST_PORT) -> ThreadingHTTPServer:
    """A server of the folder on 127.0.0.1, on the first free port. SetUpError when none is free."""
    for port in range(first_port, first_port + PORTS_TRIED):
        try:
            return ThreadingHTTPServer(("127.0.0.1", port), partial(Pages, directory=str(html)))
        except OSError:
            continue
    raise SetUpError(f"no free port from {first_port} to {first_port + PORTS_TRIED - 1} on 127.0.0.1")


def serve(html: Path) -> int:
    """Serve until interrupted; print the address, and open it where there is a desktop."""
    with server(html) as pages:
        address = f"http://127.0.0.1:{pages.server_port}/"
        print(f"the book: {address}   (Ctrl-C ends it)", flush=True)
        if sys.stdout.isatty() and (sys.platform == "darwin" or os.environ.get("DISPLAY")):
            webbrowser.open(address)
        try:
            pages.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0
