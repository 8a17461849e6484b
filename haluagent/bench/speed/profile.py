"""Measure where the time of detections goes: prompt evaluation and generation in the engine, transport, tools, and the
agent itself.

`python -m haluagent.bench.speed.profile IN.jsonl` checks the items of a batch one at a time with the embedded model.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from haluagent.agent import HaluAgent
from haluagent.batch.files import check, parse
from haluagent.batch.tables import lines
from haluagent.models import EmbeddedModel, OpenAIModel
from haluagent.protocols import Message, ToolContext
from haluagent.tooling.registry import Registry
from haluagent.types import Record, ToolCall, ToolResult, Usage


class Profile(Record):
    """Wall-clock seconds of `items` consecutive detections. `prompt` and `generation` are reported by the engine,
    `transport` is the rest of the request time, and `tools` and `agent` are the time spent inside and outside tools
    without a request. They add up to `total`."""

    items: int
    usage: Usage
    prompt: float
    generation: float
    transport: float
    tools: float
    agent: float

    @property
    def total(self) -> float:
        return self.prompt + self.generation + self.transport + self.tools + self.agent


class _Model(OpenAIModel):
    """A client that adds up the engine's reported times and the duration of its requests."""

    prompt = generation = waited = 0.0

    def _read(
        self, answer: dict[str, Any], messages: Sequence[Message], seconds: float
    ) -> tuple[list[dict[str, Any]], Usage]:
        timings = answer.get("timings") or {}
        self.prompt += timings.get("prompt_ms", 0.0) / 1000
        self.generation += timings.get("predicted_ms", 0.0) / 1000
        self.waited += seconds
        return super()._read(answer, messages, seconds)


class _Tools(Registry):
    """A registry that adds up the time spent in tools, without their requests."""

    seconds = 0.0

    def __init__(self, registry: Registry, model: _Model) -> None:
        super().__init__(registry)
        self._model = model

    async def call(self, call: ToolCall, context: ToolContext) -> ToolResult:
        began, waited = time.perf_counter(), self._model.waited
        try:
            return await super().call(call, context)
        finally:
            self.seconds += time.perf_counter() - began - (self._model.waited - waited)


def profile(source: Path) -> Profile:
    """Return the profile of the items of a batch. The first two are checked beforehand, so that one-off costs of the
    process are not counted. Raises ConfigError for an item that cannot be checked, ModelError if the engine fails."""
    items = [parse(line) for _, line in lines(source)]
    engine = EmbeddedModel()
    engine.start()
    model = _Model(
        engine.base_url, engine.weights, api_key=engine.api_key, dialect="llama.cpp", concurrency=1,
        calibration=engine.calibration, fine_tuned_tools=engine.fine_tuned_tools,
    )  # fmt: skip
    agent = HaluAgent(model, sandbox="none", search="none", concurrency=1)
    agent.registry = tools = _Tools(agent.registry, model)

    async def run() -> tuple[float, Usage]:
        for item in items[:2]:
            await check(agent, item, 0)
        model.prompt = model.generation = model.waited = tools.seconds = 0.0
        began = time.perf_counter()
        rows = [await check(agent, item, number) for number, item in enumerate(items)]
        seconds = time.perf_counter() - began
        await agent.aclose()
        return seconds, sum((row.usage for row in rows), Usage())

    seconds, usage = asyncio.run(run())
    return Profile(
        items=len(items),
        usage=usage,
        prompt=model.prompt,
        generation=model.generation,
        transport=model.waited - model.prompt - model.generation,
        tools=tools.seconds,
        agent=seconds - model.waited - tools.seconds,
    )


if __name__ == "__main__":
    found = profile(Path(sys.argv[1]))
    print(f"{found.items} items, {found.usage.calls} calls, {found.usage.evaluated_tokens} tokens evaluated, "
          f"{found.usage.cached_tokens} cached, {found.usage.generated_tokens} generated, {found.total:.1f} s")  # fmt: skip
    for name in ("prompt", "generation", "transport", "tools", "agent"):
        seconds = getattr(found, name)
        print(f"{name:12}{seconds:8.2f} s{seconds / found.total:8.1%}")
