"""The calibration: fits that find the truth, judgements that are recorded once, and the command from end to end."""

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import Belief, believes, turned
from typer.testing import CliRunner

from haluagent.batch.journal import read_lines as read
from haluagent.bench.scoring.fit import calibration_error, log_loss, logistic, sigmoid
from haluagent.cli.main import app
from haluagent.corpora.pairs import LabelledPair
from haluagent.errors import ConfigError
from haluagent.judging.probabilities import AGREEMENT_TURNS
from haluagent.models.calibration import EMBEDDED, IDENTITY, Calibration, Wording
from haluagent.protocols import Message
from haluagent.train.calibration import calibrate
from haluagent.train.calibration.curve_report import report
from haluagent.train.calibration.curves import FittedCurve, fitted, present, threshold
from haluagent.types import Language

NAMES = ["Aarhus", "Bergen", "Cadiz", "Dresden", "Esbjerg", "Faro", "Genoa", "Haarlem", "Izmir", "Jena"]


def row(use: str, odds: float, wrong: bool, number: int = 0, **more: Any) -> dict[str, Any]:
    plain = {"use": use, "wording": use, "language": "en", "group": str(number), "half": number % 2, "overlap": 1.0}
    plain |= {"odds": [odds + 0.3, odds - 0.3], "wrong": wrong, "familiar": False, "silent": False, "missing": []}
    plain |= {"mentions": 0.0, "found": None}
    return plain | more


def simulated(use: str, curve: FittedCurve, count: int, seed: int) -> list[dict[str, Any]]:
    """Judgements whose labels are drawn from the curve."""
    chance = random.Random(seed)
    rows = []
    for number in range(count):
        more = {"familiar": chance.random() < 0.5, "agreement": chance.choice([0.0, 0.4, 1.0, None])}
        one = row(use, chance.gauss(curve.lean, 0.3), False, number, **more)
        rows.append(one | {"wrong": chance.random() > curve.probability(one)})
    return rows


# Fitting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("use", "curve"),
    [
        ("answer", FittedCurve(0.2, 9.0, agreement=4.0)),
        ("answer", FittedCurve(-0.1, 6.0, agreement=2.0)),
        ("statement", FittedCurve(-0.3, 5.0, familiar=1.5)),
        ("consistency", FittedCurve(0.4, 3.0)),
    ],
)
def test_the_curve_that_made_the_labels_is_found(use: str, curve: FittedCurve) -> None:
    rows = simulated(use, curve, 4000, seed=1)
    found = fitted(rows, use)
    assert found is not None
    right = sum(not row["wrong"] for row in rows)
    as_many_wrong = math.log(right / (len(rows) - right)) / curve.slope
    assert found.lean == pytest.approx(curve.lean + as_many_wrong, abs=0.05)
    assert found.slope == pytest.approx(curve.slope, rel=0.1)
    assert found.familiar == pytest.approx(curve.familiar, abs=0.25)
    assert found.agreement == pytest.approx(curve.agreement, rel=0.1)


def test_a_term_that_speaks_against_is_left_out() -> None:
    rows = simulated("statement", FittedCurve(0.0, 5.0, familiar=-3.0), 2000, seed=2)
    found = fitted(rows, "statement")
    assert found is not None and found.familiar == 0 and found.slope > 0


def test_no_curve_without_both_labels_or_the_right_way_round() -> None:
    rows = simulated("answer", FittedCurve(0.0, 9.0), 200, seed=3)
    assert fitted([one | {"wrong": True} for one in rows], "answer") is None
    assert fitted(rows[:4], "answer") is None
    assert fitted([one | {"wrong": not one["wrong"]} for one in rows], "answer") is None


