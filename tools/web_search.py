"""`web_search`: check a sentence against what a search finds: the user's own index, or a search engine."""

from dataclasses import replace

from haluagent.errors import QuotaExhausted, SearchError, SearchTimeout, ToolError
from haluagent.judging.comparison import holds_alone
from haluagent.judging.found import (
    ABOUT_QUESTION,
    EITHER_WAY,
    QUERY,
    PassageVerdict,
    answers,
    as_it_stands,
    asked_words,
    complementary,
    cut,
    new_among,
    read_passage,
    read_together,
    share,
    speaks_against,
    supports,
    words_of,
    worth_reading,
)
from haluagent.protocols import Multilingual, SearchResult, ToolContext
from haluagent.text.messages import message
from haluagent.tooling.definition import tool
from haluagent.tooling.tool import Demo
from haluagent.tools.translate.comparison import ModelTranslator
from haluagent.types import Label, Language, Sentence, ToolResult

RESULTS = 5
READ = 3  # passages that are judged, those first that are most about the sentence


def _can_search(context: ToolContext, sentence: Sentence) -> bool:
    return sentence.index > 0 and context.search is not None


@tool(
    description={
        "en": "looks up a statement about the world; write query as you would for a search engine, in the sentence's language",
        "zh": "检索关于世界的事实；query 像搜索引擎那样写，用句子的语言",
    },
    demos=(
        Demo(
            language="en",
            question="Which river flows through Dresden?",
            response="The Rhine flows through Dresden.",
            thought="a fact about the world, to be looked up",
            call='web_search(sentence=S1, query="river that flows through Dresden")',
            observation="“Dresden” does not support this (3%); asked anew, it gives: the Elbe",
        ),
        Demo(
            language="zh",
            question="流经德累斯顿的是哪条河？",
            response="流经德累斯顿的是莱茵河。",
            thought="这是关于世界的事实，需要检索",
            call='web_search(sentence=S1, query="流经德累斯顿的河")',
            observation="《德累斯顿》不支持这句话（3%）；只看检索结果重新作答得到：易北河",
        ),
    ),
    when=_can_search,
    general=True,
    external=True,
)
async def web_search(context: ToolContext, sentence: Sentence, query: str) -> ToolResult:
    """Judge `sentence` against the best passages that a search for `query` finds.

    Any passage that is read may support it, in either language. Only the passage that is most about the sentence can contradict it
    (`speaks_against`), and then another has to support it more surely. Where none decides and the nearest does not say otherwise, two that
    have different words of it are read as one text.
    A passage that it was judged by before is not judged again. An empty result, a used-up quota and a time-out are told
    apart, and none of them decides anything.
    """
    language = context.language
    if context.search is None:
        return ToolResult(observation=message("web_search.none", language))
    try:
        results = await _find(context, sentence, query)
    except QuotaExhausted as error:
        return ToolResult(observation=message("web_search.quota", language, why=error))
    except SearchTimeout as error:
        return ToolResult(observation=message("web_search.late", language, why=error))
    except SearchError as error:
        return ToolResult(observation=message("web_search.failed", language, why=error))
    first = not context.judged  # a later query in other words changes nothing of the translation
    result = await _judge(context, sentence, results, query)
    if result.label or not first:
        return result
    return await _translated(context, sentence) or result


async def _find(context: ToolContext, sentence: Sentence, query: str) -> list[SearchResult]:
    """Search for the query, and for the question and the sentence themselves in a collection on this machine, where that costs
    nothing, or where nothing that is found is about the question."""
    assert context.search is not None
    results = await context.search.search(query, RESULTS, context.language)
    asked = asked_words(context.question)
    here = isinstance(context.search, Multilingual)
    if here or (asked and not any(share(asked, words_of(one)) >= ABOUT_QUESTION for one in results)):
        own = as_it_stands(context.question, sentence) if here else cut(context.question, QUERY)
        more = await context.search.search(own, RESULTS, context.language)
        known = {(one.url, one.offset) for one in results}
        results = results + [one for one in more if (one.url, one.offset) not in known]
    return results


