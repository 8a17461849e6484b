"""Pairs for the calibration: the same ones every time, balanced, and nothing of one half in the other."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from haluagent.bench.scoring.scores import auroc
from haluagent.corpora.claims import premise
from haluagent.corpora.pairs import USES, LabelledPair, make, short
from haluagent.corpora.passages import Asked, Passage, Search, roles
from haluagent.corpora.perturbations import asks, names, replace_name, replace_number, shortened, statement
from haluagent.errors import ConfigError

CITIES = ["Aarhus", "Bergen", "Cadiz", "Dresden", "Esbjerg", "Faro", "Genoa", "Haarlem", "Izmir", "Jena"]
MAKERS = ["Rosa Lund", "Emil Berg", "Clara Weiss", "Hugo Stern", "Nora Vik", "Otto Kranz", "Lena Holm", "Karl Ehr"]
TOWNS = ["临海", "青溪", "南山", "白河", "东湖", "北坪", "西岭", "石门", "长亭", "金沙"]
PEOPLE = ["王立", "陈明远", "赵一飞", "李思", "周文海", "吴凡", "郑小川", "孙青"]


def write(directory: Path, name: str, rows: list[dict[str, object]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (directory / name).write_text(text, encoding="utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Files of the published form, with 40 passages and 40 problems in each language."""
    zh, en, ape, gsm = [], [], [], []
    for i in range(40):
        town, person, year, length = TOWNS[i % 10] + f"{i}号", PEOPLE[i % 8], 1900 + i, 300 + 7 * i
        other = PEOPLE[(i + 3) % 8]
        text = (
            f"{town}大桥位于河的上游。大桥全长{length}米，由{person}设计。它在{year}年建成。"
            f"后来{other}主持了大桥的维修。每天有很多人从桥上走过。"
        )
        asked = [
            ("谁设计", f"{town}大桥是由谁设计的？", person), ("谁维修", f"{town}大桥是由谁主持维修的？", other),
            ("长", f"{town}大桥全长多少米？", f"{length}米"), ("年", f"{town}大桥是哪一年建成的？", f"{year}年"),
        ]  # fmt: skip
        zh += [{"id": f"{i}{key}", "context": text, "question": q, "answers": [a, a]} for key, q, a in asked]
        city, maker = CITIES[i % 10], MAKERS[i % 8]
        en.append(
            {
                "knowledge": f"The {city} Tower {i} (also the Pin) was built in {year} by {maker}, who lived nearby."
                f"{MAKERS[(i + 1) % 8]} is an architect from {CITIES[(i + 4) % 10]} that restored it. It has {length} steps.",
                "question": f"Who is the architect of the {city} Tower {i}?",
                "right_answer": maker,
                "hallucinated_answer": MAKERS[(i + 1) % 8],
            }
        )
        ape.append(
            {
                "original_text": f"果园里有苹果树{length}棵，梨树{i + 20}棵，一共有多少棵树？",
                "ans": str(length + i + 20),
            }
        )
        gsm.append(
            {
                "question": f"Ann has {i + 3} red pens. Bob has {length} pens. How many pens are there?",
                "answer": "#### 1",
            }
        )
    write(tmp_path, "cmrc2018_dev.jsonl", zh)
    write(tmp_path, "halueval_qa_generated.jsonl", en)
    write(tmp_path, "ape210k_valid.jsonl", ape)
    write(tmp_path, "gsm8k_train.jsonl", gsm)
    return tmp_path


# The pairs -------------------------------------------------------------------------------------------------------


def test_pairs_are_the_same_every_time(data: Path) -> None:
    assert make(data, 12) == make(data, 12)
    assert {pair.claim for pair in make(data, 12, seed=1)} != {pair.claim for pair in make(data, 12)}


def test_a_greater_limit_adds_pairs_and_changes_none(data: Path) -> None:
    few, more = make(data, 8), make(data, 16)
    assert {pair.id: pair for pair in few}.items() <= {pair.id: pair for pair in more}.items()
    assert len(few) < len(more)


def test_every_use_and_language_is_balanced(data: Path) -> None:
    pairs = make(data, 16)
    count = Counter((pair.use, pair.language, pair.wrong) for pair in pairs)
    assert count == {(use, language, wrong): 8 for use in USES for language in ("en", "zh") for wrong in (True, False)}
    kinds = Counter((pair.use, pair.language, pair.kind, pair.group) for pair in pairs)
    assert set(kinds.values()) == {2}, "a right and a wrong claim of one form"


