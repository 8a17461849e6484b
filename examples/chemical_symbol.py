"""A tool of your own: does a sentence give an element its right symbol?

    python examples/chemical_symbol.py
    haluagent detect --tools examples/chemical_symbol.py --question "Which symbol has iron?" \\
        --response "The symbol of iron is Ir."

A tool is an async function. It gets a `ToolContext` and the arguments that the model wrote, and answers with a
`ToolResult`: a label where it can decide, and none where it cannot.
"""

import re

from haluagent import Demo, Evidence, HaluAgent, Sentence, ToolContext, ToolError, ToolResult, tool

SYMBOLS = {
    "hydrogen": "H", "oxygen": "O", "sodium": "Na", "potassium": "K", "iron": "Fe", "silver": "Ag", "gold": "Au",
    "氢": "H", "氧": "O", "钠": "Na", "钾": "K", "铁": "Fe", "银": "Ag", "金": "Au",
}  # fmt: skip
STATED = re.compile(r"(?<![A-Za-z])[A-Z][a-z]?(?![A-Za-z])")


def elements(text: str) -> list[str]:
    """The elements of the table that a text names."""
    return [name for name in SYMBOLS if re.search(rf"(?<![a-z]){name}(?![a-z])", text.lower())]


@tool(
    description={
        "en": "checks the chemical symbol that a sentence gives to an element",
        "zh": "核查句子给出的元素符号是否正确",
    },
    demos=[
        Demo(
            language="en",
            question="What is the symbol of silver?",
            response="The symbol of silver is Si.",
            thought="a chemical symbol",
            call="chemical_symbol(sentence=S1)",
            observation="the symbol of silver is Ag, not Si",
        ),
        Demo(
            language="zh",
            question="银的元素符号是什么？",
            response="银的元素符号是 Si。",
            thought="这是元素符号",
            call="chemical_symbol(sentence=S1)",
            observation="银的元素符号是 Ag，不是 Si",
        ),
    ],
    # Offered to the model only where it could decide something.
    when=lambda context, sentence: sentence.index > 0 and bool(elements(sentence.text)),
)
async def chemical_symbol(context: ToolContext, sentence: Sentence) -> ToolResult:
    named, stated = elements(sentence.text), STATED.findall(sentence.text)
    if len(named) != 1 or len(stated) != 1:
        raise ToolError("needs a sentence with one element and one symbol")
    name, symbol = named[0], stated[0]
    right = SYMBOLS[name]
    if context.language == "zh":
        text = f"{name}的元素符号是 {right}" + ("" if symbol == right else f"，不是 {symbol}")
    else:
        text = f"the symbol of {name} is {right}" + ("" if symbol == right else f", not {symbol}")
    return ToolResult(
        observation=text,
        label="supported" if symbol == right else "contradicted",
        confidence=0.99,
        evidence=(Evidence(source="chemical_symbol", text=text),),
    )


if __name__ == "__main__":
    agent = HaluAgent(tools=[chemical_symbol])
    report = agent.detect("Which symbols do gold and iron have?", "The symbol of gold is Au. The symbol of iron is Ir.")
    for entry in report.sentences:
        print(entry.label, entry.sentence.text, *(item.text for item in entry.evidence), sep=" | ")
