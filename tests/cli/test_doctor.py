"""`haluagent doctor`: what it finds, with which exit code, and that it starts nothing and tells no key; and completion."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

from haluagent.cli import doctor
from haluagent.cli import main as cli

KEY = "sk-very-secret-0123"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the user's: no settings, no weights, no sandbox."""
    for variable in (
        "HALUAGENT_BASE_URL",
        "HALUAGENT_MODEL",
        "HALUAGENT_API_KEY",
        "HALUAGENT_CONFIG",
        "HALUAGENT_ADAPTER",
    ):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("haluagent.sandbox.choose.resolve", lambda: None)


def look(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = cli.run(["doctor", "--json"])
    record = json.loads(capsys.readouterr().out)
    return code, {part["part"]: part for part in record["parts"]} | {"ready": record["ready"]}


def test_what_is_missing_is_told_with_its_fix(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_there", lambda module: module != "xllamacpp")
    code, found = look(capsys)
    assert code == 1 and found["ready"] is False
    assert {part for part in found if part != "ready" and found[part]["state"] == "missing"} == {"engine", "weights"}
    assert found["engine"]["fix"].startswith('pip install "haluagent[embedded]"')
    assert "haluagent model pull qwen" in found["weights"]["fix"]
    assert found["index"]["fix"] == "haluagent index add PATH" and found["adapter"]["state"] == "ok"
    assert cli.run(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "✗ engine: xllamacpp is not installed" in out and out.splitlines()[-1].startswith(
        "a first answer is not possible"
    )


def test_an_endpoint_is_enough_and_no_key_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, endpoint: Any, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "_there", lambda module: False)
    address = endpoint.base_url.replace("//", f"//me:{KEY}@")
    config = tmp_path / "config.toml"
    config.write_text(
        f'base_url = "{address}"\napi_key = "{KEY}"\n[search]\nserper_api_key = "{KEY}"\nprovider = "{KEY}"\n'
    )
    monkeypatch.setenv("HALUAGENT_CONFIG", str(config))
    code, found = look(capsys)
    assert code == 0 and found["model"]["text"].startswith("scripted at http://***@127.0.0.1:")
    assert found["calibration"]["state"] == "gap" and "haluagent calibrate" in found["calibration"]["fix"]
    assert found["search"]["state"] == "gap" and KEY not in json.dumps(found) and endpoint.chats == 0
    endpoint.close()
    code, found = look(capsys)
    assert code == 1 and "gave no answer" in found["model"]["text"] and KEY not in json.dumps(found)


def test_settings_that_cannot_be_read_are_told_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HALUAGENT_CONFIG", str(tmp_path / "none.toml"))
    code, found = look(capsys)
    assert code == 1 and "does not exist" in found["settings"]["text"]


def test_every_extra_is_looked_at() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(doctor.EXTRAS) == set(extras) - {"all", "dev", "docs"}


def test_the_model_is_not_loaded() -> None:
    loaded = "[name for name in ('xllamacpp', 'torch', 'numpy') if name in sys.modules]"
    code = f"import sys; from haluagent.cli.main import run; run(['doctor']); print({loaded})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


@pytest.mark.parametrize(
    ("shell", "environment"),
    [
        ("bash", {"COMP_WORDS": "haluagent doc", "COMP_CWORD": "1"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "haluagent doc"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "haluagent doc", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_a_shell_completes_commands(shell: str, environment: dict[str, str]) -> None:
    env = os.environ | environment | {"_HALUAGENT_COMPLETE": f"complete_{shell}"}
    done = subprocess.run([sys.executable, "-m", "haluagent"], capture_output=True, text=True, env=env)
    assert (done.returncode, done.stderr) == (0, "") and "doctor" in done.stdout
