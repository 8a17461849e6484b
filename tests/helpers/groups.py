"""The groups of tests with real parts: what each needs, and which sources it is about.

`names` prints the groups. `choose` prints those that a run of CI adds to `make test`: what the last commits touched, as
far as the minutes go, and one more by the hash of the tree, so that each has its turn. `run NAME...` runs groups, and
`rest NAME...` says in one line which are left out beside the named ones.
"""

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMITS = 20  # how many commits a landing has at most
MINUTES = 3.0  # that the touched groups may take together on two cores, with what is installed for them


def modules(*names: str) -> Callable[[], bool]:
    """Whether the modules are installed."""

    def check() -> bool:
        try:
            return all(importlib.util.find_spec(name) for name in names)
        except ModuleNotFoundError:  # of the package that a module is in
            return False

    return check


def succeeds(*command: str) -> Callable[[], bool]:
    """Whether the command is there and ends well."""

    def check() -> bool:
        found = shutil.which(command[0])
        return found is not None and subprocess.run([found, *command[1:]], capture_output=True).returncode == 0

    return check


def peers_installed() -> bool:
    from haluagent.bench.peers import PEERS, python_of
    from haluagent.errors import ConfigError

    try:
        return all(python_of(name).exists() for name in PEERS)
    except ConfigError:
        return False


def vllm_prepared() -> bool:
    import vllm_cpu

    return modules("torch", "transformers", "trl", "peft", "gguf", "datasets")() and vllm_cpu.is_prepared()


@dataclass(frozen=True)
class Group:
    """The tests that are marked with the group's name.

    `minutes` is what they take on two quiet cores, with what is installed for them. `sources` are the beginnings of
    paths. `there` tells whether the parts are on this machine, and `get` how to come by them. What runs `alone` takes
    all cores by itself. A group `by_name` is only run if it is named, and in `make test-all`.
    """

    minutes: float
    sources: tuple[str, ...]
    there: Callable[[], bool]
    get: str
    alone: bool = False
    by_name: bool = False


GROUPS = {
    "engine": Group(
        15.0,
        (
            "haluagent/models/",
            "haluagent/text/",
            "haluagent/judging/",
            "haluagent/tooling/",
            "haluagent/detection/",
            "haluagent/checks/claims/",
            "haluagent/bench/speed/",
            "haluagent/agent.py",
            "tools/",
            "prompts/",
        ),
        modules("xllamacpp"),
        'pip install ".[embedded]"',
        alone=True,
    ),
    "orders": Group(
        3.0,
        ("haluagent/judging/", "prompts/"),
        modules("xllamacpp"),
        'pip install ".[embedded]"',
        alone=True,
    ),
    "docker": Group(
        2.0,
        ("sandbox/", "tools/code_interpreter/", "tests/sandbox/"),
        succeeds("docker", "image", "inspect", "haluagent-sandbox"),
        "start a Docker engine and run `haluagent sandbox build`",
    ),
    "bubblewrap": Group(
        1.5,
        ("sandbox/", "tools/code_interpreter/", "tests/sandbox/"),
        succeeds("bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"),
        "install bubblewrap, where it may make namespaces",
    ),
    "browser": Group(
        1.0,
        ("haluagent/server/", "haluagent/bench/report/", "haluagent/bench/labelling/"),
        lambda: shutil.which("chromium") is not None,
        "install chromium",
    ),
    "slow": Group(
        1.0,
        ("haluagent/server/", "haluagent/bench/peers/", "haluagent/search/knowledge/"),
        lambda: True,
        "",
    ),
    "ray": Group(1.5, ("haluagent/batch/",), modules("ray"), 'pip install ".[ray]"', alone=True),
    "integrations": Group(
        1.5,
        (
            "haluagent/integrations/",
            "haluagent/pytest_plugin.py",
            "haluagent/server/tracing",
            "haluagent/models/calls",
            "haluagent/server/proxy/",
            "haluagent/checks/runs/",
        ),
        modules(
            "langchain", "langchain_core", "langgraph", "llama_index.core", "agents", "anthropic", "opentelemetry.sdk"
        ),
        'pip install ".[langchain,llamaindex,openai-agents,otel]" anthropic',
    ),
    "docs": Group(
        3.0,
        ("docs/", "mkdocs.yml", "examples/notebooks/"),
        modules("mkdocs", "material", "mkdocstrings_handlers.python", "nbclient", "ipykernel", "xllamacpp"),
        'pip install ".[embedded,docs]"',
        alone=True,
    ),
    "peers": Group(
        3.0,
        ("haluagent/bench/peers/", "haluagent/bench/methods/", "haluagent/checks/claims/"),
        peers_installed,
        "run `python -m haluagent.bench.peers.install`, which takes 1.3 GB",
    ),
    "train": Group(
        5.5,
        ("haluagent/train/", "haluagent/corpora/", "haluagent/bench/methods/small_judges.py"),
        modules("torch", "transformers", "trl", "peft", "gguf", "datasets", "sentence_transformers"),
        'pip install torch==2.13.0 ".[train,cross-encoder]"',
    ),
    "vllm": Group(
        6.0,
        (
            "haluagent/models/client.py",
            "haluagent/models/dialect.py",
            "haluagent/models/discovery.py",
            "haluagent/models/endpoint.py",
            "haluagent/models/scoring.py",
            "haluagent/models/engines/vllm.py",
            "tests/helpers/vllm_cpu",
        ),
        vllm_prepared,
        'pip install torch==2.13.0 ".[train]" and run `python tests/helpers/vllm_cpu.py`, which takes 2 GB',
        alone=True,
        by_name=True,
    ),
}


