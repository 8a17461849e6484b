"""`haluagent index`: what a person types and reads."""

import json
from pathlib import Path

import pytest

from haluagent.cli import main as cli
from haluagent.cli.index import app


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALUAGENT_INDEX", str(tmp_path / "index.db"))
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("tower.md").write_text("# The \x1b[31mTower\n\nThe tower is 330 m high. It stands in Paris.\n")
    Path("rows.jsonl").write_text('{"answer": "a tiger"}\n{"answer": "a lion"}\n')
    Path("program.exe").write_text("x")
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], list[str]]:
    code = cli.run(["index", *arguments])
    out, err = capsys.readouterr()
    return code, out.splitlines(), err.splitlines()


def test_add_search_stats_remove(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    index = place.parent / "index.db"
    code, out, err = run(capsys, "add", "tower.md", ".", "--field", "answer")
    assert (code, err) == (0, [])
    assert out == [
        f"added {place}/tower.md, passages: 1",
        f"added {place}/rows.jsonl, passages: 2",
        f"{index}: 2 added, 1 skipped (hidden or of another type), 3 new passages",
    ]
    code, out, err = run(capsys, "search", "How high is the tower?", "--count", "1")
    assert (code, err) == (0, [])
    assert out == [
        "1. The [31mTower",
        f"   {(place / 'tower.md').as_uri()}",
        "   The tower is 330 m high. It stands in Paris.",
    ]
    assert run(capsys, "stats")[1] == [
        f"path:      {index}", "files:     2", "documents: 3", "passages:  3", "left out:  0", f"bytes:     {index.stat().st_size:,}",
    ]  # fmt: skip
    assert run(capsys, "remove", "tower.md") == (0, [f"removed {place}/tower.md"], [])
    assert run(capsys, "search", "tower") == (0, ["nothing found"], [])
    assert run(capsys, "remove", "tower.md") == (2, [], [f"haluagent: nothing of {place}/tower.md is in the index"])


def test_json_is_for_programs(capsys: pytest.CaptureFixture[str], place: Path, tmp_path: Path) -> None:
    other = str(tmp_path / "other.db")
    assert run(capsys, "add", "tower.md", "--index", other)[0] == 0
    _, out, _ = run(capsys, "search", "tower", "--json", "--index", other)
    [found] = json.loads("".join(out))
    assert found["url"] == (place / "tower.md").as_uri() and found["offset"] == 0 and "330 m" in found["text"]
    _, out, _ = run(capsys, "search", "zebra", "--json", "--index", other)
    assert json.loads("".join(out)) == []
    _, out, _ = run(capsys, "stats", "--json", "--index", other)
    assert json.loads("".join(out))["files"] == 1
    assert run(capsys, "stats")[0] == 2  # the default one was not touched


def test_what_is_left_out_is_named_with_its_line(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    Path("broken.pdf").write_text("no PDF")
    Path("mixed.jsonl").write_text('{"text": "a horse"}\n{"answer": "a bear"}')
    code, out, err = run(capsys, "add", ".")
    summary = (
        "2 added, 1 skipped (hidden or of another type), 2 could not be read, 1 rows or pages left out, 2 new passages"
    )
    assert code == 0 and out[-1].endswith(summary)
    problem = (
        "it has none of the fields text, content, output, passage, body, document; "
        "name the one with the text by --field (it has: answer)"
    )
    assert [line.replace(str(place), "") for line in err] == [
        "left out: /broken.pdf: it is no PDF that can be read (PdfStreamError: Stream has ended unexpectedly)",
        f"left out: /mixed.jsonl: line 2: {problem}",
        f"left out: /rows.jsonl: none of its rows is a document; line 2: {problem}",
    ]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["search", "x"], "there is no index"),
        (["stats"], "there is no index"),
        (["remove", "tower.md"], "there is no index"),
        (["add", "missing.txt"], "does not exist"),
        (["add", "empty"], "nothing was added: a folder is searched for readable .txt, "),
        (["add"], "Missing argument"),
        (["search", "x", "--count", "0"], "--count"),
        (["add", "tower.md", "--index", "/proc/index.db"], "cannot be opened or written"),
        (["add", "tower.md", "--index", "rows.jsonl"], "is no index of HaluAgent"),
    ],
)
def test_a_mistake_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str) -> None:
    Path("empty").mkdir()
    code, _, err = run(capsys, *arguments)
    assert code == 2 and len(err) == 1 and err[0].startswith("haluagent: ") and problem in err[0]


def test_it_has_these_commands() -> None:
    assert {command.callback.__name__ for command in app.registered_commands if command.callback} == {
        "add", "remove", "search", "stats",
    }  # fmt: skip
