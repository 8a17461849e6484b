"""The labelled sets: what is read from rows made up here in each set's format, and what never is."""

import copy
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from haluagent.bench.datasets import loading
from haluagent.bench.datasets.catalogue import DATASETS
from haluagent.bench.datasets.loading import load
from haluagent.errors import ConfigError

GOLD = "GOLD-ONLY-MARKER"
Files = dict[str, list[dict[str, Any]]]
Path_ = tuple[str | int, ...]
LABELLED = [name for name in DATASETS if name != "cmrc2018"]  # that one is made from questions (test_made_pairs.py)


def judged(wrong: bool, **more: Any) -> dict[str, Any]:
    return {"question": "一共有几个苹果?", "answer": "一共有五个。", "judge": int(wrong), **more}


def made(name: str, wrong: bool) -> Files:
    """One row of a set, right or wrong, whose gold fields are marked where they can hold a text."""
    label = not wrong
    labels = [{"start": 0, "end": 2, "text": GOLD, "meta": GOLD, "label_type": GOLD}] if wrong else []
    rag = {"id": "7", "source_id": "3", "model": GOLD, "response": "Open daily.", "split": "test", "quality": "good"}
    pair = {"knowledge": "The sky is blue.", "question": "Which colour?"}
    spans = [GOLD]
    return {
        "webqa": {"webqa": [judged(wrong, id=5, output=GOLD)]},
        "ape210k": {
            "ape210k": [
                judged(wrong, id="a", chain=GOLD, result=GOLD, equation=GOLD, question_english=GOLD, result_float=1.0)
            ]
        },
        "humaneval": {"humaneval": [judged(wrong, id="1", run_id=GOLD)]},
        "wordcnt": {"wordcnt": [judged(wrong, question_id=2, length=GOLD)]},
        "halueval_qa": {"halueval_qa": [judged(wrong, knowledge="Five apples.", right_answer=GOLD)]},
        "halluqa": {"halluqa": [judged(wrong, id=3, original_question={"Best Answer1": GOLD, "Wrong_Answer1": GOLD})]},
        "halueval2": {"halueval2": [judged(wrong, facts=[GOLD])]},
        "translation": {"translation_date": [judged(wrong, gold=GOLD) | {"question": "把“苹果”翻译成英文。"}]},
        "date": {"translation_date": [judged(wrong, gold=GOLD) | {"question": "从2001-01-01到2001-01-03共有多少天？"}]},
        "factool_kbqa": {
            "factool_knowledge_qa": [
                {
                    "prompt": "Which is larger?",
                    "response": GOLD,
                    "claims": [{"claim": "One is\nlarger", "label": label}, {"claim": "Two is not", "label": GOLD}],
                    "label": GOLD,
                    "entry_point": GOLD,
                }
            ]
        },
        "factool_math": {
            "factool_math": [
                {
                    "prompt": "How much is it?",
                    "response": GOLD,
                    "answer": GOLD,
                    "claims": [
                        {"claim": {"math_calculation": "2 x 3", "calculated_answer": "6"}, "label": label},
                        {"claim": {"math_calculation": "6 + 1", "calculated_answer": 7}, "label": GOLD},
                    ],
                    "label": GOLD,
                }
            ]
        },
        "factool_science": {
            "factool_scientific": [
                {
                    "prompt": "Which papers are there?",
                    "response": GOLD,
                    "claims": [
                        {
                            "paper_title": "On Apples",
                            "paper_author(s)": "A. Pear et al.",
                            "paper_pub_year": "1999",
                            "label": label,
                        }
                    ],
                    "label": GOLD,
                }
            ]
        },
        "factool_chinese": {
            "factool_chinese": [
                {
                    "id": 9,
                    "prompt": "哪个大?",
                    "response": GOLD,
                    "claims": [{"claim": "一大"}, {"claim_logic": "二小"}],
                    "queries": [[GOLD]],
                    "evidences": [{"evidence": [GOLD], "source": [GOLD]}],
                    "claim_level_factuality": [
                        {"factuality": label, "claim": GOLD, "reasoning": GOLD, "error": GOLD, "correction": GOLD},
                        None,
                    ],
                    "response_level_factuality": GOLD,
                }
            ]
        },
        "halubench": {
            "halubench": [
                {
                    "id": "x",
                    "passage": "The sky is blue.",
                    "question": "Which colour?",
                    "answer": "Blue.",
                    "label": "FAIL" if wrong else "PASS",
                    "source_ds": GOLD,
                    "score": GOLD,
                }
            ]
        },
        "ragtruth": {
            "response": [rag | {"labels": labels}],
            "source_info": [
                {
                    "source_id": "3",
                    "task_type": "Data2txt",
                    "source": GOLD,
                    "source_info": {"name": "Pear Café", "hours": {"Monday": "9:0-12:0"}},
                    "prompt": GOLD,
                }
            ],
        },
        "halueval": {
            "qa_data": [pair | {"right_answer": "Blue.", "hallucinated_answer": "Red.", "reason": GOLD}],
            "dialogue_data": [
                {
                    "knowledge": "The sky is blue.",
                    "dialogue_history": "[Human]: Which colour?",
                    "right_response": "It is blue.",
                    "hallucinated_response": "It is red.",
                    "reason": GOLD,
                }
            ],
            "summarization_data": [
                {
                    "document": "The sky is blue.",
                    "right_summary": "Sky blue.",
                    "hallucinated_summary": "Sky red.",
                    "question": GOLD,
                }
            ],
            "general_data": [
                {
                    "ID": GOLD,
                    "user_query": "Write a word.",
                    "chatgpt_response": "Word",
                    "hallucination": "yes" if wrong else "No",
                    "hallucination_spans": spans,
                }
            ],
        },
        "faithbench": {
            "faithbench": [
                {
                    "source": "The sky is blue.",
                    "summary": "Blue sky.",
                    "LLM": GOLD,
                    "worst-label": "Unwanted" if wrong else "Benign",
                    "best-label": GOLD,
                    "annotations": [GOLD],
                }
            ]
        },
    }[name]


