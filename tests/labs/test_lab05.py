"""Lab 05: what coroutines add to the ways a solution can go wrong, and that the messages say what to mend."""

from __future__ import annotations

import gc
import time

import pytest

from k8slab.api.scheme import SCHEME
from k8slab.apiserver.registry import strategy_for
from k8slab.apiserver.registry.custom import CustomResourceStrategy
from k8slab.lab import InProcessRunner, Limits, Raised, Report, find_lab, parse_script, replay, verify
from k8slab.lab.inside import newest_source
from k8slab.lab.mutate import machine_mutants
from k8slab.lab.show import recognised, report_text
from k8slab.lab.source import source

LAB = find_lab("05")
IMPORT = "from k8slab.api.errors import ConflictError\n"


def changed(old: str, new: str) -> str:
    assert LAB.solution.count(old) == 1
    return LAB.solution.replace(old, new)


def why(code: str, check: str) -> str:
    """What a learner reads of the first failure of `check`."""
    result = verify(LAB, code, only=[check], limits=Limits(seconds=0.25)).results[0]
    assert not result.passed
    return result.reason


def server(*lines: str) -> str:
    """The right solution with another guaranteed_update."""
    body = "\n".join(f"    {line}" for line in lines)
    return f"{LAB.solution}\n\nasync def guaranteed_update(store, key, change):\n{body}\n"


@pytest.mark.parametrize(
    ("code", "check", "said"),
    [
        pytest.param(
            server("value, revision = store.get(key)"),
            "writes-what-it-computed",
            "get(...): an await is missing before it",
            id="get without await",
        ),
        pytest.param(
            server("value, revision = await store.get(key)", "store.put(key, change(value), revision)"),
            "writes-what-it-computed",
            "put(...): it was called and never awaited, so it did nothing",
            id="put without await",
        ),
        pytest.param(
            LAB.solution + "\n\ndef guaranteed_update(store, key, change):\n    return 7\n",
            "writes-what-it-computed",
            "calling it gave int, expected something to await: is it an async def?",
            id="no async def",
        ),
        pytest.param(
            server("value, revision = await store.get(key)", "await store.put(key, str(change(value)), revision)"),
            "writes-what-it-computed",
            "value: expected int, found str",
            id="a number as text",
        ),
        pytest.param(
            changed(
                "        await sleep(delay_ms)\n", "        import asyncio; await asyncio.sleep(delay_ms / 1000)\n"
            ),
            "waits-between-tries",
            "no running event loop, nor any in a lab: await the sleep that you were given",
            id="asyncio's sleep",
        ),
        pytest.param(
            server("class Other:", "    def __await__(self): yield 1", "await Other()"),
            "writes-what-it-computed",
            "it awaits something that is not of this lab",
            id="something else to await",
        ),
        pytest.param(
            changed("return await retry_on_conflict(attempt, sleep)", "return attempt()"),
            "fields-arrive",
            "it returned a coroutine, which nobody ran",
            id="a coroutine as a result",
        ),
    ],
)
def test_a_missing_await_and_its_relatives_are_named(code: str, check: str, said: str) -> None:
    assert said in why(code, check)


USED = {
    "unpacked": "value, revision = call",
    "an item read": "call['data']",
    "an item set": "call['data'] = {}",
    "an item deleted": "del call['data']",
    "an attribute": "call.value",
    "looked into": "'data' in call",
    "its length": "len(call)",
    "called": "call()",
    "a condition": "7 if call else 8",
    "compared": "call == 7",
    "compared the other way": "7 != call",
    "less": "call < 7",
    "the larger one": "max(7, call)",
    "a sum": "call + 1",
    "a sum the other way": "1 + call",
    "a difference": "call - 1",
    "a number": "int(call)",
    "merged": "{} | call",
    "a method": "call.get('data')",
    "changed": "change(call)",
    "written back": "await store.put(key, call, 1)",
}


@pytest.mark.parametrize("use", USED.values(), ids=USED)
def test_a_missing_await_is_named_however_the_call_is_used(use: str) -> None:
    said = why(server("call = store.get(key)", use), "writes-what-it-computed")
    assert "TypeError: get(...): an await is missing before it" in said


def test_a_missing_await_is_named_in_the_object_that_is_changed() -> None:
    said = why(changed("obj = await api.get(name)", "obj = api.get(name)"), "fields-arrive")
    assert "get(...): an await is missing before it" in said


@pytest.mark.parametrize("attempt", ["if attempt(): return 7", "return attempt().value", "attempt()[0]"])
def test_a_missing_await_before_an_attempt_is_named(attempt: str) -> None:
    code = f"{LAB.solution}\n\nasync def retry_on_conflict(attempt, sleep, steps=5, delay_ms=10):\n    {attempt}\n"
    assert "attempt(): an await is missing before it" in why(code, "returns-the-result")


