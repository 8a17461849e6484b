"""The memory of a detection, and how its entries make a verdict."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haluagent.detection.state import Memory
from haluagent.detection.verdict import combine, doubt
from haluagent.types import Evidence, Label, MemoryEntry, Revision, Sentence

LABELS: tuple[Label, ...] = ("supported", "contradicted", "unverified", "no_claim")


def entry(label: Label, index: int = 1, confidence: float = 1.0, opinion: float | None = None) -> MemoryEntry:
    sentence = Sentence(index=index, text="x", span=(0, 1))
    return MemoryEntry(sentence=sentence, label=label, confidence=confidence, opinion=opinion, reason=f"first {label}")


def unsaid(confidence: float, opinion: float | None = None) -> MemoryEntry:
    """What the reference does not say."""
    found = entry("unverified", confidence=confidence, opinion=opinion)
    return found.model_copy(update={"reason_code": "not_in_reference"})


ENTRIES = st.builds(
    entry, st.sampled_from(LABELS), st.integers(0, 9), st.floats(0, 1), st.one_of(st.none(), st.floats(0, 1))
)


@given(st.lists(ENTRIES, max_size=8))
def test_the_verdict_follows_from_the_labels(entries: list[MemoryEntry]) -> None:
    hallucination, score = combine(entries)
    labels = [item.label for item in entries if item.label != "no_claim"]
    if "contradicted" in labels:
        assert hallucination is True and score >= 0.5
    elif labels and set(labels) == {"supported"}:
        assert hallucination is False and score <= 0.5
    else:
        assert hallucination is None
    assert 0 <= score <= 1


@given(st.lists(ENTRIES, max_size=8), st.randoms())
def test_the_verdict_does_not_depend_on_the_order(entries: list[MemoryEntry], random: object) -> None:
    shuffled = list(entries)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert combine(shuffled) == combine(entries)


@given(st.lists(ENTRIES, max_size=8), ENTRIES)
def test_one_more_claim_never_lowers_the_score(entries: list[MemoryEntry], more: MemoryEntry) -> None:
    claims = [item for item in entries if item.label != "no_claim"]
    after = combine([*entries, more])
    if claims:
        assert after[1] >= combine(entries)[1]
    if more.label == "no_claim":
        assert after == combine(entries)


def test_nothing_to_check_is_no_verdict() -> None:
    assert combine([]) == combine([entry("no_claim")]) == (None, 0.5)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (entry("contradicted", confidence=0.97), 0.97),
        (entry("contradicted", confidence=0.3), 0.5),
        (entry("supported", confidence=0.75), 0.25),
        (entry("supported", confidence=0.3), 0.5),
        (entry("unverified", confidence=1.0), 0.5),
        (entry("unverified", opinion=1.0), 0.25),
        (entry("unverified", opinion=0.0), 0.75),
        (entry("unverified", opinion=0.5), 0.5),
        (unsaid(0.9), 0.9),
        (unsaid(0.3), 0.5),
        (unsaid(0.9, opinion=1.0), 0.9),
    ],
)
def test_doubt(item: MemoryEntry, expected: float) -> None:
    assert doubt(item) == pytest.approx(expected)


@given(st.floats(0, 1), st.floats(0, 1))
def test_an_opinion_never_weighs_as_much_as_a_check(belief: float, confidence: float) -> None:
    assert 0.25 <= doubt(entry("unverified", opinion=belief)) <= 0.75


@given(st.permutations(range(5)))
def test_entries_are_in_the_order_of_the_response_and_the_whole_comes_last(order: list[int]) -> None:
    memory = Memory()
    for index in order:
        memory.record(entry("supported", index))
    assert [item.sentence.index for item in memory.entries()] == [1, 2, 3, 4, 0]
    assert 4 in memory and 5 not in memory and memory[4].sentence.name == "S4"


def test_a_sentence_that_is_recorded_again_has_one_entry() -> None:
    memory = Memory()
    memory.record(entry("unverified"))
    memory.record(entry("supported"))
    assert [item.label for item in memory.entries()] == ["supported"]


def test_a_revision_keeps_the_first_label_and_all_evidence() -> None:
    memory = Memory()
    first, second = Evidence(source="calculator", text="a"), Evidence(source="reference", text="b")
    memory.record(entry("supported").model_copy(update={"evidence": (first,)}))
    memory.revise(1, "unverified", "second look", confidence=0.6)
    revised = memory.revise(1, "contradicted", "third look", confidence=0.8, evidence=(second,))
    assert revised == memory[1]
    assert (revised.label, revised.reason, revised.confidence) == ("contradicted", "third look", 0.8)
    assert revised.revised_from == Revision(label="supported", reason="first supported")
    assert revised.evidence == (first, second)


def test_a_revision_takes_the_reason_of_the_first_label_away() -> None:
    memory = Memory()
    memory.record(unsaid(0.9))
    assert memory.revise(1, "supported", "found", confidence=0.8).reason_code is None


def test_what_was_never_recorded_cannot_be_revised() -> None:
    with pytest.raises(KeyError):
        Memory().revise(1, "supported", "why", confidence=1.0)
