"""Figures of a sentence that follow from those of the reference: the calculator works them out, the comparison reads that."""

import asyncio
from typing import Any

import pytest
from scripted import believes, prompt

from haluagent import HaluAgent
from haluagent.arithmetic.figures import is_figure
from haluagent.events import Answered
from haluagent.protocols import ToolContext
from haluagent.text.numbers import find_numbers
from haluagent.tools.calculator.calculation import worked_out
from haluagent.tools.calculator.tool import calculator
from haluagent.types import Language, Sentence, ToolResult

REPORT = (
    "Sales rose from 4.0 million to 4.8 million euros. The mill has 46 machines, 9 of them idle. It closed at 17:30."
)
CHINESE = "销售额从400万元增至480万元。工厂有46台机器，其中9台停用。"


def context_of(said: str, reference: str = REPORT, language: Language = "en", model: Any = None) -> ToolContext:
    sentence = Sentence(index=1, text=said, span=(0, len(said)))
    return ToolContext(
        question="", response=said, language=language, sentences=[sentence], model=model, reference=reference
    )


def call(said: str, formula: str | None = None, **more: Any) -> ToolResult:
    context = context_of(said, **more)
    return asyncio.run(calculator.run(context, context.sentence(1), formula))


def offered(said: str, **more: Any) -> bool:
    context = context_of(said, **more)
    return calculator.when(context, context.sentence(1))


@pytest.mark.parametrize(
    "said",
    [
        "Sales grew by 20%.",
        "Sales grew by 0.8 million euros.",
        "37 of the machines are running.",
        "About a fifth, 19.6 %, idle.",
    ],
)
def test_it_is_offered_for_a_figure_that_the_reference_does_not_have(said: str) -> None:
    assert offered(said)


@pytest.mark.parametrize(
    "said",
    [
        "Sales rose to 4.8 million euros.",
        "Nine machines are idle.",
        "Two shifts work there, on 5 days.",
        "It was founded on 3 May 1884.",
        "The mill was built in 1884.",
        "Many machines are idle.",
        "Work began at 18:45.",
        "It took half an hour.",
        "Call 0800 555 0199 or 07700 900123.",
        "Your order 4711-2815 runs on release 3.14.15.",
        "Most of the staff are 18-24 years old.",
    ],
)
def test_it_is_not_offered_for_what_is_there_small_counts_dates_and_names_in_digits(said: str) -> None:
    assert not offered(said)


def test_it_is_not_offered_where_nothing_can_be_worked_out() -> None:
    assert not offered("It has 37 machines.", reference="The mill has many machines, 46 in all.")
    assert not offered("It has 37 machines.", reference="The mill has many machines.")


@pytest.mark.parametrize(
    ("said", "formula", "line"),
    [
        ("Sales grew by 20%.", "([now]4.8-[before]4.0)/[before]4.0", "20%, as stated (20%)"),
        ("Sales grew by 20%.", "(4.8-4.0)/4.0", "20%, as stated (20%)"),
        ("Sales grew by 20%.", "(4.8-4.0)/4.0*100", "20%, as stated (20%)"),
        ("Sales grew by 25%.", "(4.8-4.0)/4.0", "20%; something else is stated"),
        ("Sales shrank by 20%.", "(4.0-4.8)/4.0", "-20%, as stated (20%)"),
        ("9.8% of the machines are idle.", "[idle]9/[all]46", "19.5652%; something else is stated"),
        ("About 19.6% of the machines are idle.", "9/46", "19.5652%, as stated (19.6%)"),
        ("The share is 37%.", "46-9", "37; something else is stated"),
        ("On average 18.4 machines stand in each of 3 halls.", "(46+9)/3", "18.3333; something else is stated"),
        ("Without the idle ones there are 37 machines.", "[machines]46 - [idle]9", "37, as stated (37)"),
        ("Without the idle ones there are 38 machines.", "46-9", "37; something else is stated"),
        ("Sales grew by 0.8 million euros.", "[now]4.8-[before]4.0", "0.8, as stated (0.8 million)"),
        ("Of 12 machines like these 2.3 would be idle.", "12*[idle]9/[all]46", "2.34783, as stated (2.3)"),
    ],
)
def test_a_calculation_that_gives_the_figure_is_a_fact(scripted: Any, said: str, formula: str, line: str) -> None:
    found = call(said, model=scripted(lambda messages: formula))
    assert found.observation == f"{formula} = {line}"
    assert found.facts == ((found.observation,) if ", as stated" in line else ())
    own = call(said, formula=formula)
    assert (own.label, own.facts) == (None, found.facts), "one formula of the agent's does not outweigh a figure"