@given(
    st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.booleans()), min_size=4, max_size=60).filter(
        lambda items: len({label for *_, label in items}) == 2
    )
)
@settings(max_examples=60, deadline=None)
def test_a_fit_is_right_on_average_and_finite(items: list[tuple[float, float, bool]]) -> None:
    labels = [label for *_, label in items]
    bias, *slopes = logistic([(one, other) for one, other, _ in items], labels)
    chances = [sigmoid(bias + slopes[0] * one + slopes[1] * other) for one, other, _ in items]
    assert all(math.isfinite(value) for value in (bias, *slopes))
    assert sum(chances) == pytest.approx(sum(labels), abs=0.01)


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_the_threshold_is_where_deciding_texts_become_likelier(share: float) -> None:
    """Whatever the share of texts that decide."""
    chance = random.Random(6)
    rows = []
    for number in range(4000):
        decides = chance.random() < share
        more = {"mentions": chance.gauss(0.5 if decides else -0.1, 0.2)}
        rows.append(row("answer" if decides else "search", 0.0, False, number, **more))
    assert threshold(rows, "mentions") == pytest.approx(0.2, abs=0.02)
    assert threshold([one for one in rows if one["use"] == "answer"], "mentions") is None
    assert threshold([one | {"mentions": -one["mentions"]} for one in rows], "mentions") is None


def test_labels_that_can_be_separated_give_a_finite_slope() -> None:
    values = [-0.2, -0.1, 0.1, 0.2]
    bias, slope = logistic([(value,) for value in values], [False, False, True, True])
    assert 0 < slope < 100 and bias == pytest.approx(0, abs=1e-6)
    assert logistic([(value,) for value in values], [False, False, True, True], l2=0.01)[1] > slope


def test_a_feature_that_does_not_vary_gets_nothing() -> None:
    features = [(value, 7.0) for value in (-1.0, -0.5, 0.5, 1.0)]
    labels = [False, True, False, True]
    assert logistic(features, labels)[2] == 0
    assert logistic(features, labels)[:2] == pytest.approx(logistic([row[:1] for row in features], labels))
    with pytest.raises(ValueError, match="right and wrong"):
        logistic(features, [True] * 4)


def test_the_figures_of_probabilities() -> None:
    assert log_loss([0.5, 0.5], [True, False]) == pytest.approx(math.log(2))
    assert log_loss([0.8, 0.4], [True, False]) == pytest.approx(-(math.log(0.8) + math.log(0.6)) / 2)
    assert log_loss([0.0], [True]) < 14, "one sure mistake does not make it infinite"
    assert calibration_error([0.75] * 4, [True, True, True, False]) == 0
    assert calibration_error([0.9, 0.9, 0.1, 0.1], [True, False, False, False]) == pytest.approx((0.8 + 0.2) / 4)
    assert calibration_error([1.0, 0.0], [True, False]) == 0


# The curves of the package ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("calibration", [EMBEDDED, IDENTITY])
@pytest.mark.parametrize("language", get_args(Language))
@pytest.mark.parametrize("use", get_args(Wording))
def test_the_present_curve_is_that_of_the_tool(use: Wording, language: Language, calibration: Calibration) -> None:
    from haluagent.judging.probabilities import agreed, calibrated

    curve, own = present(calibration, use, language), calibration.curve(use, language)
    for odds in (-0.4, 0.0, 0.1, 0.5):
        for familiar in (False, True):
            one = row(use, odds, False, familiar=familiar, language=language)
            assert curve.probability(one) == pytest.approx(calibrated(odds, own, familiar))
            if use == "answer":
                expected = agreed(calibrated(odds, own, familiar), 1.0, calibration.agreement[language])
                assert curve.probability(one | {"agreement": 1.0}) == pytest.approx(expected, abs=1e-4)


def test_a_report_compares_curves_on_pairs_they_were_not_fitted_to() -> None:
    rows = simulated("answer", FittedCurve(0.5, 10.0, agreement=3.0), 400, seed=4)
    text = report(rows)
    cells = next(line for line in text.splitlines() if line.startswith("| answer | en | 400")).split(" | ")
    loss, loss_now = float(cells[7]), float(cells[8])
    assert loss < loss_now, "the present curve leans elsewhere"
    mixed = report([one | {"half": 0, "wrong": not one["wrong"]} if one["half"] else one for one in rows])
    assert mixed != text


def printed(text: str) -> Calibration:
    """The calibration at the end of a report."""
    found = json.loads(text[text.index("```json") + len("```json") : text.rindex("```")])
    assert list(found) == ["calibration"]
    return Calibration.model_validate(found["calibration"])