def test_no_passage_is_in_both_halves(data: Path) -> None:
    pairs = make(data, 16)
    groups = [{pair.group for pair in pairs if pair.half == half} for half in (0, 1)]
    assert not groups[0] & groups[1]
    for use in USES:
        sizes = Counter(pair.half for pair in pairs if pair.use == use)
        assert min(sizes[0], sizes[1]) >= sum(sizes.values()) / 4


def test_length_does_not_tell_truth(data: Path) -> None:
    for use in USES:
        for language in ("en", "zh"):
            own = [pair for pair in make(data, 40) if pair.use == use and pair.language == language]
            assert 0.35 < auroc([pair.wrong for pair in own], [len(pair.claim) for pair in own]) < 0.65


def test_an_answer_beside_a_line_is_wrong_where_the_other_is_asked_for() -> None:
    pairs = list(short())
    assert len({pair.id for pair in pairs}) == len(pairs) > 50
    assert len(set(Counter((pair.language, pair.wrong) for pair in pairs).values())) == 1
    for passage in roles("haluagent.corpora"):
        own = [pair for pair in pairs if pair.group == passage.name]
        assert len({pair.half for pair in own}) == 1 and {pair.reference for pair in own} == {passage.text}
        for asked in passage.asked:
            right, wrong = (pair.claim for pair in own if pair.question == asked.question)
            assert asked.right in right and asked.wrong in wrong and asked.right not in wrong


def test_no_line_is_both_taught_and_calibrated_on() -> None:
    taught, judged = (roles(package) for package in ("haluagent.train.trajectories", "haluagent.corpora"))
    assert not {one.text for one in taught} & {one.text for one in judged}
    assert not {asked.right for one in taught for asked in one.asked} & {
        asked.right for one in judged for asked in one.asked
    }


def test_claims_of_one_passage_come_in_a_row(data: Path) -> None:
    groups = [pair.group for pair in make(data, 16)]
    assert len(set(groups)) == 1 + sum(one != other for one, other in zip(groups, groups[1:], strict=False))


def test_a_search_finds_a_text_that_does_not_decide(data: Path) -> None:
    pairs = make(data, 40)
    answers = {pair.group: pair for pair in pairs if pair.use == "answer" and not pair.wrong}
    found = [pair for pair in pairs if pair.use == "search"]
    assert {pair.kind.split()[0] for pair in found} == {"removed", "neighbour"}
    assert {pair.kind.split()[1] for pair in found} == {"answer", "statement"}
    for pair in found:
        assert pair.reference != answers[pair.group].reference
        assert bool(pair.before) == pair.kind.endswith("statement"), "one sentence of several, or the only one"
        if pair.kind.endswith("answer") and not pair.wrong:
            assert pair.claim not in pair.reference


def test_what_a_claim_is_compared_with_stands_in_one_place(data: Path) -> None:
    for pair in make(data, 40):
        assert bool(pair.reference) == (pair.use != "consistency")
        assert bool(pair.before) == (pair.kind in ("restated", "next")) or pair.use in ("statement", "search")
        assert pair.claim not in pair.before


@pytest.mark.parametrize("name", ["cmrc2018_dev.jsonl", "gsm8k_train.jsonl"])
def test_a_missing_file_is_named(data: Path, name: str) -> None:
    (data / name).unlink()
    with pytest.raises(ConfigError, match=rf"{name} does not exist: say with --data"):
        make(data, 4)


@pytest.mark.parametrize("line", ["{", '{"question": "Who?"}', "[]"])
def test_a_line_that_cannot_be_read_is_named(data: Path, line: str) -> None:
    path = data / "halueval_qa_generated.jsonl"
    path.write_text(path.read_text(encoding="utf-8") + line, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"halueval_qa_generated.jsonl, line 41: "):
        make(data, 4)


# The search ------------------------------------------------------------------------------------------------------


def test_rare_words_count_more() -> None:
    passages = [
        Passage(name=str(i), language="en", text=text, asked=(Asked(question="Q", right="A"),))
        for i, text in enumerate(["river town bridge", "river town mill", "river town harbour", "zeppelin"])
    ]
    index = Search(passages)
    found = index.best("river town zeppelin mill", without=())
    assert found is not None and found.name == "1"
    found = index.best("river town mill", without=("mill",))
    assert found is not None and found.name in ("0", "2")
    assert index.best("nothing of this", without=()) is None


