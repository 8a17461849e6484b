"""Measure an engine without the agent by resending recorded requests as fast as the slots are free."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from haluagent.errors import ConfigError
from haluagent.models.endpoint import headers, is_local, normalize
from haluagent.text.failures import describe
from haluagent.types import Record

COMPLETIONS = "/chat/completions"
TIMEOUT = httpx.Timeout(600.0, connect=10.0)


class Replayed(Record):
    """The cost of resending recorded requests. Token counts are those that the server reports; if it does not report
    cached tokens, none are counted. A request that was not answered with a completion is a failure without tokens.

    `seconds` is the wall-clock time of all requests; `first_failure` describes the first failure.
    """

    requests: int
    failures: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    seconds: float
    first_failure: str | None = None

    @property
    def evaluated_tokens(self) -> int:
        return self.prompt_tokens - self.cached_tokens

    @property
    def requests_per_second(self) -> float:
        """Return the number of answered requests per second."""
        return (self.requests - self.failures) / self.seconds if self.seconds else 0.0


def replay(
    trace: Path, base_url: str, api_key: str | None = None, in_flight: int = 1, model: str | None = None
) -> Replayed:
    """Send the chat completions of a recording to a server, `in_flight` at a time, in the recorded order.

    `trace` holds JSON lines `{"at", "path", "body"}`; recorded times are ignored and other paths skipped. `model`
    replaces the model named in the requests. Failed requests are not retried, so that a failure costs what it costs.
    Raises ConfigError if the recording cannot be read or holds no chat completion, or if the URL is invalid.
    """
    if in_flight < 1:
        raise ConfigError(f"in_flight={in_flight}: at least one request has to be sent at a time")
    bodies = [body | ({"model": model} if model else {}) for body in read_trace(trace)]
    return asyncio.run(_send_all(bodies, normalize(base_url), api_key, in_flight))


def read_trace(trace: Path) -> list[dict[str, Any]]:
    """Return the bodies of the recorded chat completions, in order. Raises ConfigError naming the bad line."""
    bodies = []
    try:
        with trace.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                entry = _entry(trace, number, line)
                if entry["path"].endswith(COMPLETIONS):
                    bodies.append(entry["body"])
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{trace} cannot be read ({error}): give a recording of an agent's requests") from error
    if not bodies:
        raise ConfigError(f"{trace} holds no chat completion: give a recording of an agent's requests")
    return bodies


def _entry(trace: Path, number: int, line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        entry = None
    if (
        isinstance(entry, dict)
        and isinstance(entry.get("path"), str)
        and isinstance(entry.get("body"), dict | None)
        and (entry.get("body") is not None or not entry["path"].endswith(COMPLETIONS))
    ):
        return entry
    raise ConfigError(
        f'{trace}, line {number} is no recorded request: it has to be {{"at": …, "path": …, "body": {{…}}}}'
    )


async def _send_all(bodies: list[dict[str, Any]], base_url: str, api_key: str | None, in_flight: int) -> Replayed:
    answers: list[Replayed] = []
    waiting = iter(bodies)
    limits = httpx.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
    async with httpx.AsyncClient(
        headers=headers(api_key), timeout=TIMEOUT, limits=limits, trust_env=not is_local(base_url)
    ) as client:
        began = time.monotonic()
        # Each worker has one request in flight; they share the iterator, which keeps the recorded order.
        await asyncio.gather(*(_work(client, base_url + COMPLETIONS, waiting, answers) for _ in range(in_flight)))
        seconds = time.monotonic() - began
    return _sum(answers, seconds)


async def _work(
    client: httpx.AsyncClient, url: str, waiting: Iterator[dict[str, Any]], answers: list[Replayed]
) -> None:
    for body in waiting:
        answers.append(await _send(client, url, body))


async def _send(client: httpx.AsyncClient, url: str, body: dict[str, Any]) -> Replayed:
    began = time.monotonic()
    try:
        response = await client.post(url, json=body)
        answer = response.json() if response.status_code == 200 else None
        failure = f"{url} answered {response.status_code}: {' '.join(response.text[:300].split())}"
    except (httpx.HTTPError, ValueError) as error:
        answer, failure = None, f"{url} gave no answer ({describe(error)})"
    seconds = time.monotonic() - began
    if not isinstance(answer, dict) or not answer.get("choices"):
        return Replayed(requests=1, failures=1, seconds=seconds, first_failure=failure)
    usage = answer.get("usage") or {}
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
    return Replayed(
        requests=1,
        prompt_tokens=usage.get("prompt_tokens") or 0,
        cached_tokens=cached or 0,
        generated_tokens=usage.get("completion_tokens") or 0,
        seconds=seconds,
    )


def _sum(answers: list[Replayed], seconds: float) -> Replayed:
    counted = ("requests", "failures", "prompt_tokens", "cached_tokens", "generated_tokens")
    totals = {name: sum(getattr(answer, name) for answer in answers) for name in counted}
    failures = [answer.first_failure for answer in answers if answer.first_failure]
    return Replayed(**totals, seconds=seconds, first_failure=failures[0] if failures else None)
