"""The check of an exported adapter."""

import json
from pathlib import Path

import pytest

from haluagent.errors import ConfigError, HaluAgentError
from haluagent.train.check import Answers, common, conversations_of, judge
from haluagent.train.export import read_config
from haluagent.train.trajectories import records


def test_where_answers_part() -> None:
    assert common((1, 2, 3), (1, 2, 3)) == 3
    assert common((1, 2, 3), (1, 9, 3)) == 1
    assert common((1, 2), (1, 2, 3)) == 2


def test_both_forms_say_the_same_or_nearly() -> None:
    said = judge([Answers((1, 1), (2, 2), (1, 1), (2, 2)), Answers((1, 1), (2, 2, 2), (1, 1), (2, 2, 3))])
    assert said.startswith("1 of 2 answers are the same; 2 are changed")
    assert "answer 2 parts at token 2 of 3" in said


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (Answers((1, 1), (1, 1), (1, 1), (1, 1)), "changes none"),
        (Answers((1, 1), (2, 2), (1, 1), (1, 1)), "without effect"),
        (Answers((1, 1), (2, 2), (1, 1), (3, 3)), "another effect"),
    ],
)
def test_an_adapter_that_does_not_do_the_same(answers: Answers, reason: str) -> None:
    with pytest.raises(HaluAgentError, match=reason):
        judge([answers, Answers((5,), (5,), (5,), (5,))])


def test_ten_prompts_from_all_over_a_file() -> None:
    def run(number: int) -> records.Trajectory:
        said = [{"role": "user", "content": str(number)}]
        calls = [
            {"prompt": "match", "messages": said, "reply": "A", "choices": ["A", "B"]},
            {"prompt": "agent", "sentence": 1, "messages": said, "reply": "turn"},
            {"prompt": "agent", "sentence": 1, "messages": said, "reply": "no", "learn": False},
        ]
        row = {
            "id": "a", "group": "a", "source": "hand", "kind": "math", "language": "zh", "question": "?", "response": "!",
            "gold": True, "teacher": "gold", "verdict": True, "calls": calls,
        }  # fmt: skip
        return records.parse(records.Trajectory, json.loads(json.dumps(row)), "here")

    chosen = [conversation[0]["content"] for conversation in conversations_of([run(number) for number in range(25)])]
    assert chosen == ["0", "2", "5", "7", "10", "12", "15", "17", "20", "22"]
    assert len(conversations_of([run(0)])) == 1
    with pytest.raises(ConfigError, match="no turn"):
        conversations_of([])


def test_an_adapter_without_a_gguf_form(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no adapter"):
        read_config(tmp_path)
    (tmp_path / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "use_dora": True}))
    with pytest.raises(ConfigError, match="use_dora"):
        read_config(tmp_path)
