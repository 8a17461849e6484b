"""The sizes of a base model, read from its configuration alone: no weights, no torch."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from haluagent.errors import ConfigError
from haluagent.models.gguf import read_metadata, read_tensors
from haluagent.train.base import gguf_path

# Configurations as published by their makers, so that these are known without a network.
BASES = Path(__file__).with_name("bases.json")
FAMILIES = ("qwen2", "qwen3", "llama", "mistral", "baichuan")


@dataclass(frozen=True)
class Architecture:
    """A decoder with RMSNorm, a gated MLP and grouped queries. Sizes are in numbers, not bytes.

    `inner` is the width of the MLP, `head` that of an attention head, of which there are `heads` for the queries and `key_heads`
    for keys and values. `own_code` says that the model brings its code with it.
    """

    family: str
    vocabulary: int
    hidden: int
    inner: int
    layers: int
    heads: int
    key_heads: int
    head: int
    tied: bool
    biased: bool
    own_code: bool

    def matrices(self) -> dict[str, tuple[int, int]]:
        """Return the matrices of a layer by name, each as outputs and inputs."""
        queries, keys = self.heads * self.head, self.key_heads * self.head
        if self.family == "baichuan":
            attention = {"W_pack": (queries + 2 * keys, self.hidden)}
        else:
            attention = {
                name: (queries if name == "q_proj" else keys, self.hidden) for name in ("q_proj", "k_proj", "v_proj")
            }
        return attention | {
            "o_proj": (self.hidden, queries),
            "gate_proj": (self.inner, self.hidden),
            "up_proj": (self.inner, self.hidden),
            "down_proj": (self.hidden, self.inner),
        }

    @property
    def layer(self) -> int:
        """The parameters of a layer that are in matrices."""
        return sum(out * into for out, into in self.matrices().values())

    @property
    def embeddings(self) -> int:
        """The parameters of the embeddings and of the head."""
        return self.vocabulary * self.hidden * (1 if self.tied else 2)

    @property
    def parameters(self) -> int:
        """All parameters."""
        small = 2 * self.hidden  # the norms
        if self.family == "qwen3":
            small += 2 * self.head
        if self.biased:
            small += (self.heads + 2 * self.key_heads) * self.head + (self.hidden if self.family != "qwen2" else 0)
        return self.embeddings + self.layers * (self.layer + small) + self.hidden


@cache
def known() -> dict[str, dict[str, Any]]:
    """Return the configurations that come with the package, by the name of the base."""
    found: dict[str, dict[str, Any]] = json.loads(BASES.read_text(encoding="utf-8"))
    return found


def read(base: str) -> Architecture:
    """Return the architecture of a base: of a name in `known`, a GGUF file, a directory, or a model of a hub. Raises ConfigError
    if there is no configuration, or it is of a family whose sizes are not known here."""
    if base in known():
        return parse(known()[base], base)
    file = gguf_path(base)
    return parse(_of_transformers(base) if file is None else _of_gguf(file), base)


def parse(config: Mapping[str, Any], base: str) -> Architecture:
    """Return the architecture in a transformers configuration. Raises ConfigError as `read` does."""
    family = config.get("model_type")
    if family not in FAMILIES:
        raise ConfigError(
            f"the sizes of {base} cannot be reckoned: its family is {family}, not one of {', '.join(FAMILIES)}"
        )
    try:
        heads = config["num_attention_heads"]
        return Architecture(
            family=family,
            vocabulary=config["vocab_size"],
            hidden=config["hidden_size"],
            inner=config["intermediate_size"],
            layers=config["num_hidden_layers"],
            heads=heads,
            key_heads=config.get("num_key_value_heads") or heads,
            head=config.get("head_dim") or config["hidden_size"] // heads,
            tied=config.get("tie_word_embeddings", False),
            biased=family == "qwen2" or config.get("attention_bias", False),
            own_code="AutoModelForCausalLM" in config.get("auto_map", {}),
        )
    except KeyError as error:
        raise ConfigError(f"the configuration of {base} lacks {error.args[0]}") from error


def _of_transformers(base: str) -> dict[str, Any]:
    """Return config.json without running code that a model may bring."""
    path = Path(base) / "config.json"
    try:
        if path.is_file():
            config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return config
        from huggingface_hub import hf_hub_download

        config = json.loads(Path(hf_hub_download(base, "config.json")).read_text(encoding="utf-8"))
        return config
    except ImportError as error:
        raise ConfigError(f'{base} is no directory; to read a hub, pip install "haluagent[hub]"') from error
    except (OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ConfigError(f"the configuration of {base} cannot be read: {reason}") from error


def _of_gguf(path: Path) -> dict[str, Any]:
    """Return a GGUF file's header in the words of transformers."""
    about = read_metadata(path)
    family = about.get("general.architecture")
    names = {
        "hidden_size": "embedding_length", "intermediate_size": "feed_forward_length", "num_hidden_layers": "block_count",
        "num_attention_heads": "attention.head_count", "num_key_value_heads": "attention.head_count_kv",
        "head_dim": "attention.key_length",
    }  # fmt: skip
    found = {name: about[f"{family}.{key}"] for name, key in names.items() if f"{family}.{key}" in about}
    tied = all(tensor.name != "output.weight" for tensor in read_tensors(path))
    return found | {
        "model_type": family,
        "vocab_size": len(about.get("tokenizer.ggml.tokens", [])),
        "tie_word_embeddings": tied,
    }
