"""The wire format: what the grammar allows the parser reads back, and what a model writes freely is still understood."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haluagent.errors import FormatError
from haluagent.tooling import turn_format
from haluagent.tools import default_registry
from haluagent.types import ToolCall

TEXT = st.text(min_size=1, max_size=40).filter(lambda text: "\n" not in text and "\r" not in text)


@pytest.mark.parametrize(
    ("text", "thought", "call"),
    [
        (
            'THOUGHT: a sum\nACTION: calculator(sentence=S3, formula="12*7")',
            "a sum",
            ToolCall(name="calculator", arguments={"sentence": "S3", "formula": "12*7"}),
        ),
        (
            "思考：算一下\n行为：calculator(sentence=S3，formula=“(1+2)*3”)",
            "算一下",
            ToolCall(name="calculator", arguments={"sentence": "S3", "formula": "(1+2)*3"}),
        ),
        ("ACTION get_answer()", "", ToolCall(name="get_answer")),
        ("I am done. get_answer()", "I am done.", ToolCall(name="get_answer")),
        (
            '**THOUGHT**: x\n**ACTION**: `match(sentence=S1, context="question")`\nOBSERVATION: made up',
            "x",
            ToolCall(name="match", arguments={"sentence": "S1", "context": "question"}),
        ),
        (
            'THOUGHT: quotes\nACTION: match(sentence=S1, context="he said "no" twice")',
            "quotes",
            ToolCall(name="match", arguments={"sentence": "S1", "context": 'he said "no" twice'}),
        ),
        (
            "思考：x\n行为：word_count（sentence=S0，length=30）",
            "x",
            ToolCall(name="word_count", arguments={"sentence": "S0", "length": 30}),
        ),
        (
            'THOUGHT: cut off\nACTION: calculator(sentence=S2, formula="3*(4+5',
            "cut off",
            ToolCall(name="calculator", arguments={"sentence": "S2", "formula": "3*(4+5"}),
        ),
        (
            "THOUGHT: none\nACTION: date(sentence=S1, start=None, end=2024-01-05)",
            "none",
            ToolCall(name="date", arguments={"sentence": "S1", "start": None, "end": "2024-01-05"}),
        ),
    ],
)
def test_turns_are_read(text: str, thought: str, call: ToolCall) -> None:
    turn = turn_format.parse(text)
    assert (turn.thought.strip("*: "), turn.call) == (thought, call)


def turn(text: str) -> ToolCall:
    return turn_format.parse(text).call


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ('思考：查一查\n行为：search(query="蚂蚁的行为研究")', "蚂蚁的行为研究"),
        ('思考：查一查。行为：search(query="蚂蚁的行为研究")', "蚂蚁的行为研究"),
        (
            'THOUGHT: x\nACTION: search(query="what the ACTION plan (of 2019) says")',
            "what the ACTION plan (of 2019) says",
        ),
        ('THOUGHT: x\nACTION: search(query="ACTION: match(sentence=S1)")', "ACTION: match(sentence=S1)"),
        ('search(query="the ACTION plan")', "the ACTION plan"),
        ('THOUGHT: the ACTION plan\nACTION: search(query="plan")', "plan"),
        ('思考：这个行为需要核实\n行为：search(query="蚂蚁")', "蚂蚁"),
        ('ACTION: search(query="plan"), as the ACTION plan (2019) says', "plan"),
        ('行为：search(query="她的观察：蚂蚁会搬家")', "她的观察：蚂蚁会搬家"),
        ('THOUGHT: OBSERVATION: is a mark\nACTION: search(query="plan")', "plan"),
        ('ACTION: search(query="plan") OBSERVATION: yes\nACTION: get_answer()', "plan"),
        ('THOUGHT: call search(query="a and then\nACTION: search(query="plan")', "plan"),
        ('THOUGHT: x\nACTION: I will call search(query="plan")', "plan"),
    ],
)
def test_marks_inside_an_argument_are_text(text: str, query: str) -> None:
    assert turn(text) == ToolCall(name="search", arguments={"query": query})


@pytest.mark.parametrize(
    "text",
    [
        'THOUGHT: x\nACTION: search(query="the height of Mount',
        'THOUGHT: x\nACTION: search(query="f(x) and g(y)',
        'THOUGHT: x\nACTION: search(query="ants"',
        "THOUGHT: x\nACTION: search(query=ants",
        "THOUGHT: x\nACTION: search(",
    ],
)
def test_a_call_that_was_cut_off_is_no_call(text: str) -> None:
    assert turn(text).name == "search"
    with pytest.raises(FormatError, match="cut off; write a shorter one"):
        turn_format.parse(text, truncated=True)


def test_a_call_that_was_closed_before_the_limit_is_one() -> None:
    text = 'THOUGHT: x\nACTION: search(query="f(x)")\nand so'
    assert turn_format.parse(text, truncated=True) == turn_format.parse(text)


@pytest.mark.parametrize("text", ["", "I do not know.", "THOUGHT: nothing follows", "行为：", "calculator(12*7)"])
def test_what_is_no_call_says_so(text: str) -> None:
    with pytest.raises(FormatError):
        turn_format.parse(text)


@given(st.text(max_size=300))
def test_any_text_is_a_turn_or_a_format_error(text: str) -> None:
    try:
        turn = turn_format.parse(text)
    except FormatError:
        return
    assert turn.call.name.isidentifier()


@given(
    st.dictionaries(
        st.sampled_from(["formula", "start", "end", "length"]), TEXT | st.integers(-9999, 9999) | st.booleans()
    )
)
def test_what_is_written_is_read_back(arguments: dict[str, object]) -> None:
    call = ToolCall(name="calculator", arguments={"sentence": "S12", **arguments})
    assert turn_format.parse(f"THOUGHT: t\nACTION: {turn_format.write_call(call)}").call == call


def test_the_grammar_names_the_offered_tools_and_sentences_only() -> None:
    registry = default_registry()
    grammar = turn_format.grammar([registry["calculator"], registry["get_answer"]], ["S3"], "zh")
    assert 'root ::= "思考：" thought "\\n行为：" call' in grammar
    assert "call ::= tool-calculator | tool-get-answer" in grammar
    assert 'tool-calculator ::= "calculator(" "sentence=" pointer (", formula=" string)? ")"' in grammar
    assert 'pointer ::= "S3"' in grammar
    assert "word_count" not in grammar


def test_an_escape_of_half_a_character_is_replaced() -> None:
    call = turn_format.parse('ACTION: calculator(sentence=S1, formula="1 \\ud800")').call
    assert call.arguments["formula"] == "1 \ufffd" and call.model_dump_json()