TIMETABLE = "The boat leaves at 07:48 and arrives at 10:16. In winter it leaves at 8:30. The crossing costs 46 euros."


@pytest.mark.parametrize(
    ("said", "formula", "line"),
    [
        ("The trip takes 148 minutes.", "[arrival]10:16 - [departure]07:48", "148 = 2*60 + 28, as stated (148)"),
        ("The trip takes 2 hours and 28 minutes.", "10:16 - 07:48", "148 = 2*60 + 28, as stated (28)"),
        ("The trip takes 2 hours and 18 minutes.", "10:16 - 07:48", "148 = 2*60 + 28; something else is stated"),
        ("The trip takes 3 hours and 28 minutes.", "10:16 - 07:48", "148 = 2*60 + 28; something else is stated"),
        ("The trip takes about 2.5 hours.", "10:16 - 07:48", "148 = 2*60 + 28, as stated (2.5)"),
        ("It leaves 42 minutes later in winter.", "[winter]8:30 - [summer]7:48", "42, as stated (42)"),
    ],
)
def test_times_of_day_count_in_minutes(said: str, formula: str, line: str) -> None:
    assert call(said, formula, reference=TIMETABLE).observation == f"{formula} = {line}"


@pytest.mark.parametrize(
    ("said", "reference", "formula", "line"),
    [
        (
            "还剩4,350万元。",
            "营业收入4,860万元，成本510万元。",
            "[收入]4860 - [成本]510",
            "4350，与所写的 4,350万 一致",
        ),
        ("總共剩下4,350萬元。", "營業收入4,860萬元，成本510萬元。", "4860 - 510", "4350，与所写的 4,350萬 一致"),
        ("共需1亿元。", "计划开店400家，每家投资25万元。", "[门店]400 * [每家]25", "10000，与所写的 1亿 一致"),
        ("折后是646元。", "原价760元，打八五折，限购2件。", "[原价]760 * [折扣]85 / 100", "646，与所写的 646 一致"),
        (
            "利润率高出2.5个百分点。",
            "利润30万元，去年20万元，收入均为400万元。",
            "30/400 - 20/400",
            "0.025，与所写的 2.5 一致",
        ),
        ("大约占三分之一。", "毛毯188元，合计560元。", "[毛毯]188 / [合计]560", "0.335714，与所写的 三分之一 一致"),
    ],
)
def test_chinese_figures_are_compared_in_their_units(said: str, reference: str, formula: str, line: str) -> None:
    assert call(said, formula, reference=reference, language="zh").facts == (f"{formula} = {line}",)


