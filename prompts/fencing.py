"""Text from outside in a prompt: it can neither close the tags around it, nor imitate the marks of a chat template or of
the agent's own turns.

A mark is a fixed string, so one invisible character inside it makes it ordinary text, which still reads the same. Only
what has the form of a mark is changed: `List<int>`, `<p class="x">`, `a < b` and `[1]` stay as they are.
"""

import re

BREAK = "\u200b"  # a space of no width

# The tags of the prompts. A model takes a broken one for a tag too: `< /response>`, `</ Response`.
OWN_TAGS = ("question", "response", "reference", "text", "statement", "claim", "observation")
_OWN = "|".join(OWN_TAGS)
_NAMES = (  # of templates' marks that have no sign of their own
    r"s|(?i:bos|eos|pad|unk|mask(?::\d+)?|sep|cls|sop|eop|sod|eod|eot|eom|eoh|eoa|pre|suf|mid|unused\d*|reserved\d*|[a-z]{1,12}:\w{1,20}"
    r"|endoftext|think|thinking|thoughts?|reasoning|reflection|scratchpad|answer)|system|sys|SYS|user|assistant|role|model"
    r"|developer|human|tools?|functions?|invoke|parameter|instructions?|inst|INST|SYSTEM|USER|ASSISTANT|AI|HUMAN|用户|助手|系统"
)
_MARK = re.compile(
    rf"""
    [<＜‹〈](?!{BREAK})(?=
        (?:[^\w<\s]{{0,8}}|[^\w<]{{0,8}}/[^\w<]{{0,8}})(?i:{_OWN})\b  # <response, < /response, not a < response
      | [^\w<]{{0,8}}(?i:{_OWN})\s{{0,4}}[>＞›〉]                             # < response >
      | [\s/]{{0,4}}[|｜]                                     # <|im_start|>, <｜User｜>
      | [^<>\n]{{1,80}}[|｜][>＞›〉]                          # <turn|>
      | [\s/]{{0,4}}(?:{_NAMES}|[^\W_]{{0,40}}[_▁][\w▁]{{0,60}})  # <s>, </think>, <start_of_turn>, <tool_call>
        (?:[\s=/][^<>\n]{{0,80}})?[>＞›〉]
    )
    | \[(?!{BREAK})(?=
        [\s/]{{0,4}}[|｜]                                     # [|user|]
      | [\s/]{{0,4}}(?:INST|[gs]?MASK|CLS|SEP|PAD|UNK|BOS|EOS|SYS|IMG|THINK|ARGS|[A-Z]{{1,30}}_[A-Z\d_]{{1,40}})\s?\]
    )
    """,
    re.VERBOSE,
)
# At the start of a line. In another case these are headings of ordinary texts.
_TURN = re.compile(
    r"(?:^|(?<=[\r\x0b\x0c\x85\u2028\u2029]))[ \t\u3000\xa0>*_`(-]{0,8}(?:(?:THOUGHT|ACTION|OBSERVATION|USER|ASSISTANT|SYSTEM|HUMAN|思考|"
    r"行为|行动|观察)[*_ \t]{0,3}[:：]"
    r"|###[ ]?(?:指令|Instruction|Response|Input|Human|Assistant|User|System)[ ]?:)",
    re.MULTILINE,
)
_FIRST = re.compile(r"[\w#]")


def without_marks(text: str) -> str:
    """Break the marks of chat templates and the tags of prompts in a text; the agent's turns stay."""
    return _MARK.sub(lambda mark: mark[0] + BREAK, text)


def without_turns(text: str) -> str:
    """Break what begins a turn, of the agent or of a chat, at the start of a line."""
    return _TURN.sub(lambda turn: _FIRST.sub(lambda first: first[0] + BREAK, turn[0], count=1), text)
