"""HTTP inside the simulation."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.transport import HTTPResponse
from k8slab.client import SimulatedHTTP
from k8slab.scheduler.extender import at_once
from k8slab.sim.loop import Loop, sleep


def echo(method: str, path: str, body: bytes) -> HTTPResponse:
    return HTTPResponse(200, {}, f"{method} {path} ".encode() + body)


def run(loop: Loop, http: SimulatedHTTP, url: str, timeout_ms: int = 1_000) -> list[Any]:
    """[outcome, when]."""
    found: list[Any] = []

    async def ask() -> None:
        try:
            found.append((await http.post(url, {}, b"?", timeout_ms)).body)
        except (ConnectionError, TimeoutError) as error:
            found.append(type(error).__name__)
        found.append(loop.clock.now_ms)

    loop.spawn("you", ask())
    loop.run(for_ms=10_000)
    return found


def test_the_longest_prefix_answers_after_its_delay() -> None:
    loop = Loop(1)
    http = SimulatedHTTP(loop)
    http.serve("http://a", lambda method, path, body: HTTPResponse(404, {}, b"root"))
    http.serve("http://a/x/", echo, delay_ms=40)
    assert run(loop, http, "http://a/x/filter") == [b"POST /filter ?", 40]
    assert run(loop, http, "http://a/xy")[0] == b"root", "a prefix ends where a part of the path ends"


def test_a_server_that_is_slower_than_the_timeout_times_out() -> None:
    loop = Loop(1)
    http = SimulatedHTTP(loop)
    http.serve("http://a", echo, delay_ms=2_000)
    assert run(loop, http, "http://a/x", 500) == ["TimeoutError", 500]


def test_a_handler_may_take_its_time_itself() -> None:
    loop = Loop(1)
    http = SimulatedHTTP(loop)

    async def slow(method: str, path: str, body: bytes) -> HTTPResponse:
        await sleep(30)
        return echo(method, path, body)

    http.serve("http://a", slow, delay_ms=5)
    assert run(loop, http, "http://a/x") == [b"POST /x ?", 35]


def test_who_has_stopped_refuses_connections() -> None:
    loop = Loop(1)
    http = SimulatedHTTP(loop)
    http.serve("http://a", echo)
    http.stop("http://a/")
    http.stop("http://a")
    assert run(loop, http, "http://a/x") == ["ConnectionError", 0]


@pytest.mark.parametrize("delay", [-1, 0.5, True, "1s"])
def test_a_delay_is_a_number_of_milliseconds(delay: Any) -> None:
    with pytest.raises(ValueError, match="delay_ms"):
        SimulatedHTTP(Loop(1)).serve("http://a", echo, delay_ms=delay)


def test_without_a_loop_no_time_can_pass() -> None:
    with pytest.raises(ValueError, match="expected 0, since there is no loop"):
        SimulatedHTTP().serve("http://a", echo, delay_ms=1)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (None, "the handler of http://a/x returned None: expected an HTTPResponse"),
        ("no", "the handler of http://a/x returned 'no': expected an HTTPResponse"),
        (HTTPResponse(200, {}, "{}"), "the handler of http://a/x returned the body '{}': expected bytes"),  # type: ignore[arg-type]
    ],
)
@pytest.mark.parametrize("loop", [Loop(1), None], ids=["loop", "at once"])
def test_what_is_no_response_is_told_with_the_url(loop: Loop | None, answer: Any, text: str) -> None:
    http = SimulatedHTTP(loop)
    http.serve("http://a", lambda *_: answer)
    with pytest.raises(TypeError) as error:
        if loop is not None:
            run(loop, http, "http://a/x")
        else:
            at_once(http.post("http://a/x", {}, b"", 5))
    assert str(error.value) == text


def test_what_a_handler_raises_passes_with_the_url() -> None:
    def broken(method: str, path: str, body: bytes) -> HTTPResponse:
        raise KeyError("Nodes")

    loop = Loop(1)
    http = SimulatedHTTP(loop)
    http.serve("http://a", broken)
    with pytest.raises(KeyError, match="Nodes") as error:
        run(loop, http, "http://a/x")
    assert error.value.__notes__[0] == "raised by the handler of http://a/x"