@pytest.mark.parametrize(
    ("said", "known", "formula", "same"),
    [
        ("Of the machines 0.5% are new.", "46 machines, 23 of them new", "[new]23/[all]46", False),
        ("Some 20% of the parts are bad.", "2 bad ones of 1000", "2/1000*100", False),
        ("The mean is 25%.", "Rates of 20% and 30%", "([A]20+[B]30)/2", True),
        ("63% of them run.", "37% of 46 machines are idle", "1-0.37", True),
        ("Sales fell by 82.5 million euros.", "from 330 thousand to 247.5 thousand", "330-247.5", False),
        ("Sales fell by 82.5 million euros.", "from 330 million to 247.5 million", "330-247.5", True),
        ("Sales fell by 82,500,000 euros.", "from 330 million to 247.5 million", "330-247.5", True),
        ("共需5万元。", "每件2.5元，买20件", "2.5*2", False),
        ("还剩43,500,000元。", "收入4,860万元，成本510万元", "4860-510", True),
        ("还差3万5千元。", "计划8万元，已有5万元", "8-5", False),
        ("He worked 20 hours.", "For 3 weeks he worked 400 hours each", "3*400", False),
        ("It takes 2 hours, 28 minutes.", "from 07:48 to 10:16", "10:16-07:48", True),
        ("It takes two hours and twenty-eight minutes.", "from 07:48 to 10:16", "10:16-07:48", True),
        ("全程2小时又28分钟。", "07:48开，10:16到", "10:16-07:48", True),
        ("全程2小时又18分钟。", "07:48开，10:16到", "10:16-07:48", False),
        ("He ran 28 laps in 2 hours and 20 minutes.", "from 07:48 to 10:16", "10:16-07:48", False),
        ("It is a 2.5-hour ride.", "from 07:48 to 10:18", "10:18-07:48", True),
        ("It takes 45 minutes.", "60 km at 80 km/h", "60/80", True),
        ("It takes 2 hours and 55 minutes.", "leaves at 22:10, arrives at 01:05", "01:05-22:10", True),
        ("It takes 4 hours and 45 minutes.", "from 9:30 am to 2:15 pm", "2:15-9:30", True),
        ("It takes about 150 minutes.", "from 07:48 to 10:16", "10:16-07:48", True),
        ("More than 2,000 came.", "1013 came on Friday and 1004 on Sunday", "1013+1004", True),
        ("Some 3/4 were sold.", "Of 100 pots 86 were sold", "86/100", False),
        ("大约剩下三分之一。", "560件中剩下188件", "188/560*100", True),
        ("The margin rose by 2.5-percentage points.", "30 of 400, before it 20 of 400", "30/400-20/400", True),
        ("相当于打8.5折。", "原价760元，现价646元", "646/760", True),
        ("便宜了15%。", "原价760元，打八五折", "100-85", True),
        ("折后是646元。", "原价760元，打八五折", "760*0.85", True),
        ("折后是380元。", "原价760元，打95折，限50件", "760*95/100", False),
    ],
)
def test_a_result_is_compared_as_people_state_it(said: str, known: str, formula: str, same: bool) -> None:
    """And not a hundred, a thousand or sixty times as large."""
    figure = next((one for one in find_numbers(said) if one.text not in known), find_numbers(said)[0])
    line = worked_out(formula, figure, said, known, "en")
    assert line is not None and line.same is same, line


@pytest.mark.parametrize(
    ("said", "formula"),
    [
        ("Some 37 of 38 machines run.", "38-1"),
        ("Of the machines 37 run: 20 old and 17 new ones.", "20+17"),
        ("There are 1000 machines.", "46**2"),
        ("It took " + "1" * 5000 + " hours 37 minutes.", "1" * 5000 + "-9"),
    ],
)
def test_a_sentence_does_not_confirm_itself(said: str, formula: str) -> None:
    known = "The mill has 46 machines, 9 of them idle."
    assert all(worked_out(formula, figure, said, known, "en") is None for figure in find_numbers(said))


@pytest.mark.parametrize("formula", ["38-1", "37*1", "24+12+1", "37", "46-", "", "46/0", "[machines]46", "[a-b]46"])
def test_what_cannot_be_computed_or_comes_from_nowhere_is_no_fact(scripted: Any, formula: str) -> None:
    found = call("Some 37 machines run.", model=scripted(lambda messages: formula))
    assert (found.label, found.facts) == (None, ())
    assert found.observation == "no calculation with the reference's numbers was found for 37"


def test_a_quantity_in_another_unit_is_converted_without_asking() -> None:
    reference = "The race is 42.195 km long. The pool has 28 °C and holds 500 litres."
    assert call("The runners cover 26.2 miles.", reference=reference).facts == ("42.195 km = 26.2 miles",)
    assert call("The water has 82 °F.", reference=reference).facts == ("28 °C = 82 °F",)
    chinese = call("比赛全程约26.2英里。", reference="比赛全程42.195公里，共有300人参加。", language="zh")
    assert chinese.facts == ("42.195公里 = 26.2英里",)


def test_each_figure_has_a_calculation_of_its_own(scripted: Any) -> None:
    found = call("Sales grew by 20%, and 37 machines run.", "(4.8-4.0)/4.0", model=scripted(["46-9"]))
    assert found.facts == ("(4.8-4.0)/4.0 = 20%, as stated (20%)", "46-9 = 37, as stated (37)")


def test_a_conversion_is_checked_as_such() -> None:
    found = call("3 km is 3500 m.", reference="The path is 3 km long and has 14 benches.")
    assert found.label == "contradicted"


