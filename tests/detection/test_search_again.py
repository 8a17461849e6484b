"""A search that asks again, with a scripted model and a real index."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from scripted import believes

from haluagent import HaluAgent, Limits
from haluagent.errors import SearchTimeout
from haluagent.judging.found import QUERY, as_it_stands
from haluagent.protocols import Message, SearchResult
from haluagent.search.index.local import LocalIndex
from haluagent.search.shared import shared
from haluagent.types import Detection, Language, Sentence

TOWER = "The Alster Tower was designed by Ada Brunn in 1911."
BRUNN = "Ada Brunn was born in Kiel, the daughter of a sailor."
CLAIM = "The architect of the Alster Tower was born in Kiel."
QUERIES = ["architect of the Alster Tower", "Ada Brunn", "Alster Tower and Ada Brunn"]


class Counted:
    """A search over an index that keeps its queries."""

    name = "counted"

    def __init__(self, index: LocalIndex, error: Exception | None = None) -> None:
        self.index, self.error = index, error
        self.queries: list[str] = []

    async def search(self, query: str, count: int = 5, language: Language = "en") -> list[SearchResult]:
        self.queries.append(query)
        if self.error:
            raise self.error
        return await self.index.search(query, count, language)


@pytest.fixture
def index(tmp_path: Path) -> LocalIndex:
    for name, text in {"tower": TOWER, "brunn": BRUNN, "other": "Bananas are yellow."}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    index = LocalIndex(tmp_path / "index.db")
    index.add([tmp_path / f"{name}.txt" for name in ("tower", "brunn", "other")])
    return index


def writing(queries: Sequence[str], scripted: Any) -> Callable[[Sequence[Message]], str]:
    """A model that writes one of these queries after another for each sentence."""

    def say(messages: Sequence[Message]) -> str:
        turn = sum("search once more" in message["content"] for message in messages)
        return f'ACTION: web_search(sentence={scripted.checked(messages)}, query="{queries[turn]}")'

    return say


@pytest.fixture
def detect(scripted: Any) -> Callable[..., tuple[Detection, Any]]:
    def run(search: Any, believed: Any, response: str = CLAIM, queries: int = 2) -> tuple[Detection, Any]:
        model = scripted(writing(QUERIES, scripted), choose=believes(believed))
        with HaluAgent(model, search=search, sandbox="none", limits=Limits(queries=queries), reflect=False) as agent:
            return agent.detect("", response), model

    return run


def judged(model: Any, *texts: str) -> int:
    """How often the model judged a text that holds all of these and nothing else of them, in one order of the options."""
    prompts = [seen[-1]["content"] for seen in model.seen if "\nC" in seen[-1]["content"]]
    fitting = [p for p in prompts if {t for t in (TOWER, BRUNN) if t in p} == set(texts)]
    return len(fitting) // 2


def searched(detection: Detection) -> list[str]:
    return [step.call.arguments["query"] for step in detection.steps if step.call and step.call.name == "web_search"]


def test_what_one_search_leaves_open_a_second_query_may_decide(detect: Any, index: LocalIndex) -> None:
    def believed(prompt: str) -> str:
        return "said" if TOWER in prompt and BRUNN in prompt else "silent"

    detection, model = detect(Counted(index), believed)
    (entry,) = detection.sentences
    assert (entry.label, searched(detection)) == ("supported", QUERIES[:2])
    assert [one.text for one in entry.evidence] == [TOWER, BRUNN]
    assert [Path(one.url or "").name for one in entry.evidence] == ["tower.txt", "brunn.txt"]
    assert any("search once more with another query" in message["content"] for seen in model.seen for message in seen)
    assert (judged(model, TOWER), judged(model, BRUNN), judged(model, TOWER, BRUNN)) == (1, 1, 1)


def test_two_passages_together_do_not_contradict(detect: Any, index: LocalIndex) -> None:
    def believed(prompt: str) -> str:
        return "otherwise" if TOWER in prompt and BRUNN in prompt else "silent"

    detection, _ = detect(Counted(index), believed)
    assert [entry.label for entry in detection.sentences] == ["unverified"]


def test_nothing_is_searched_after_it_is_decided(detect: Any, index: LocalIndex) -> None:
    detection, _ = detect(Counted(index), "said")
    assert searched(detection) == QUERIES[:1] and detection.sentences[0].label == "supported"


@pytest.mark.parametrize("queries", [1, 2, 3])
def test_the_budget_ends_it_and_a_passage_is_judged_once(detect: Any, index: LocalIndex, queries: int) -> None:
    detection, model = detect(Counted(index), "silent", queries=queries)
    assert searched(detection) == QUERIES[:queries]
    assert [entry.label for entry in detection.sentences] == ["unverified"]
    assert judged(model, TOWER) == 1 and judged(model, BRUNN) <= 1
    assert detection.stop == "answer"


def test_a_search_that_failed_is_not_asked_again(detect: Any, index: LocalIndex) -> None:
    search = Counted(index, SearchTimeout("10 s"))
    detection, _ = detect(search, "silent")
    assert len(search.queries) == 1 and "10 s" in detection.sentences[0].reason


def test_the_sentences_of_a_response_share_their_searches(detect: Any, index: LocalIndex) -> None:
    search = Counted(index)
    detection, _ = detect(search, "silent", f"{CLAIM} The Alster Tower was designed in 1911 by somebody born in Kiel.")
    assert [entry.label for entry in detection.sentences] == ["unverified", "unverified"]
    assert sorted(searched(detection)) == sorted(2 * QUERIES[:2]) and sorted(search.queries) == sorted(QUERIES[:2])


def test_a_query_under_way_is_waited_for_and_a_failed_one_sent_again() -> None:
    class Slow:
        name = "slow"

        def __init__(self) -> None:
            self.asked = 0

        async def search(self, query: str, count: int = 5, language: Language = "en") -> list[SearchResult]:
            self.asked += 1
            await asyncio.sleep(0)
            if self.asked == 1:
                raise SearchTimeout("late")
            return [SearchResult(title="t", url="http://x", snippet=query)]

    async def both() -> list[Any]:
        together = shared(slow)
        return await asyncio.gather(
            *(together.search(query) for query in ("a  b", "a b", "a b")), return_exceptions=True
        )

    slow = Slow()
    first, *others = asyncio.run(both())
    assert isinstance(first, SearchTimeout) and slow.asked == 2
    assert [one[0].url for one in others] == ["http://x"] * 2


def test_a_collection_on_this_machine_is_searched_before_the_model_writes_a_query(
    detect: Any, index: LocalIndex
) -> None:
    detection, model = detect(index, "said")
    assert searched(detection) == [CLAIM] and detection.sentences[0].label == "supported"
    assert not any(model.grammars)  # it took no turn
    assert [step.thought for step in detection.steps if step.call and step.call.name == "web_search"] == [
        "look it up as it stands"
    ]


@pytest.mark.parametrize("queries", [1, 2, 3])
def test_what_that_leaves_open_the_model_asks_in_other_words(detect: Any, index: LocalIndex, queries: int) -> None:
    detection, model = detect(index, "silent", queries=queries)
    assert searched(detection) == [CLAIM, *QUERIES[1:queries]]
    assert bool(any(model.grammars)) is (queries > 1)  # else it takes no turn
    assert judged(model, TOWER) == 1 and judged(model, BRUNN) <= 1


@pytest.mark.parametrize("settings", [{"autonomy": "free"}, {"ablate": ["reading"]}])
def test_a_model_that_leads_or_goes_first_writes_the_first_query(
    settings: dict[str, Any], scripted: Any, index: LocalIndex
) -> None:
    model = scripted(writing(QUERIES, scripted), choose=believes("said"))
    with HaluAgent(model, search=index, sandbox="none", reflect=False, **settings) as agent:
        assert searched(agent.detect("", CLAIM))[:1] == QUERIES[:1]


def test_a_sentence_that_was_looked_up_in_vain_may_still_claim_nothing(scripted: Any, index: LocalIndex) -> None:
    """Unless it states something: a number, or a name inside."""
    response = "The tower has quite a story. The Alster Tower was a gift of Ada Brunn to the town."

    def say(messages: Sequence[Message]) -> str:
        return f'ACTION: get_answer(sentence={scripted.checked(messages)}, label="no_claim")'

    def believed(prompt: str) -> Any:
        if "What is the statement?" in prompt:
            return 0.01 if "A: information" in prompt else 0.99
        return "silent"

    with HaluAgent(scripted(say, choose=believes(believed)), search=index, sandbox="none", reflect=False) as agent:
        detection = agent.detect("", response)
    assert [entry.label for entry in detection.sentences] == ["no_claim", "unverified"]
    assert len(searched(detection)) == 2


OPEN = "That is how it was built. The sailor had a daughter somewhere by the sea."


@pytest.fixture
def vague(scripted: Any) -> Callable[..., tuple[Detection, Any]]:
    """A detection of two sentences that state neither a number nor a name, by a model that says this of the second."""

    def run(search: Any, believed: Any, *said: str, claims: bool = True, queries: int = 2) -> tuple[Detection, Any]:
        left = list(said)

        def say(messages: Sequence[Message]) -> str:
            name = scripted.checked(messages)
            return "ACTION: " + (
                left.pop(0) if name == "S2" and left else 'get_answer(sentence={}, label="no_claim")'
            ).format(name)

        def choice(prompt: str) -> Any:
            if "What is the statement?" in prompt:
                mine = claims and "daughter" in prompt.split("<statement>")[1]
                return 0.99 if ("A: information" in prompt) == mine else 0.01
            return believed

        model = scripted(say, choose=believes(choice))
        with HaluAgent(model, search=search, sandbox="none", limits=Limits(queries=queries), reflect=False) as agent:
            return agent.detect("", OPEN), model

    return run


def second(detection: Detection) -> tuple[str, list[str]]:
    """The label of the second sentence, and the queries for it after the one that it is itself."""
    queries = [
        step.call.arguments["query"]
        for step in detection.steps
        if step.sentence == 2 and step.call and "query" in step.call.arguments
    ]
    assert queries[0] == OPEN.split(". ")[1]
    return detection.sentences[1].label, queries[1:]


ASK = 'web_search(sentence={}, query="daughter of a sailor")'
NONE = 'get_answer(sentence={}, label="no_claim")'


def test_what_was_looked_up_counts_where_the_model_takes_the_sentence_for_a_claim(
    vague: Any, index: LocalIndex
) -> None:
    assert second(vague(index, 0.35, ASK)[0]) == ("supported", [])  # without its query
    assert second(vague(index, 0.35, NONE)[0]) == ("supported", [])
    assert second(vague(index, 0.35, NONE, claims=False)[0]) == ("no_claim", [])
    assert second(vague(index, 0.9, NONE, claims=False)[0]) == ("supported", [])  # clearly


def test_the_model_writes_as_many_queries_as_it_may(vague: Any, index: LocalIndex) -> None:
    detection, _ = vague(index, "silent", ASK, ASK.replace("sailor", "captain"))
    assert second(detection) == ("unverified", ["daughter of a sailor"])
    assert "brunn" in detection.sentences[1].reason
    detection, _ = vague(index, "silent", ASK, queries=1)
    assert second(detection) == ("unverified", []) and "brunn" in detection.sentences[1].reason


def test_a_model_that_asks_for_the_sentence_itself_asks_again(vague: Any, index: LocalIndex) -> None:
    own = ASK.replace("daughter of a sailor", OPEN.split(". ")[1])
    detection, _ = vague(index, "silent", own, ASK)
    assert second(detection) == ("unverified", ["daughter of a sailor"])
    assert "brunn" in detection.sentences[1].reason


def test_a_collection_that_fails_is_not_asked_again(vague: Any, index: LocalIndex) -> None:
    class Late(Counted):
        async def languages(self) -> frozenset[Language]:
            return frozenset({"en"})

    search = Late(index, SearchTimeout("10 s"))
    detection, _ = vague(search, "silent", ASK)
    assert second(detection) == ("unverified", []) and "10 s" in detection.sentences[1].reason
    assert len(search.queries) == len(set(search.queries)) == 2


@pytest.mark.parametrize(
    ("question", "claim", "query"),
    [
        ("Who?", "Ada Brunn.", "Who? Ada Brunn."),
        ("", "Ada Brunn.", "Ada Brunn."),
        ("So? " * 60, "It opened in 1911.", ("So? " * 45).strip() + " It opened in 1911."),
        ("谁？", "桥" * 240, "桥" * QUERY),
        ("Who?", "no " * 65 + "in 1911 or so", ("no " * 65).strip() + " in"),
    ],
)
def test_of_long_texts_the_sentence_is_looked_up_first_of_all(question: str, claim: str, query: str) -> None:
    found = as_it_stands(question, Sentence(index=1, text=claim, span=(0, len(claim))))
    assert " ".join(found.split()) == query and len(found) <= QUERY
