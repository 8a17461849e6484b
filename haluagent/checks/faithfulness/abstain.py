"""Answers that claim nothing: they are decided without a model."""

from haluagent.text.normalize import letters
from haluagent.text.segment import split

NO_CLAIM = "the answer claims nothing that could be checked: neither PASS nor FAIL"

_ENDS = "\"'”’」』）)*_` "


def claims_nothing(question: str, answer: str) -> bool:
    """Return whether an answer has no words, only asks something, or repeats the question without stating it."""
    sentences = split(answer)
    if all(sentence.text.rstrip(_ENDS).endswith(("?", "？")) for sentence in sentences):
        return True
    stated = answer.strip().rstrip(_ENDS).endswith((".", "。", "!", "！"))
    return not stated and letters(answer) == letters(question)
