"""Judgements of claims beside texts: the one question "does the text say so?" with its right answer, and no detection
around it.

The claims come from files in the form of `haluagent bench judge` (one claim a line) and from documents written for this
(`documents.jsonl`, `answers.jsonl`). From Chinese questions with right and wrong answers statements are made, each also beside its text
without the sentence that decides it; two claims about one text are joined to a longer one.
"""

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

from haluagent.corpora import packaged, perturbations
from haluagent.corpora.claims import without
from haluagent.corpora.pairs import digest
from haluagent.corpora.passages import Passage
from haluagent.errors import ConfigError
from haluagent.judging.judge import OUTCOMES, WINDOW_TOKENS
from haluagent.judging.passages import best_windows
from haluagent.models.tokenizer import ApproximateTokenizer
from haluagent.prompts import conversation
from haluagent.text.language import GAP
from haluagent.train.trajectories.records import ModelCall, RecordedMessage, Trajectory, parse
from haluagent.types import Label, Language, Record

Outcome = Literal["supported", "contradicted", "not_in_reference"]
_OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
# Claims of each source at --scale 1, and the tokens of a text that are shown: a shorter window leaves room for more texts.
SIZES = {
    "documents": 20000,
    "summedits": 640,
    "bump": 240,
    "wice": 110,
    "factcg": 520,
    "factcheckgpt": 150,
    "drcd": 260,
    "xquad": 320,
    "uhgeval": 80,
}
SHOWN = {"wice": 500}
STATED, JOINED = 300, 220  # statements made of answers, and claims made of two
HELD_OUT = 5  # one text of so many is never taught: what is fitted afterwards is fitted to those
TURNED = 0.25  # the share with the options in reverse order, so that their words are read and not their letters
UNASKED = 0.3  # the share of the sentences about the documents that are shown without their question
SEED = 17
# How published sets say that a wrong claim adds something, rather than changing it.
_ADDED = re.compile(r"insertion|_supported|^CG2C|没有(?:明确)?(?:提|说|涉)|未(?:明确)?(?:提|说|涉)|无(?:相关|法)")


class TaughtClaim(Record):
    """A claim beside a text, and what the text says of it. Claims with one `text` belong together: never put them on both
    sides of a split."""

    id: str
    source: str
    language: Language
    question: str = ""
    claim: str
    text: str
    label: Outcome
    kind: str = ""


def read(path: Path) -> list[TaughtClaim]:
    """Return the claims of a file, one JSON object a line: `{id, source, language, question, claim, text}` with `label`,
    or with `wrong` and `kind` as published. Raises ConfigError naming a line that cannot be read."""
    claims = []
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise ConfigError(f"{path}, line {number} is not JSON: {error}") from error
            claims.append(parse(TaughtClaim, _labelled(row), f"{path}, line {number}"))
    return claims


def _labelled(row: Any) -> Any:
    """Return a row with its three-way label, which is derived from `wrong` and `kind` if it is not there."""
    if not isinstance(row, dict) or "label" in row or "wrong" not in row:
        return row
    label = "supported"
    if row["wrong"]:
        label = "not_in_reference" if _ADDED.search(str(row.get("kind", ""))) else "contradicted"
    return {name: value for name, value in row.items() if name != "wrong"} | {"label": label}


def written() -> list[TaughtClaim]:
    """Return the claims that were written for this: sentences about documents, and answers to questions of their own (source
    "answers"), about these documents, short texts, and the texts of HaluEval-QA's generated part."""
    return [
        TaughtClaim(
            id=f"{row['id']}:{place}", source="answers" if "question" in one else "documents", language=one["language"],
            question=one.get("question", row["question"]), claim=one["claim"], text=row["text"], label=one["label"],
            kind=one["how"],
        )
        for name in ("documents.jsonl", "answers.jsonl")
        for row in packaged.rows("haluagent.train.trajectories", name)
        for place, one in enumerate(row["claims"])
    ]  # fmt: skip


def stated(claims: Iterable[TaughtClaim], chance: random.Random) -> Iterator[TaughtClaim]:
    """Yield Chinese answers as statements in the words of their questions: the right and the wrong one beside the text, and
    one of the two beside the text without the sentences that have the right answer."""
    found: dict[tuple[str, str], dict[str, TaughtClaim]] = defaultdict(dict)
    for claim in claims:
        if claim.language == "zh" and claim.question:
            found[claim.text, claim.question][claim.label] = claim
    for (text, question), answers in found.items():
        if len(answers) < 2:
            continue
        sentences = {label: perturbations.statement(question, one.claim, "zh") for label, one in answers.items()}
        if not all(sentences.values()):
            continue
        for label, sentence in sentences.items():
            made = answers[label].model_copy(update={"id": f"{answers[label].id}:stated", "claim": sentence})
            yield made.model_copy(update={"question": chance.choice((question, ""))})
        right = answers.get("supported")
        rest = right and without(Passage(name="", language="zh", text=text), right.claim)
        if right and rest and right.claim not in rest:
            sentence = sentences[chance.choice(list(sentences))]
            yield right.model_copy(
                update={"id": f"{right.id}:without", "claim": sentence, "text": rest, "label": "not_in_reference", "question": ""}
            )  # fmt: skip