def write(directory: Path, files: Files, suffix: str = ".jsonl") -> Path:
    for stem, rows in files.items():
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (directory / f"{stem}{suffix}").write_text(lines, encoding="utf-8")
    return directory


@pytest.mark.parametrize("name", LABELLED)
def test_a_method_is_shown_nothing_of_the_gold_answer(name: str, tmp_path: Path) -> None:
    assert GOLD in json.dumps(made(name, True)), "the row must hold what could be shown by mistake"
    for item in load(name, write(tmp_path, made(name, True))):
        assert GOLD not in f"{item.question}{item.response}{item.reference}"


@pytest.mark.parametrize("name", LABELLED)
def test_the_label_changes_the_label_only(name: str, tmp_path: Path) -> None:
    def shown(wrong: bool) -> list[tuple[str, str, str | None, str, list[str]]]:
        items = load(name, write(tmp_path, made(name, wrong)))
        assert items[-1].wrong is wrong
        return [(i.question, i.response, i.reference, i.language, [c.text for c in i.claims]) for i in items]

    assert shown(False) == shown(True)


@pytest.mark.parametrize("name", LABELLED)
def test_items_are_as_the_registry_says(name: str, tmp_path: Path) -> None:
    dataset = DATASETS[name]
    items = load(name, write(tmp_path, made(name, False)))
    assert all(item.question.strip() and item.response.strip() and item.language in dataset.languages for item in items)
    assert bool(items[0].reference) == dataset.reference
    assert all(bool(item.claims) == (dataset.level == "sentence") for item in items)
    for item in items:
        assert not item.claims or item.response.split("\n") == [claim.text for claim in item.claims]


@pytest.mark.parametrize("name", LABELLED)
def test_ids_are_unique(name: str, tmp_path: Path) -> None:
    files = {stem: rows * (1 if stem == "source_info" else 3) for stem, rows in made(name, True).items()}
    ids = [item.id for item in load(name, write(tmp_path, files))]
    assert len(set(ids)) == len(ids) >= 3


