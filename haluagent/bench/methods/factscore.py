"""A judge in the style of FActScore (Min et al., 2023, arXiv 2305.14251): the response is broken into atomic facts, sentence by
sentence, and each fact is true or false by the reference, or else by what a search finds for it.

The wording of the prompts is our own. The paper's score is the share of facts that are supported, without a threshold.
"""

import asyncio
import re
import time
from statistics import fmean

from haluagent.agent import HaluAgent
from haluagent.bench.datasets.items import Item
from haluagent.bench.rows import Row, blank
from haluagent.detection.limits import Budget, Meter
from haluagent.errors import FormatError, SearchError
from haluagent.judging.found import text_of
from haluagent.judging.passages import best_windows
from haluagent.prompts import conversation
from haluagent.protocols import Model, SearchProvider
from haluagent.text.segment import split
from haluagent.text.windows import clip
from haluagent.types import Language

PASSAGES, PASSAGE_TOKENS = 5, 256  # that a fact is judged by, as in the paper
ANSWER_TOKENS = 300  # for the facts of a sentence
PROMPT_TOKENS = 500  # an upper bound for either template in any tokenizer
CHOICES: dict[Language, list[str]] = {"en": ["True", "False"], "zh": ["正确", "错误"]}
_FACT = re.compile(r"^[ \t]*(?:[-*•]|\d+[.)、])(?!\d)[ \t]*(?!(?:none|无)\W*$)(\S.*)$", re.MULTILINE | re.IGNORECASE)
NO_SOURCE = "this method needs a reference or a search, and the item has none"


async def judge(agent: HaluAgent, item: Item, dataset: str) -> Row:
    """Judge an item by its facts: a hallucination if fewer than half of them are supported; the score is the share of the others.
    A fact for which the search finds nothing is not supported. A response without facts, an answer that is neither true nor
    false, and a search that fails are errors of the item. Raises ModelError if the endpoint failed."""
    row = blank(item, dataset, "factscore")
    if not item.reference and agent.services.search is None:
        return row.model_copy(update={"error": NO_SOURCE})
    began = time.monotonic()
    meter = Meter(agent.model, Budget(agent.limits))
    supported, error = list[bool](), None
    try:
        for fact in await facts(meter, item):
            supported.append(await _is_supported(meter, item, fact, agent.services.search))
        error = None if supported else "no fact was found in the response"
    except (FormatError, SearchError) as failure:
        error = str(failure)
    share = 0.5 if error else fmean(supported)
    update = {"verdict": None if error else share < 0.5, "score": 1 - share, "usage": meter.usage, "error": error}
    return row.model_copy(update=update | {"seconds": time.monotonic() - began})


async def facts(model: Model, item: Item) -> list[str]:
    """Return the atomic facts of a response, each once, in its order. Raises ModelError if the endpoint failed."""
    room = max(model.context - ANSWER_TOKENS - PROMPT_TOKENS, 256)
    question, response = _clip(model, item.question, room // 6), _clip(model, item.response, room // 3)
    found: list[str] = []
    for sentence in await asyncio.to_thread(split, item.response):
        text = _clip(model, sentence.text, room // 3)
        messages = conversation("facts", item.language, question=question, response=response, sentence=text)
        generation = await model.generate(messages, max_tokens=ANSWER_TOKENS)
        lines = _FACT.findall(generation.text)
        found += lines[:-1] if generation.truncated else lines  # the last one is cut off
    return list(dict.fromkeys(fact.strip() for fact in found))


async def _is_supported(model: Model, item: Item, fact: str, search: SearchProvider | None) -> bool:
    """Return whether a fact is rather true than false. Raises FormatError if the model says neither, SearchError if the search
    failed."""
    room = max(model.context - PROMPT_TOKENS, 256)
    reference = await _passages(model, item, fact, search, room // 2)
    if not reference:
        return False
    question, statement = _clip(model, item.question, room // 6), _clip(model, fact, room // 4)
    messages = conversation("fact", item.language, reference=reference, question=question, statement=statement)
    true, false = CHOICES[item.language]
    choice = await model.choose(messages, [true, false])
    if not choice.calibrated and choice.probabilities[true] == choice.probabilities[false]:
        raise FormatError(f"the model wrote neither true nor false of the fact {fact[:100]!r}")
    return choice.probabilities[true] > choice.probabilities[false]


async def _passages(model: Model, item: Item, fact: str, search: SearchProvider | None, room: int) -> str:
    """Return what a fact is judged by: the reference, or the passages of a longer one that share most words with the fact; without
    a reference, the best passages that a search for the fact finds, each after its title."""
    limit = min(PASSAGE_TOKENS, room // PASSAGES)
    if text := item.reference:
        if len(text) <= room or model.count_tokens(text) <= room:
            return text
        spans, _ = best_windows(text, fact, PASSAGES, limit, model.count_tokens)
        return "\n\n".join(text[slice(*span)] for span in spans)
    assert search is not None
    results = await search.search(fact, PASSAGES, item.language)
    return "\n\n".join(_clip(model, f"{one.title}\n{text_of(one)}", limit) for one in results if text_of(one).strip())


def _clip(model: Model, text: str, room: int) -> str:
    return clip(text, room, model.count_tokens)[0]