@pytest.mark.parametrize(
    ("resource", "is_accepted"),
    [("configmaps", True), ("pods", True), ("deployments", True), ("leases", False), ("widgets", False)],
)
def test_what_the_text_says_of_updates_without_a_version_holds_here(resource: str, is_accepted: bool) -> None:
    """Upstream: AllowUnconditionalUpdate in `pkg/registry/*/strategy.go` and apiextensions' `customresource`."""
    rules = CustomResourceStrategy() if resource == "widgets" else strategy_for(SCHEME.find(resource))
    assert rules.allow_unconditional_update is is_accepted


def test_the_text_sends_the_unversioned_update_by_itself_since_kubectl_replace_fills_the_version_in() -> None:
    """Upstream: Helper.Replace in `cli-runtime/pkg/resource/helper.go`, called with overwrite by `kubectl replace`."""
    prose = "".join(source(cell) for cell in LAB.notebook["cells"] if cell["cell_type"] == "markdown")
    whole_lines = prose.replace(" \\\n  ", " ").splitlines()
    commands = [line for line in whole_lines if line.startswith("kubectl replace")]
    assert commands == ["kubectl replace --raw /api/v1/namespaces/default/configmaps/web -f web.json"]
    assert "`kubectl replace -f web.json` gets the object, copies its number" in prose


HOSTILE = {
    "swallows everything, without an await": server("while True:", "    try: raise ValueError", "    except: pass"),
    "swallows everything, also its own end": server(
        "while True:", "    try: await store.get(key)", "    except BaseException: pass"
    ),
    "swallows its own end in silence": server(
        "while True:", "    try:", "        while True: await store.get(key)", "    except BaseException:",
        "        while True: pass",
    ),
    "calls itself for ever": server("return await guaranteed_update(store, key, change)"),
    "a generator": LAB.solution + "\n\nasync def guaranteed_update(store, key, change):\n    yield 1\n",
    "leaves the process": server("import os", "os._exit(0)"),
    "raises SystemExit": server("raise SystemExit"),
    "raises StopIteration": server("raise StopIteration(7)"),
    "an object that equals everything": server(
        "class Any(int):", "    def __eq__(self, other): return True", "    def __ne__(self, other): return False",
        "    __hash__ = int.__hash__", "await store.put(key, Any(7), Any(1))", "return Any(7)",
    ),
    "a result that is no plain value": server("return object()"),
    "changes the lab's errors": IMPORT + "ConflictError.__init__ = None\n" + LAB.solution,
    "takes the answer": "from k8slab.client.retry import retry_on_conflict\n" + LAB.solution,
    "takes the server's answer": "from k8slab.apiserver.storage.etcd3 import Storage\n" + LAB.solution,
}  # fmt: skip