REQUIRED: dict[str, dict[str, list[Path_]]] = {
    "webqa": {"webqa": [("question",), ("answer",), ("judge",), ("output",)]},
    "ape210k": {"ape210k": [("question",), ("answer",), ("judge",), ("equation",)]},
    "humaneval": {"humaneval": [("question",), ("answer",), ("judge",)]},
    "wordcnt": {"wordcnt": [("question",), ("answer",), ("judge",)]},
    "halueval_qa": {"halueval_qa": [("question",), ("answer",), ("judge",), ("knowledge",)]},
    "halluqa": {"halluqa": [("question",), ("answer",), ("judge",)]},
    "halueval2": {"halueval2": [("question",), ("answer",), ("judge",)]},
    "translation": {"translation_date": [("question",), ("answer",), ("judge",)]},
    "date": {"translation_date": [("question",), ("answer",), ("judge",)]},
    "factool_kbqa": {"factool_knowledge_qa": [("prompt",), ("claims",), ("claims", 0, "claim")]},
    "factool_math": {"factool_math": [("prompt",), ("claims",), ("claims", 1, "claim")]},
    "factool_science": {
        "factool_scientific": [("prompt",), ("claims",), ("claims", 0, "paper_title"), ("claims", 0, "paper_author(s)")]
    },
    "factool_chinese": {
        "factool_chinese": [("prompt",), ("claims",), ("claims", 0, "claim"), ("claim_level_factuality",)]
    },
    "halubench": {"halubench": [("passage",), ("question",), ("answer",), ("label",)]},
    "ragtruth": {
        "response": [("id",), ("source_id",), ("response",), ("labels",), ("split",), ("quality",)],
        "source_info": [("source_id",), ("task_type",), ("source_info",)],
    },
    "halueval": {
        "qa_data": [("knowledge",), ("question",), ("right_answer",), ("hallucinated_answer",)],
        "dialogue_data": [("knowledge",), ("dialogue_history",), ("right_response",), ("hallucinated_response",)],
        "summarization_data": [("document",), ("right_summary",), ("hallucinated_summary",)],
        "general_data": [("user_query",), ("chatgpt_response",), ("hallucination",)],
    },
    "faithbench": {"faithbench": [("source",), ("summary",), ("worst-label",)]},
}
FIELDS = [
    pytest.param(name, stem, field, id=f"{name}-{stem}-{'.'.join(map(str, field))}")
    for name, files in REQUIRED.items()
    for stem, fields in files.items()
    for field in fields
]


def test_every_set_is_tested() -> None:
    assert set(REQUIRED) == set(LABELLED)


def second_row_bad(name: str, stem: str, field: Path_, value: Iterable[Any]) -> Files:
    """The made-up rows, then once more with a field of the file `stem` replaced, or removed for no value."""
    files = made(name, True)
    row = copy.deepcopy(files[stem][0])
    holder: Any = row
    for key in field[:-1]:
        holder = holder[key]
    del holder[field[-1]]
    for one in value:
        holder[field[-1]] = one
    return files | {stem: [*files[stem], row]}


@pytest.mark.parametrize(("name", "stem", "field"), FIELDS)
def test_a_bad_row_is_named(name: str, stem: str, field: Path_, tmp_path: Path) -> None:
    place = f"{stem}.jsonl, line 2: field '{'.'.join(map(str, field))}' is "
    for value in ([], [1.5]):
        with pytest.raises(ConfigError) as caught:
            load(name, write(tmp_path, second_row_bad(name, stem, field, value)))
        message = str(caught.value)
        assert place + ("1.5: expected is " if value else "missing") in message
        assert "\n" not in message and bool(value) != message.endswith("is it the file of another set?")


