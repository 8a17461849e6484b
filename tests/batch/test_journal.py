"""Journals: torn lines, two writers, broken lines."""

import json
from pathlib import Path

import pytest

from haluagent.batch.journal import Journal, read_lines
from haluagent.errors import ConfigError


def test_what_was_appended_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "run.jsonl"
    with Journal(path) as journal:
        journal.append('{"a": 1}')
        assert read_lines(path) == [{"a": 1}]  # at once, not when the file is closed
    with Journal(path) as journal:
        journal.append(json.dumps({"text": "一\u2028二"}, ensure_ascii=False))
    assert read_lines(path) == [{"a": 1}, {"text": "一\u2028二"}]


@pytest.mark.parametrize("torn", ['{"b": 2}', '{"b"', "\udcff"])
def test_a_line_that_was_cut_off_is_dropped(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b'{"a": 1}\n' + torn.encode(errors="surrogateescape"))
    assert read_lines(path) == [{"a": 1}]
    with Journal(path) as journal:
        journal.append('{"c": 3}')
    assert path.read_bytes() == b'{"a": 1}\n{"c": 3}\n'


def test_a_long_line_that_was_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("haluagent.batch.journal.CHUNK", 4)
    path = tmp_path / "run.jsonl"
    path.write_bytes(b'{"a": 1}\n{"b": "' + b"x" * 50)
    with Journal(path) as journal:
        journal.append('{"c": 3}')
    assert path.read_bytes() == b'{"a": 1}\n{"c": 3}\n'


def test_a_file_without_a_whole_line_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"mine")
    with pytest.raises(ConfigError, match="notes.txt holds no whole line: name another file"):
        Journal(path)
    assert path.read_bytes() == b"mine"


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Journal(path), pytest.raises(ConfigError, match="another process is writing .*run.jsonl: wait for it"):
        Journal(path)
    with Journal(path):
        pass


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"a": 1}\n[]\n')
    with pytest.raises(ConfigError, match="line 2 is not a JSON object"):
        read_lines(path)
    path.write_text('{"a": 1}\n{\n{}\n')
    with pytest.raises(ConfigError, match="line 2 is not JSON"):
        read_lines(path)


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        Journal(tmp_path / "file" / "run.jsonl")
