"""The embedded model: weights pulled on first use, llama.cpp in this process, and the same client as for any server."""

import asyncio
import copy
import logging
import os
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from haluagent.errors import ConfigError, ModelError
from haluagent.models import adapters
from haluagent.models.calibration import EMBEDDED, IDENTITY
from haluagent.models.client import OpenAIModel
from haluagent.models.engines import llama_cpp
from haluagent.models.engines.prefix import PrefixCache
from haluagent.models.tokenizer import ApproximateTokenizer, Tokenizer, UnknownVocabulary
from haluagent.models.weights import catalogue
from haluagent.models.weights.progress import download_progress
from haluagent.protocols import Choice, Generation, Message
from haluagent.settings import cache_dir
from haluagent.types import Usage

logger = logging.getLogger(__name__)

DEFAULT_CONTEXT = 8192
# Four samples at once take four slots, and each kind of judgement one. None may push the agent's prompt out of its
# slot, or every later sentence would pay for it again (10 s on two cores, against 0.7 s).
SLOTS, CONTEXTS = 12, 4
WARM_FAILURES = 2  # then the chat template takes no lone system message, and each further try costs seconds


class EmbeddedModel:
    """A `Model` on this machine: a name of `haluagent model list`, an `hf:` name, or a path to a GGUF file.

    Nothing is loaded before the first call. `context` is in tokens per conversation and costs memory: about 29 KB a
    token and slot with the default weights. At most `concurrency` requests run at a time: one by default, because
    sentences checked in turn find their common prefix in the cache, and two cores gain little from more. With
    `HALUAGENT_OFFLINE=1`, or `offline=True`, weights are never downloaded.

    `adapter` names the fine-tuning: "auto" for the adapter that comes with the package for these weights, the path of a
    card (.json) or of a GGUF adapter, or None for the base model. `lora` is a bare GGUF adapter, without card or
    calibration, used instead. `name` is that of the weights and, after a plus, of the adapter. `calibration` and
    `fine_tuned_tools` (names of tools) are the adapter's. Raise `ConfigError` for an adapter that cannot be used.
    """

    def __init__(
        self,
        name: str = catalogue.DEFAULT,
        *,
        context: int = DEFAULT_CONTEXT,
        adapter: "Path | str | adapters.Adapter | None" = "auto",
        lora: Path | None = None,
        concurrency: int = 1,
        seed: int = 0,
        timeout: float = 600.0,
        offline: bool | None = None,
    ) -> None:
        self.weights = name
        self.adapter = None if lora else adapters.choose(adapter, name)
        self.name = f"{name}+{self.adapter.name}" if self.adapter else name
        own = EMBEDDED if name == catalogue.DEFAULT else IDENTITY
        self.calibration = self.adapter.calibration if self.adapter else own
        self.fine_tuned_tools = self.adapter.fine_tuned_tools if self.adapter else frozenset()
        self.context = context
        self._lora = lora
        self.concurrency = concurrency
        self._seed = seed
        self._timeout = timeout
        self._offline = os.environ.get("HALUAGENT_OFFLINE", "") not in ("", "0") if offline is None else offline
        self._client: OpenAIModel | None = None
        self._base: EmbeddedModel | None = None
        self._prefixes: PrefixCache | None = None
        self._warm: set[str] = set()
        self._warm_failures = 0
        self._starting = threading.Lock()

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
        """Continue a conversation; see `Model.generate`. Raise `ConfigError` if the engine cannot start."""
        client = await self._started()
        return await client.generate(
            messages, stop=stop, grammar=grammar, max_tokens=max_tokens, temperature=temperature, samples=samples
        )

    async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Choice:
        """Score a few short answers; see `Model.choose`. Raise `ConfigError` if the engine cannot start."""
        client = await self._started()
        return await client.choose(messages, choices)

    async def warm(self, system: str) -> Usage:
        """Load a system prompt into the engine's cache, and return what that cost.

        Its state is restored from disk if an earlier process left it there; otherwise it is evaluated.
        """
        client = await self._started()
        if self._prefixes is None or system in self._warm or self._warm_failures >= WARM_FAILURES:
            return Usage()
        # One in the middle: several samples of one prompt are put into the first free slots, and other prompts into the last.
        slot = SLOTS // 2 + len(self._warm) % 2
        usage = Usage()
        if not await self._prefixes.restore(slot, system):
            try:
                usage = await client.evaluate([{"role": "system", "content": system}], slot)
            except ModelError:  # a chat template may want more than a system message: then there is nothing to keep
                self._warm_failures += 1
                return usage
            await self._prefixes.save(slot, system)
        self._warm.add(system)
        return usage

    def base_model(self) -> "EmbeddedModel":
        """Return the base model: the same weights without an adapter, on an engine of its own.

        If this model has no adapter, return it itself.
        """
        if self.adapter is None:
            return self
        if self._base is None:
            self._base = EmbeddedModel(
                self.weights, context=self.context, adapter=None, concurrency=self.concurrency, seed=self._seed,
                timeout=self._timeout, offline=self._offline,
            )  # fmt: skip
        return self._base

    def reseeded(self, seed: int) -> "EmbeddedModel":
        """Return the same model with another seed, on the same engine."""
        other = copy.copy(self)
        other._seed, other._base = seed, None
        other._client = self._client.reseeded(seed) if self._client else None
        return other

    def count_tokens(self, text: str) -> int:
        """Return the number of this model's tokens in `text`.

        It is exact, or an estimate that errs on the high side if only the engine can read the vocabulary. This loads
        the vocabulary, not the engine.
        """
        return self._tokenizer.count(text)

    async def aclose(self) -> None:
        """Close the connections of the running event loop. The engine stays, since others may share it."""
        for model in (self._client, self._base):
            if model is not None:
                await model.aclose()

    def start(self) -> None:
        """Pull the weights and start the engine if needed; otherwise this happens at the first call.

        Blocks for seconds, or for minutes if there is something to pull. Raise `ConfigError`.
        """
        self._start()

    @property
    def base_url(self) -> str:
        """Return the URL of the engine (with `/v1`), started if need be. It answers only to `api_key`."""
        return self._start().base_url

    @property
    def api_key(self) -> str | None:
        """Return the engine's bearer token: random, new for each process."""
        return self._start().api_key

    def path(self) -> Path:
        """Return the path of the weights on disk, pulled if missing.

        Raise `ConfigError` if they may not be downloaded.
        """
        if self.weights.endswith(".gguf") and not self.weights.startswith(catalogue.HUB):
            return Path(self.weights).resolve()
        found = catalogue.path(self.weights)
        if found is not None:
            return found
        if self._offline:
            raise ConfigError(
                f"the weights {self.weights} are not here and HALUAGENT_OFFLINE forbids to download them: "
                f"run `haluagent model pull {self.weights}` first"
            )
        with download_progress(self.weights) as progress:
            return catalogue.pull(self.weights, progress)

    @cached_property
    def _tokenizer(self) -> Tokenizer | ApproximateTokenizer:
        try:
            return Tokenizer.from_gguf(self.path(), cache_dir() / "tokens")
        except UnknownVocabulary as error:
            logger.info("tokens are estimated: %s", error)
            return ApproximateTokenizer()

    async def _started(self) -> OpenAIModel:
        if self._client is not None:
            return self._client
        # In a thread, because the first use may download for minutes while the event loop has other work to do.
        return await asyncio.to_thread(self._start)

    def _start(self) -> OpenAIModel:
        try:
            return self._load()
        except OSError as error:
            raise ConfigError(f"{self.name} could not be loaded: {error}") from error

    def _load(self) -> OpenAIModel:
        with self._starting:
            if self._client is None:  # another thread may have been first
                states = _states_directory()
                lora = self.adapter.checked() if self.adapter else self._lora
                settings = llama_cpp.EngineSettings(
                    self.path(), self.weights, self.context, SLOTS, CONTEXTS, lora, states=states
                )
                running = llama_cpp.shared(settings)
                if states:
                    server_url = running.base_url.removesuffix("/v1")
                    self._prefixes = PrefixCache(server_url, running.api_key, states, running.identity(settings))
                self._client = OpenAIModel(
                    running.base_url,
                    self.weights,
                    api_key=running.api_key,
                    dialect="llama.cpp",
                    context=self.context,
                    samples_per_request=SLOTS,
                    tokenizer=self.count_tokens,
                    seed=self._seed,
                    timeout=self._timeout,
                    concurrency=self.concurrency,
                )
        return self._client


def _states_directory() -> Path | None:
    """Return the directory for slots' states, or None if it cannot be written."""
    directory = cache_dir() / "states"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return directory if os.access(directory, os.W_OK) else None