@pytest.mark.parametrize("name", LABELLED)
def test_a_blank_text_a_row_that_is_no_object_and_an_empty_file_are_refused(name: str, tmp_path: Path) -> None:
    stem, fields = next(iter(REQUIRED[name].items()))
    text = next(field for field in fields if field[-1] in ("question", "prompt", "response", "source"))
    with pytest.raises(ConfigError, match=rf"{stem}.jsonl, line 2: field '{text[0]}' is ' ': expected is text"):
        load(name, write(tmp_path, second_row_bad(name, stem, text, [" "])))
    write(tmp_path, made(name, True))
    (tmp_path / f"{stem}.jsonl").write_text('"only a text"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"{stem}.jsonl, line 1: a JSON object is expected"):
        load(name, tmp_path)
    (tmp_path / f"{stem}.jsonl").write_text("\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"{stem}.jsonl is empty"):
        load(name, tmp_path)


def test_a_label_is_zero_or_one_and_not_the_like(tmp_path: Path) -> None:
    for value in (2, True, "1", 1.0, None):
        with pytest.raises(ConfigError, match="line 2: field 'judge' is .*: expected is 0 or 1"):
            load("webqa", write(tmp_path, second_row_bad("webqa", "webqa", ("judge",), [value])))


def test_a_line_that_is_not_json_is_named(tmp_path: Path) -> None:
    write(tmp_path, made("webqa", True))
    with (tmp_path / "webqa.jsonl").open("a", encoding="utf-8") as file:
        file.write('\n{"question": \n')
    with pytest.raises(ConfigError, match=r"webqa\.jsonl, line 3: JSON is expected"):
        load("webqa", tmp_path)


def test_only_line_feeds_end_a_line(tmp_path: Path) -> None:
    row = judged(False, id=1, output="") | {"answer": "一\u2028二\u0085三"}
    items = load("webqa", write(tmp_path, {"webqa": [row, row]}))
    assert [item.response for item in items] == ["一\u2028二\u0085三"] * 2


def test_an_array_reads_as_lines_do(tmp_path: Path) -> None:
    rows = made("webqa", True)["webqa"] * 2
    (tmp_path / "webqa.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    (tmp_path / "lines").mkdir()
    assert load("webqa", tmp_path) == load("webqa", write(tmp_path / "lines", {"webqa": rows}))


def test_csv_keeps_the_line_breaks_in_a_field(tmp_path: Path) -> None:
    text = (
        '\ufeffsource,summary,LLM,worst-label,best-label\n"Two\nlines, one ""word""",Short,m,Questionable,Consistent\n'
    )
    (tmp_path / "faithbench.csv").write_text(text, encoding="utf-8")
    (item,) = load("faithbench", tmp_path)
    assert (item.reference, item.response, item.wrong) == ('Two\nlines, one "word"', "Short", True)


@pytest.mark.parametrize(
    ("worst", "wrong"), [("Consistent", False), ("Benign", False), ("Questionable", True), ("Unwanted", True)]
)
def test_faithbench_is_wrong_by_its_worst_annotation(worst: str, wrong: bool, tmp_path: Path) -> None:
    row = made("faithbench", True)["faithbench"][0] | {"worst-label": worst}
    assert load("faithbench", write(tmp_path, {"faithbench": [row]}))[0].wrong is wrong


def test_parquet_is_read_where_pyarrow_is(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = made("halubench", True)["halubench"]
    parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "halubench.parquet")
    items = load("halubench", tmp_path)
    (tmp_path / "halubench.parquet").write_bytes(b"PAR1 but not really")
    with pytest.raises(ConfigError, match="halubench.parquet cannot be read as Parquet"):
        load("halubench", tmp_path)
    assert items == load("halubench", write(tmp_path, {"halubench": rows}))


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "halubench.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ConfigError, match=r'pip install "haluagent\[parquet\]"'):
        load("halubench", tmp_path)


def test_the_two_answers_of_a_halueval_row_never_meet(tmp_path: Path) -> None:
    items = load("halueval", write(tmp_path, made("halueval", True)))
    answers = [("Blue.", "Red."), ("It is blue.", "It is red."), ("Sky blue.", "Sky red.")]
    assert [(item.response, item.wrong) for item in items[:6]] == [
        (answer, wrong) for pair in answers for wrong, answer in enumerate(pair)
    ]
    for item, other in zip(items[:6:2], items[1:6:2], strict=True):
        assert other.response not in f"{item.question}{item.reference}{item.response}"
        assert item.response not in f"{other.question}{other.reference}{other.response}"
    assert items[6].reference is None


def test_ragtruth_takes_good_responses_of_the_test_split(tmp_path: Path) -> None:
    files = made("ragtruth", True)
    row = files["response"][0]
    files["response"] += [row | {"split": "train"}, row | {"quality": "truncated"}, row | {"id": "8", "labels": []}]
    items = load("ragtruth", write(tmp_path, files))
    assert [(item.id, item.wrong) for item in items] == [("1:7", True), ("4:8", False)]
    assert items[0].reference is not None and "Pear Café" in items[0].reference and "9:0-12:0" in items[0].reference


def test_ragtruth_renders_each_kind_of_source(tmp_path: Path) -> None:
    files = made("ragtruth", False)
    source = files["source_info"][0]
    source |= {"task_type": "QA", "source_info": {"question": "Open when?", "passages": "passage 1: Daily."}}
    (item,) = load("ragtruth", write(tmp_path, files))
    assert (item.question, item.reference) == ("Open when?", "passage 1: Daily.")
    source |= {"task_type": "Summary", "source_info": "It is open daily."}
    (item,) = load("ragtruth", write(tmp_path, files))
    assert item.reference == "It is open daily."
    source |= {"task_type": "QA"}
    with pytest.raises(ConfigError, match="source_info.jsonl, line 1: field 'source_info'"):
        load("ragtruth", write(tmp_path, files))
    source |= {"source_id": "4", "task_type": "Summary"}
    with pytest.raises(ConfigError, match="response.jsonl, line 1: field 'source_id' is '3'"):
        load("ragtruth", write(tmp_path, files))


def test_claims_read_as_sentences(tmp_path: Path) -> None:
    def claims(name: str) -> list[tuple[str, bool | None]]:
        return [(claim.text, claim.wrong) for claim in load(name, write(tmp_path, made(name, True)))[0].claims]

    assert claims("factool_kbqa") == [("One is larger", True), ("Two is not", None)]
    assert claims("factool_math") == [("2 x 3 = 6", True), ("6 + 1 = 7", None)]
    assert claims("factool_science") == [('The paper "On Apples" by A. Pear et al was published in 1999.', True)]
    assert claims("factool_chinese") == [("一大", True), ("二小", None)]


@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if dataset.level == "sentence"])
def test_a_row_of_which_nothing_is_known_is_left_out(name: str, tmp_path: Path) -> None:
    ((stem, (row,)),) = made(name, True).items()
    empty = row | {"claims": [], "claim_level_factuality": []}
    unlabelled = copy.deepcopy(row)
    for label in unlabelled["claims"] + unlabelled.get("claim_level_factuality", [])[:1]:
        label |= {"label": "null", "factuality": "Unknown"}
    assert len(load(name, write(tmp_path, {stem: [empty, row, unlabelled]}))) == 1
    with pytest.raises(ConfigError, match=f"holds no item of {name}"):
        load(name, write(tmp_path, {stem: [empty, unlabelled]}))


def test_chinese_claims_and_labels_must_be_as_many(tmp_path: Path) -> None:
    files = made("factool_chinese", True)
    files["factool_chinese"][0]["claim_level_factuality"].pop()
    with pytest.raises(
        ConfigError, match="factool_chinese.jsonl, line 1: field 'claim_level_factuality' is of another length"
    ):
        load("factool_chinese", write(tmp_path, files))


def test_a_file_of_another_set_is_refused(tmp_path: Path) -> None:
    (row,) = made("halueval2", True)["halueval2"]
    for name in (
        "webqa",
        "ape210k",
        "humaneval",
        "wordcnt",
        "halluqa",
        "translation",
        "date",
        "factool_math",
        "faithbench",
    ):
        stem = next(iter(REQUIRED[name]))
        with pytest.raises(ConfigError, match=rf"{stem}.jsonl, line 1: .*another set\?"):
            load(name, write(tmp_path, {stem: [row]}))


def test_an_unknown_name_lists_the_nearest_first() -> None:
    for given, nearest in {"WebQA": "webqa", "HaluEval-QA": "halueval_qa", "factool-sci": "factool_science"}.items():
        with pytest.raises(ConfigError, match=rf"there is no dataset '{given}'; known are {nearest}, ") as caught:
            load(given, Path("."))
        assert all(name in str(caught.value) for name in DATASETS)


def test_a_directory_must_be_one_and_hold_the_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no directory: give with --data"):
        load("webqa", tmp_path / "none")
    with pytest.raises(ConfigError, match="holds no webqa.jsonl"):
        load("webqa", tmp_path)


@pytest.mark.parametrize("array", [False, True])
def test_passages_come_without_the_rest_of_their_rows(array: bool, tmp_path: Path) -> None:
    rows = [judged(True, id=1, output="苹果是水果。", url="http://127.0.0.1/"), judged(True, id=2, output=" ")]
    if array:
        (tmp_path / "webqa.json").write_text(json.dumps(rows), encoding="utf-8")
    else:
        write(tmp_path, {"webqa": rows})
    assert loading.files("webqa", tmp_path) == [tmp_path / ("webqa.json" if array else "webqa.jsonl")]
    path = loading.passages("webqa", tmp_path, tmp_path)
    assert path is not None and path.parent == tmp_path
    assert [json.loads(line) for line in path.read_text().splitlines()] == [{"text": "苹果是水果。"}]


def test_most_sets_have_no_passages(tmp_path: Path) -> None:
    assert [name for name, dataset in DATASETS.items() if dataset.passages] == ["webqa"]
    assert loading.passages("halluqa", tmp_path, tmp_path) is None


def test_the_listing_has_a_line_for_each_set() -> None:
    lines = loading.table().splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines[2:]] == list(DATASETS)


def test_the_files_of_a_set_are_pinned_to_a_commit() -> None:
    for dataset in DATASETS.values():
        assert dataset.sources and all(len(source.revision) == 40 for source in dataset.sources)
        assert len({(source.repository, source.revision) for source in dataset.sources}) == 1
