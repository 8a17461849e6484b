"""Answers questions.jsonl from handbook.md, worded as prompt.txt says, into answers.jsonl. It stands for your application,
and asks no model: the answer is the sentence that shares most words with the question."""

import json
import re
from pathlib import Path

HANDBOOK = Path("handbook.md").read_text(encoding="utf-8")
PROMPT = Path("prompt.txt").read_text(encoding="utf-8").strip()


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def answer(question: str) -> str:
    sentences = re.findall(r"[A-Z][^.\n]*\.", HANDBOOK)
    best = max(sentences, key=lambda sentence: len(words(sentence) & words(question)))
    return PROMPT.replace("{sentence}", best)


if __name__ == "__main__":
    questions = [json.loads(line) for line in Path("questions.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = [one | {"answer": answer(one["question"]), "document": HANDBOOK} for one in questions]
    Path("answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
