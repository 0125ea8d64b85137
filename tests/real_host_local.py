"""The real plugin host-local beside ours: run as the protocol says, in a temporary folder, with no privileges."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from k8slab.network import HostLocal, MemoryFiles, run

__all__ = ["BothHostLocals"]


class BothHostLocals:
    """Each call goes to both; what they answer and which files they leave is compared by the caller."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._folder = tempfile.TemporaryDirectory(prefix="k8slab-cni-")
        self.data_dir = self._folder.name
        self.files = MemoryFiles()
        self._ours = HostLocal(self.files)
        told = self._run({"CNI_COMMAND": "VERSION"}, b"{}")[1]
        self._ours.versions = tuple(json.loads(told)["supportedVersions"])

    def close(self) -> None:
        self._folder.cleanup()

    def _run(self, env: dict[str, str], stdin: bytes) -> tuple[int, bytes]:
        done = subprocess.run([self._program], input=stdin, env=env, capture_output=True, check=False)
        return done.returncode, done.stdout

    def call(
        self, command: str, config: dict[str, Any], container: str = "c1", args: str = "", if_name: str = "eth0"
    ) -> tuple[Any, Any]:
        """(what the real one said and left, what ours did)."""
        ipam = config.get("ipam")
        if isinstance(ipam, dict):
            config = {**config, "ipam": {"dataDir": self.data_dir, **ipam}}
        stdin = json.dumps(config).encode()
        env = {
            "CNI_COMMAND": command,
            "CNI_CONTAINERID": container,
            "CNI_NETNS": "/run/netns/x",
            "CNI_IFNAME": if_name,
            "CNI_PATH": "/opt/cni/bin",
            "CNI_ARGS": args,
        }
        code, stdout = self._run(env, stdin)
        ours = run(self._ours, env, stdin)
        return (code, _told(stdout), self._left()), (ours.code, _told(ours.stdout), self._ours_left())

    def plant(self, network: str, name: str, data: bytes) -> None:
        """Write a file for both: one that a crash left, or an older version."""
        folder = Path(self.data_dir) / network
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        self.files.write(f"{self.data_dir}/{network}/{name}", data)

    def _left(self) -> dict[str, bytes]:
        found = sorted(path for path in Path(self.data_dir).rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in found}

    def _ours_left(self) -> dict[str, bytes]:
        return {path: self.files.read(path) for path in self.files.walk(self.data_dir)}


def _told(stdout: bytes) -> Any:
    """What stands on standard output, without the empty `dns` that older plugins print."""
    body = json.loads(stdout) if stdout else None
    if isinstance(body, dict) and body.get("dns") == {}:
        del body["dns"]
    return body
