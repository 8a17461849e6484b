"""The peers' environments: one each, since their requirements contradict each other's and ours."""

import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from haluagent.errors import ConfigError
from haluagent.models.weights.store import exclusive
from haluagent.settings import cache_dir

_DONE = "installed.txt"  # holds the requirements that were installed; written last


def directory_of(name: str) -> Path:
    """Where a peer's environment is kept, whether or not it is there."""
    return cache_dir() / "peers" / name


def requirements(name: str) -> str:
    """The pinned requirements of a peer: all that its environment holds. Raises ConfigError for a name there is not."""
    found = files(__package__).joinpath("requirements")
    names = sorted(entry.name.removesuffix(".txt") for entry in found.iterdir() if entry.name.endswith(".txt"))
    if name not in names:
        raise ConfigError(f"there is no peer {name!r} to install: the peers are {', '.join(names)}")
    return found.joinpath(f"{name}.txt").read_text("utf-8")


def install(name: str, directory: Path | None = None, say: Callable[[str], object] = print) -> Path:
    """The Python of a peer's environment in `directory` (by default in the cache), made where it is not there as the
    requirements say. `say` is told what is done. Raises ConfigError, with pip's own words, where it cannot be made."""
    return make(directory or directory_of(name), requirements(name), name, say)


def make(directory: Path, wanted: str, name: str, say: Callable[[str], object]) -> Path:
    """The Python of an environment in `directory` that holds the requirements `wanted` and nothing else."""
    with exclusive(directory):
        if _is_made(directory, wanted):
            say(f"{name} is installed in {directory}")
            return _python(directory)
        say(f"making an environment for {name} in {directory}")
        _run([sys.executable, "-m", "venv", "--clear", str(directory)], f"no environment for {name} could be made")
        listed = directory / "requirements.txt"
        listed.write_text(wanted, encoding="utf-8")
        say(f"installing {name} there with pip: {_count(wanted)} packages, this takes minutes")
        # The list is complete, so pip adds nothing to it: what a peer's other methods want (torch) stays away.
        command = [str(_python(directory)), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
        _run([*command, "--no-deps", "-r", str(listed)], f"pip could not install {name}")
        (directory / _DONE).write_text(wanted, encoding="utf-8")
        say(f"{name} is installed in {directory}")
    return _python(directory)


def python_of(name: str, directory: Path | None = None) -> Path:
    """The Python of an installed peer. Raises ConfigError where it is not installed, or no longer as required."""
    directory = directory or directory_of(name)
    if not _is_made(directory, requirements(name)):
        raise ConfigError(f"{name} is not installed: run `python -m haluagent.bench.peers.install {name}`")
    return _python(directory)


def _is_made(directory: Path, wanted: str) -> bool:
    done = directory / _DONE
    return done.is_file() and done.read_text("utf-8") == wanted and _python(directory).exists()


def _python(directory: Path) -> Path:
    return directory / "bin" / "python"


def _count(wanted: str) -> int:
    return sum(1 for line in wanted.splitlines() if line.strip() and not line.startswith("#"))


def _run(command: list[str], failure: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    why = next((line for line in lines if line.startswith("ERROR:")), lines[-1] if lines else "no reason given")
    raise ConfigError(f"{failure}: {why.removeprefix('ERROR:').strip()[:400]}")


def main(arguments: list[str]) -> int:
    """`python -m haluagent.bench.peers.install [NAME ...]`: installs those peers, or all of them."""
    from haluagent.bench.peers.known import PEERS

    try:
        for name in arguments or PEERS:
            install(name)
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