def judged(code: str, **options: object) -> Report:
    return verify(LAB, code, limits=Limits(seconds=0.25), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("code", HOSTILE.values(), ids=HOSTILE)
def test_it_is_survived_and_does_not_pass(code: str) -> None:
    started = time.monotonic()
    report = judged(code)
    assert not report.passed
    assert report_text(LAB, report)
    assert time.monotonic() - started < 30


def test_a_hostile_server_leaves_the_clients_points_alone() -> None:
    report = judged(HOSTILE["swallows everything, without an await"])
    passed = {result.check.name for result in report.results if result.passed}
    assert {"retries-only-conflicts", "returns-the-result", "fields-arrive"} <= passed
    assert report.points == 9


def test_forbidden_modules_are_named() -> None:
    assert "k8slab.client: this lab asks you to write it" in judged(HOSTILE["takes the answer"]).problem


def test_answers_that_no_judge_expects_are_no_crash() -> None:
    """A learner's value in a place where a number is expected."""
    code = find_lab("09").solution.replace("return min(self.base_ms * 2**failures, self.most_ms)", "return 'soon'")
    report = verify(find_lab("09"), code, only=["forgets"])
    assert report.points == 0
    assert report.results[0].reason


@pytest.mark.parametrize("mutant", LAB.mutants(), ids=lambda mutant: mutant.name)
def test_a_mutant_is_recognised_in_its_own_words(mutant: object) -> None:
    report = verify(LAB, mutant.code, only=[mutant.killed_by])  # type: ignore[attr-defined]
    assert recognised(LAB, report.results[0])


def test_an_overwritten_change_is_told_with_its_numbers() -> None:
    mutant = next(mutant for mutant in LAB.mutants() if mutant.name == "overwrites-on-conflict")
    told = "client-1 wrote 6, made of 5, over 15: what others wrote in between is gone"
    assert why(mutant.code, "nothing-is-overwritten") == told


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_in_process_judges_the_same() -> None:
    """One of them ignores its own end when a script leaves it half-way; Python says so, pytest listens."""
    wanted = ("overwrites-on-conflict", "retries-with-the-stale-object", "swallows-409", "deaf-to-cancellation")
    codes = [mutant.code for mutant in LAB.mutants() if mutant.name in wanted]
    assert len(codes) == 4
    for code in [LAB.solution, LAB.second, *codes]:
        inside, outside = verify(LAB, code, runner=InProcessRunner()), verify(LAB, code)
        assert [(r.counts, r.causes) for r in inside.results] == [(r.counts, r.causes) for r in outside.results]
    gc.collect()  # here, where it is expected, and not in the middle of another test


def test_what_a_client_does_when_it_is_dropped_is_not_taken_for_its_output() -> None:
    deaf = next(mutant for mutant in LAB.mutants() if mutant.name == "deaf-to-cancellation")
    script = parse_script("start client-1")
    assert replay(LAB, deaf.code, LAB.spec.check("retries-only-conflicts"), script).record.printed == ""


def test_a_lost_answer_is_written_all_the_same() -> None:
    script = parse_script("start client-1 add 1; go client-1; lose client-1; rival 10")
    outcome = replay(LAB, LAB.solution, LAB.spec.check("other-errors-pass"), script)
    assert outcome.broken is None
    assert [step.result for step in outcome.record.steps] == [
        "next: get",
        "get 5 @1; change 5 gives 6; next: put",
        "put 6 @1 lost; raised TimeoutStatusError",
        "now 16 @3",
    ]


def test_cells_with_async_functions_are_found_one_by_one() -> None:
    """Each check finds all it needs in the cells that define its names."""
    cells = [source(cell) for cell in LAB.notebook["cells"] if cell["cell_type"] == "code"]
    for check in LAB.spec.checks:
        code = newest_source(cells, LAB.spec.needs(check))
        assert verify(LAB, code, only=[check.name]).passed, check.name


def test_machine_mutants_reach_into_async_functions_and_handlers() -> None:
    code = "async def f(x):\n    try:\n        await x()\n    except OSError:\n        return 1\n    await x()\n"
    whats = {change.what for change in machine_mutants(code)}
    assert {"dropped: await x()", "dropped: return 1", "except OSError became except Exception"} <= whats


def test_an_unexpected_exception_is_shown_with_its_line() -> None:
    outcome = replay(
        LAB, server("return store.nothing"), LAB.spec.check("other-errors-pass"), parse_script("start client-1 add 1")
    )
    raised = outcome.record.steps[0].result
    assert isinstance(raised, Raised) and raised.code == "return store.nothing"


def all_three(server: str, client: str, field: str) -> str:
    return f"""from k8slab.api.errors import ConflictError, NotFoundError, TimeoutStatusError

async def guaranteed_update(store, key, change):
    {server}

async def retry_on_conflict(attempt, sleep, steps=5, delay_ms=10):
    {client}

async def set_field(api, sleep, name, field, value):
    {field}
"""


@pytest.mark.parametrize(
    "bodies",
    [
        pytest.param(["return None"] * 3, id="returns at once"),
        pytest.param(["raise ConflictError.of('configmaps', 'web', 'x')"] * 3, id="raises a conflict"),
        pytest.param(["raise TimeoutStatusError('x')"] * 3, id="raises a timeout"),
        pytest.param(["raise NotFoundError.of('configmaps', 'web')"] * 3, id="raises that it is gone"),
        pytest.param(
            ["while True: await store.get(key)", "while True: await sleep(1)", "while True: await sleep(1)"],
            id="never begins",
        ),
        pytest.param(
            ["while True: await store.put(key, 1, 1)", "return await sleep(delay_ms)", "return await api.get(name)"],
            id="one call of some kind",
        ),
        pytest.param(
            [
                "await store.get(key); raise TimeoutStatusError('x')",
                "await sleep(1); raise TimeoutStatusError('x')",
                "await api.get(name); raise TimeoutStatusError('x')",
            ],
            id="looks, and fails",
        ),
    ],
)
def test_who_does_nothing_gets_no_point(bodies: list[str]) -> None:
    report = verify(LAB, all_three(*bodies))
    assert report.problem == ""
    assert [result.check.name for result in report.results if result.passed] == []


def test_what_is_half_done_is_told() -> None:
    reads = all_three("return (await store.get(key))[0]", "return await attempt()", "return await api.get(name)")
    assert why(reads, "writes-what-it-computed") == "client-1 returned, and never called change"
    assert why(reads, "waits-between-tries").startswith("the first conflict ended client-1: no second try")
    computes = all_three("return change((await store.get(key))[0])", "return None", "return None")
    assert why(computes, "other-errors-pass") == (
        "change made 6 of 5, and client-1 returned without trying to write it"
    )
    assert why(computes, "gives-up-after-its-steps") == "client-1 returned none and had asked nobody for anything"
    raises = all_three(*["raise TimeoutStatusError('x')"] * 3)
    assert why(raises, "other-errors-pass") == (
        "client-1 raised TimeoutStatusError, and nothing that it called had failed"
    )
