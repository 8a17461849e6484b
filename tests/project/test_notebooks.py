"""The notebooks run from the first cell to the last, and print what they show. They need the extra "docs"."""

import re
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def printed(notebook: Any) -> list[str]:
    """Return what each cell prints or shows, without the figures of what was sampled."""
    found = []
    for cell in notebook.cells:
        outputs = cell.get("outputs", [])
        text = "".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)
        found.append(re.sub(r"\d of 4 formulas.*", "", text))
    return found


@pytest.mark.docs
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbclient
    import nbformat

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(path, as_version=4)
    before = printed(notebook)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert printed(notebook) == before


def test_there_are_two_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["first_steps", "own_documents"]