@pytest.mark.parametrize(
    ("language", "reference", "said", "formula", "fact"),
    [
        ("en", REPORT, "Sales grew by 20%.", "(4.8-4.0)/4.0", "(4.8-4.0)/4.0 = 20%, as stated (20%)"),
        ("zh", CHINESE, "销售额增长了20%。", "(480-400)/400", "(480-400)/400 = 20%，与所写的 20% 一致"),
    ],
)
def test_the_comparison_with_the_reference_reads_the_calculation(
    scripted: Any, language: Language, reference: str, said: str, formula: str, fact: str
) -> None:
    model = scripted([formula], choose=believes("said"))
    with HaluAgent(model, search="none", sandbox="none") as agent:
        detection = agent.detect("", said, reference)
    assert [step.call and step.call.name for step in detection.steps] == ["split_text", "calculator", "match"]
    assert detection.sentences[0].label == "supported"
    judged = next(text for text in map(prompt, model.seen) if "\nA" in text)
    assert f"{reference}\n{fact}" in judged


@pytest.mark.parametrize(
    ("written", "fact", "label"),
    [
        (("46-9", "46+9", "46", "46*9"), "46-9 = 37, as stated (37)", None),
        (("46+9", "46-9", "46+9", "46"), "46-9 = 37, as stated (37)", None),
        (("46+9", "46+9", "46+9", "46-9"), "46-9 = 37, as stated (37)", None),
        (("46+9", "46+9", "46+9", "46+9"), "", "contradicted"),
        (("46+9", "46+9", "46+9", "46*9"), "", "contradicted"),
        (("46*9", "46+9", "46+9", "46+9"), "", "contradicted"),
        (("46+9", "46+9", "46*9", "46*9"), "", None),
        (("46*9", "46*9", "46*9", "46*9"), "", None),  # 414 is not of the size of 37
        (("46+9", "46*9", "46", "46-"), "", None),
    ],
)
def test_sampled_calculations_count_where_they_agree(
    scripted: Any, written: tuple[str, ...], fact: str, label: str | None
) -> None:
    found = call("There 37 machines run.", model=scripted([written[0], written[1:]]))
    assert (found.facts, found.label) == ((fact,) if fact else (), label)
    if label:
        (evidence,) = found.evidence
        assert (evidence.text, evidence.span) == ("46+9 = 55; something else is stated", (6, 8))


@pytest.mark.parametrize(
    ("said", "known", "formula"),
    [
        (
            "That is 5.40, of which 4.40 are for the minutes.",
            "1.00 each, and 0.22 a minute, for 20 minutes.",
            "1.00+20*0.22",
        ),
        ("The plant made 22 million tonnes.", "12.4 million tonnes in 2021 and 9.3 million in 2022.", "12.4+9.3"),
        ("More than 40 members joined.", "At first 120 members, now 165.", "165-120"),
        ("Between 40 and 50 members joined.", "At first 120 members, now 165.", "165-120"),
        ("不到50名新会员加入。", "起初120名会员，现在165名。", "165-120"),
        ("增加了40多名会员。", "起初120名会员，现在165名。", "165-120"),
        ("Nearly 40% of them came.", "Of 120 people 45 came.", "45/120"),
        ("The yield rose by 75 basis points.", "It rose from 3.10 to 3.85 percent.", "3.85-3.10"),
        ("Together they are 150 cm wide.", "One is 1.2 m wide, the other 0.3 m.", "1.2+0.3"),
        ("That is 72 dozen.", "36 boxes of 24 eggs.", "36*24"),
        ("The first half took 1 hour 35 minutes.", "It began at 60 and ended at 95.", "95-60"),
        ("The journey takes 250 minutes.", "It leaves at 22:45 and arrives at 01:15.", "22:45-01:15"),
    ],
)
def test_a_figure_that_may_be_meant_so_is_not_contradicted(scripted: Any, said: str, known: str, formula: str) -> None:
    found = [worked_out(formula, one, said, known, "en") for one in find_numbers(said) if is_figure(one)]
    assert found and all(one is None or one.same or one.result is None for one in found)


@pytest.mark.parametrize(
    ("formula", "same"),
    [("7.4/74.0 - 8.1/67.5", True), ("(7.4/74.0 - 8.1/67.5) * 100", True), ("12-10", True), ("(8.1-7.938)/8.1", None)],
)
def test_points_are_a_difference_of_shares_and_not_the_change_of_an_amount(formula: str, same: bool | None) -> None:
    said = "The margin fell by 2 percentage points."
    known = "Profit fell from 8.1 to 7.4 (7.938 before tax) and sales rose from 67.5 to 74.0; the margin was 12% and is 10%."
    (figure,) = find_numbers(said)
    found = worked_out(formula, figure, said, known, "en")
    assert found and (found.same, found.result) == ((True, None) if same else (False, None))