@pytest.mark.parametrize("before", [EMBEDDED, IDENTITY])
def test_the_printed_constants_are_those_of_a_card(before: Calibration) -> None:
    rows = simulated("answer", FittedCurve(0.5, 10.0, agreement=3.0), 400, seed=5)
    found = printed(report(rows, before))
    curve = found.curve("answer", "en")
    assert (curve.lean, curve.slope, curve.familiar) == (pytest.approx(0.5, abs=0.1), pytest.approx(10, rel=0.3), 0)
    assert found.agreement["en"] == pytest.approx(3, rel=0.3)
    assert {name for name in Calibration.model_fields if getattr(found, name) != getattr(before, name)} == {
        "match",
        "agreement",
    }
    assert {key for key in found.match if found.match[key] != before.match[key]} == {"answer:en"}, (
        "what was not measured stays"
    )
    assert found.agreement["zh"] == before.agreement["zh"]


def test_a_threshold_is_fitted_and_printed() -> None:
    rows = [
        row("answer" if number % 2 else "search", 0.0, False, number, wording="answer", mentions=2.0 + number % 2)
        for number in range(40)
    ]
    found = printed(report(rows))
    assert found.mentions == EMBEDDED.mentions | {"en": pytest.approx(2.5, abs=0.1)}


def test_the_report_compares_with_the_calibration_of_the_model() -> None:
    rows = [row("consistency", -2.0, True, number) for number in range(4)]
    lower = Calibration.model_validate({"match": EMBEDDED.match | {"consistency:en": {"lean": -3, "slope": 3}}})
    shares = [
        next(line for line in report(rows, calibration).splitlines() if "| consistency | en | match now" in line)
        for calibration in (EMBEDDED, lower)
    ]
    assert [line.split(" | ")[-1] for line in shares] == ["100 % |", "0 % |"]


def test_decisions_are_those_of_the_tools() -> None:
    rows = [
        row("answer", 2.0, False, 0), row("answer", 2.0, False, 1, missing=["1912"]),
        row("answer", -2.0, True, 2), row("answer", -2.0, True, 3, silent=True),
        row("search", -2.0, False, 4, wording="answer", found="supported"),
        row("consistency", -2.0, True, 5), row("consistency", -0.2, True, 6),
    ]  # fmt: skip
    lines = [line for line in report(rows).splitlines() if "| match now |" in line]
    assert lines == [
        "| answer | en | match now | 2 | 50 % | 0 % | 2 | 0 % | 50 % |",
        "| consistency | en | match now | 0 | 0 % | 0 % | 2 | 0 % | 50 % |",
        "| search | en | match now | 1 | 0 % | 100 % | 0 | 0 % | 0 % |",
    ]
    searched = [line for line in report(rows).splitlines() if "| web_search |" in line]
    assert searched[-1] == "| search | en | web_search | 1 | 100 % | 0 % | 0 | 0 % | 0 % |"


# The run ---------------------------------------------------------------------------------------------------------


def pairs(count: int) -> list[LabelledPair]:
    found = []
    for number in range(count):
        name, other = NAMES[number % 10], NAMES[(number + 1) % 10]
        plain = {"group": f"p{number}", "language": "en", "half": number % 2, "question": "Where does it stand?"}
        text = f"The tower number {number} stands in the town of {name}, near the sea."
        for wrong in (False, True):
            claim = f"Tower {number} stands in {other if wrong else name}."
            end = "wrong" if wrong else "right"
            common: Any = plain | {"kind": "k", "wrong": wrong}
            found.append(LabelledPair(id=f"{number}:a:{end}", use="answer", claim=claim, reference=text, **common))
            before = "There are towers."
            found.append(
                LabelledPair(
                    id=f"{number}:s:{end}", use="statement", claim=claim, reference=text, before=before, **common
                )
            )
            found.append(LabelledPair(id=f"{number}:c:{end}", use="consistency", claim=claim, before=text, **common))
            found.append(
                LabelledPair(
                    id=f"{number}:n:{end}", use="search", claim=claim, reference="It is about towers.", **common
                )
            )
    return found


