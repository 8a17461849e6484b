"""The architecture, held: each room imports only from lower ones, and no file is in a circle of imports."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from places import ROOT

# Lowest first. A line's rooms know nothing of each other, nor of any line below it.
LAYERS = (
    ("types", "errors"),
    ("protocols", "events", "settings"),
    ("text",),
    ("sandbox", "prompts", "models"),
    ("arithmetic", "search"),
    ("judging",),
    ("tooling",),
    ("tools",),
    ("detection",),
    ("agent", "report"),
    ("batch",),
    ("checks",),
    ("corpora",),
    ("bench",),
    ("train",),
    ("server", "integrations"),
    ("cli", "pytest_plugin"),
    ("__main__",),
)
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
PLACES = {
    "haluagent": "haluagent",
    "tools": "haluagent.tools",
    "prompts": "haluagent.prompts",
    "sandbox": "haluagent.sandbox",
}
PUBLIC = "haluagent"  # the package itself gives its public names lazily, from any room


def files() -> Iterator[tuple[str, Path]]:
    """Yield every module of the package with its file."""
    for folder, package in PLACES.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            if "workers" not in parts:  # programs that run in the environments of the peers
                yield ".".join([package, *(part for part in parts if part != "__init__")]), path


@cache
def graph() -> dict[str, set[str]]:
    """Return the modules that each module imports, wherever in the file it does so."""
    modules = dict(files())
    found: dict[str, set[str]] = {name: set() for name in modules}
    for name, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found[name] |= {alias.name for alias in node.names if alias.name in modules}
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                whole = [f"{node.module}.{alias.name}" for alias in node.names]
                found[name] |= {one if one in modules else node.module for one in whole if node.module in modules}
            assert not (isinstance(node, ast.ImportFrom) and node.level), f"{name}: write its imports from haluagent on"
        found[name] -= {PUBLIC} if name != PUBLIC else found[name]
    return found


def room(module: str) -> str:
    return module.split(".")[1]


def test_every_room_has_its_layer() -> None:
    rooms = {room(name) for name in graph() if name != PUBLIC}
    assert rooms == set(LEVEL)


@pytest.mark.parametrize("module", [name for name in graph() if name != PUBLIC])
def test_a_room_imports_only_from_lower_ones(module: str) -> None:
    own = room(module)
    wrong = [other for other in graph()[module] if room(other) != own and LEVEL[room(other)] >= LEVEL[own]]
    assert wrong == []


def test_no_circles() -> None:
    try:
        tuple(TopologicalSorter(graph()).static_order())
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' -> '.join(error.args[1])}")


def test_the_root_holds_the_public_face_and_nothing_else() -> None:
    modules = [path.name for path in (ROOT / "haluagent").glob("*.py")]
    assert len(modules) <= 10, modules


def test_no_two_public_classes_have_one_name() -> None:
    homes: dict[str, list[str]] = {}
    for name, path in files():
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(name)
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def test_the_core_takes_nothing_from_a_tool() -> None:
    """The agent has the tools from `default_registry`; what it shares with them lives in lower rooms."""
    core = {"text", "arithmetic", "judging", "tooling", "detection", "agent", "report", "batch", "checks"}
    taken = {
        (name, other)
        for name, imported in graph().items()
        if name != PUBLIC and room(name) in core
        for other in imported
        if other.startswith("haluagent.tools.")
    }
    assert taken == set()
