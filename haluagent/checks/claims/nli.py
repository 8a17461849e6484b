"""The checker `nli`: a cross-encoder for natural language inference; no language model is asked.

The passage is the premise and the claim the hypothesis. A passage longer than the model's limit is cut into overlapping
windows.
"""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

from haluagent.checks.claims.checkers import CheckWork, ClaimFinding
from haluagent.checks.claims.localize import cite
from haluagent.checks.claims.merge import MERGED
from haluagent.checks.claims.nli_windows import PairEncoder
from haluagent.errors import ConfigError
from haluagent.types import Sentence

FILES = ["config.json", "tokenizer.json", "tokenizer_config.json", "model.onnx", "onnx/model.onnx"]
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")


class NLIChecker:
    """A checker with the model of a directory, of a hub as `OWNER/NAME`, or behind an address, loaded with the first claim.

    A model with `model.onnx`, there or in `onnx/`, runs in ONNX Runtime and needs `config.json` and `tokenizer.json` too. Another
    one runs as a `CrossEncoder` of sentence-transformers. Both need the three classes entailment, neutral and contradiction. An
    address is that of a server with vLLM's `/v1/score`, whose one score only tells Entailment from Neutral. On
    loading, raise `ConfigError` if an extra is not installed, a file is missing, or the classes are others; `ModelError` if
    the server does not answer.
    """

    name = "nli"
    asks_model = False

    def __init__(self, model: str | Path) -> None:
        self.model = str(model)
        self._loaded: PairEncoder | None = None
        self._lock = threading.Lock()

    async def check(self, work: CheckWork, passage: int, claims: Sequence[Sentence]) -> list[ClaimFinding]:
        encoder = await asyncio.to_thread(self._load)

        async def one(claim: Sentence) -> ClaimFinding:
            return await work.attempt(asyncio.to_thread(_judge, encoder, work.passages, passage, claim.claim))

        return await work.each(one, claims)

    def _load(self) -> PairEncoder:
        with self._lock:
            if self._loaded is None:
                self._loaded = _encoder(self.model)
            return self._loaded


def _judge(encoder: PairEncoder, passages: tuple[str, ...], number: int, claim: str) -> ClaimFinding:
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
    return ClaimFinding(label, probability, citation, read, window=place)


def _encoder(model: str) -> PairEncoder:
    """Return the model of that name. The libraries behind it are imported here."""
    if model.startswith(("http://", "https://")):
        from haluagent.checks.claims.nli_served import ScoreEndpoint

        return ScoreEndpoint(model)
    folder = Path(model) if Path(model).is_dir() else _fetched(model)
    places = (folder / "model.onnx", folder / "onnx" / "model.onnx")
    if weights := next((path for path in places if path.is_file()), None):
        from haluagent.checks.claims.nli_onnx import OnnxEncoder

        return OnnxEncoder(folder, weights)
    if Path(model).is_dir() and not any(path for pattern in WEIGHTS for path in folder.glob(pattern)):
        raise ConfigError(f"{folder} has no model.onnx and no other weights: name the directory of a cross-encoder")
    from haluagent.checks.claims.nli_torch import TorchEncoder

    return TorchEncoder(model)


def _fetched(model: str) -> Path:
    """Return the directory of a model of the hub, with what ONNX Runtime needs of it."""
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
