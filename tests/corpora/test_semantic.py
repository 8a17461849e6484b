"""Right answers are read from files as they are published; a model changes them, and a judge looks at both sides."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from scripted import prompt
from typer.testing import CliRunner

from haluagent import HaluAgent
from haluagent.bench.datasets.loading import load
from haluagent.cli.trajectories import app
from haluagent.corpora import gold_answers, semantic
from haluagent.errors import ConfigError
from haluagent.train.trajectories.sources import read_items

NONE = {"number": "", "date": {"day": "", "month": "", "year": ""}, "spans": []}
FORMS = {
    "drop": {
        "nfl_1": {
            "passage": "The Rams kicked twice, the Chiefs once.",
            "qa_pairs": [
                {"query_id": "a", "question": "How many kicks had the Rams?", "answer": NONE | {"number": "2"}},
                {"query_id": "b", "question": "Who kicked?", "answer": NONE | {"spans": ["Rams", "Chiefs"]}},
                {"query_id": "c", "question": "When?", "answer": NONE | {"date": {"day": "3", "month": "May", "year": ""}}},
                {"query_id": "d", "question": "Why?", "answer": NONE},
            ],
        }
    },
    "covidqa": {
        "data": [{"paragraphs": [{"context": "The test is rRT-PCR.", "document_id": 7, "qas": [
            {"id": 1, "question": "Which test?", "answers": [{"text": "rRT-PCR", "answer_start": 12}], "is_impossible": False},
            {"id": 2, "question": "Which cure?", "answers": [], "is_impossible": True},
        ]}]}]
    },
    "pubmedqa": {"123": {
        "QUESTION": "Does it help?", "CONTEXTS": ["We asked 20.", "It helped 18."], "LONG_ANSWER": "It helps.", "final_decision": "yes",
    }},
    "financebench": {
        "financebench_id": "f1", "doc_name": "A_2018", "question": "What is revenue?", "answer": "$ 64",
        "evidence": [{"evidence_text": "Net revenue 64"}, {"evidence_text": "in millions"}],
    },
    "own": {"id": 3, "passage": "It rains.", "question": "What is the weather?", "answer": "Rain."},
}  # fmt: skip
ANSWERS = {
    "drop": ["2", "Rams, Chiefs", "3 May"], "covidqa": ["rRT-PCR"], "pubmedqa": ["Yes. It helps."],
    "financebench": ["$ 64"], "own": ["Rain."],
}  # fmt: skip


@pytest.mark.parametrize("source", list(FORMS))
def test_published_forms_are_read(tmp_path: Path, source: str) -> None:
    file = tmp_path / "file"
    file.write_text(json.dumps(FORMS[source]), encoding="utf-8")
    found = gold_answers.read(file, source)
    assert [one.answer for one in found] == ANSWERS[source]
    assert len({one.group for one in found}) == 1 and all(one.passage and one.question for one in found)
    for broken in ("{", json.dumps({"data": 3}), json.dumps([1]), '{"x": {}}', ""):
        file.write_text(broken, encoding="utf-8")
        with pytest.raises(ConfigError, match=source):
            gold_answers.read(file, source)
    with pytest.raises(ConfigError, match="no source"):
        gold_answers.read(file, "squad")


def test_the_rows_of_halubench_that_fail_are_no_gold_answers(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    rows = [FORMS["own"] | {"label": "FAIL"}, FORMS["own"] | {"id": 4, "label": "PASS"}]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert [one.id for one in gold_answers.read(file, "own")] == ["own:4"]


GOLD = gold_answers.GoldAnswer(
    id="own:1", group="own:1", source="own", language="en", passage="Harlow Tower was built in 1834 by Mary Ellis.",
    question="Who built Harlow Tower?", answer="Mary Ellis.",
)  # fmt: skip
REPLY = json.dumps({"change_made": "another builder", "new_answer": "John Carrick."})


@pytest.mark.parametrize(
    ("reply", "believed", "dropped"),
    [
        (REPLY, {"Mary": "said", "John": "otherwise"}, None),
        (REPLY, {"Mary": "otherwise", "John": "otherwise"}, "pass the right"),
        (REPLY, {"Mary": "said", "John": "said"}, "fail the changed"),
        ('{"change_made": "x", "new_answer": "Mary Ellis"}', {}, "not changed"),
        ('{"change_made": "x", "new_answer": "' + "long " * 30 + '"}', {}, "longer"),
        ("I cannot.", {}, "form"),
        ('{"new_answer": "John"}', {}, "form"),
    ],
)
def test_both_sides_are_judged(scripted: Any, reply: str, believed: dict[str, Any], dropped: str | None) -> None:
    from scripted import believes

    def belief(text: str) -> Any:
        return next(said for name, said in believed.items() if name in text.split("</reference>")[-1])

    model = scripted([reply], choose=believes(belief))
    with HaluAgent(model, sandbox="none", search="none") as agent:
        pair = asyncio.run(semantic.perturb(agent, GOLD))
    assert pair.dropped is None if dropped is None else dropped in (pair.dropped or "")
    if dropped is None:
        assert pair.right_score is not None and pair.wrong_score is not None and pair.right_score < pair.wrong_score
        assert pair.change == "another builder" and [row.label for row in semantic.halubench_rows(pair)] == [
            "PASS",
            "FAIL",
        ]
    assert "Mary Ellis" in prompt(model.seen[0])


def test_the_command_goes_on_and_writes_both_forms(
    endpoint: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path / "cache"))
    endpoint.say = lambda messages: REPLY
    data, out, bench, items = (
        tmp_path / name for name in ("own.jsonl", "pairs.jsonl", "halubench.jsonl", "items.jsonl")
    )
    row = {"passage": GOLD.passage, "question": GOLD.question, "answer": GOLD.answer}
    data.write_text("".join(json.dumps(row | {"id": number}) + "\n" for number in (1, 2)), encoding="utf-8")
    given = ["perturb", "--data", str(data), "--out", str(out), "--base-url", endpoint.base_url]
    first = CliRunner().invoke(app, [*given, "--limit", "1"])
    assert first.exit_code == 3, first.output
    done = CliRunner().invoke(app, given)
    # The endpoint likes a letter, whatever is asked: that is no verdict, so no pair is kept.
    assert done.exit_code == 0 and "dropped: 2, the judge does not pass the right answer" in done.output, done.output
    chats = endpoint.chats
    # What was judged is written without asking again.
    kept = [json.loads(line) | {"dropped": None} for line in out.read_text().splitlines()]
    out.write_text("".join(json.dumps(one) + "\n" for one in kept))
    done = CliRunner().invoke(app, [*given, "--halubench", str(bench), "--items", str(items)])
    assert done.exit_code == 0 and endpoint.chats == chats, done.output
    assert [item.wrong for item in load("halubench", tmp_path)] == [False, True, False, True]
    lessons = read_items(items)
    assert [one.gold for one in lessons] == [False, True, False, True] and lessons[1].change is not None
    same = CliRunner().invoke(app, [*given, "--items", str(out)])
    assert isinstance(same.exception, ConfigError)
    data.write_text(json.dumps(row | {"id": 1, "answer": "Ellis"}) + "\n", encoding="utf-8")
    other = CliRunner().invoke(app, given)
    assert isinstance(other.exception, ConfigError) and "other answers" in str(other.exception)
