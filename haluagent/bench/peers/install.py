"""Install the peers, each into its own environment, since their requirements conflict with each other's and with
ours."""

import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from haluagent.bench.peers.known import PEERS
from haluagent.errors import ConfigError
from haluagent.models.weights.store import exclusive
from haluagent.settings import cache_dir

_DONE = "installed.txt"  # the requirements that were installed; written last


def directory_of(name: str) -> Path:
    """Return the directory of a peer's environment, whether or not it exists."""
    return cache_dir() / "peers" / name


def requirements(name: str) -> str:
    """Return the pinned requirements of a peer, which list everything in its environment. Raises ConfigError for an
    unknown name."""
    found = files(__package__).joinpath("requirements")
    names = sorted(entry.name.removesuffix(".txt") for entry in found.iterdir() if entry.name.endswith(".txt"))
    if name not in names:
        raise ConfigError(f"there is no peer {name!r} to install: the peers are {', '.join(names)}")
    return found.joinpath(f"{name}.txt").read_text("utf-8")


def install(name: str, directory: Path | None = None, say: Callable[[str], object] = print) -> Path:
    """Return the Python of a peer's environment in `directory` (by default in the cache), creating the environment if
    necessary. `say` receives progress messages. Raises ConfigError with pip's own message if the installation fails."""
    return make(directory or directory_of(name), requirements(name), name, say)


def make(directory: Path, wanted: str, name: str, say: Callable[[str], object]) -> Path:
    """Return the Python of an environment in `directory` with exactly the requirements `wanted`, creating it if
    necessary."""
    with exclusive(directory):
        if _is_made(directory, wanted):
            say(f"{name} is installed in {directory}")
            return _python(directory)
        say(f"making an environment for {name} in {directory}")
        _run([sys.executable, "-m", "venv", "--clear", str(directory)], f"no environment for {name} could be made")
        listed = directory / "requirements.txt"
        listed.write_text(wanted, encoding="utf-8")
        say(f"installing {name} there with pip: {_count(wanted)} packages, this takes minutes")
        # The list is complete, so --no-deps keeps out what only a peer's other methods need (torch).
        command = [str(_python(directory)), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
        _run([*command, "--no-deps", "-r", str(listed)], f"pip could not install {name}")
        (directory / _DONE).write_text(wanted, encoding="utf-8")
        say(f"{name} is installed in {directory}")
    return _python(directory)


def python_of(name: str, directory: Path | None = None) -> Path:
    """Return the Python of an installed peer. Raises ConfigError if it is not installed or its requirements have
    changed."""
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
    """Install the named peers, or all of them: `python -m haluagent.bench.peers.install [NAME ...]`. Returns the exit
    code."""
    try:
        for name in arguments or PEERS:
            install(name)
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
