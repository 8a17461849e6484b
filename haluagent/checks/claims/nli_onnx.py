"""An NLI model in ONNX Runtime, for the checker `nli`. Needs the extra `nli`."""

import json
from pathlib import Path
from typing import Any

from haluagent.checks.claims.nli_windows import Shares, TokenWindows, labels_of, limit_of
from haluagent.errors import ConfigError


class OnnxEncoder(TokenWindows):
    """The model of a directory with `config.json` and `tokenizer.json`, and its weights."""

    def __init__(self, folder: Path, weights: Path) -> None:
        try:
            import onnxruntime
            import tokenizers
        except ImportError:
            raise ConfigError('the checker nli needs more packages: pip install "haluagent[nli]"') from None
        config = _json(folder / "config.json")
        self.labels = labels_of(config.get("id2label", {}), folder)
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
            self.session: Any = onnxruntime.InferenceSession(str(weights), providers=["CPUExecutionProvider"])
        except Exception as error:  # both raise exceptions of their native cores
            raise ConfigError(
                f"the NLI model in {folder} cannot be read ({' '.join(str(error).split())[:200]})"
            ) from error
        longest = _json(folder / "tokenizer_config.json", optional=True).get("model_max_length")
        positions = config.get("max_position_embeddings")
        super().__init__(tokenizer, limit_of(positions, str(config.get("model_type", "")), longest))
        self.inputs = [item.name for item in self.session.get_inputs()]

    def run(self, encoding: Any, premise: str, claim: str) -> Shares:
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
