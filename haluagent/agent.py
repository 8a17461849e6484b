"""The public face: `HaluAgent`, from Python, from a notebook, from the command line."""

import asyncio
import copy
import queue
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from haluagent.detection.limits import Limits
from haluagent.detection.pipeline import Run, Strategy
from haluagent.detection.recheck import recheck
from haluagent.detection.state import PARTS, Autonomy, Part
from haluagent.errors import ConfigError
from haluagent.events import Answered, Event
from haluagent.models import resolve
from haluagent.protocols import Closable, Concurrent, Model, Sandbox, SearchProvider, Startable, Translator
from haluagent.text import language as languages
from haluagent.text.normalize import writable
from haluagent.tooling.registry import Registry
from haluagent.tooling.services import SandboxName, make_services
from haluagent.tooling.tool import Tool
from haluagent.tools import default_registry
from haluagent.types import Detection, Language

__all__ = ["HaluAgent", "Limits"]

T = TypeVar("T")


class HaluAgent:
    """Detect hallucinations with a model of your own and tools (Cheng et al. 2024, "Small Agent Can Also Rock!").

    `model` is a `Model`, the name of one that `base_url` serves, the path of a GGUF file, or None for what the
    environment, the configuration file or else the embedded default says. `adapter` is the path of an
    adapter, as `haluagent.models.resolve` takes it; None uses the base model. `tools` are added to the built-in ones.
    `strategy="linear"` keeps the paper's single transcript. `autonomy="free"` offers all tools that fit a sentence at once,
    shows what was found about the sentences it rests on, and lets the model test results again; "guided" offers those tools first
    that have something of their own to decide. `closed_book=True` lets the model's own belief become
    the label where no tool decides. `samples` is how many further answers the model gives to the question: where no tool
    decides, the opinion on a sentence is how far they agree with it. `base_rate` is the share of sentences, above 0 and below 1,
    that are usually right: judgements beside a reference start from it; None takes that of the model's calibration. `concurrency`
    is the number of sentences checked at once (default: what the model's engine likes). Raises ConfigError where no model can be
    had, and ModelError where the endpoint that is asked which models it has does not answer.

    `sandbox` is where code in a response is run: a `Sandbox`, or "auto" (Docker, else bubblewrap), "docker",
    "bubblewrap" or "none". `search` is a `SearchProvider`, the name of one ("local", "searxng", …), or "auto": what is
    configured, else the local index where there is one. `translator` makes the translations that others are compared
    with: Google's where a key is set, else the model. Raises ConfigError for a service that is not set up.

    The engine is loaded on the first detection. Synchronous methods run on a thread of their own, so they also work
    inside a running event loop, as in Jupyter.
    """

    def __init__(
        self,
        model: Model | str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        adapter: str | Path | None = "auto",
        tools: Iterable[Tool] = (),
        strategy: Strategy = "branches",
        autonomy: Autonomy = "guided",
        closed_book: bool = False,
        samples: int = 0,
        base_rate: float | None = None,
        limits: Limits | None = None,
        concurrency: int | None = None,
        reflect: bool = True,
        ablate: Collection[Part | str] = (),
        sandbox: Sandbox | SandboxName | None = "auto",
        search: SearchProvider | str | None = "auto",
        translator: Translator | None = None,
    ) -> None:
        if strategy not in ("branches", "linear"):
            raise ConfigError(f"strategy {strategy!r} is not known: use 'branches' or 'linear'")
        if autonomy not in ("guided", "free"):
            raise ConfigError(f"autonomy {autonomy!r} is not known: use 'guided' or 'free'")
        if unknown := set(ablate) - set(PARTS):
            raise ConfigError(f"{', '.join(sorted(unknown))} cannot be left out: the parts are {', '.join(PARTS)}")
        if samples < 0:
            raise ConfigError(f"samples={samples}: give 0 or more further answers")
        if base_rate is not None and not 0 < base_rate < 1:
            raise ConfigError(f"base_rate={base_rate}: give the share of right sentences, above 0 and below 1")
        if concurrency is not None and concurrency < 1:
            raise ConfigError(f"concurrency={concurrency}: at least one sentence has to be checked at a time")
        if isinstance(model, str) or model is None:
            model = resolve(model, base_url=base_url, api_key=api_key, adapter=adapter)
        self.model = model
        self.registry: Registry = default_registry()
        for item in tools:
            self.registry.add(item)
        self.strategy: Strategy = strategy
        self.autonomy: Autonomy = autonomy
        self.closed_book = closed_book
        self.samples = samples
        self.base_rate = base_rate
        self.limits = limits or Limits()
        if concurrency is None:
            concurrency = model.concurrency if isinstance(model, Concurrent) else 1
        self.concurrency = concurrency
        self.reflect = reflect
        self.ablate = frozenset(part for part in PARTS if part in ablate)
        self.services = make_services(sandbox, search, translator)
        self._loop: _Loop | None = None
        self._loop_lock = threading.Lock()

    async def adetect(
        self,
        question: str | None,
        response: str,
        reference: str | None = None,
        language: Literal["auto", "en", "zh"] = "auto",
    ) -> Detection:
        """Return the report on one response. The question may be empty or None: a summary, or a post, answers none.

        Half a character (a lone surrogate) is read as U+FFFD, since no report could hold it. Raises ConfigError for an
        empty response or reference, or a language that is not supported. A model that fails, a limit that is reached
        and a tool that breaks do not raise: they are in the report.
        """
        return await self._run(question, response, reference, language, lambda event: None)

    async def astream(
        self,
        question: str | None,
        response: str,
        reference: str | None = None,
        language: Literal["auto", "en", "zh"] = "auto",
    ) -> AsyncIterator[Event]:
        """Yield the same as events, as they happen; the last is `Answered`. Closing it early stops the detection, which has
        ended when `aclose()` returns."""
        events = _events(lambda emit: self._run(question, response, reference, language, emit))
        async with aclosing(events):
            async for event in events:
                yield event

    def detect(
        self,
        question: str | None,
        response: str,
        reference: str | None = None,
        language: Literal["auto", "en", "zh"] = "auto",
    ) -> Detection:
        """Do what `adetect` does, for synchronous code."""
        return self.wait_for(self.adetect(question, response, reference, language))

    def stream(
        self,
        question: str | None,
        response: str,
        reference: str | None = None,
        language: Literal["auto", "en", "zh"] = "auto",
    ) -> Iterator[Event]:
        """Do what `astream` does, for synchronous code."""
        return self._background().iterate(self.astream(question, response, reference, language))

    def recheck(
        self, detection: Detection, index: int, reference: str | None = None, tool: str | None = None
    ) -> Iterator[Event]:
        """Check one sentence of a report again, with one tool or any; the last event holds the new report.

        Raises ConfigError where there is no such sentence or tool.
        """
        agent = self if tool is None else self.using(tool)
        return self._background().iterate(agent.arecheck(detection, index, reference))

    async def arecheck(self, detection: Detection, index: int, reference: str | None = None) -> AsyncIterator[Event]:
        """Do what `recheck` does, for asynchronous code; `using` says with which tools. Closing it early stops it, as that of
        `astream` does."""
        start = self._start(detection.question, detection.response, writable(reference), detection.language)

        async def again(emit: Callable[[Event], None]) -> Detection:
            await self.aprepare()
            return await recheck(await asyncio.to_thread(start, emit), detection, index)

        async with aclosing(_events(again)) as events:
            async for event in events:
                yield event

    def wait_for(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the agent's own thread and return its result, for synchronous code."""
        result: T = self._background().run(coroutine)
        return result

    def searching(self, search: SearchProvider) -> "HaluAgent":
        """Return the same agent with another search."""
        other = self._copy()
        other.services = replace(self.services, search=search)
        return other

    def on(self, model: Model) -> "HaluAgent":
        """Return the same agent with another model."""
        other = self._copy()
        other.model = model
        return other

    def within(self, limits: Limits) -> "HaluAgent":
        """Return the same agent with other limits."""
        other = self._copy()
        other.limits = limits
        return other

    def using(self, *tools: str) -> "HaluAgent":
        """Return the same agent with these of its tools alone. Raises ConfigError where it has no such tool."""
        other = self._copy()
        other.registry = self.registry.only(*tools)
        return other

    def _copy(self) -> "HaluAgent":
        other = copy.copy(self)
        other._loop, other._loop_lock = None, threading.Lock()
        return other

    def close(self) -> None:
        """Free the connections and the background thread. The agent can be used again afterwards."""
        with self._loop_lock:
            loop, self._loop = self._loop or _Loop(), None
        loop.run(self.aclose())
        loop.stop()

    async def aclose(self) -> None:
        """Free the connections that belong to the running event loop."""
        for part in (self.model, *vars(self.services).values()):
            if isinstance(part, Closable):
                with suppress(Exception):
                    await part.aclose()

    def __enter__(self) -> "HaluAgent":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def _run(
        self, question: str | None, response: str, reference: str | None, language: str, emit: Callable[[Event], None]
    ) -> Detection:
        question = question if question and question.strip() else ""
        question, response, reference = writable([question, response, reference])
        # It may load a model of languages.
        chosen = await asyncio.to_thread(languages.choose, language, question, response)
        start = self._start(question, response, reference, chosen)
        await self.aprepare()
        run = await asyncio.to_thread(start, emit)  # it renders the prompts and counts their tokens
        return await run.run()

    def prepare(self) -> None:
        """Load an engine that does not run yet: this may take seconds, and a download the first time. Without this call the
        first detection does it. Raises ConfigError where it cannot be started."""
        if isinstance(self.model, Startable):
            self.model.start()

    async def aprepare(self) -> None:
        """Do what `prepare` does, without blocking the running event loop."""
        await _in_daemon_thread(self.prepare)

    def _start(
        self, question: str, response: str, reference: str | None, language: Language
    ) -> Callable[[Callable[[Event], None]], Run]:
        if reference is not None and not reference.strip():
            raise ConfigError("the reference is empty: give a text, or leave it out")

        def run(emit: Callable[[Event], None]) -> Run:
            return Run(
                question,
                response,
                reference,
                language,
                model=self.model,
                registry=self.registry,
                limits=self.limits,
                strategy=self.strategy,
                autonomy=self.autonomy,
                closed_book=self.closed_book,
                samples=self.samples,
                base_rate=self.base_rate,
                concurrency=self.concurrency,
                reflection=self.reflect,
                ablate=self.ablate,
                services=self.services,
                emit=emit,
            )

        return run

    def _background(self) -> "_Loop":
        with self._loop_lock:  # several threads may share an agent
            if self._loop is None:
                self._loop = _Loop()
            return self._loop


async def _in_daemon_thread(work: Callable[[], None]) -> None:
    """Wait for blocking work on a thread that does not hold up the end of the program (a first download can take
    minutes; it goes on where it was the next time)."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def settle(error: BaseException | None) -> None:
        if not done.done():
            done.set_exception(error) if error else done.set_result(None)

    def run() -> None:
        error: BaseException | None = None
        try:
            work()
        except BaseException as problem:
            error = problem
        with suppress(RuntimeError):  # the loop may be closed by then
            loop.call_soon_threadsafe(settle, error)

    threading.Thread(target=run, name="haluagent-start", daemon=True).start()
    await done


async def _events(work: Callable[[Callable[[Event], None]], Any]) -> AsyncGenerator[Event, None]:
    """Yield the events that `work(emit)` emits until `Answered`. Its error is raised here; closing this cancels it."""
    waiting: asyncio.Queue[Event | None] = asyncio.Queue()
    task = asyncio.ensure_future(work(waiting.put_nowait))
    task.add_done_callback(lambda _: waiting.put_nowait(None))
    try:
        while (event := await waiting.get()) is not None:
            yield event
        task.result()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task


class _Loop:
    """An event loop on a daemon thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._ended = False
        self._thread = threading.Thread(target=self._serve, name="haluagent", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self._ended:
            # A task that a tool has left behind may exit: that ends `run_forever`, and nobody would get an answer.
            with suppress(SystemExit, KeyboardInterrupt):
                self._loop.run_forever()

    def run(self, coroutine: Any) -> Any:
        future: Future[Any] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, events: AsyncIterator[Event]) -> Iterator[Event]:
        waiting: queue.SimpleQueue[Event | None] = queue.SimpleQueue()

        async def pump() -> None:
            try:
                async for event in events:
                    waiting.put(event)
            finally:
                waiting.put(None)

        future = asyncio.run_coroutine_threadsafe(pump(), self._loop)
        try:
            while (event := waiting.get()) is not None:
                yield event
                if isinstance(event, Answered):
                    break
            future.result()
        finally:
            future.cancel()

    def stop(self) -> None:
        """Cancel what still runs, let it clean up, and end the thread."""

        async def cancel_all() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self.run(cancel_all())
        self._ended = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)
        self._loop.close()
