"""Four tools that no adapter was taught, added by a description and a demo alone, to see whether the model takes them.

    haluagent tools test --tools examples/untaught.py
    haluagent detect --autonomy free --tools examples/untaught.py --question "Was 1900 a leap year?" \\
        --response "1900 was a leap year. The Games of that year were held in Paris."

Each `when` only asks whether there is something that the tool could read: most years belong to no claim about leap years,
and most gold to none about chemistry. Which tool fits is for the model to see.
"""

import calendar
import re

from haluagent import Demo, Evidence, Sentence, ToolContext, ToolError, ToolResult, tool

ELEMENTS = {
    "hydrogen": "H", "helium": "He", "carbon": "C", "oxygen": "O", "sodium": "Na", "potassium": "K", "iron": "Fe",
    "copper": "Cu", "silver": "Ag", "tin": "Sn", "gold": "Au", "mercury": "Hg", "lead": "Pb",
    "氢": "H", "氦": "He", "碳": "C", "氧": "O", "钠": "Na", "钾": "K", "铁": "Fe", "铜": "Cu", "银": "Ag", "锡": "Sn",
    "金": "Au", "汞": "Hg", "铅": "Pb",
}  # fmt: skip
SYMBOL = re.compile(r"(?<![A-Za-z])[A-Z][a-z]?(?![A-Za-z])")
YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
ROMAN = re.compile(
    r"(?<![A-Za-z])(?=[IVXLCDM]{2})M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?![A-Za-z])"
)
NUMBER = re.compile(r"(?<![\w.])\d+(?!\.?\w)")
ISBN = re.compile(r"(?<!\d)(?:97[89][- ]?)?(?:\d[- ]?){9}[\dX](?!\d)")
NOT = re.compile(r"\b(?:not|no|never)\b|n't\b|不|没", re.IGNORECASE)
VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
TEXTS = {
    "en": {
        "leap": "{} is a leap year", "common": "{} is no leap year", "roman": "{} is {}", "symbol": "the symbol of {} is {}",
        "valid": "the check digit of {} is right", "invalid": "the check digit of {} is wrong",
    },
    "zh": {
        "leap": "{} 年是闰年", "common": "{} 年不是闰年", "roman": "{} 等于 {}", "symbol": "{}的元素符号是 {}",
        "valid": "{} 的校验位正确", "invalid": "{} 的校验位有误",
    },
}  # fmt: skip


def elements(text: str) -> list[str]:
    """The elements of the table that a text names."""
    return [name for name in ELEMENTS if re.search(rf"(?<![a-z]){name}(?![a-z])", text.lower())]


def roman_value(numeral: str) -> int:
    values = [VALUES[letter] for letter in numeral]
    return sum(-one if one < following else one for one, following in zip(values, [*values[1:], 0], strict=True))


def is_valid_isbn(digits: str) -> bool:
    if len(digits) == 10:
        return sum((10 - place) * (10 if sign == "X" else int(sign)) for place, sign in enumerate(digits)) % 11 == 0
    return sum((1, 3)[place % 2] * int(sign) for place, sign in enumerate(digits)) % 10 == 0


def result(context: ToolContext, name: str, key: str, *values: object, right: bool) -> ToolResult:
    text = TEXTS[context.language][key].format(*values)
    label = "supported" if right else "contradicted"
    return ToolResult(observation=text, label=label, confidence=0.99, evidence=(Evidence(source=name, text=text),))


def demos(name: str, *shown: tuple[str, str, str, str, str]) -> list[Demo]:
    return [
        Demo(
            language=language, question=question, response=response, thought=thought, call=f"{name}(sentence=S1)",
            observation=observation,
        )
        for language, (question, response, thought, observation) in zip(("en", "zh"), shown, strict=True)
    ]  # fmt: skip


