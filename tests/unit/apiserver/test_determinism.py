"""The same seed gives the same trace, whatever the hash seed of the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

SCRIPT = """
import hashlib
from k8slab.api.scheme import CONFIGMAPS, PODS, SERVICEACCOUNTS, SERVICES
from k8slab.api.transport import Request
from k8slab.apiserver import APIServer
from k8slab.etcd import Store
from k8slab.sim import Loop, Shuffle

loop = Loop(seed=7)
loop.order = Shuffle(loop.stream("order"))
server = APIServer(loop, Store(), latency="slow-watch")

async def client(name):
    transport = server.transport(name)
    stream = await transport.watch(Request("watch", PODS, params={"labelSelector": "app in (a,b,c)"}))
    for number in range(5):
        pod = {"metadata": {"generateName": "p-", "labels": {"app": "abc"[number % 3], name: "x"}},
               "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
        await transport.call(Request("create", PODS, namespace="default", body=pod))
        service = {"metadata": {"name": f"{name}-{number}"}, "spec": {"ports": [{"port": 80}]}}
        await transport.call(Request("create", SERVICES, namespace="default", body=service))
        await stream.next()

async def main():
    you = server.transport("you")
    account = {"metadata": {"name": "default"}}
    await you.call(Request("create", SERVICEACCOUNTS, namespace="default", body=account))
    for name in ("one", "two", "three"):
        loop.spawn(name, client(name))

loop.spawn("you", main(), delay_ms=50)
loop.run(for_ms=2_000)
print(len(loop.trace), hashlib.sha256(loop.trace.to_jsonl().encode()).hexdigest())
loop.close()
"""


def run(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_two_hash_seeds_give_the_same_bytes() -> None:
    first = run("0")
    assert int(first.split()[0]) > 100
    assert first == run("1")
