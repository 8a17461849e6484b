"""RefChecker's own package, in its environment, before the files that `haluagent claims` writes, and the other way round."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from haluagent.bench.peers import python_of
from haluagent.cli.claims import app

pytestmark = pytest.mark.peers

# Its command line, classes and aggregators, without its `__init__`s, which load torch; its model's labels are given here.
THEIRS = """
import importlib.util, json, os, sys
from types import ModuleType
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
def package(name, **members):
    module = ModuleType(name)
    module.__path__ = list(importlib.util.find_spec(name).submodule_search_locations)
    sys.modules[name] = module
    vars(module).update(members)
for name in ("refchecker", "refchecker.checker", "refchecker.extractor"):
    package(name, LLMChecker=None, LLMExtractor=None)
sys.modules["refchecker.retriever"] = ModuleType("refchecker.retriever")
sys.modules["refchecker.retriever"].GoogleRetriever = None
from refchecker import aggregator, base, cli
from refchecker.checker.checker_base import CheckerBase
class Fixed(CheckerBase):
    def __init__(self, **settings): super().__init__()
    def _check(self, claims, references, questions, **settings): return [[["Neutral"] for _ in one] for one in claims]
cli.LLMChecker = Fixed
taken, checked, theirs = sys.argv[1:]
sys.argv = ["refchecker-cli", "check", "--input_path", taken, "--output_path", theirs, "--aggregator_name", "strict"]
cli.main()
found = []
for item in json.load(open(checked)):
    claims = [base.RCClaim("triplet", content, [str(own["sentence"])])
              for content, own in zip(item["claims"], item["haluagent"]["claims"], strict=True)]
    assert len(claims) == len(item["ys"])
    found.append({"claims": [repr(base.RCClaim.from_dict(claim.to_dict())) for claim in claims]}
        | {name: getattr(aggregator, name + "_agg")(list(item["ys"])) for name in ("strict", "soft", "major")})
print(json.dumps(found))
"""

ITEMS = [
    {
        "response": "The tower of Osk is 52 metres high. It was built in 1950.",
        "question": "How high is it?",
        "reference": "The tower of Osk is 34 metres high and was built in 1950.",
        "id": "tower",
    },
    {"response": "I don't know.", "question": "Who built it?", "reference": "The tower of Osk.", "id": "none"},
]
TRIPLETS = 'S1\n["tower of Osk", "is", "52 metres high"]\nS2\n["It", "was built in", "1950"]\n'


def run(endpoint: Any, command: str, source: Path, out: Path, *more: str) -> list[dict[str, Any]]:
    endpoint.say = lambda messages: TRIPLETS
    files = [
        "--input_path",
        str(source),
        "--output_path",
        str(out),
        "--endpoint",
        endpoint.base_url,
        "--search",
        "none",
    ]
    call = CliRunner().invoke(app, [command, *files, *more])
    assert call.exit_code == 0, call.output
    found: list[dict[str, Any]] = json.loads(out.read_text("utf-8"))
    return found


def test_refchecker_reads_what_comes_out(endpoint: Any, tmp_path: Path) -> None:
    source, taken, checked, theirs = (tmp_path / f"{part}.json" for part in ("in", "taken", "checked", "theirs"))
    source.write_text(json.dumps(ITEMS), encoding="utf-8")
    run(endpoint, "extract", source, taken, "--claim_format", "triplet")
    ours = {
        name: run(endpoint, "extract-check", source, tmp_path / name, "--aggregator", name, "--claim_format", "triplet")
        for name in ("strict", "soft", "major")
    }
    steps = run(endpoint, "check", taken, checked)
    assert [(item["ys"], item["Y"]) for item in steps] == [(item["ys"], item["Y"]) for item in ours["strict"]]

    command = [str(python_of("refchecker")), "-c", THEIRS, str(taken), str(checked), str(theirs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    # Its classes hold the claims, and its aggregators come to the same from the labels.
    assert found[0]["claims"] == ['("tower of Osk", "is", "52 metres high")', '("It", "was built in", "1950")']
    for name, items in ours.items():
        assert [one[name] for one in found] == [item["Y"] for item in items]
    # Its command line takes what was extracted; what that writes can be checked here again.
    written = json.loads(theirs.read_text("utf-8"))
    assert [(item["ys"], item["Y"], item["id"]) for item in written] == [
        (["Neutral", "Neutral"], "Neutral", "tower"), ([], "Abstain", "none"),
    ]  # fmt: skip
    assert [item["ys"] for item in run(endpoint, "check", theirs, tmp_path / "back.json")] == [
        item["ys"] for item in ours["strict"]
    ]
