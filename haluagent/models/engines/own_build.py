"""The embedded engine, compiled on this machine: the installed release of xllamacpp with the instructions that its wheel leaves out.

Prompts are read 1.25 to 1.5 times as fast with AVX-512. AMX is never used: llama.cpp wrote garbage with it. A build counts only if
it answers a few prompts as the wheel does, and is used only where release and processor are those it was made for.
"""

import logging
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from haluagent.errors import ConfigError
from haluagent.models.weights import store
from haluagent.settings import cache_dir
from haluagent.types import Record

logger = logging.getLogger(__name__)

# Flags of /proc/cpuinfo, and llama.cpp's options for them.
_OPTIONS = {
    "avx512f": "GGML_AVX512",
    "avx512vbmi": "GGML_AVX512_VBMI",
    "avx512_vnni": "GGML_AVX512_VNNI",
    "avx512_bf16": "GGML_AVX512_BF16",
    "avx_vnni": "GGML_AVX_VNNI",
}
# What the build would otherwise fetch from elsewhere, and nothing here uses; and its own choice of instructions, AMX among them.
_WITHOUT = ("LLAMA_BUILD_BORINGSSL", "LLAMA_OPENSSL", "LLAMA_LLGUIDANCE", "GGML_NATIVE")
_BASE = {"avx2", "fma", "f16c", "bmi2"}  # what the wheel is compiled for
# What rounding may change, since sums of floats come out in another order: the probability of a choice (0.04 on an AMD EPYC), and a
# text where two words are about as likely.
_SHARE, _TEXTS = 0.1, 1
_SPACE = 1_500_000_000  # bytes: the source, what is compiled of it, and the wheel


class OwnBuild(Record):
    """A build on disk: the release, llama.cpp's options, and how many times as fast as the wheel it read prompts."""

    release: str
    options: tuple[str, ...]
    faster: float


class GreedyAnswers(Record):
    """What an engine wrote to the prompts of the check, the probabilities in [0, 1] of its choices, and the tokens a second at
    which it read the prompts."""

    texts: tuple[str, ...]
    shares: tuple[float, ...]
    speed: float


def folder() -> Path:
    """Return the folder of the build, which may not exist."""
    return cache_dir() / "engine"


def installed() -> OwnBuild | None:
    """Return the build on this machine, if there is one for the installed release and this processor."""
    try:
        found = OwnBuild.model_validate_json((folder() / "build.json").read_bytes())
        fits = found.release == version("xllamacpp") and set(found.options) <= set(options())
    except (OSError, ValueError, PackageNotFoundError):
        return None
    return found if fits else None


def prefer() -> None:
    """Have `import xllamacpp` find the build of this machine, if there is one. `HALUAGENT_WHEEL=1` keeps the wheel."""
    if "xllamacpp" not in sys.modules and os.environ.get("HALUAGENT_WHEEL", "") in ("", "0") and installed():
        sys.path.insert(0, str(folder()))
        try:
            import xllamacpp  # noqa: F401
        except ImportError as error:
            logger.warning("the engine built on this machine cannot be loaded, the wheel is used: %s", error)
        finally:
            sys.path.remove(str(folder()))


def options(described: Path = Path("/proc/cpuinfo")) -> tuple[str, ...]:
    """Return llama.cpp's options for the instructions of this processor that the wheel leaves out; none where it is not known."""
    try:
        lines = described.read_text().splitlines()
    except OSError:
        return ()
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    if not set(flags) >= _BASE:
        return ()
    return tuple(sorted({_OPTIONS[flag] for flag in flags if flag in _OPTIONS}))


def build(model: str) -> OwnBuild:
    """Compile the installed release for this processor, compare it with the wheel on the weights `model`, and install it. Takes
    about ten minutes on two cores, and a C++ compiler. Raise `ConfigError` where it cannot be built, or does not write what the
    wheel writes."""
    try:
        release = version("xllamacpp")
    except PackageNotFoundError:
        raise ConfigError('the embedded engine is not installed: pip install "haluagent[embedded]"') from None
    chosen = options()
    if not chosen:
        raise ConfigError("the wheel already uses what this processor has: there is nothing to gain by a build")
    if shutil.which("c++") is None:
        raise ConfigError("a C++ compiler is needed: apt-get install g++")
    with store.exclusive(folder()), tempfile.TemporaryDirectory(dir=folder().parent) as made:
        store.need_space(folder().parent, _SPACE)
        _compile(release, chosen, Path(made) / "engine")
        return install(release, chosen, Path(made) / "engine", model)


def install(release: str, chosen: tuple[str, ...], made: Path, model: str) -> OwnBuild:
    """Install what was compiled in `made` if it writes what the wheel writes, and chooses as it does but for rounding. Raise
    `ConfigError` if it does not."""
    wheel, own = _answers(model), _answers(model, made)
    apart = max(abs(one - other) for one, other in zip(wheel.shares, own.shares, strict=True))
    other_texts = sum(one != other for one, other in zip(wheel.texts, own.texts, strict=True))
    if apart > _SHARE or other_texts > _TEXTS:
        raise ConfigError(
            f"the engine compiled here answers otherwise than the wheel ({other_texts} of {len(wheel.texts)} texts, probabilities by "
            f"up to {apart:.2f}), so the wheel stays in use"
        )
    found = OwnBuild(release=release, options=chosen, faster=round(own.speed / wheel.speed, 2))
    (made / "build.json").write_text(found.model_dump_json())
    remove()
    made.rename(folder())
    return found


def remove() -> bool:
    """Remove the build, and return whether there was one."""
    found = folder().exists()
    shutil.rmtree(folder(), ignore_errors=True)
    return found


def _compile(release: str, chosen: tuple[str, ...], into: Path) -> None:
    settings = [*(f"-D{name}=OFF" for name in _WITHOUT), *(f"-D{name}=ON" for name in chosen)]
    command = [
        sys.executable, "-m", "pip", "install", "--no-deps", "--no-binary", "xllamacpp", "--no-cache-dir", "--target", str(into),
        f"xllamacpp=={release}",
    ]  # fmt: skip
    done = subprocess.run(
        command, env=os.environ | {"CMAKE_ARGS": " ".join(settings)}, text=True, capture_output=True, check=False
    )
    if done.returncode:
        log = folder().with_name("engine.log")
        log.write_text(done.stdout + done.stderr)
        raise ConfigError(f"xllamacpp {release} could not be compiled: {log} says why; the wheel stays in use")


def _answers(model: str, engine: Path | None = None) -> GreedyAnswers:
    """Run the check in a process of its own, on the wheel or on the engine in a folder: a broken one may crash."""
    paths = [str(engine)] if engine else []
    environment = os.environ | {
        "HALUAGENT_WHEEL": "1", "PYTHONPATH": os.pathsep.join(filter(None, [*paths, os.environ.get("PYTHONPATH", "")])),
    }  # fmt: skip
    command = [sys.executable, "-m", "haluagent.models.engines.greedy", model]
    done = subprocess.run(command, env=environment, text=True, capture_output=True, check=False)
    if done.returncode:
        which = "the engine compiled here" if engine else "the engine of the wheel"
        raise ConfigError(f"{which} failed on a test prompt (exit status {done.returncode}): {done.stderr[-300:]}")
    return GreedyAnswers.model_validate_json(done.stdout.splitlines()[-1])
