"""One conversation through the proxy with real parts: the embedded model serves the chatbot, and checks its answers.

HALUAGENT_TEST_UPSTREAM names other weights than the default, of `haluagent model list`.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from serving import Serving, until

from haluagent.agent import HaluAgent
from haluagent.server.proxy.app import make_proxy
from haluagent.server.proxy.settings import ProxySettings, Rules
from haluagent.server.settings import ServerSettings

pytestmark = pytest.mark.engine

QUESTION = "<context>The Harlow Tower opens at 9 and closes at 17.</context> When does the Harlow Tower open?"
BODY: dict[str, Any] = {"messages": [{"role": "user", "content": QUESTION}], "max_tokens": 40, "temperature": 0}


def answers(url: str) -> bool:
    try:
        return httpx.get(url + "/models", trust_env=False).is_success
    except httpx.HTTPError:
        return False


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    weights = os.environ.get("HALUAGENT_TEST_UPSTREAM")
    command = [sys.executable, "-m", "haluagent", "model", "serve", "--port", port]
    process = subprocess.Popen(command + (["--model", weights] if weights else []))
    url = f"http://127.0.0.1:{port}/v1"
    until(lambda: answers(url) or process.poll() is not None)
    yield url
    process.terminate()
    process.wait(30)


@pytest.mark.parametrize("rules", [Rules(), Rules(policy="block", on_error="closed", on_unverified="block")])
def test_a_conversation(served: str, rules: Rules) -> None:
    server = ServerSettings(grace=0.2)
    agent = HaluAgent(base_url=served, sandbox="none", search="none")
    with Serving(
        agent, server, app=make_proxy(agent, ProxySettings(server=server, upstream=served, rules=rules))
    ) as proxy:
        url = proxy.url + "/v1/chat/completions"
        direct = httpx.post(served + "/chat/completions", json=BODY, timeout=300, trust_env=False).json()
        complete = httpx.post(url, json=BODY, timeout=300, trust_env=False)
        text = direct["choices"][0]["message"]["content"]
        report = httpx.get(f"{proxy.url}/reports/{complete.headers['x-haluagent-report']}", trust_env=False).json()
        streamed = httpx.post(url, json=BODY | {"stream": True}, timeout=300, trust_env=False).text
    print(json.dumps(report, ensure_ascii=False, indent=1))
    assert report["question"] == "When does the Harlow Tower open?" and report["answers"][0]["text"] == text
    assert report["verdict"] in ("supported", "contradicted", "unverified")
    out = not rules.holds or report["verdict"] == "supported"
    assert (complete.json()["choices"][0]["message"]["content"] == text) is out
    events = [json.loads(line[6:]) for line in streamed.splitlines() if line.startswith("data: {")]
    said = "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"])
    assert (said == text) is (not rules.holds or events[-1]["haluagent"]["verdict"] == "supported")
    assert streamed.rstrip().endswith("data: [DONE]")
