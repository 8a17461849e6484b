"""The official client of the OpenAI API in front of the proxy: it reads every answer as it would without it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from scripted import ScriptedModel
from serving import Serving, make_agent
from upstream import EVENTS, JSON, Reply, Upstream, chat, chunks, response, response_events

from haluagent.server.proxy.app import make_proxy
from haluagent.server.proxy.settings import Policy, ProxySettings, Rules
from haluagent.server.settings import ServerSettings

pytestmark = pytest.mark.integrations

RIGHT, WRONG = "It is 12 * 7 = 84.", "It is 84 - 4 = 79."
MESSAGES: Any = [{"role": "user", "content": "How many?"}]


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


@pytest.fixture(params=["annotate", "block", "revise"])
def policy(request: Any) -> Policy:
    found: Policy = request.param
    return found


@pytest.fixture
def client(upstream: Upstream, policy: Policy) -> Iterator[Any]:
    from openai import OpenAI

    server = ServerSettings(grace=0.2)
    rules = Rules(policy=policy, on_error=None if policy == "annotate" else "closed")
    agent = make_agent(ScriptedModel(ScriptedModel.calculate))
    app = make_proxy(agent, ProxySettings(server=server, upstream=upstream.url, rules=rules))
    with (
        Serving(agent, server, app=app) as proxy,
        OpenAI(base_url=proxy.url + "/v1", api_key="sk-1", max_retries=0) as made,
    ):
        yield made


@pytest.mark.parametrize("text", [RIGHT, WRONG])
def test_a_completion(client: Any, upstream: Upstream, policy: Policy, text: str) -> None:
    upstream.answer = chat(text)
    came = client.chat.completions.with_raw_response.create(model="m", messages=MESSAGES)
    choice = came.parse().choices[0]
    out = text == RIGHT or policy == "annotate"
    assert (choice.message.content == text) is out and choice.finish_reason == "stop"
    assert came.headers["x-haluagent-verdict"] == ("supported" if text == RIGHT else "contradicted")
    assert upstream.asked[0].headers["authorization"] == "Bearer sk-1"


@pytest.mark.parametrize("text", [RIGHT, WRONG])
def test_a_streamed_completion(client: Any, upstream: Upstream, policy: Policy, text: str) -> None:
    upstream.answer = Reply(chunks(*text.partition(" = "), usage=True), EVENTS)
    options: Any = {"model": "m", "messages": MESSAGES, "stream": True, "stream_options": {"include_usage": True}}
    came = list(client.chat.completions.create(**options))
    said = "".join(choice.delta.content or "" for chunk in came for choice in chunk.choices)
    out = text == RIGHT or policy == "annotate"
    assert (said == text) is out and ("79" in said) is (text == WRONG and out)
    reasons = [choice.finish_reason for chunk in came for choice in chunk.choices if choice.finish_reason]
    assert reasons == ["stop"]
    assert [chunk.usage.total_tokens for chunk in came if chunk.usage] == [14]
    assert came[-1].haluagent["verdict"] == ("supported" if text == RIGHT else "contradicted")
    with client.chat.completions.stream(model="m", messages=MESSAGES) as stream:
        for _ in stream:
            pass
        assert (stream.get_final_completion().choices[0].message.content == text) is out


@pytest.mark.parametrize("text", [RIGHT, WRONG])
def test_a_response(client: Any, upstream: Upstream, policy: Policy, text: str) -> None:
    out = text == RIGHT or policy == "annotate"
    upstream.answer = Reply([json.dumps(response(text)).encode()], JSON)
    found = client.responses.create(model="m", input="How many?")
    assert (found.output_text == text) is out and found.status == "completed"
    upstream.answer = Reply(response_events(*text.partition(" = ")), EVENTS)
    came = list(client.responses.create(model="m", input="How many?", stream=True))
    (ended,) = [event for event in came if event.type == "response.completed"]
    assert (ended.response.output_text == text) is out
    assert came[-1].type == "haluagent.report"


def test_errors_and_models(client: Any, upstream: Upstream) -> None:
    from openai import BadRequestError

    upstream.answer = Reply(
        [b'{"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "x"}]}']
    )
    assert [model.id for model in client.models.list()] == ["m"]
    upstream.answer = Reply([b'{"error": {"message": "no such model", "type": "invalid", "code": "x"}}'], status=400)
    with pytest.raises(BadRequestError, match="no such model"):
        client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
