"""Faithfulness and claims as methods of the benchmark."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from scripted import Belief, believes

from haluagent import HaluAgent
from haluagent.bench.datasets.items import Item
from haluagent.bench.methods.registry import METHODS, NEEDS_REFERENCE
from haluagent.bench.rows import Row
from haluagent.errors import ModelError
from haluagent.protocols import Message

TOWER = Item(
    id="1", question="Who built Harlow Tower?", response="John Carrick built Harlow Tower.",
    reference="Harlow Tower was built by the mason Mary Ellis.", language="en", wrong=True,
)  # fmt: skip
REPLY = '{"REASONING": ["response: Carrick; reference: Ellis"], "SCORE": "FAIL"}'


@pytest.fixture
def judge(scripted: Callable[..., Any]) -> Callable[[str, Item, Belief], Row]:
    def judge(method: str, item: Item, belief: Belief) -> Row:
        model = scripted(lambda messages: REPLY, choose=believes(belief), free="Mary Ellis")
        return asyncio.run(METHODS[method](HaluAgent(model, sandbox="none", search="none"), item, "tower"))  # type: ignore[arg-type]

    return judge


@pytest.mark.parametrize("method", ["fast", "judge", "match", "claims"])
@pytest.mark.parametrize("belief", ["otherwise", "silent"])
def test_what_the_documents_do_not_say_is_a_hallucination(
    method: str, belief: Belief, judge: Callable[[str, Item, Belief], Row]
) -> None:
    found, right = (
        judge(method, TOWER, belief),
        judge(method, TOWER.model_copy(update={"response": TOWER.reference}), 0.99),
    )
    assert (found.verdict, found.method, found.dataset, found.error) == (True, method, "tower", None)
    assert right.verdict is False and right.score < 0.5 < found.score
    assert found.usage.calls and found.seconds > 0


@pytest.mark.parametrize("method", ["fast", "judge", "match", "claims"])
def test_without_a_reference_there_is_no_verdict(method: str, judge: Callable[[str, Item, Belief], Row]) -> None:
    assert method in NEEDS_REFERENCE
    found = judge(method, TOWER.model_copy(update={"reference": None}), 0.01)
    assert found.verdict is None and found.score == 0.5 and "needs a reference" in (found.error or "")


@pytest.mark.parametrize("method", ["fast", "judge", "match", "claims"])
def test_an_endpoint_that_fails_is_no_verdict_of_an_item(method: str, scripted: Callable[..., Any]) -> None:
    def fail(messages: Sequence[Message]) -> Any:
        raise ModelError("the endpoint is gone")

    agent = HaluAgent(scripted(fail, choose=fail), sandbox="none", search="none")
    if method == "claims":  # one claim that failed, and the endpoint answers: the item has an error
        row = asyncio.run(METHODS[method](agent, TOWER, "tower"))
        assert row.verdict is None and row.error == "the endpoint is gone"
        return
    with pytest.raises(ModelError, match="the endpoint is gone"):
        asyncio.run(METHODS[method](agent, TOWER, "tower"))


@pytest.mark.parametrize(("belief", "verdict"), [("otherwise", True), ("silent", True), (0.5, None), ("said", False)])
def test_match_judges_the_response_as_one_claim_and_may_leave_it_undecided(
    belief: Belief, verdict: bool | None, judge: Callable[[str, Item, Belief], Row]
) -> None:
    statement = TOWER.model_copy(update={"question": "", "response": "Harlow Tower was built by Mary Ellis"})
    found = judge("match", statement, belief)
    assert found.verdict is verdict and found.error is None
    assert found.usage.calls == 2  # one window, in both orders of the options
