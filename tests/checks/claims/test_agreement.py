"""RefChecker's benchmark in its published form, made up here, and results beside human labels."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from haluagent.checks.claims import benchmark
from haluagent.checks.claims.metrics import response_agreement
from haluagent.cli.claims import app
from haluagent.errors import ConfigError

E, N, C = "Entailment", "Neutral", "Contradiction"
OSK = ["Osk", "has", "a tower"]
ULM = ["Ulm", "built", "it"]


def save(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def answer(id: Any, *labels: str | None, response: str = "Osk has a tower.") -> dict[str, Any]:
    triplets = [{"triplet": [*OSK[:2], f"{OSK[2]} {at}"], "human_label": label} for at, label in enumerate(labels)]
    return {"id": id, "response": response, "claude2_response_kg": triplets}


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """The annotations of two models and, beside them, the files that the three data sets are published in."""
    folder = tmp_path / "human_annotations_v1"
    save(folder / "zero_context" / "nq_gpt4_answers.json", [answer("77", E, C)])
    save(folder / "noisy_context" / "msmarco_gpt4_answers.json", [answer("1", E, N), answer("9", response=" ")])
    save(folder / "noisy_context" / "msmarco_alpaca_7B_answers.json", [answer("1")])
    save(folder / "accurate_context" / "dolly_gpt4_answers.json", [answer("1", E, None)])
    page = [{"token": word, "html_token": word.startswith("<")} for word in ["<P>", "Osk", "has", "none", "</P>", "x"]]
    annotation = {
        "long_answer": {"start_token": 0, "end_token": 5},
        "short_answers": [{"start_token": 3, "end_token": 4}],
    }
    none = {"long_answer": {"start_token": -1, "end_token": -1}, "short_answers": []}
    row = {"example_id": 77, "question_text": "tower?", "document_tokens": page, "annotations": [none, annotation]}
    with gzip.open(tmp_path / "nq-dev-00.jsonl.gz", "wt") as file:
        file.write(json.dumps(row | {"example_id": 5}) + "\n" + json.dumps(row) + "\n")
    passages = [{"is_selected": 0, "passage_text": text, "url": ""} for text in ("Osk.", "Ulm.")]
    columns = {
        "query_id": {"0": 1, "1": 9},
        "query": {"0": "osk?", "1": "ulm?"},
        "passages": {"0": passages, "1": passages},
    }
    save(tmp_path / "dev_v2.1.json", columns)
    dolly = [{"instruction": f"q{n}", "context": f"c{n}", "response": "", "category": "closed_qa"} for n in range(2)]
    (tmp_path / "databricks-dolly-15k.jsonl").write_text("".join(json.dumps(one) + "\n" for one in dolly))
    return tmp_path


def test_annotations_are_joined_with_the_data_sets_as_published(published: Path) -> None:
    found = benchmark.load([published / "human_annotations_v1"], [published])
    by_place = {(item["setting"], item["model"]): item for item in found.items}
    zero, noisy = by_place["zero_context", "gpt4"], by_place["noisy_context", "gpt4"]
    assert (zero["question"], zero["reference"], zero["human_labels"]) == ("tower?", ["Osk has none"], [E, C])
    assert (noisy["question"], noisy["reference"], noisy["id"]) == ("osk?", ["Osk.", "Ulm."], "1")
    assert by_place["noisy_context", "alpaca_7B"]["claims"] == []
    accurate = by_place["accurate_context", "gpt4"]  # the same id as a question of MS MARCO
    assert (accurate["question"], accurate["reference"], accurate["human_labels"]) == ("q1", ["c1"], [E])
    assert found.remarks == ("1 triplets without a label are left out", "1 empty responses are left out")


def test_the_files_that_refcheckers_script_makes(published: Path, tmp_path: Path) -> None:
    gathered = save(
        tmp_path / "data" / "noisy_context" / "msmarco.json", [{"id": "1", "question": "q", "context": ["a"]}] * 2
    )
    files = [published / "human_annotations_v1" / "noisy_context" / "msmarco_alpaca_7B_answers.json"]
    assert benchmark.load(files, [gathered]).items[0]["question"] == "q"
    found = benchmark.load([*files, published / "human_annotations_v1" / "zero_context"], [gathered])
    assert len(found.items) == 1 and found.remarks == ("zero_context is left out: no file of references has nq",)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "nq_a_answers.json",
            [answer("8", E)],
            "answer 8: its question is not in the references given for zero_context",
        ),
        ("nq_a_answers.json", [{"id": 1}], "item 1 has no `id` or no `response`"),
        (
            "nq_a_answers.json",
            [answer("77") | {"claude2_response_kg": [{"triplet": ["a"], "human_label": E}]}],
            "a triplet is",
        ),
        ("nq_answers.json", [], "is no file of annotations"),
        ("msmarco.json", [{"id": 1}], "is no file of annotations"),
    ],
)
def test_annotations_of_another_form_are_refused(published: Path, name: str, content: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        benchmark.load([save(published / "other" / name, content)], [published / "nq-dev-00.jsonl.gz"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"query_id": 1, "query": "q", "passages": 3}', "row 1 is not as published"),
        ("{", "is not JSON"),
        ('[{"id": 1, "question": "q", "context": ["c"]}]', "name it nq.json"),
        ("[]", "left out"),
    ],
)
def test_references_of_another_form_are_refused(published: Path, content: str, message: str) -> None:
    (published / "strange.json").write_text(content)
    with pytest.raises(ConfigError, match=message):
        benchmark.load([published / "human_annotations_v1"], [published / "strange.json"])


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


def test_the_benchmark_is_checked_and_compared(published: Path, endpoint: Any) -> None:
    gold, out = published / "gold.json", published / "out.json"
    call = run(
        "benchmark",
        "--annotations",
        published / "human_annotations_v1",
        "--references",
        published,
        "--output_path",
        gold,
    )
    assert call.exit_code == 0 and call.stdout.endswith("gold.json: 4 responses, 5 claims\n"), call.output
    call = run("check", "--input_path", gold, "--output_path", out, "--endpoint", endpoint.base_url, "--search", "none")
    assert call.exit_code == 0, call.output
    call = run("agreement", out)
    rows = [line.split(" | ")[0] for line in call.stdout.splitlines() if line.startswith("| ")]
    settings = ["| noisy_context", "| accurate_context", "| zero_context", "| all"]
    assert sorted(rows) == sorted(["| responses", *settings, "| claims", *settings]), call.output
    assert "1 responses without human claims are left out." in call.stdout


def test_figures_of_results() -> None:
    labels: Any = [[E, E], [E, N], [], None, [C]]
    gold: Any = [[E, E], [C], [E], [N], []]
    found = response_agreement(labels, gold)
    assert (found.n, found.accuracy) == (4, 0.75)
    assert (found.fact_f1, found.nonfact_f1) == (1.0, 2 / 3) and found.macro_f1 == pytest.approx(5 / 6)
    assert found.pearson == pytest.approx(1.0) and found.spearman == pytest.approx(1.0)


def test_results_of_any_file_with_human_labels(tmp_path: Path) -> None:
    items = [
        {"ys": [E, C], "people": ["entailment", "Neutral"]},
        {"ys": [E], "people": [E, C]},
        {"error": "the model failed", "people": [C]},
        {"ys": [N]},
    ]
    call = run("agreement", save(tmp_path / "out.json", items), "--gold", "people")
    assert call.exit_code == 0, call.output
    assert "| all | 3 | 33.3 | 25.0 | 0.0 | 50.0 |" in call.stdout  # a failed one is neither
    assert "| all | 3 | 33.3 | 33.3 | 100.0 | 66.7 |" in call.stdout
    assert "1 responses could not be checked" in call.stdout and "1 responses have other claims" in call.stdout
    with (tmp_path / "out.csv").open("w", newline="") as file:
        rows = [["ys", "people", "error"], *([json.dumps(i.get("ys")), json.dumps(i["people"]), ""] for i in items[:2])]
        csv.writer(file).writerows(rows)
    assert "| all | 2 | 50.0 |" in run("agreement", tmp_path / "out.csv", "--gold", "people").stdout


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([{"ys": [E]}], "no item has `human_labels`"),
        ([{"human_labels": [E]}], "item 1 has no `ys`"),
        ([{"ys": [E], "human_labels": ["true"]}], "item 1: `human_labels` is not a list of Entailment"),
        ([3], "item 1 is not an object"),
    ],
)
def test_results_that_cannot_be_compared(tmp_path: Path, items: Any, message: str) -> None:
    call = run("agreement", save(tmp_path / "out.json", items))
    assert isinstance(call.exception, ConfigError) and message in str(call.exception)
