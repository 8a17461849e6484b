"""The checker `nli`: a cross-encoder for natural language inference, run with ONNX Runtime; no language model is asked.

The passage is the premise and the claim the hypothesis. A passage longer than the model's limit is cut into overlapping
windows of tokens. Needs the extra `nli`.
"""

import asyncio
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haluagent.checks.claims.checkers import CheckWork, ClaimFinding
from haluagent.checks.claims.localize import cite
from haluagent.checks.claims.merge import MERGED
from haluagent.checks.claims.records import RELATIONS, Relation
from haluagent.errors import ConfigError, ToolError
from haluagent.text.words import words
from haluagent.types import Sentence, Span

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LONGEST = 512  # tokens of premise and hypothesis together; a model with a lower limit gets fewer
OVERLAP = 64  # tokens
WINDOWS = 8  # the number read of a longer passage: those that share most words with the claim
FILES = ["config.json", "tokenizer.json", "tokenizer_config.json", "model.onnx", "onnx/model.onnx"]


class NLIChecker:
    """A checker with the model of a directory, or of a hub as `OWNER/NAME`, loaded with the first claim.

    The model needs `config.json`, `tokenizer.json`, and `model.onnx` there or in `onnx/`. On loading, raise
    `ConfigError` if the extra is not installed, a file is missing, or the model does not have the three classes
    entailment, neutral and contradiction.
    """

    name = "nli"
    asks_model = False

    def __init__(self, model: str | Path) -> None:
        self.model = str(model)
        self._loaded: _CrossEncoder | None = None
        self._lock = threading.Lock()

    async def check(self, work: CheckWork, passage: int, claims: Sequence[Sentence]) -> list[ClaimFinding]:
        encoder = await asyncio.to_thread(self._load)

        async def one(claim: Sentence) -> ClaimFinding:
            return await work.attempt(asyncio.to_thread(_judge, encoder, work.passages, passage, claim.claim))

        return await work.each(one, claims)

    def _load(self) -> "_CrossEncoder":
        with self._lock:
            if self._loaded is None:
                self._loaded = _CrossEncoder(_folder(self.model))
            return self._loaded


def _judge(encoder: "_CrossEncoder", passages: tuple[str, ...], number: int, claim: str) -> ClaimFinding:
    """Judge a claim: any window may entail it, else any may contradict it; the window with the highest probability is
    cited."""
    passage = passages[number]
    if not passage.strip():
        return ClaimFinding("Neutral", read=((0, len(passage)),))
    scored, whole = encoder.windows(passage, claim)
    for label in MERGED:
        places = [(share[label], place) for place, share in scored if max(share, key=share.__getitem__) == label]
        if places:
            break
    probability, place = max(places)
    citation = cite(passages, number, place, claim) if label != "Neutral" else None
    read = ((0, len(passage)),) if whole else tuple(sorted(place for place, _ in scored))
    return ClaimFinding(label, probability, citation, read)


