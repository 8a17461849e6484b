"""Adapters: what a model was taught (LoRA, Hu et al. 2021), as a GGUF file with a card that says how it is to be used."""

import functools
import logging
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError

from haluagent.errors import ConfigError
from haluagent.models.calibration import EMBEDDED, Calibration
from haluagent.models.weights.catalogue import KNOWN
from haluagent.models.weights.store import sha256_of
from haluagent.types import Record

logger = logging.getLogger(__name__)

# Where the package keeps its own: one card and one GGUF file for each set of weights that has one.
FOLDER = Path(__file__).parent / "adapter"


class AdapterCard(Record):
    """What stands beside an adapter, as JSON. `base` is the name of the weights that it belongs to, `file` the GGUF file in
    the card's own folder, of so many `bytes` and with that `sha256`. `tools` are the names of the tools that the model was
    taught to use: it needs no examples of them. `calibration` was fitted to the model with this adapter."""

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


@dataclass(frozen=True)
class Adapter:
    """An adapter on this disk. Without a card nothing is known but its file."""

    path: Path
    card: AdapterCard | None = None

    @property
    def name(self) -> str:
        return self.card.name if self.card else self.path.stem

    @property
    def calibration(self) -> Calibration:
        return self.card.calibration if self.card else EMBEDDED

    @property
    def taught(self) -> frozenset[str]:
        return frozenset(self.card.tools) if self.card else frozenset()

    def checked(self) -> Path:
        """The file, after its size and SHA-256 were found to be those of the card, which takes place once a process.
        Raises ConfigError where they are not, or the file is not there."""
        if not self.path.is_file():
            raise ConfigError(f"the adapter {self.path} is not there: name another, or use --no-adapter")
        if self.card is not None:
            _check(self.path, self.card.bytes, self.card.sha256)
        return self.path


def choose(adapter: "Path | str | Adapter | None", weights: str) -> Adapter | None:
    """The adapter for these weights: with "auto" the one that comes with the package, if any; with None or "none" none;
    else that of a file. Raises ConfigError for a file that is no adapter, or one for other weights."""
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
    """The adapter that comes with the package for the weights of that name; None where there is none."""
    return next((found for found in all_shipped() if found.card and found.card.base == base), None)


def all_shipped() -> list[Adapter]:
    """Every adapter that comes with the package. Raises ConfigError for a card that is damaged."""
    return [load(card) for card in sorted(FOLDER.glob("*.json"))]


def load(path: Path) -> Adapter:
    """The adapter of a card (.json), or of a GGUF file, whose card stands beside it under the same stem. Without a card it
    is used with the calibration of the model as it was, and a warning says so. Raises ConfigError."""
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
    """The card in a JSON file. Raises ConfigError naming the file and the field."""
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