@tool(
    description={"en": "checks whether a year is a leap year", "zh": "核查某一年是不是闰年"},
    demos=demos(
        "leap_year",
        (
            "Does February 1900 have 29 days?",
            "Yes, 1900 was a leap year.",
            "a year that is called a leap year",
            "1900 is no leap year",
        ),
        ("2000年的2月有29天吗？", "有，2000年是闰年。", "说某一年是闰年", "2000 年是闰年"),
    ),
    when=lambda context, sentence: sentence.index > 0 and bool(YEAR.search(sentence.text)),
)
async def leap_year(context: ToolContext, sentence: Sentence) -> ToolResult:
    years = YEAR.findall(sentence.text)
    if len(years) != 1:
        raise ToolError("needs a sentence with one year")
    leap = calendar.isleap(int(years[0]))
    said = not NOT.search(sentence.text)
    return result(context, "leap_year", "leap" if leap else "common", years[0], right=said is leap)


@tool(
    description={
        "en": "reads a Roman numeral and checks the number that a sentence says it is",
        "zh": "读出罗马数字，核查句子说的数对不对",
    },
    demos=demos(
        "roman_numeral",
        ("What number is XIV?", "XIV is 16.", "the value of a Roman numeral", "XIV is 14"),
        ("罗马数字 XC 是多少？", "XC 是 90。", "罗马数字表示的数", "XC 等于 90"),
    ),
    when=lambda context, sentence: sentence.index > 0 and bool(ROMAN.search(sentence.text)),
)
async def roman_numeral(context: ToolContext, sentence: Sentence) -> ToolResult:
    numerals, numbers = ROMAN.findall(sentence.text), NUMBER.findall(sentence.text)
    if len(numerals) != 1 or len(numbers) != 1:
        raise ToolError("needs a sentence with one Roman numeral and one number")
    value = roman_value(numerals[0])
    return result(context, "roman_numeral", "roman", numerals[0], value, right=value == int(numbers[0]))


@tool(
    description={
        "en": "checks the chemical symbol that a sentence gives to an element",
        "zh": "核查句子给出的元素符号是否正确",
    },
    demos=demos(
        "chemical_symbol",
        (
            "What is the symbol of silver?",
            "The symbol of silver is Si.",
            "the symbol of an element",
            "the symbol of silver is Ag",
        ),
        ("银的元素符号是什么？", "银的元素符号是 Ag。", "元素的符号", "银的元素符号是 Ag"),
    ),
    when=lambda context, sentence: sentence.index > 0 and bool(elements(sentence.text)),
)
async def chemical_symbol(context: ToolContext, sentence: Sentence) -> ToolResult:
    named, stated = elements(sentence.text), SYMBOL.findall(sentence.text)
    if len(named) != 1 or len(stated) != 1:
        raise ToolError("needs a sentence with one element and one symbol")
    symbol = ELEMENTS[named[0]]
    return result(context, "chemical_symbol", "symbol", named[0], symbol, right=stated[0] == symbol)


@tool(
    description={"en": "checks the check digit of an ISBN", "zh": "核查 ISBN 书号的校验位"},
    demos=demos(
        "isbn",
        (
            "What is the book's ISBN?",
            "Its ISBN is 978-0-306-40615-8.",
            "the number of a book",
            "the check digit of 9780306406158 is wrong",
        ),
        ("这本书的书号是多少？", "书号是 ISBN 978-7-302-51123-2。", "给出了一个书号", "9787302511232 的校验位有误"),
    ),
    when=lambda context, sentence: sentence.index > 0 and bool(ISBN.search(sentence.text)),
)
async def isbn(context: ToolContext, sentence: Sentence) -> ToolResult:
    numbers = [re.sub(r"[- ]", "", number) for number in ISBN.findall(sentence.text)]
    if len(numbers) != 1:
        raise ToolError("needs a sentence with one ISBN")
    valid = is_valid_isbn(numbers[0])
    return result(context, "isbn", "valid" if valid else "invalid", numbers[0], right=valid)