def touched(paths: Collection[str], root: Path = ROOT) -> list[str]:
    """The groups that one of the paths belongs to: as a source, or as a file of tests that has the group's mark."""
    texts = [
        (root / path).read_text("utf-8")
        for path in paths
        if path.startswith("tests/") and path.endswith(".py") and (root / path).is_file()
    ]
    return [
        name
        for name, group in GROUPS.items()
        if any(path.startswith(group.sources) for path in paths) or any(f"pytest.mark.{name}" in text for text in texts)
    ]


def choose(touched: Collection[str], turn: int) -> list[str]:
    """One group that was not touched, and the touched ones: the first whatever it takes, others while `MINUTES` last.

    The `turn` says in which order they come.
    """
    names = sorted(name for name, group in GROUPS.items() if not group.by_name)
    names = names[turn % len(names) :] + names[: turn % len(names)]
    chosen, left = [], MINUTES
    for name in names:
        if name in touched and (not chosen or GROUPS[name].minutes <= left):
            chosen.append(name)
            left -= GROUPS[name].minutes
    return chosen + [name for name in names if name not in touched][:1]


def git(*arguments: str, root: Path = ROOT) -> str:
    command = ["git", "-c", "safe.directory=*", *arguments]  # the checkout may be another user's
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def changed(root: Path = ROOT) -> list[str]:
    """The paths that the last commits and the working tree changed; where the history begins here, all paths."""
    commits = git("rev-list", "--first-parent", f"--max-count={COMMITS + 1}", "HEAD", root=root).split()
    if len(commits) == 1:
        return git("ls-files", root=root).splitlines()
    return git("diff", "--name-only", commits[-1], root=root).splitlines()


def rest(run: Collection[str], touched: Collection[str]) -> str:
    """One line about the groups that are not run, by name."""
    out = [f"{name} (touched)" if name in touched else name for name in GROUPS if name not in run]
    return f"Not run: {', '.join(out)}. `make test-all` runs every group." if out else "Every group was run."


def run(names: Collection[str]) -> int:
    """Run the groups without their core, side by side but for those that take all cores; the exit code is pytest's."""
    worst = 0
    for alone in (False, True):
        if chosen := [name for name in names if GROUPS[name].alone is alone]:
            command = [str(Path(sys.executable).with_name("pytest")), "--no-skips"]
            command += ["-m", f"not core and ({' or '.join(chosen)})"] + ["-n", "2", "--dist", "loadfile"] * (not alone)
            print(*command, flush=True)
            worst = max(worst, subprocess.run(command, cwd=ROOT / "tests").returncode)
    return worst


def main(command: str, *names: str) -> int:
    assert set(names) <= set(GROUPS), f"the groups are {', '.join(GROUPS)}"
    match command:
        case "names":
            print(*GROUPS)
        case "choose":
            print(*choose(touched(changed()), int(git("rev-parse", "HEAD^{tree}"), 16)))
        case "rest":
            print(rest(names, touched(changed())))
        case "run":
            return run(names)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
