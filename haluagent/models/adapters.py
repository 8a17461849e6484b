"""Adapters: fine-tuned weights (LoRA, Hu et al. 2021) as a GGUF file, with a card that says how to use them."""

import functools
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from haluagent.errors import ConfigError
from haluagent.models.calibration import EMBEDDED, Calibration
from haluagent.models.weights.catalogue import KNOWN
from haluagent.models.weights.store import sha256_of
from haluagent.types import Record

logger = logging.getLogger(__name__)

# The package's own adapters: a card and a GGUF file for each set of weights that has one.
FOLDER = Path(__file__).parent / "adapter"


class AdapterCard(Record):
    """The card of an adapter: the JSON file beside it.

    `base` is the name of the weights that it belongs to. `file` is the GGUF file in the card's own folder; `bytes` and
    `sha256` are its size and hash. `tools` names the tools that the model was fine-tuned on, so that it needs no
    examples of them. `calibration` was fitted to the model with this adapter.
    """

    name: str = Field(pattern=r"^[\w.-]+$")
    version: str
    base: str
    file: str = Field(pattern=r"^[^/\\]+\.gguf$")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    bytes: int = Field(gt=0)
    rank: int = Field(gt=0)
    tools: tuple[str, ...] = ()
    calibration: Calibration = EMBEDDED
    licence: str
    data_sources: tuple[str, ...]

    def of_served(self) -> dict[str, Any]:
        """Return the options of a served model that has the adapter."""
        return {"calibration": self.calibration, "fine_tuned_tools": frozenset(self.tools)}


@dataclass(frozen=True)
class Adapter:
    """An adapter on disk. Without a card, only its file is known."""

    path: Path
    card: AdapterCard | None = None

    @property
    def name(self) -> str:
        return self.card.name if self.card else self.path.stem

    @property
    def calibration(self) -> Calibration:
        return self.card.calibration if self.card else EMBEDDED

    @property
    def fine_tuned_tools(self) -> frozenset[str]:
        """Return the names of the tools that the model was fine-tuned on."""
        return frozenset(self.card.tools) if self.card else frozenset()

    def checked(self) -> Path:
        """Check the file's size and SHA-256 against the card, once per process, and return its path.

        Raise `ConfigError` if they differ or the file is missing.
        """
        if not self.path.is_file():
            raise ConfigError(f"the adapter {self.path} is not there: name another, or use --no-adapter")
        if self.card is not None:
            _check(self.path, self.card.bytes, self.card.sha256)
        return self.path


def choose(adapter: "Path | str | Adapter | None", weights: str) -> Adapter | None:
    """Return the adapter to use with these weights.

    `adapter` is "auto" for the one that comes with the package, if any; None or "none" for none; or an adapter or its
    path. Raise `ConfigError` for a file that is not an adapter, or one for other weights.
    """
    if adapter is None or adapter == "none":
        return None
    if adapter == "auto":
        return shipped(weights)
    found = adapter if isinstance(adapter, Adapter) else load(Path(adapter))
    if found.card and weights in KNOWN and found.card.base != weights:
        raise ConfigError(
            f"the adapter {found.name} belongs to {found.card.base} and not to {weights}: "
            "name these weights with --model, or use --no-adapter"
        )
    return found


def shipped(base: str) -> Adapter | None:
    """Return the adapter that comes with the package for the weights named `base`, or None."""
    return next((found for found in all_shipped() if found.card and found.card.base == base), None)


def all_shipped() -> list[Adapter]:
    """Return every adapter that comes with the package. Raise `ConfigError` for a damaged card."""
    return [load(card) for card in sorted(FOLDER.glob("*.json"))]


def named(name: str) -> Adapter | None:
    """Return the adapter of this name that comes with the package, or None."""
    return next((found for found in all_shipped() if found.name == name), None)


def served_as(name: str) -> AdapterCard | None:
    """Return the card of the shipped adapter that a server has under this name: `haluagent model serve` says
    `WEIGHTS+ADAPTER`, vLLM the name of the LoRA module. None if there is none."""
    found = named(name.rpartition("+")[2])
    return found.card if found else None


def load(path: Path) -> Adapter:
    """Load an adapter from its card (.json), or from a GGUF file with the card beside it under the same stem.

    Without a card, the base model's calibration is used, and a warning says so. Raise `ConfigError` if `path` is not an
    adapter.
    """
    path = path.expanduser().resolve()
    if path.suffix == ".json":
        card = read_card(path)
        return Adapter(path.with_name(card.file), card)
    if path.suffix != ".gguf" or not path.is_file():
        raise ConfigError(f"{path} is no adapter: name a card (.json) or an adapter (.gguf) that is there")
    beside = path.with_suffix(".json")
    if beside.is_file():
        return Adapter(path, read_card(beside))
    logger.warning("%s has no card %s beside it: the calibration is that of the model without it", path, beside.name)
    return Adapter(path)


def read_card(path: Path) -> AdapterCard:
    """Read a card from a JSON file. Raise a `ConfigError` that names the file and the field."""
    try:
        return AdapterCard.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"the card {path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{path} is no card of an adapter: {field or 'all of it'}: {first['msg']}") from error


@functools.cache
def _check(path: Path, size: int, sha256: str) -> None:
    if path.stat().st_size != size or sha256_of(path).hexdigest() != sha256:
        raise ConfigError(
            f"the adapter {path} is damaged, or not the one of its card (the SHA-256 differs): install it again, "
            "or use --no-adapter"
        )
