"""`haluagent bench retrieval`: real indexes of a few made-up texts."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from haluagent.bench import retrieval
from haluagent.cli import main as cli
from haluagent.errors import ConfigError

ELBE = "The Elbe rises in the Czech Republic. Dresden lies on it."
TOWER = "埃菲尔铁塔高330米，位于巴黎。"


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    elbe = {"question": "Which town lies on the Elbe?", "text": ELBE}
    write(
        folder / "made.jsonl",
        elbe | {"claim": "Dresden", "wrong": False},
        elbe | {"claim": "Berlin", "wrong": True},
        {"question": "", "claim": "Bananas are yellow.", "text": "Bananas are mostly green.", "wrong": True},
    )
    write(folder / "read.jsonl", {"context": TOWER, "question": "埃菲尔铁塔有多高？", "answers": ["330米"]})
    return folder


def test_a_right_claim_or_its_question_is_a_query_and_a_wrong_one_only_gives_its_text(data: Path) -> None:
    texts, queries = retrieval.read([data])
    assert texts == [ELBE, "Bananas are mostly green.", TOWER]
    assert [(query.source, query.languages, query.text, query.answers) for query in queries] == [
        ("made", "en", "Which town lies on the Elbe?", ("Dresden",)),
        ("read", "zh", "埃菲尔铁塔有多高？", ("330米",)),
    ]


def test_only_a_passage_with_the_answer_counts(tmp_path: Path) -> None:
    filler = "The river Elbe is long and wide and old. " * 30
    text = f"{filler}\n\nDresden lies on the Elbe.\n\n{filler}"
    index = retrieval.build(tmp_path, [text])
    assert index.stats().passages > 2
    asked = retrieval.Query("made", "en", "Which town lies on the Elbe?", frozenset([text]), ("Dresden",))
    elsewhere = asked._replace(text="long wide old river", answers=("Dresden",))
    found, missed = asyncio.run(retrieval.look_up(index, [asked, elsewhere]))
    assert (found.place, missed.place) == (1, None)
    assert "| made | en | 2 | 50.0% | 50.0% |" in retrieval.table([found, missed])


def test_the_halves_share_no_text_and_a_sample_is_the_same_each_time() -> None:
    queries = [
        retrieval.Query("made", "en", f"q{number}", frozenset([f"text {number // 2}"]), ()) for number in range(40)
    ]
    one, other = (retrieval.in_half(queries, half) for half in (0, 1))
    assert len(one) + len(other) == 40 and one and other
    assert not {min(query.evidence) for query in one} & {min(query.evidence) for query in other}
    few = retrieval.sample(reversed(queries), 5)
    assert few == retrieval.sample(queries, 5) and len(few) == 5


def test_only_queries_about_texts_in_the_other_language_are_translated(scripted: Any) -> None:
    own = retrieval.Query("made", "zh", "埃菲尔铁塔有多高？", frozenset([TOWER]), ())
    other = own._replace(languages="en→zh", text="How high is the tower?")
    model = scripted(free="这座塔有多高？")
    assert asyncio.run(retrieval.translated(model, [own, other])) == [own, other._replace(text="这座塔有多高？")]
    assert len(model.seen) == 1
    assert asyncio.run(retrieval.translated(scripted(free=""), [other])) == [other]


def test_the_index_is_padded_with_made_passages(tmp_path: Path, data: Path) -> None:
    texts, _ = retrieval.read([data])
    assert retrieval.build(tmp_path, texts, [], 50).stats().passages >= 50


def test_the_command_prints_a_table(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    beside = tmp_path / "other.txt"
    beside.write_text("Something else entirely.")
    assert cli.run(["bench", "retrieval", "--data", str(data), "--beside", str(beside)]) == 0
    out, err = capsys.readouterr()
    assert "| made | en | 1 | 100.0% | 100.0% |" in out and "| read | zh | 1 | 100.0% | 100.0% |" in out
    assert "3 texts, 4 passages, 2 queries" in err


def test_what_is_missing_or_wrong_is_said_in_one_line(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        retrieval.read([tmp_path / "gone"])
    with pytest.raises(ConfigError, match="no question and no right claim"):
        retrieval.read([write(tmp_path / "empty-handed.jsonl", {"text": "Just a text."})])
    with pytest.raises(ConfigError, match="line 1: field 'text'"):
        retrieval.read([write(tmp_path / "other.jsonl", {"question": "What?"})])
    with pytest.raises(ConfigError, match="--beside"):
        retrieval.build(tmp_path, ["text"], [tmp_path / "gone"])
    with pytest.raises(ConfigError, match="--passages"):
        retrieval.build(tmp_path, [], passages=20)
