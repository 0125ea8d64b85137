"""Executables by path, and running one: what a runtime does with a plugin, and a plugin with the one it delegates to.

>>> from k8slab.network.cni.skeleton import Plugin, run
>>> programs = Executables()
>>> programs.install("/opt/cni/bin", "nothing", lambda env, stdin: run(Plugin(), env, stdin))
>>> programs.find("nothing", ["/usr/lib/cni", "/opt/cni/bin"])
'/opt/cni/bin/nothing'

Upstream: containernetworking/cni pkg/invoke/exec.go, raw_exec.go, find.go, delegate.go
Simplified: a program that is being written is not waited for ("text file busy").
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from k8slab.api.go_json import JSONError, go_json, parse
from k8slab.network.cni import fields
from k8slab.network.cni.errors import CNIError, Code
from k8slab.network.cni.results import Result, decode
from k8slab.network.cni.skeleton import Exit, Invocation
from k8slab.network.cni.versions import config_version

__all__ = ["Executables", "Execution", "Program", "delegate", "read_result"]

Program = Callable[[Mapping[str, str], bytes], Exit]
"""(environment, standard input) -> how it ended. A real executable fits here too."""


@dataclass(frozen=True, slots=True)
class Execution:
    """One run of a program. `caller`: "" for the runtime, else the plugin that delegated."""

    caller: str
    program: str
    command: str
    container_id: str
    if_name: str
    stdin: bytes
    end: Exit

    @property
    def failed(self) -> bool:
        return self.end.code != 0


class Executables:
    """The programs of one machine. `on_start` hears of each run before it (program, command, caller), `on_run` after
    its end; `runs` keeps the last `keep` of them."""

    def __init__(self, *, keep: int = 200) -> None:
        self.programs: dict[str, Program] = {}
        self.runs: deque[Execution] = deque(maxlen=keep)
        self.on_start: Callable[[str, str, str], None] | None = None
        self.on_run: Callable[[Execution], None] | None = None

    def install(self, folder: str, name: str, program: Program) -> None:
        """Put a program into a folder."""
        self.programs[f"{folder.rstrip('/')}/{name}"] = program

    def find(self, name: str, paths: Sequence[str]) -> str:
        """The path of a plugin's executable. CNIError when there is none."""
        if not name:
            raise CNIError("no plugin name provided")
        if "/" in name:
            raise CNIError(f"invalid plugin name: {name}")
        if not paths:
            raise CNIError("no paths provided")
        for folder in paths:
            path = f"{folder.rstrip('/')}/{name}"
            if path in self.programs:
                return path
        raise CNIError(f'failed to find plugin "{name}" in path [{" ".join(paths)}]')

    def execute(self, path: str, env: Mapping[str, str], stdin: bytes, *, caller: str = "") -> Exit:
        """Run one. CNIError with its code and text when it ends with another exit code than 0."""
        name, command = path.rpartition("/")[2], env.get("CNI_COMMAND", "")
        if self.on_start is not None:
            self.on_start(name, command, caller)
        end = self.programs[path](env, stdin)
        run = Execution(
            caller,
            program=name,
            command=command,
            container_id=env.get("CNI_CONTAINERID", ""),
            if_name=env.get("CNI_IFNAME", ""),
            stdin=stdin,
            end=end,
        )
        self.runs.append(run)
        if self.on_run is not None:
            self.on_run(run)
        if end.code != 0:
            raise _failure(end)
        return end


def _failure(end: Exit) -> CNIError:
    """What a program that failed had to say."""
    status = f"exit status {end.code}"
    if not end.stdout:
        if not end.stderr:
            return CNIError(f"netplugin failed with no error message: {status}", Code.UNKNOWN)
        return CNIError(f"netplugin failed: {go_json(end.stderr.decode(errors='replace'))}: {status}", Code.UNKNOWN)
    try:
        body = fields.load(end.stdout, "types.Error")
        code = fields.number(body, "code", "Error", wanted="uint")
        return CNIError(fields.text(body, "msg", "Error"), code, fields.text(body, "details", "Error"))
    except CNIError as error:
        said = go_json(end.stdout.decode(errors="replace"))
        what = f"netplugin failed but error parsing its diagnostic message {said}: {error.msg}"
        return CNIError(what, Code.UNKNOWN)


def read_result(config: Mapping[str, Any], stdout: bytes) -> Result:
    """What ADD printed, in the version it says or, when it says none, the configuration's. CNIError."""
    try:
        body, _ = parse(stdout)
    except JSONError as error:
        raise CNIError(f"failed to unmarshal raw result: {error}") from None
    if body is not None and not isinstance(body, dict):
        what = f"json: cannot unmarshal {'array' if isinstance(body, list) else 'value'}"
        raise CNIError(f"failed to unmarshal raw result: {what} into Go value of type map[string]interface {{}}")
    declared = (body or {}).get("cniVersion")
    return decode(body or {}, declared if isinstance(declared, str) and declared else config_version(config))


def delegate(programs: Executables, call: Invocation, plugin: str, caller: str, command: str = "") -> Result | None:
    """Run another plugin with the same environment and input (`command`: another command). Its result for ADD."""
    path = programs.find(plugin, [one for one in call.path.split(":") if one])
    command = command or call.command
    end = programs.execute(path, {**call.env, "CNI_COMMAND": command}, call.stdin, caller=caller)
    call.log.extend(end.stderr.decode(errors="replace").splitlines())
    return read_result(call.config, end.stdout) if command == "ADD" else None
