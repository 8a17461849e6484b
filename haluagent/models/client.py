"""The client for every model: chat completions of an OpenAI-compatible server, as text or as a scored choice."""

import asyncio
import copy
import functools
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

from haluagent.errors import ConfigError, ModelError
from haluagent.models import calls
from haluagent.models.adapters import served_as
from haluagent.models.calibration import EMBEDDED, IDENTITY, Calibration
from haluagent.models.dialect import choice_fields, grammar_fields, scoring_fields
from haluagent.models.discovery import discover
from haluagent.models.endpoint import Endpoint, RequestRefused, Sleep
from haluagent.models.fields import count_in, list_in, object_in
from haluagent.models.scoring import choice_probabilities, match_choice
from haluagent.models.tokenizer import ApproximateTokenizer
from haluagent.models.weights.catalogue import DEFAULT as DEFAULT_WEIGHTS
from haluagent.protocols import Choice, Generation, Message
from haluagent.settings import Dialect
from haluagent.text.normalize import without_surrogates
from haluagent.types import Usage

logger = logging.getLogger(__name__)

DEFAULT_CONTEXT = 8192
CHOICE_TOKENS = 16
# Under a constraint only the choices can be written. What is missing went to tokens that cannot be read: vLLM shows a part of a
# Chinese character as nothing (measured: 是 or 否 with SmolLM2's vocabulary, 93 of 100).
LEAST_TOLD = 0.5