def truthful(messages: Sequence[Message]) -> Sequence[float]:
    """Rather "yes" where the claim's town stands in the text, and "it does not say" where none does; to "does it say
    enough?", where any town does. With a lean to A."""

    def belief(text: str) -> Belief:
        evidence, _, claim = text.partition("</")
        towns = [name for name in NAMES if name in evidence]
        if "<reference>" in evidence and not towns:
            return "silent"
        right = any(name in claim or "say enough" in text for name in towns)
        return (0.7 if right else 0.2) if turned(messages) else (0.8 if right else 0.3)

    return believes(belief)(messages)


def test_every_pair_is_judged_once_however_often_the_run_is_cut(scripted: Any, tmp_path: Path) -> None:
    out, wanted = tmp_path / "runs" / "out.jsonl", pairs(3)
    calibrate.run(scripted(choose=truthful), wanted[:10], out, lambda line: None)
    assert len(read(out)) == 10
    whole = out.read_bytes()
    out.write_bytes(whole[:-30])
    lines: list[str] = []
    model = scripted(choose=truthful)
    calibrate.run(model, wanted, out, lines.append)
    assert [one["id"] for one in read(out)] == [pair.id for pair in wanted]
    assert len(lines) == len(wanted) - 9
    calibrate.run(model, wanted, out, lines.append)
    assert len(lines) == len(wanted) - 9, "nothing is left to do"


def test_what_is_recorded_is_what_match_sees(scripted: Any, tmp_path: Path, make_context: Any) -> None:
    import asyncio

    from haluagent.judging.judge import ask

    pair = pairs(1)[0]
    model = scripted(choose=truthful, free="Bergen")
    calibrate.run(model, [pair], tmp_path / "out.jsonl", lambda line: None)
    (found,) = read(tmp_path / "out.jsonl")
    asked = [[m["content"] for m in messages] for messages in model.seen]
    context = make_context(pair.question, pair.claim, reference=pair.reference, model=model)
    judged = asyncio.run(ask(context, context.sentences[0], pair.reference, "answer"))
    again = [[m["content"] for m in messages] for messages in model.seen[len(asked) :]]
    assert tuple(found["odds"]) == judged.odds and found["familiar"] == judged.familiar
    assert all(messages in asked for messages in again)
    assert found["anew"] == "Bergen" and found["agreement"] == 0
    assert found["missing"] == [] and found["wording"] == "answer"
    assert len(asked) == len({str(messages) for messages in asked}), "the tools share what the model said"


def test_each_use_is_judged_in_its_wording(scripted: Any, tmp_path: Path) -> None:
    model = scripted(choose=truthful)
    calibrate.run(model, pairs(1), tmp_path / "out.jsonl", lambda line: None)
    wordings = {one["use"]: one["wording"] for one in read(tmp_path / "out.jsonl")}
    assert wordings == {"answer": "answer", "statement": "statement", "consistency": "consistency", "search": "answer"}
    asked = [messages[-1]["content"] for messages in model.seen]
    assert sum("both be true" in text for text in asked) == 4
    assert sum("say enough to answer" in text for text in asked) == 2 * 4
    assert sum("or does it follow from it?" in text for text in asked) == 3 * 4
    assert all(("<text>" in text) == ("both be true" in text) for text in asked)


