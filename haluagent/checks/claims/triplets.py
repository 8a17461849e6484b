"""Decomposing sentences into triplets (head, relation, tail) with the model, under a grammar if the server supports
it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from haluagent.agent import HaluAgent
from haluagent.checks.claims.places import stretch
from haluagent.checks.claims.records import Claim
from haluagent.checks.claims.triplet_text import Block, Triplet, read
from haluagent.prompts import conversation
from haluagent.text.windows import clip
from haluagent.text.words import words
from haluagent.types import Language, Sentence, Usage

BATCH_SENTENCES, BATCH_TOKENS = 6, 400  # per call
BEFORE_TOKENS = 200  # of the text before the batch, to resolve its pronouns
QUESTION_TOKENS = 300
TOKENS_PER_FACT = 8  # plus three facts; without a bound a small model goes on repeating the last one


@dataclass(frozen=True)
class Extracted:
    """The claims of some sentences, and the number of sentences left whole because no triplet could be read for
    them."""

    claims: tuple[Claim, ...]
    usage: Usage
    whole: int


async def triplets(
    agent: HaluAgent, sentences: Sequence[Sentence], response: str, question: str, language: Language
) -> Extracted:
    """Return the triplets of the sentences, in order. Raise `ModelError` if the endpoint fails.

    A sentence becomes a claim of its own if no triplet of it could be read or it is too long to be decomposed. It is
    added beside its triplets if something written for it could not be read, such as a last line that was cut off.
    """
    found: list[Claim] = []
    usage, whole = Usage(), 0
    for batch in _batches(sentences, agent.model.count_tokens):
        blocks: dict[str, Block] = {}
        if agent.model.count_tokens(batch[0].text) <= BATCH_TOKENS:
            blocks, cost = await _ask(agent, batch, response, question, language)
            usage += cost
        known = words(f"{response} {question}")
        for sentence in batch:
            block = blocks.get(sentence.name, Block())
            claims = [_claim(triplet, sentence) for triplet in block.triplets if _is_from(triplet, known)]
            whole += not claims
            if block.unread or not claims:
                claims.append(as_claim(sentence))
            found += claims
    return Extracted(tuple(found), usage, whole)


def as_claim(sentence: Sentence) -> Claim:
    """Return a sentence as a claim."""
    return Claim(content=sentence.text, sentence=sentence.index, span=sentence.span)


def _batches(sentences: Sequence[Sentence], count: Callable[[str], int]) -> list[list[Sentence]]:
    """Group the sentences into batches of one call each; one that is too long is alone in its batch."""
    batches: list[list[Sentence]] = []
    room = 0
    for sentence in sentences:
        size = count(sentence.text)
        if not batches or size > room or len(batches[-1]) == BATCH_SENTENCES:
            batches.append([])
            room = BATCH_TOKENS
        batches[-1].append(sentence)
        room -= size
    return batches


async def _ask(
    agent: HaluAgent, batch: Sequence[Sentence], response: str, question: str, language: Language
) -> tuple[dict[str, Block], Usage]:
    count = agent.model.count_tokens
    messages = conversation(
        "triplets",
        language,
        question=clip(question, QUESTION_TOKENS, count)[0],
        before=_before(response[: batch[0].span[0]], count),
        sentences=[(sentence.name, " ".join(sentence.text.split())) for sentence in batch],
    )
    room = sum(80 + 4 * count(sentence.text) for sentence in batch)
    most = {sentence.name: 3 + count(sentence.text) // TOKENS_PER_FACT for sentence in batch}
    generation = await agent.model.generate(messages, grammar=grammar(most), max_tokens=room)
    blocks = read(generation.text, [sentence.name for sentence in batch])
    if generation.truncated and blocks:
        list(blocks.values())[-1].unread = True
    for name, block in blocks.items():
        block.unread |= len(block.triplets) == most.get(name)  # it may have been stopped by the bound
    return _placed(blocks, batch), generation.usage


def grammar(most: dict[str, int]) -> str:
    """Return the GBNF for one answer: the name of each sentence with at least one triplet, and at most as many as
    `most` says."""
    # No line end comes last: after one, a small model writes another fact instead of stopping.
    parts = ' "\\n" '.join(f'"{name}" fact{{1,{facts}}}' for name, facts in most.items())
    return "\n".join(
        [
            f"root ::= {parts}",
            'fact ::= "\\n[" string ", " string ", " string "]"',
            'string ::= "\\"" char{1,200} "\\""',
            'char ::= [^"\\\\\\n\\r] | "\\\\" ["\\\\]',
        ]
    )


def _before(text: str, count: Callable[[str], int]) -> str:
    """Return the end of a text, of at most `BEFORE_TOKENS` tokens."""
    text = text[-8 * BEFORE_TOKENS :].strip()
    while count(text) > BEFORE_TOKENS:
        text = text[len(text) // 4 + 1 :]
    return " ".join(text.split())


def _placed(blocks: dict[str, Block], batch: Sequence[Sentence]) -> dict[str, Block]:
    """Return the same triplets, each with the sentence that shares most words with it; in a tie, the one it is listed
    under.

    A small model sometimes continues one sentence under the name of the next.
    """
    placed = {sentence.name: Block() for sentence in batch}
    for name, block in blocks.items():
        for triplet in block.triplets:
            about = words(" ".join(triplet))
            best = max(batch, key=lambda item: (len(about & words(item.text)), item.name == name))
            if triplet not in placed[best.name].triplets:
                placed[best.name].triplets.append(triplet)
        for sentence in batch:
            placed[sentence.name].unread |= block.unread and name in (sentence.name, "")
    return placed


def _claim(triplet: Triplet, sentence: Sentence) -> Claim:
    start, end = stretch(sentence.text, " ".join(triplet)) or (0, len(sentence.text))
    span = (sentence.span[0] + start, sentence.span[0] + end)
    return Claim(content=triplet, sentence=sentence.index, span=span)


def _is_from(triplet: Triplet, known: frozenset[str]) -> bool:
    """Return whether the head or the tail of a triplet shares a word with the texts; otherwise it was invented."""
    ends = words(f"{triplet[0]} ; {triplet[2]}")
    return not ends or bool(ends & known)