def test_a_number_does_not_contradict_a_share(scripted: Any) -> None:
    assert call("The share is 37%.", model=scripted(lambda messages: "46+9")).label is None
    assert call("The share is 37%.", model=scripted(lambda messages: "9/46")).label == "contradicted"


def test_the_figure_is_not_shown_to_whom_works_it_out(scripted: Any) -> None:
    model = scripted(["46-9", "37/46"])
    call("Of the machines 37 run, which is 80.4% of all.", model=model)
    asked = [prompt(messages) for messages in model.seen]
    assert len(asked) == 2
    assert "Of the machines ___ run, which is 80.4% of all." in asked[0]
    assert "Of the machines 37 run, which is ___% of all." in asked[1]


def test_a_figure_that_only_some_calculation_gives_is_not_supported(scripted: Any) -> None:
    """46 - 9 gives 37, but nobody read the sentence so: of such figures more were wrong than right."""
    model = scripted(["46+9", ("46*9", "46", "9")], choose=believes("said"))
    with HaluAgent(model, search="none", sandbox="none") as agent:
        (entry,) = agent.detect("", "The mill has 37 machines running.", REPORT).sentences
    assert (entry.label, entry.reason_code) == ("unverified", None)
    assert "46 - 9 = 37" in entry.reason


def test_a_calculation_alone_supports_nothing(scripted: Any) -> None:
    with HaluAgent(scripted(["46-9"], choose=believes("silent")), search="none", sandbox="none") as agent:
        (entry,) = agent.detect("", "The mill has 37 cats.", REPORT).sentences
    assert entry.label == "unverified"


def test_the_calculation_is_read_again_where_only_the_comparison_is_repeated(scripted: Any) -> None:
    model = scripted(["46-9"], choose=believes(lambda text: "said" if "46-9 = 37" in text else "otherwise"))
    with HaluAgent(model, search="none", sandbox="none") as agent:
        detection = agent.detect("", "The mill has 37 machines running.", REPORT)
        again = [event for event in agent.recheck(detection, 1, REPORT, "match") if isinstance(event, Answered)]
    assert detection.sentences[0].label == again[0].detection.sentences[0].label == "supported"


def test_facts_stay_with_their_sentence_and_are_read_beside_the_reference_at_once(scripted: Any) -> None:
    def say(messages: Any) -> str:
        if "Check " not in prompt(messages):
            return "46-9"
        assert scripted.checked(messages) == "S2", "what was worked out is compared without another choice"
        return 'ACTION: match(sentence=S2, context="reference")'

    model = scripted(say, choose=believes("said"))
    with HaluAgent(model, search="none", sandbox="none") as agent:
        agent.detect("", "There 37 machines run. It closed at 17:30.", REPORT)
    judged = [text for text in map(prompt, model.seen) if "\nA: " in text]
    assert {("37" in text.split("<claim>")[-1], "46-9 = 37" in text) for text in judged} == {
        (True, True),
        (False, False),
    }


FERRY = "A car with its driver is 420 kr. A further adult is 140 kr, a child 70 kr."


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("One way costs 630 kr: 420 kr for the car, 140 kr for her and 70 kr for the child.", "420 + 140 + 70 = 630"),
        ("单程630克朗：车420克朗，大人140克朗，儿童70克朗。", "420 + 140 + 70 = 630"),
        ("Of the 420 kr for the car, 280 kr are left when the 140 kr for her are paid.", "420 - 140 = 280"),
    ],
)
def test_a_sum_of_all_figures_of_the_sentence_needs_no_model(said: str, line: str) -> None:
    result = call(said, reference=FERRY)
    assert result.label is None and [fact.startswith(line) for fact in result.facts] == [True]


@pytest.mark.parametrize(
    "said",
    [
        "One way costs 640 kr: 420 kr for the car, 140 kr for her and 70 kr for the child.",  # no sum
        "One way costs 650 kr: 420 kr for the car, 160 kr for her and 70 kr for the child.",  # 160 comes from nowhere
        "Both cost 560 %: 420 % and 140 %.",  # shares
    ],
)
def test_a_sum_with_a_figure_from_elsewhere_is_no_fact(scripted: Any, said: str) -> None:
    assert call(said, reference=FERRY, model=scripted(say=lambda messages: "?")).facts == ()
