"""A `CrossEncoder` of sentence-transformers, for the checker `nli`. Needs the extra `cross-encoder`."""

import threading
from typing import Any

from haluagent.checks.claims.nli_windows import Shares, TokenWindows, labels_of, limit_of
from haluagent.errors import ConfigError


class TorchEncoder(TokenWindows):
    """The model of a directory, or of a hub as `OWNER/NAME`, on the device that sentence-transformers chooses."""

    def __init__(self, model: str) -> None:
        try:
            import tokenizers
            from sentence_transformers import CrossEncoder
        except ImportError:
            raise ConfigError(
                f'{model} has no model.onnx, and without it needs more packages: pip install "haluagent[cross-encoder]"'
            ) from None
        try:
            self.model: Any = CrossEncoder(model)
            # A copy: `predict` sets truncation and padding of its own.
            tokenizer = tokenizers.Tokenizer.from_str(self.model.tokenizer.backend_tokenizer.to_str())
        except Exception as error:  # what is raised depends on the model's files and the versions of three libraries
            raise ConfigError(f"the NLI model {model} cannot be read ({' '.join(str(error).split())[:200]})") from error
        config = self.model.config
        self.labels = labels_of(getattr(config, "id2label", {}), model)
        positions = getattr(config, "max_position_embeddings", None)
        longest = self.model.tokenizer.model_max_length
        super().__init__(tokenizer, limit_of(positions, str(getattr(config, "model_type", "")), longest))
        self._one = threading.Lock()

    def run(self, encoding: Any, premise: str, claim: str) -> Shares:
        with self._one:  # a tokenizer must not be used by two threads
            found = self.model.predict([(premise, claim)], apply_softmax=True, show_progress_bar=False)[0]
        return {label: float(share) for label, share in zip(self.labels, found, strict=True)}