# Statements and what makes them wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "question", "answer", "said"),
    [
        ("zh", "大桥是由谁设计的？", "王立", "大桥是由王立设计的。"),
        ("zh", "大桥全长多少米？", "300", "大桥全长300米。"),
        ("zh", "大桥全长多少米？", "300米", "大桥全长300米。"),
        ("zh", "这是第多少届大会？", "第 26 届", "这是第 26 届大会。"),
        ("zh", "编写组是哪一年成立的？", "1976年", "编写组是1976年成立的。"),
        ("zh", "大桥的别名是什么？", "长虹", "大桥的别名是长虹。"),
        ("zh", "为什么要建大桥？", "方便出行", None),
        ("zh", "谁在什么时候建了大桥？", "王立", None),
        ("zh", "大桥是由谁设计的？", "王立，后来是李思", None),
        ("en", "Who is the director of the film?", "Ann Lee", "The director of the film is Ann Lee."),
        ("en", "What was the length of the track ?", "6 km.", "The length of the track was 6 km."),
        ("en", "Who wrote the song?", "the Beatles", "The Beatles wrote the song."),
        ("en", "Who was born first, A or B?", "A", None),
        ("en", "In what year was he born?", "1912", None),
        ("en", "Who wrote the song?", "two friends that had met in a small bar in Rome", None),
    ],
)
def test_an_answer_is_put_into_the_words_of_its_question(
    language: str, question: str, answer: str, said: str | None
) -> None:
    assert statement(question, answer, language) == said


def test_what_a_chinese_question_asks_for() -> None:
    assert asks("由谁设计？") == "who" and asks("哪一年建成？") == "when" and asks("在哪里？") == "where"
    assert asks("全长多少米？") == "count" and asks("怎么去？") is None


@pytest.mark.parametrize(
    ("sentence", "short"),
    [
        ("The Tower (1912) was built in Oslo by Ann, who lived there.", "The Tower was built in Oslo by Ann."),
        ("The Tower was built in Oslo in 1912.", None),
        ("It was built, and it stands.", None),
        ("built in Oslo in the year 1912 (or later).", None),
    ],
)
def test_a_sentence_without_its_asides(sentence: str, short: str | None) -> None:
    assert shortened(sentence) == short


def test_names_are_found_without_what_begins_a_sentence() -> None:
    assert names("The Oberoi Group is in New Delhi. In April Ann left the Group.") == [
        "Oberoi Group",
        "New Delhi",
        "Ann",
        "Group",
    ]


@pytest.mark.parametrize("seed", range(20))
def test_a_replaced_number_is_another_one(seed: int) -> None:
    for sentence in ("It has 12,500 steps.", "It was built in 1912.", "全长3.5公里。", "有42棵树。"):
        wrong = replace_number(sentence, "In 1911 it had 12,499 steps and 77 lamps.", random.Random(seed))
        assert wrong is not None and wrong != sentence
        assert [part for part in (wrong[0], wrong[-1])] == [sentence[0], sentence[-1]]
    assert replace_number("No number here.", "12", random.Random(seed)) is None


def test_a_replaced_name_shares_no_word_with_the_old_one() -> None:
    text = "Ann Lee met Ann Berg and Hugo Stern in Oslo."
    for seed in range(20):
        wrong = replace_name("Ann Lee won.", text, random.Random(seed))
        assert wrong in ("Hugo Stern won.", "Oslo won.")
    assert replace_name("Ann Lee won.", "Ann Lee met Ann Berg.", random.Random(0)) is None


def test_a_premise_is_no_question() -> None:
    problem = Passage(name="p", language="zh", text="果园里有苹果树30棵，梨树20棵，一共有多少棵树？")
    for seed in range(20):
        two = premise(problem, random.Random(seed))
        assert two is not None and "多少" not in two.right and two.right != two.wrong
    assert premise(Passage(name="p", language="en", text="Ann has pens. How many?"), random.Random(0)) is None


def test_pairs_are_plain_records() -> None:
    fields = {"id", "group", "language", "use", "kind", "question", "claim", "wrong", "half", "reference", "before"}
    assert set(LabelledPair.model_fields) == fields
