"""Units: facts in the unit of the sentence, calls of the model's own, and what is left open."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from haluagent.arithmetic.units import unit_named
from haluagent.errors import FormatError, HaluAgentError, ToolError
from haluagent.tooling.tool import Tool
from haluagent.tools import default_registry
from haluagent.types import ToolResult


@pytest.fixture
def convert() -> Tool:
    return next(tool for tool in default_registry() if tool.name == "convert")


@pytest.fixture
def call(make_context: Callable[..., Any], convert: Tool) -> Callable[..., ToolResult]:
    def run(response: str, *, reference: str | None = None, question: str = "", **arguments: str) -> ToolResult:
        context = make_context(question, response, reference=reference)
        return asyncio.run(convert.run(context, context.sentences[0], **arguments))

    return run


@pytest.mark.parametrize(
    ("known", "said", "lines"),
    [
        ("A marathon is 42.195 km long.", "It is 28 miles long.", ["42.195 km = 26.22 miles"]),
        ("The oven was at 100 °F.", "It was 42 °C in there.", ["100 °F = 37.78 °C"]),
        ("这袋米重10斤。", "它重6公斤。", ["10斤 = 5公斤"]),
        ("这块地有3亩。", "这块地有2100平方米。", ["3亩 = 2,000平方米"]),
        ("It is 42.195 km (28 miles) long.", "It is 28 miles long.", []),
        ("It weighs 2 tons.", "It weighs 1,900 kg.", []),
        ("The tank holds 10 gallons.", "It holds 38 litres.", []),
        ("It took 20 minutes.", "The shop is open for 9 hours.", []),
        ("It is 5 km long.", "It took 3 hours.", []),
    ],
)
def test_what_is_given_is_converted_to_the_units_of_the_sentence(
    make_context: Callable[..., Any], convert: Tool, known: str, said: str, lines: list[str]
) -> None:
    for given in ({"reference": known}, {"reference": None}):
        context = make_context("" if given["reference"] else known, said, **given)
        sentence = context.sentences[0]
        assert not convert.when(context, sentence)
        assert bool(convert.adds and convert.adds(context, sentence)) == bool(lines)
        if not lines:
            continue
        found = asyncio.run(convert.run(context, sentence))
        assert (found.label, list(found.facts)) == (None, lines)


def test_the_same_quantity_twice_is_supported_and_nothing_else_of_the_sentence(call: Callable[..., ToolResult]) -> None:
    said = "The trail that Anna built in 1999 measures 5 km, and the sign says 3.1 miles."
    found = call(said, value="5 km", claimed="3.1 miles")
    assert (found.label, found.observation) == ("supported", "5 km = 3.107 miles, as stated (3.1 miles)")
    assert any("Anna built in 1999" in said[slice(*span)] for span in found.open)


def test_another_result_decides_nothing(call: Callable[..., ToolResult]) -> None:
    found = call("It was 100 °F, or 42 °C.", value="100 degF", claimed="42 degC")
    assert (found.label, found.facts) == (None, ("100 degF = 37.78 degC, not 42 degC",))
    assert call("It was 100 °F.", value="100 °F", claimed="37.78 °C").label is None  # the sentence does not say so


@pytest.mark.parametrize(
    ("value", "to", "text"),
    [
        ("101325 Pa", "atm", "101325 Pa = 1 atm"),
        ("2.5 kWh", "MJ", "2.5 kWh = 9 MJ"),
        ("3 square feet", "square inches", "3 square feet = 432 square inches"),
        ("2平方公里", "公顷", "2平方公里 = 200公顷"),
        ("500 light years", "parsec", "500 light years = 153.3007 parsec"),
        ("2 metric tons", "kg", "2 metric tons = 2,000 kg"),
        ("1千瓦", "瓦", "1千瓦 = 1,000瓦"),
        ("30 mg", "kg", "30 mg = 0.00003 kg"),
        ("120 rpm", "rps", "120 rpm = 2 rps"),
        ("2 kHz", "Hz", "2 kHz = 2,000 Hz"),
    ],
)
def test_any_unit_that_has_one_size(call: Callable[..., ToolResult], value: str, to: str, text: str) -> None:
    assert call("It is so.", value=value, to=to).observation == text


@pytest.mark.parametrize(
    "text",
    [
        "ton",
        "tons",
        "gallons",
        "cup",
        "fluid ounces",
        "m",
        "M",
        "里",
        "两",
        "years",
        "month",
        "calories",
        "度",
        "dB",
        "hp",
        "kB",
        "MB",
        "gigabytes",
        "TB/s",
        "ML",
        "Ml",
    ],
)
def test_what_can_be_read_in_several_ways_is_refused(call: Callable[..., ToolResult], text: str) -> None:
    with pytest.raises(ValueError, match="can be read in several ways"):
        unit_named(text)
    with pytest.raises(FormatError):
        call("It is so.", value=f"5 {text}", to="kg")


@pytest.mark.parametrize(
    "value",
    [
        "5",
        "km",
        "5 km + 3 km",
        "5 __class__",
        "5 x**9**9",
        "5 " + "k" * 5000,
        "5 m**(9)",
        "1e999 km",
        "5 furlongfoo",
        "5 \ud800",
        "",
    ],
)
def test_what_is_no_quantity_is_an_error_of_the_call(call: Callable[..., ToolResult], value: str) -> None:
    with pytest.raises(HaluAgentError):
        call("It is so.", value=value, to="km")


@pytest.mark.parametrize(
    ("value", "to"),
    [
        ("60 rpm", "Hz"),
        ("1 kHz", "rpm"),
        ("1 Hz", "rad/s"),
        ("5 cd", "lm"),
        ("5 lux", "nit"),
        ("5 Gy", "mSv"),
        ("5 Bq", "Hz"),
    ],
)
def test_what_has_one_dimension_and_is_not_the_same_is_refused(
    call: Callable[..., ToolResult], value: str, to: str
) -> None:
    with pytest.raises(FormatError, match="cannot be converted"):
        call("It is so.", value=value, to=to)


def test_a_difference_of_temperature_is_no_fact(call: Callable[..., ToolResult]) -> None:
    found = call("It rose by 10 °C, which is 18 °F.", value="10 °C", claimed="18 °F")
    assert (found.label, found.facts) == (None, ()) and "cannot be told" in found.observation
    with pytest.raises(ToolError, match="nothing here is given in another unit"):
        call("It rose by 9 °F.", reference="It rose by 5 °C.")


def test_units_of_two_dimensions_and_no_unit(call: Callable[..., ToolResult]) -> None:
    with pytest.raises(FormatError, match="km cannot be converted to kg|kilometer cannot be converted to kilogram"):
        call("It is so.", value="5 km", to="kg")
    with pytest.raises(ToolError, match="nothing here is given in another unit"):
        call("It is so.", value="5 km")
    with pytest.raises(ToolError, match="nothing here is given in another unit"):
        call("It is so.")