class OpenAIModel:
    """A `Model` at `base_url` under the `name` that the server knows.

    `context` is in tokens, `timeout` in seconds per try. `attempts` counts the first try. At most `concurrency`
    requests run at a time. `samples_per_request` is how many samples the server takes in one request (None: any
    number). `tokenizer` counts tokens; without one they are estimated. `seed` is the same for every request, so that a
    run can be repeated. `calibration` and `fine_tuned_tools`, the names of the tools the model was fine-tuned on, come from
    its adapter's card; without a calibration the model's own probabilities are used.
    """

    def __init__(
        self,
        base_url: str,
        name: str,
        *,
        api_key: str | None = None,
        dialect: Dialect = "plain",
        context: int = DEFAULT_CONTEXT,
        samples_per_request: int | None = None,
        tokenizer: Callable[[str], int] | None = None,
        seed: int = 0,
        timeout: float = 300.0,
        attempts: int = 5,
        concurrency: int = 8,
        calibration: Calibration = IDENTITY,
        fine_tuned_tools: frozenset[str] = frozenset(),
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.name = name
        self.context = context
        self.dialect: Dialect = dialect
        self.concurrency = concurrency
        self.api_key = api_key
        self.calibration = calibration
        self.fine_tuned_tools = fine_tuned_tools
        self._endpoint = Endpoint(
            base_url, api_key=api_key, timeout=timeout, attempts=attempts, concurrency=concurrency, sleep=sleep
        )
        self._samples_per_request = samples_per_request
        self._tokenizer = tokenizer
        self._seed = seed
        self._gives_logprobs = True

    @classmethod
    def connect(
        cls,
        base_url: str,
        name: str | None = None,
        *,
        api_key: str | None = None,
        dialect: Dialect | None = None,
        context: int | None = None,
        **options: Any,
    ) -> Self:
        """Ask a server for its dialect, its context and, unless one is given, its model's name, and return that model.

        Arguments take precedence over the server's answers; `options` are those of the constructor. Raise `ModelError`
        if nothing answers, `ConfigError` if the server has several models and none was named.
        """
        served = discover(base_url, api_key, name)
        if name is None:
            known = [
                one for one in served.models if served_as(one)
            ]  # beside the base, the adapter that was made for this
            if len(known or served.models) != 1:
                listed = ", ".join(served.models) or "no model"
                raise ConfigError(f"{base_url} lists {listed}: say which one with --model or HALUAGENT_MODEL")
            (name,) = known or served.models
        options.setdefault("samples_per_request", served.slots)
        if "calibration" not in options:
            options |= _calibrated(name)
        return cls(
            base_url,
            name,
            api_key=api_key,
            dialect=dialect or served.dialect,
            context=context or served.context or DEFAULT_CONTEXT,
            **options,
        )

    @property
    def base_url(self) -> str:
        return self._endpoint.base_url

    def reseeded(self, seed: int) -> Self:
        """Return the same model with another seed, over the same connections."""
        other = copy.copy(self)
        other._seed = seed
        return other

    async def generate(
        self,
        messages: Sequence[Message],
        *,
        stop: Sequence[str] = (),
        grammar: str | None = None,
        max_tokens: int = 256,
        temperature: float = 0.0,
        samples: int = 1,
    ) -> Generation:
        """Continue a conversation; see `Model.generate`. Raise `ModelError`."""
        request: dict[str, Any] = {"messages": list(messages), "max_tokens": max_tokens, "temperature": temperature}
        if stop:
            request["stop"] = list(stop)
        texts: list[str] = []
        usage = Usage()
        truncated = False
        while len(texts) < samples:  # a server may take fewer samples per request than asked for, or only one
            n = min(samples - len(texts), self._samples_per_request or samples)
            body = request | {"seed": self._seed + len(texts)} | ({"n": n} if n > 1 else {})
            choices, cost = await self._complete(body, lambda dialect: grammar_fields(dialect, grammar))
            texts += [choice["message"]["content"] for choice in choices]
            usage += cost
            truncated = truncated or any(choice.get("finish_reason") == "length" for choice in choices)
        return Generation(texts=tuple(texts[:samples]), usage=usage, truncated=truncated)

    async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Choice:
        """Score a few short answers by the log-probabilities of the next token; see `Model.choose`.

        If the server gives no log-probabilities, or none that tell the choices apart, the answer it writes gets all the
        weight; if that is none of the choices, all get the same weight. Neither is `calibrated`. Raise `ModelError`.
        """
        usage = Usage()
        if self._gives_logprobs:
            body = {"messages": list(messages), "max_tokens": 1, "temperature": 0.0, "seed": self._seed}
            body |= {"logprobs": True, "top_logprobs": 20}
            try:
                answers, usage = await self._complete(body, lambda dialect: scoring_fields(dialect, choices))
            except RequestRefused as refusal:
                if "logprob" not in str(refusal):
                    raise
                logger.warning(
                    "no log-probabilities from this server, choices are not calibrated: %s", _status(refusal)
                )
                self._gives_logprobs = False
            else:
                constrained = bool(scoring_fields(self.dialect, choices))
                least = LEAST_TOLD if constrained else 0.0
                probabilities = choice_probabilities(_top_tokens(answers[0]), choices, least)
                if probabilities is not None:
                    return Choice(probabilities=probabilities, usage=usage)
        body = {"messages": list(messages), "max_tokens": CHOICE_TOKENS, "temperature": 0.0, "seed": self._seed}
        answers, cost = await self._complete(body, lambda dialect: choice_fields(dialect, choices))
        written = match_choice(answers[0]["message"]["content"], choices)
        weights = {choice: float(choice == written) if written else 1 / len(choices) for choice in choices}
        return Choice(probabilities=weights, usage=usage + cost, calibrated=False)

    async def evaluate(self, messages: Sequence[Message], slot: int) -> Usage:
        """Have llama.cpp read a conversation into one of its slots, to fill its cache. Raise `ModelError`."""
        body = {"messages": list(messages), "max_tokens": 1, "temperature": 0.0, "id_slot": slot}
        _, usage = await self._complete(body, lambda dialect: {})
        return usage

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens in `text`: exact with a tokenizer of this model, otherwise an estimate."""
        if self._tokenizer is None:
            self._tokenizer = ApproximateTokenizer().count
        return self._tokenizer(text)

    async def aclose(self) -> None:
        """Close the connections that belong to the running event loop."""
        await self._endpoint.aclose()

    async def _complete(
        self, body: dict[str, Any], constraint: Callable[[Dialect], dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], Usage]:
        """Send a request with a constraint; if the server refuses the constraint, send it without."""
        body = {"model": self.name} | body
        fields = constraint(self.dialect)
        try:
            return await self._ask(body | fields)
        except RequestRefused as refusal:
            if not fields:
                raise
            answer = await self._ask(body)
            # It works without, so the constraint was at fault, and later requests need not try it again.
            logger.warning("the server takes no constraint in the dialect of %s: %s", self.dialect, _status(refusal))
            self.dialect = "plain"
            return answer

    async def _ask(self, body: dict[str, Any]) -> tuple[list[dict[str, Any]], Usage]:
        """Send one request, and tell who counts how it ended."""
        began = time.monotonic()
        try:
            answer = await self._endpoint.post("/chat/completions", body)
            choices, usage = self._read(answer, body["messages"], time.monotonic() - began)
        except ModelError:
            calls.ended(self.base_url, None, time.monotonic() - began)
            raise
        calls.ended(self.base_url, usage, usage.seconds)
        return choices, usage

    def _read(
        self, answer: dict[str, Any], messages: Sequence[Message], seconds: float
    ) -> tuple[list[dict[str, Any]], Usage]:
        choices = list_in(answer, "choices")
        if not choices or not all(map(_has_text, choices)):
            raise ModelError(f"{self.base_url} answered 200 without a text: {without_surrogates(str(answer)[:200])}")
        texts = [without_surrogates(choice["message"]["content"]) for choice in choices]
        for choice, text in zip(choices, texts, strict=True):
            choice["message"]["content"] = text
        return choices, self._usage(answer, messages, texts, seconds)

    def _usage(
        self, answer: dict[str, Any], messages: Sequence[Message], texts: Sequence[str], seconds: float
    ) -> Usage:
        """Return what the server reports. Where it reports no tokens, or an impossible number, they are counted here: a
        limit has to hold at every server."""
        reported = object_in(answer, "usage")
        generated, prompt = count_in(reported, "completion_tokens"), count_in(reported, "prompt_tokens")
        # llama.cpp reports the tokens of one sample only (measured).
        if generated is None or (self.dialect == "llama.cpp" and len(texts) > 1):
            generated = max(generated or 0, sum(map(self.count_tokens, texts)))
        if not prompt:
            prompt = sum(self.count_tokens(message["content"]) for message in messages)
        cached = count_in(object_in(reported, "prompt_tokens_details"), "cached_tokens")
        if cached is None:
            cached = count_in(object_in(answer, "timings"), "cache_n") or 0
        return Usage(
            calls=1,
            prompt_tokens=prompt,
            cached_tokens=min(cached, prompt),
            generated_tokens=generated,
            seconds=seconds,
        )


def _status(refusal: RequestRefused) -> str:
    """Return a refusal without the server's text, which may repeat the prompt."""
    return str(refusal).partition(": ")[0]


def _has_text(choice: Any) -> bool:
    message = choice.get("message") if isinstance(choice, dict) else None
    return isinstance(message, dict) and isinstance(message.get("content"), str)


def _top_tokens(choice: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the most probable first tokens, or an empty list if the server left them out or sent something else."""
    first = next(iter(list_in(object_in(choice, "logprobs"), "content")), None)
    return (
        [entry for entry in list_in(first, "top_logprobs") if isinstance(entry, dict)]
        if isinstance(first, dict)
        else []
    )


def _calibrated(name: str) -> dict[str, Any]:
    """Return the options of a served model that is known by its name; of another one none, and say that it has no
    calibration."""
    if name == DEFAULT_WEIGHTS:
        return {"calibration": EMBEDDED}
    card = served_as(name)
    if card is None:
        _say_uncalibrated(name)
        return {}
    return card.of_served()


@functools.cache
def _say_uncalibrated(name: str) -> None:
    """Warn once about a model."""
    logger.warning("%s is not calibrated: its probabilities are taken as they are; see `haluagent calibrate`", name)
