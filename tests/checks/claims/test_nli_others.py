"""The NLI checker with a model that is served, and with one of sentence-transformers."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from haluagent import HaluAgent
from haluagent.checks.claims.check import check_claims
from haluagent.checks.claims.nli import NLIChecker
from haluagent.checks.claims.records import ClaimReport
from haluagent.errors import ConfigError, ModelError

E, N, C = "Entailment", "Neutral", "Contradiction"


def check(scripted: Any, model: str | Path, reference: Any, *claims: str) -> ClaimReport:
    with HaluAgent(scripted(), sandbox="none", search="none") as agent:
        report = check_claims(agent, " ".join(claims), reference, claims=claims, checker=NLIChecker(model), tools=False)
    for citation in (citation for claim in report.claims for citation in claim.citations):
        assert report.passages[citation.passage][slice(*citation.span)] == citation.text
    return report


class ScoreServer(ThreadingHTTPServer):
    """A server with vLLM's /v1/score, whose model takes `limit` tokens; `score` is given each pair of texts."""

    def __init__(self, score: Callable[[str, str], Any], limit: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.score, self.limit = score, limit
        self.seen: list[str] = []
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    server: ScoreServer

    def do_GET(self) -> None:
        model = {"id": "judge", "owned_by": "vllm", "max_model_len": self.server.limit}
        self._answer(200 if self.path == "/v1/models" else 404, {"data": [model]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        pairs = list(zip(body["text_1"], body["text_2"], strict=True))
        self.server.seen += body["text_1"]
        known = self.path == "/v1/score" and body["model"] == "judge"
        data = [{"index": n, "object": "score", "score": self.server.score(*pair)} for n, pair in enumerate(pairs)]
        self._answer(200 if known else 404, {"object": "list", "data": data[::-1]})

    def _answer(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def serve() -> Iterator[Callable[..., tuple[str, ScoreServer]]]:
    servers: list[ScoreServer] = []

    def start(score: Callable[[str, str], Any], limit: int = 64) -> tuple[str, ScoreServer]:
        servers.append(ScoreServer(score, limit))
        return f"http://127.0.0.1:{servers[-1].server_port}", servers[-1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_score_tells_entailment_from_neutral(scripted: Any, serve: Any) -> None:
    url, _ = serve(lambda premise, claim: 0.9 if claim.split()[-1] in premise else 0.2)
    report = check(scripted, url, ["The mill is old.", "The tower is red."], "The tower is red.", "The tower is high.")
    assert [(claim.label, claim.probability) for claim in report.claims] == [(E, 0.9), (N, 0.8)]
    assert [citation.passage for citation in report.claims[0].citations] == [1]


def test_long_passages_are_scored_in_windows_that_leave_nothing_out(scripted: Any, serve: Any) -> None:
    url, server = serve(lambda premise, claim: 0.7 if "tower is red" in premise else 0.1)
    old, new = ("".join(f"Mill {number} is {age}. " for number in range(12)) for age in ("old", "new"))
    passage = f"{old}The tower is red. {new}"
    report = check(scripted, url, passage, "The tower is red.")
    assert report.claims[0].label == E and report.claims[0].citations[0].text == "The tower is red."
    assert 1 < len(server.seen) <= 8 and report.coverage == 1.0
    assert all(len(premise) <= 2 * 64 for premise in server.seen)
    covered = {
        at for premise in server.seen for at in range(passage.find(premise), passage.find(premise) + len(premise))
    }
    assert max(covered) == len(passage) - 1
    assert "too long for the NLI model" in (check(scripted, url, passage, "very " * 40).error or "")


@pytest.mark.parametrize("score", [None, "high", 7.5, True])
def test_what_is_no_probability_is_an_error(scripted: Any, serve: Any, score: Any) -> None:
    url, _ = serve(lambda premise, claim: score)
    report = check(scripted, url, "The tower is red.", "The tower is red.")
    assert [claim.label for claim in report.claims] == [None] and "no score between 0 and 1" in (report.error or "")


def test_an_address_where_nothing_answers(scripted: Any) -> None:
    with pytest.raises(ModelError, match="gave no answer"):
        check(scripted, "http://127.0.0.1:9/", "x", "x")
    with pytest.raises(ConfigError, match="no base URL"):
        check(scripted, "http://", "x", "x")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder with random weights."""
    import transformers

    folder = tmp_path_factory.mktemp("model")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "tower", "is", "red", "."]
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=48).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8,
        max_position_embeddings=48, id2label={0: "contradiction", 1: "entailment", 2: "neutral"},
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.mark.train
def test_a_cross_encoder_of_sentence_transformers(scripted: Any, tiny: Path) -> None:
    from sentence_transformers import CrossEncoder

    report = check(scripted, tiny, "The tower is red.", "The tower is red.")
    own = CrossEncoder(str(tiny)).predict([("The tower is red.", "The tower is red.")], apply_softmax=True)[0]
    label, probability = report.claims[0].label, report.claims[0].probability
    assert (label, probability) == ([C, E, N][own.argmax()], pytest.approx(float(own.max()), abs=1e-5))
    assert check(scripted, tiny, "The tower is red. " * 100, "The tower is red.").coverage < 1
