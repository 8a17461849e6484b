"""Many detections over several endpoints: nothing is lost, repeated or counted twice, whatever fails."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from haluagent import HaluAgent
from haluagent.batch import pool
from haluagent.batch.pool import Bounds, Job, work
from haluagent.errors import ConfigError, ModelError
from haluagent.models import OpenAIModel
from haluagent.types import Record, Usage


class Result(Record):
    number: int
    by: str = ""
    error: str | None = None
    usage: Usage = Usage(prompt_tokens=10, cached_tokens=4, generated_tokens=2)


def agent(scripted: Callable[..., Any], name: str = "one") -> HaluAgent:
    made = HaluAgent(scripted(), sandbox="none", search="none")
    made.model.name = name
    return made


def jobs(numbers: range, run: Callable[[int, HaluAgent], Awaitable[Result]]) -> Iterator[Job[Result]]:
    for number in numbers:
        yield Job(lambda agent, n=number: run(n, agent), lambda error, n=number: Result(number=n, error=error))


def do(
    numbers: range, run: Callable[[int, HaluAgent], Awaitable[Result]], agents: list[HaluAgent], **options: Any
) -> Any:
    kept: list[Result] = []
    ended = asyncio.run(work(jobs(numbers, run), agents, kept.append, **options))
    return kept, ended


def test_every_job_is_done_once_and_no_more_than_allowed_run_at_a_time(scripted: Callable[..., Any]) -> None:
    running, most = 0, 0

    async def run(number: int, agent: HaluAgent) -> Result:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(number % 5):
            await asyncio.sleep(0)
        running -= 1
        return Result(number=number, by=agent.model.name)

    kept, ended = do(range(100), run, [agent(scripted, "one"), agent(scripted, "two")], in_flight=3)
    assert sorted(result.number for result in kept) == list(range(100))
    assert ended is None and most == 6
    assert set(Counter(result.by for result in kept)) == {"one", "two"}


def test_jobs_are_drawn_when_they_are_needed(scripted: Callable[..., Any]) -> None:
    drawn = 0

    def count() -> Iterator[Job[Result]]:
        nonlocal drawn
        for job in jobs(range(50), run):
            drawn += 1
            yield job

    async def run(number: int, agent: HaluAgent) -> Result:
        assert drawn <= number + 2
        await asyncio.sleep(0)
        return Result(number=number)

    asyncio.run(work(count(), [agent(scripted)], lambda result: None, in_flight=2))
    assert drawn == 50


def test_a_failure_is_tried_once_more_and_then_kept_as_one(scripted: Callable[..., Any]) -> None:
    tries: Counter[int] = Counter()

    async def run(number: int, agent: HaluAgent) -> Result:
        tries[number] += 1
        if number == 3 or (number == 5 and tries[5] == 1):
            raise ModelError(f"down {tries[number]}")
        if number == 7:
            raise ConfigError("the response is empty")
        return Result(number=number)

    kept, _ = do(range(10), run, [agent(scripted)])
    assert {result.number: result.error for result in kept if result.error} == {3: "down 2", 7: "the response is empty"}
    assert len(kept) == 10 and tries[3] == tries[5] == 2 and tries[7] == 1


def dead() -> HaluAgent:
    """An agent whose endpoint is gone."""
    return HaluAgent(OpenAIModel("http://127.0.0.1:9/v1", "gone", attempts=1), sandbox="none", search="none")


def test_an_endpoint_that_is_gone_leaves_its_work_to_the_others(scripted: Callable[..., Any]) -> None:
    async def run(number: int, agent: HaluAgent) -> Result:
        await asyncio.sleep(0)
        if agent.model.name == "gone":
            raise ModelError("no answer")
        return Result(number=number, by=agent.model.name)

    kept, _ = do(range(20), run, [dead(), agent(scripted)], in_flight=2)
    assert sorted((result.number, result.by) for result in kept) == [(number, "one") for number in range(20)]


def test_the_last_job_comes_back_from_an_endpoint_that_is_gone(scripted: Callable[..., Any]) -> None:
    """The other has nothing left to do by then, and must still be there."""
    other_is_done = asyncio.Event()

    async def run(number: int, agent: HaluAgent) -> Result:
        if agent.model.name == "gone":
            await other_is_done.wait()
            raise ModelError("no answer")
        other_is_done.set()
        return Result(number=number)

    kept, _ = do(range(2), run, [dead(), agent(scripted)])
    assert sorted(result.number for result in kept) == [0, 1]


def test_without_any_endpoint_the_work_ends_and_nothing_is_kept_as_failed() -> None:
    async def run(number: int, agent: HaluAgent) -> Result:
        raise ModelError("no answer")

    kept: list[Result] = []
    with pytest.raises(ModelError, match="no endpoint answers any more: no answer; what is done is kept"):
        asyncio.run(work(jobs(range(9), run), [dead(), dead()], kept.append, in_flight=2))
    assert not kept


@pytest.mark.parametrize(
    ("bounds", "done"), [(Bounds(items=4), 4), (Bounds(tokens=17), 3), (Bounds(tokens=16), 2), (Bounds(items=99), 10)]
)
def test_bounds_end_the_work_after_what_has_begun(scripted: Callable[..., Any], bounds: Bounds, done: int) -> None:
    async def run(number: int, agent: HaluAgent) -> Result:
        return Result(number=number)  # 6 tokens evaluated, 2 generated

    kept, ended = do(range(10), run, [agent(scripted)], bounds=bounds)
    assert len(kept) == done and (ended is None) == (done == 10)


def test_a_bound_in_seconds(scripted: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=7.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(pool, "time", clock)

    async def run(number: int, agent: HaluAgent) -> Result:
        clock.now += 0.5
        return Result(number=number)

    kept, ended = do(range(100), run, [agent(scripted)], bounds=Bounds(seconds=1.5))
    assert len(kept) == 3 and ended == "the limit of 1.5 seconds"


def test_a_bound_that_is_reached_while_a_job_fails_is_a_clean_end(scripted: Callable[..., Any]) -> None:
    async def run(number: int, agent: HaluAgent) -> Result:
        await asyncio.sleep(0)
        if number == 1:
            await asyncio.sleep(0.01)
            raise ModelError("hiccup")
        return Result(number=number)

    kept, ended = do(range(9), run, [agent(scripted)], in_flight=2, bounds=Bounds(items=2))
    assert ended == "the limit of 2 items" and [result.number for result in kept] == [0]


def test_when_everything_fails_it_is_not_the_items(scripted: Callable[..., Any]) -> None:
    async def run(number: int, agent: HaluAgent) -> Result:
        raise ModelError("no key")

    kept: list[Result] = []
    with pytest.raises(ModelError, match="10 items failed one after another, the last with: no key"):
        asyncio.run(work(jobs(range(99), run), [agent(scripted)], kept.append))
    assert len(kept) == 9


def test_a_mistake_in_the_code_costs_its_item_and_ends_the_work_where_it_costs_all(
    scripted: Callable[..., Any],
) -> None:
    tries: Counter[int] = Counter()

    async def run(number: int, agent: HaluAgent) -> Result:
        tries[number] += 1
        if number % 10:
            raise KeyError(number)
        return Result(number=number)

    kept, _ = do(range(10), run, [agent(scripted)])
    assert [result.error for result in kept] == [None, *(f"unexpected KeyError: {number}" for number in range(1, 10))]
    assert set(tries.values()) == {1}
    with pytest.raises(ModelError, match="10 items failed one after another, the last with: unexpected KeyError: 11"):
        do(range(1, 19), lambda number, agent: run(number + (number > 9), agent), [agent(scripted)])


@pytest.mark.parametrize("in_flight", [1, 4])
@pytest.mark.parametrize(
    "error",
    [asyncio.CancelledError(), SystemExit(0), KeyboardInterrupt(), GeneratorExit()],
    ids=lambda e: type(e).__name__,
)
def test_what_would_end_a_task_or_the_loop_costs_one_item(
    scripted: Callable[..., Any], error: BaseException, in_flight: int
) -> None:
    async def run(number: int, agent: HaluAgent) -> Result:
        await asyncio.sleep(0)
        if number == 5:
            raise error
        return Result(number=number)

    kept, ended = do(range(20), run, [agent(scripted)], in_flight=in_flight)
    assert sorted(result.number for result in kept) == list(range(20)) and ended is None
    assert [result.number for result in kept if result.error] == [5]


def test_a_cancelled_batch_is_cancelled(scripted: Callable[..., Any]) -> None:
    async def run(number: int, agent: HaluAgent) -> Result:
        await asyncio.Event().wait()
        raise AssertionError

    async def cancelled() -> list[Result]:
        kept: list[Result] = []
        task = asyncio.create_task(work(jobs(range(9), run), [agent(scripted)], kept.append, in_flight=3))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return kept

    assert asyncio.run(cancelled()) == []