def test_a_file_of_another_model_is_not_continued(scripted: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    calibrate.run(scripted(choose=truthful), pairs(1), out, lambda line: None)
    other = scripted(choose=truthful)
    other.name = "another"
    with pytest.raises(ConfigError, match="judgements of scripted: name another file for another"):
        calibrate.run(other, pairs(1), out, lambda line: None)


def test_a_response_is_judged_as_it_is_in_a_detection(scripted: Any, tmp_path: Path) -> None:
    """A response of one sentence is not completed, one of several is, whatever the model was taught."""
    plain = {"group": "p", "language": "en", "half": 0, "question": "Where is it?", "kind": "k", "wrong": False}
    text, claim = "The tower stands in Faro.", "It stands in Faro."
    one = LabelledPair(id="one", use="answer", claim=claim, reference=text, **plain)
    several = LabelledPair(
        id="several", use="statement", claim=claim, reference=text, before="There are towers.", **plain
    )
    claims: dict[bool, list[str]] = {}
    for taught in (False, True):
        model = scripted(choose=truthful, free="Faro is where it stands.")
        model.calibration, model.fine_tuned_tools = IDENTITY, frozenset({"match"} if taught else ())
        out = tmp_path / f"{taught}.jsonl"
        calibrate.run(model, [one, several], out, lambda line: None)
        claims[taught] = [row["claim"] for row in read(out)]
    assert claims == dict.fromkeys((False, True), [claim, "Faro is where it stands."])


def test_recorded_judgements_are_compared_with_the_adapter_they_were_made_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from haluagent.models import adapters
    from haluagent.models.weights import catalogue

    card = adapters.AdapterCard(
        name="mine", version="1", base=catalogue.DEFAULT, file="mine.gguf", sha256="0" * 64, bytes=1, rank=1,
        calibration=IDENTITY, licence="MIT", data_sources=(),
    )  # fmt: skip
    file = tmp_path / "mine.json"
    file.write_text(card.model_dump_json())
    monkeypatch.setattr(adapters, "FOLDER", tmp_path)
    for model, adapter, found in (
        (f"{catalogue.DEFAULT}+mine", "auto", IDENTITY), (catalogue.DEFAULT, "auto", EMBEDDED), ("served", "auto", EMBEDDED),
        ("served", str(file), IDENTITY), (f"{catalogue.DEFAULT}+mine", None, EMBEDDED),
    ):  # fmt: skip
        assert calibrate.calibration_of_rows([{"model": model}], adapter) == found


# The command -----------------------------------------------------------------------------------------------------


REASONS = '{"REASONING": ["response: it stands in Faro; reference: it stands in Faro"], "SCORE": "PASS"}'


@pytest.fixture
def command(scripted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`haluagent calibrate` with a scripted model and these pairs."""
    monkeypatch.setattr(
        "haluagent.models.resolution.resolve", lambda *args, **more: scripted(lambda messages: REASONS, choose=truthful)
    )
    monkeypatch.setattr("haluagent.corpora.pairs.make", lambda directory, limit: pairs(12)[: 8 * limit])
    short = [pair.model_copy(update={"id": f"short {pair.id}"}) for pair in pairs(2) if pair.use == "answer"]
    monkeypatch.setattr("haluagent.corpora.pairs.short", lambda: short)

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["calibrate", *arguments])

    return run


def test_the_whole_command(command: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    result = command("--data", str(tmp_path), "--out", str(out), "--limit", "12")
    assert result.exit_code == 0, result.output
    assert "| answer | en | 52 | " in result.stdout and "| search | en | match new | 12 | " in result.stdout
    assert "| search | en | web_search | 12 | 0 % | 0 % | 12 | 0 % | 0 % |" in result.stdout
    assert "| mentions | en | 28 | 24 | 1.000 | 100 % | 0 % | " in result.stdout
    assert "| otherwise | en | 26 | 24 | 1.000 | 100 % | 0 % | " in result.stdout
    figures = next(line for line in result.stdout.splitlines() if line.startswith("| answer | en | 52")).split(" | ")
    assert figures[5] == "1.000", "AUROC of a model that knows"
    assert "| reasons | en | 6 | " in result.stdout and "| results | zh | 98 | " in result.stdout
    assert printed(result.stdout).curve("answer", "en") != EMBEDDED.curve("answer", "en")
    again = command("--fit-only", str(out))
    assert again.exit_code == 0 and again.stdout in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "x.jsonl"], "give --claims or --data, and --out; or --fit-only"),
        (["--data", "."], "give --claims or --data, and --out; or --fit-only"),
        (["--fit-only", "nothing.jsonl"], "nothing.jsonl does not exist"),
    ],
)
def test_what_is_missing_is_said(command: Any, arguments: list[str], message: str) -> None:
    result = command(*arguments)
    assert isinstance(result.exception, ConfigError) and message in str(result.exception)


def test_the_agreement_turns_where_the_tool_says() -> None:
    one = row("answer", 0.0, False, agreement=AGREEMENT_TURNS)
    assert FittedCurve(0.0, 5.0, agreement=3.0).probability(one) == 0.5