def joined(claims: Iterable[TaughtClaim], chance: random.Random) -> Iterator[TaughtClaim]:
    """Yield pairs of claims about one text as one longer claim, which is as wrong as its worse part."""
    of_text: dict[tuple[str, Language], list[TaughtClaim]] = defaultdict(list)
    for claim in claims:
        of_text[claim.text, claim.language].append(claim)
    for own in of_text.values():
        chance.shuffle(own)
        for one, other in list(pairwise(own))[::2]:
            worst: Outcome = "supported"
            if "contradicted" in (one.label, other.label):
                worst = "contradicted"
            elif "not_in_reference" in (one.label, other.label):
                worst = "not_in_reference"
            text = f"{one.claim}{GAP[one.language]}{other.claim}"
            yield one.model_copy(update={"id": f"{one.id}+{other.id}", "claim": text, "label": worst})


def held_out(text: str) -> bool:
    """Return whether a claim's text is kept from teaching, for calibration."""
    return digest(text)[0] % HELD_OUT == 0


def make(directory: Path, scale: float = 1.0, *, held: bool = False, seed: int = SEED) -> list[Trajectory]:
    """Return the judgements made from the files in a directory and from the documents written for this; the same for the
    same files, scale and seed. Another seed chooses other texts where there are more than are taken, and another order of
    the options. With `held`, return those about the texts that are kept from teaching. A source without a file is left out.
    Raises ConfigError if a file cannot be read."""
    chance = random.Random(seed)
    found = {name: _of(directory, name) for name in SIZES}
    known = {name: [one for one in claims if held_out(one.text) is held] for name, claims in found.items()}
    everything = [one for claims in known.values() for one in claims]
    made = {
        name: _even(claims, round(SIZES[name] * scale), seed) for name, claims in known.items() if claims
    }  # fmt: skip
    made["stated"] = _even(list(stated(everything, chance)), round(STATED * scale), seed)
    short = [claim for claim in everything if claim.source in ("documents", "factcheckgpt")]
    made["joined"] = _even(list(joined([*short, *made["stated"]], chance)), round(JOINED * scale), seed)
    made["documents"] = [
        claim.model_copy(update={"question": ""})
        if claim.source == "documents" and chance.random() < UNASKED
        else claim
        for claim in made["documents"]
    ]
    return [trajectory(claim, chance, SHOWN.get(name, WINDOW_TOKENS)) for name, own in made.items() for claim in own]


def _of(directory: Path, name: str) -> list[TaughtClaim]:
    if name == "documents":
        return written()
    path = directory / f"{name}.jsonl"
    return read(path) if path.is_file() else []


def _even(claims: Sequence[TaughtClaim], size: int, seed: int) -> list[TaughtClaim]:
    """Return at most `size` claims, at most half of them supported and at most half not; those of one text stay
    together."""
    kept: list[TaughtClaim] = []
    for right in (True, False):
        own = [claim for claim in claims if (claim.label == "supported") is right]
        kept += sorted(own, key=lambda one: (digest(f"{seed} {one.text}"), digest(f"{seed} {one.id}")))[: size // 2]
    return kept


def trajectory(claim: TaughtClaim, chance: random.Random, room: int = WINDOW_TOKENS, fact: str = "") -> Trajectory:
    """Return a claim as a trajectory of one scored choice, with the options in either order. Of a text of more than
    `room` tokens the window is shown that shares most words with the claim, with the `fact` that a tool found behind it."""
    count = ApproximateTokenizer().count
    spans, _ = best_windows(claim.text, f"{claim.question} {claim.claim}", 1, room, count)
    evidence = claim.text[slice(*spans[0])] if spans else claim.text
    turned = chance.random() < TURNED
    messages = conversation(
        "verdict", claim.language, evidence=f"{evidence}\n{fact}" if fact else evidence, question=claim.question,
        claim=claim.claim, turned=turned,
    )  # fmt: skip
    options = OUTCOMES[::-1] if turned else OUTCOMES
    gold = None if claim.label == "not_in_reference" else claim.label == "contradicted"
    labels: tuple[Label, ...] = ("unverified" if claim.label == "not_in_reference" else claim.label,)
    return Trajectory(
        id=claim.id, group=claim.text, source=claim.source, kind="knowledge", language=claim.language,
        question=claim.question, response=claim.claim, reference=evidence,
        gold=gold, gold_labels=labels, teacher="gold", verdict=gold, labels=labels,
        calls=(ModelCall(
            prompt="verdict", messages=tuple(RecordedMessage(**message) for message in messages),
            reply=options[_OUTCOMES.index(claim.label)], choices=OUTCOMES,
        ),),
    )  # fmt: skip
