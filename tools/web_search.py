"""`web_search`: a sentence checked against what a search finds: the user's own index, or a search engine."""

from collections.abc import Sequence

from ..errors import QuotaExhausted, SearchError, SearchTimeout
from ..protocols import SearchResult, ToolContext
from ..registry import Demo, tool
from ..types import Label, Sentence, Span, ToolResult
from ._calibration import AGREEMENT_TURNS
from ._instructions import without_orders
from ._judge import Reading, Source, ask, weigh, wording_of
from ._passages import best_windows, quoted
from ._words import words

RESULTS = 5
READ = 3  # passages that are judged, those first that are most about the sentence
PASSAGE_TOKENS = 350
SUPPORTED, CONTRADICTED = 0.7, 0.2  # probabilities of being supported; between them nothing is decided
QUOTED = 0.9  # what a page says word for word
RELATED = 0.3  # the share of a sentence's words in a passage that could support it
ABOUT_QUESTION, ABOUT_CLAIM = 0.5, 0.6  # the share of their words in a passage that can contradict

_OBSERVATION = {
    "en": {
        "supported": "“{title}” supports this ({p:.0%})",
        "contradicted": "“{title}” does not support this ({p:.0%})",
        None: "what was found does not decide this: {titles}",
        "anew": "; asked anew, it gives: {answer}",
        "number": "; {numbers} is not in it",
        "nothing": "the search found nothing for: {query}",
        "none": "there is no search: add documents with `haluagent index add PATH`, or name a search with --search",
        "quota": "the search allows no more queries: {why}",
        "late": "the search did not answer in time: {why}",
        "failed": "the search failed: {why}",
    },
    "zh": {
        "supported": "《{title}》支持这句话（{p:.0%}）",
        "contradicted": "《{title}》不支持这句话（{p:.0%}）",
        None: "检索结果不足以判定：{titles}",
        "anew": "；只看检索结果重新作答得到：{answer}",
        "number": "；其中没有 {numbers}",
        "nothing": "没有检索到结果：{query}",
        "none": "没有可用的检索：请用 `haluagent index add 路径` 添加文档，或用 --search 指定检索服务",
        "quota": "检索次数已用完：{why}",
        "late": "检索超时：{why}",
        "failed": "检索失败：{why}",
    },
}


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

    Any passage that is read may support it. Only the passage that is most about the sentence can contradict it, and
    only where it also is about the question. An empty result, a used-up quota and a time-out are told apart, and none
    of them decides anything.
    """
    texts = _OBSERVATION[context.language]
    if context.search is None:
        return ToolResult(observation=texts["none"])
    try:
        results = await _find(context, sentence, query)
    except QuotaExhausted as error:
        return ToolResult(observation=texts["quota"].format(why=error))
    except SearchTimeout as error:
        return ToolResult(observation=texts["late"].format(why=error))
    except SearchError as error:
        return ToolResult(observation=texts["failed"].format(why=error))
    if not results:
        return ToolResult(observation=texts["nothing"].format(query=query))
    return await _judge(context, sentence, results)


async def _find(context: ToolContext, sentence: Sentence, query: str) -> list[SearchResult]:
    """What the query finds; where none of it is about the question, what the question itself finds as well."""
    assert context.search is not None
    results = await context.search.search(query, RESULTS, context.language)
    asked = words(context.question)
    if all(_share(asked, words(f"{one.title} {_text(one)}")) < ABOUT_QUESTION for one in results):
        more = await context.search.search(context.question[:200], RESULTS, context.language)
        known = {(one.url, one.offset) for one in results}
        results = results + [one for one in more if (one.url, one.offset) not in known]
    return results


def _text(result: SearchResult) -> str:
    return result.text if result.text is not None else result.snippet


async def _judge(context: ToolContext, sentence: Sentence, results: Sequence[SearchResult]) -> ToolResult:
    """Read passages, best first, until one supports the sentence; else the best one may contradict it."""
    texts = _OBSERVATION[context.language]
    best: tuple[SearchResult, Source, Span, Reading] | None = None
    for result in _worth_reading(context, sentence, results)[:READ]:
        source = Source("web_search", _text(result), result.url, result.offset if result.text is not None else None)
        if span := quoted(sentence.text, source.text):
            observation = texts["supported"].format(title=result.title, p=QUOTED)
            evidence = source.evidence(span, sentence.claim, QUOTED)
            return ToolResult(observation=observation, label="supported", confidence=QUOTED, evidence=(evidence,))
        readable = without_orders(source.text)
        ((start, end),), _ = best_windows(
            readable, f"{sentence.claim} {context.question}", 1, PASSAGE_TOKENS, context.model.count_tokens
        )
        if not readable[start:end].strip():
            continue
        judged = await ask(context, sentence, readable[start:end], wording_of(context))
        reading = await weigh(context, sentence, readable[start:end], judged, readable)
        if reading.supported >= SUPPORTED:
            return _decided(context, sentence, "supported", result, source, (start, end), reading)
        best = best or (result, source, (start, end), reading)
    if best and best[3].supported <= CONTRADICTED and _speaks_against(context, sentence, best[1].text, best[3]):
        return _decided(context, sentence, "contradicted", *best)
    titles = "; ".join(dict.fromkeys(result.title[:60] for result in results))
    return ToolResult(observation=texts[None].format(titles=titles))


def _worth_reading(context: ToolContext, sentence: Sentence, results: Sequence[SearchResult]) -> list[SearchResult]:
    """Those that share words enough with the sentence or the question to say anything of it, best first."""
    asked, said = words(context.question), words(sentence.claim)
    found = {id(result): words(f"{result.title} {_text(result)}") for result in results}
    near = [r for r in results if _share(said, found[id(r)]) >= RELATED or _share(asked, found[id(r)]) >= ABOUT_QUESTION]
    return sorted(near, key=lambda result: -len((asked | said) & found[id(result)]))


def _speaks_against(context: ToolContext, sentence: Sentence, text: str, reading: Reading) -> bool:
    """Whether a passage that does not support a sentence says something else, rather than nothing of it.

    It has most words of the sentence; for a bare answer half of those of the question, and an answer of its own that
    disagrees. Of passages that do not decide a right sentence one in ten passes (docs/calibration.md).
    """
    found = words(text)
    if reading.judged.silent:
        return False
    if wording_of(context) == "statement":
        return _share(words(sentence.claim), found) >= ABOUT_CLAIM
    own = words(reading.anew)
    answers = bool(own) and own <= found and reading.agrees is not None and reading.agrees < AGREEMENT_TURNS
    return answers and _share(words(context.question), found) >= ABOUT_QUESTION


def _share(wanted: frozenset[str], found: frozenset[str]) -> float:
    return len(wanted & found) / len(wanted) if wanted else 0.0


def _decided(
    context: ToolContext, sentence: Sentence, label: Label, result: SearchResult, source: Source, place: Span, reading: Reading
) -> ToolResult:
    texts = _OBSERVATION[context.language]
    observation = texts[label].format(title=result.title, p=reading.supported)
    observation += texts["anew"].format(answer=reading.anew) if reading.anew else ""
    observation += texts["number"].format(numbers=", ".join(reading.missing)) if reading.missing else ""
    evidence = source.evidence(place, f"{sentence.claim} {context.question}", reading.supported)
    confidence = max(reading.supported, 1 - reading.supported)
    return ToolResult(observation=observation, label=label, confidence=confidence, evidence=(evidence,))