async def _translated(context: ToolContext, sentence: Sentence) -> ToolResult | None:
    """Search for a translation of the sentence, and of the question that it answers, where the collection has texts in the other
    language too. A passage in another language can only support the sentence, and only surely: which words it shares with it is not
    known. None where none does."""
    other: Language = "zh" if context.language == "en" else "en"
    if not isinstance(context.search, Multilingual) or other not in await context.search.languages():
        return None
    said = f"{context.question} {sentence.claim}" if answers(context, sentence) else sentence.claim
    try:
        query = await ModelTranslator(context.model, context.language).translate(said, other, context.language)
        results = await context.search.search(cut(query, QUERY), RESULTS, other)
    except (ToolError, SearchError):
        return None
    turned = sentence.model_copy(update={"standalone": query})
    unasked = replace(context, question="")  # its words, too, are in the language of the sentence
    for result in worth_reading(unasked, turned, new_among(results, context.judged))[:READ]:
        found = await read_passage(context, sentence, result)
        context.judged.append(result)
        confidence = supports(found, doubted=True)
        if confidence is not None and await _holds(context, sentence, found, "supported"):
            return _decided(unasked, turned, "supported", found, confidence)
    return None


async def _judge(context: ToolContext, sentence: Sentence, results: list[SearchResult], query: str) -> ToolResult:
    """Read passages that were not read before, best first, until one supports the sentence; else the best one of all that were
    read may contradict it, and else two of them together may support it."""
    if not results:
        return ToolResult(observation=message("web_search.nothing", context.language, query=query), again=True)
    new = new_among(results, context.judged)
    if not new:
        return ToolResult(observation=message("web_search.known", context.language, query=query), again=True)
    near = worth_reading(context, sentence, new)[:READ]
    if not near:
        titles = "; ".join(dict.fromkeys(result.title[:60] for result in new))
        return ToolResult(observation=message("web_search.unrelated", context.language, titles=titles), again=True)
    best: PassageVerdict | None = None
    contradicts = False
    for result in near:
        found = await read_passage(context, sentence, result)
        context.judged.append(result)
        confidence = supports(found, doubted=contradicts)
        if confidence is not None and await _holds(context, sentence, found, "supported"):
            return _decided(context, sentence, "supported", found, confidence)
        if best is None:
            best = found
            nearest = worth_reading(context, sentence, context.judged)[0] is found.result
            contradicts = nearest and speaks_against(context, sentence, found)
    assert best is not None
    if contradicts and await _holds(context, sentence, best, "contradicted"):
        return _decided(context, sentence, "contradicted", best, 1 - best.supported)
    together = None if best.against > EITHER_WAY else await _together(context, sentence, near)
    return together or ToolResult(observation=_say(context, None, best, best.supported), again=True)


async def _together(context: ToolContext, sentence: Sentence, new: list[SearchResult]) -> ToolResult | None:
    """Read two passages as one text, at least one of them new, where the nearest does not say otherwise. None where they do not support
    the sentence: passages on two things put together contradict much."""
    pair = complementary(sentence, context.judged)
    if pair is None or not any(one in new for one in pair):
        return None
    found = await read_together(context, sentence, pair)
    confidence = supports(found, doubted=True)  # they may be about two things
    if confidence is not None and await _holds(context, sentence, found, "supported"):
        return _decided(context, sentence, "supported", found, confidence)
    return None


async def _holds(context: ToolContext, sentence: Sentence, found: PassageVerdict, label: Label) -> bool:
    return await holds_alone(context, sentence, found.source.text, found.place, label)


def _decided(
    context: ToolContext, sentence: Sentence, label: Label, found: PassageVerdict, confidence: float
) -> ToolResult:
    evidence = found.evidence(context, sentence)
    p = confidence if label == "supported" else 1 - confidence
    return ToolResult(observation=_say(context, label, found, p), label=label, confidence=confidence, evidence=evidence)


def _say(context: ToolContext, label: Label | None, found: PassageVerdict, p: float) -> str:
    language = context.language
    observation = message(f"web_search.{label or 'undecided'}", language, title=found.result.title, p=p)
    observation += message("web_search.anew", language, answer=found.anew) if found.anew else ""
    return observation + (
        message("web_search.number", language, numbers=", ".join(found.missing)) if found.missing else ""
    )