class _CrossEncoder:
    def __init__(self, folder: Path) -> None:
        try:
            import onnxruntime
            import tokenizers
        except ImportError:
            raise ConfigError('the checker nli needs more packages: pip install "haluagent[nli]"') from None
        config = _json(folder / "config.json")
        self.labels = _labels(config, folder)
        self.limit = _limit(config, _json(folder / "tokenizer_config.json", optional=True))
        weights = next(
            (path for path in (folder / "model.onnx", folder / "onnx" / "model.onnx") if path.is_file()), None
        )
        if weights is None:
            raise ConfigError(f"{folder} has no model.onnx; export the model to ONNX first, or name one that is")
        try:
            self.tokenizer: Tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
            self.session: Any = onnxruntime.InferenceSession(str(weights), providers=["CPUExecutionProvider"])
        except Exception as error:  # both raise exceptions of their native cores
            raise ConfigError(
                f"the NLI model in {folder} cannot be read ({' '.join(str(error).split())[:200]})"
            ) from error
        self.tokenizer.no_padding()
        self.inputs = [item.name for item in self.session.get_inputs()]
        self._lock = threading.Lock()

    def windows(self, passage: str, claim: str) -> tuple[list[tuple[Span, dict[Relation, float]]], bool]:
        """Return the windows of the passage that are read, each with the probabilities of the labels, and whether they
        are all of it.

        Raise `ToolError` for a claim that leaves the passage no room.
        """
        with self._lock:  # truncation is a setting of the shared tokenizer
            self.tokenizer.no_truncation()
            room = self.limit - len(self.tokenizer.encode("", claim).ids)
            if room < min(2 * OVERLAP, self.limit // 2):
                raise ToolError(f"the claim is too long for the NLI model, which reads {self.limit} tokens in all")
            self.tokenizer.enable_truncation(self.limit, stride=min(OVERLAP, room // 4), strategy="only_first")
            whole = self.tokenizer.encode(passage, claim)
        said = words(claim)
        spans = [(_place(encoding), encoding) for encoding in (whole, *whole.overflowing)]
        spans.sort(key=lambda item: -len(said & words(passage[slice(*item[0])])))
        return [(place, self._run(encoding)) for place, encoding in spans[:WINDOWS]], len(spans) <= WINDOWS

    def _run(self, encoding: Any) -> dict[Relation, float]:
        import numpy as np  # comes with ONNX Runtime

        known = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        feed = {name: np.array([known[name]], dtype=np.int64) for name in self.inputs if name in known}
        logits = np.asarray(self.session.run(None, feed)[0][0], dtype=np.float64)
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        return {label: float(share) for label, share in zip(self.labels, shares, strict=True)}


def _place(encoding: Any) -> Span:
    """Return the span of a window in the passage."""
    pairs = zip(encoding.offsets, encoding.sequence_ids, strict=True)
    offsets = [place for place, sequence in pairs if sequence == 0]
    return (min(a for a, _ in offsets), max(b for _, b in offsets)) if offsets else (0, 0)


def _folder(model: str) -> Path:
    """Return the directory of a model, fetched from the hub if there is none of that name."""
    if Path(model).is_dir():
        return Path(model)
    if model.count("/") != 1 or model.startswith((".", "/", "~")):
        raise ConfigError(f"there is no directory {model}: name one with an NLI model, or one on a hub as OWNER/NAME")
    try:
        import huggingface_hub
    except ImportError:
        raise ConfigError('the checker nli needs more packages: pip install "haluagent[nli]"') from None
    try:
        return Path(huggingface_hub.snapshot_download(model, allow_patterns=FILES))
    except Exception as error:  # what a broken connection raises depends on the client's version
        raise ConfigError(
            f"the NLI model {model} could not be fetched ({' '.join(str(error).split())[:200]})"
        ) from error


def _json(path: Path, *, optional: bool = False) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        if optional:
            return {}
        raise ConfigError(f"{path.parent} is no NLI model: it has no {path.name}") from None
    except ValueError:
        raise ConfigError(f"{path} is not JSON; fetch the model again") from None
    return found


def _labels(config: dict[str, Any], folder: Path) -> list[Relation]:
    """Return the label of each output, in order. Raise `ConfigError` if they are not RefChecker's three."""
    named = {int(number): str(name).strip().capitalize() for number, name in config.get("id2label", {}).items()}
    labels = [named[number] for number in sorted(named)]
    if sorted(labels) != sorted(RELATIONS) or sorted(named) != [0, 1, 2]:
        said = ", ".join(map(str, config.get("id2label", {}).values())) or "none"
        raise ConfigError(
            f"the NLI model in {folder} has the classes {said}; it takes entailment, neutral and contradiction"
        )
    by_name: dict[str, Relation] = {label: label for label in RELATIONS}
    return [by_name[label] for label in labels]


def _limit(config: dict[str, Any], tokenizer: dict[str, Any]) -> int:
    """Return the maximum number of tokens the model reads. RoBERTa's positions start after those for padding."""
    positions = int(config.get("max_position_embeddings") or LONGEST)
    if "roberta" in str(config.get("model_type", "")) or config.get("model_type") == "camembert":
        positions -= 2
    return int(min(positions, tokenizer.get("model_max_length") or LONGEST, LONGEST))
