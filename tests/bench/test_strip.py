"""A run that is passed on holds no text of an item, and gives the same figures."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from haluagent import HaluAgent
from haluagent.bench.report.data import as_json, figures
from haluagent.bench.rows import read
from haluagent.bench.run import DatasetPart, run
from haluagent.bench.strip import strip

SECRET = "Elbflorenz"


def test_no_text_is_left_and_no_figure_changes(scripted: Callable[..., Any], tmp_path: Path) -> None:
    rows = [
        {
            "question": f"{SECRET}?",
            "answer": f"{SECRET} is 1 + 1 = {2 + n % 2}. So {SECRET}.",
            "knowledge": SECRET,
            "judge": n % 2,
        }
        for n in range(6)
    ]
    (tmp_path / "halueval_qa.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = scripted(lambda messages: f"THOUGHT: {SECRET}\nACTION: calculator(sentence={scripted.checked(messages)})")
    whole, bare = tmp_path / "run.jsonl", tmp_path / "bare" / "run.jsonl.gz"
    agent = HaluAgent(model, sandbox="none", search="none")
    run([DatasetPart(dataset="halueval_qa")], tmp_path, [agent], whole)
    assert SECRET in whole.read_text()
    assert strip(whole, bare) == 12
    assert SECRET not in gzip.decompress(bare.read_bytes()).decode()
    assert as_json(figures(*read(bare))) == as_json(figures(*read(whole)))
    first = bare.read_bytes()
    strip(whole, bare)
    assert bare.read_bytes() == first
