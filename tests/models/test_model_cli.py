"""`haluagent model`: what it prints, what it starts, and what it says where something is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from haluagent.cli.model import app
from haluagent.errors import ConfigError
from haluagent.models import adapters
from haluagent.models.weights import catalogue

PROGRAM = "import sys; from haluagent.cli.main import main; main()"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("VLLM", "API_KEY", "OFFLINE", "CONFIG"):
        monkeypatch.delenv(f"HALUAGENT_{name}", raising=False)
    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def in_a_shell(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", PROGRAM, "model", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)


def install(cache: Path, name: str) -> Path:
    place = cache / f"{name}.gguf"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(b"GGUF")
    return place


def program(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def test_list_says_what_is_here_and_what_is_the_default(cache: Path) -> None:
    here = install(cache, "smollm2-135m-instruct-q4_1")
    hub = install(cache, "hub/someone/small-GGUF/small")
    lines = run("list").splitlines()
    by_name = {line.split()[0]: line for line in lines}
    default = by_name[catalogue.DEFAULT]
    for part in ("(default)", "1,117 MB", "Apache-2.0", "zh, en", "not installed"):
        assert part in default
    assert str(here) in by_name["smollm2-135m-instruct-q4_1"]
    assert str(hub) in by_name["hf:someone/small-GGUF/small.gguf"]


def test_path_prints_the_path_and_nothing_else(cache: Path) -> None:
    place = install(cache, catalogue.DEFAULT)
    assert run("path") == f"{place}\n"


def test_pull_of_what_is_here_prints_its_path(cache: Path) -> None:
    place = install(cache, catalogue.DEFAULT)
    assert run("pull") == f"{place}\n"


def test_what_is_missing_is_the_users_to_get() -> None:
    result = in_a_shell("path")
    assert result.returncode == 2 and result.stdout == ""
    assert f"run `haluagent model pull {catalogue.DEFAULT}`" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_options_for_a_hub_are_refused_elsewhere() -> None:
    with pytest.raises(ConfigError, match="--sha256"):
        run("pull", "--sha256", "0" * 64)


def test_vllm_is_started_with_its_flags(tmp_path: Path) -> None:
    bin = tmp_path / "bin"
    vllm = program(bin, "vllm", 'echo "$@"; echo "key=$VLLM_API_KEY"')
    result = in_a_shell(
        "serve", "--engine", "vllm", "--model", "org/model", "--port", "9000", "--lora", "mine=/lora", "--context",
        "4096", "--max-lora-rank", "32", "--api-key", "secret", "--", "--dtype", "half",
        PATH=f"{bin}:{os.environ['PATH']}",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    command, flags, key = result.stdout.splitlines()
    assert flags == (
        "serve org/model --host 127.0.0.1 --port 9000 --enable-prefix-caching --enable-prompt-tokens-details "
        "--structured-outputs-config.backend auto --max-model-len 4096 --enable-lora --max-loras 1 "
        "--lora-modules mine=/lora --max-lora-rank 32 --dtype half"
    )
    assert command == f"{vllm} {flags}" and key == "key=secret"


def test_vllm_with_the_adapter_of_the_package(tmp_path: Path, cache: Path) -> None:
    (shipped,) = adapters.all_shipped()
    place = cache / "peft" / shipped.name
    program(tmp_path / "bin", "vllm", 'echo "$@"')
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    result = in_a_shell("serve", "--engine", "vllm", "--adapter", "default", PATH=path)
    assert result.returncode == 0, result.stderr
    flags = result.stdout.splitlines()[-1]
    assert flags.startswith("serve Qwen/Qwen2.5-Coder-1.5B-Instruct --host")
    assert flags.endswith(f"--enable-lora --max-loras 1 --lora-modules {shipped.name}={place} --max-lora-rank 16")
    assert (place / "adapter_config.json").is_file()
    own = ("--model", "/my/base", "--lora", "mine=/lora", "--max-lora-rank", "64")
    flags = in_a_shell("serve", "--engine", "vllm", "--adapter", "default", *own, PATH=path).stdout.splitlines()[-1]
    assert flags.startswith("serve /my/base --host")
    assert flags.endswith(f"--max-loras 2 --lora-modules mine=/lora {shipped.name}={place} --max-lora-rank 64")


def test_the_adapter_is_pulled_in_both_forms(cache: Path) -> None:
    (shipped,) = adapters.all_shipped()
    assert run("pull", shipped.name) == f"{shipped.path}\n"
    assert run("pull", shipped.name, "--format", "peft") == f"{cache / 'peft' / shipped.name}\n"
    with pytest.raises(ConfigError, match="--format peft is for the package's adapter"):
        run("pull", catalogue.DEFAULT, "--format", "peft")
    with pytest.raises(ConfigError, match="weights from a hub"):
        run("pull", shipped.name, "--sha256", "0" * 64)


def test_vllm_of_another_environment(tmp_path: Path) -> None:
    vllm = program(tmp_path, "my-vllm", '[ "$2" = --help ] || exit 7')
    assert in_a_shell("serve", "--engine", "vllm", "--model", "m", "--vllm-bin", str(vllm)).returncode == 7
    assert in_a_shell("serve", "--engine", "vllm", "--model", "m", HALUAGENT_VLLM=str(vllm)).returncode == 7


def test_without_vllm_one_line_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = in_a_shell("serve", "--engine", "vllm", "--model", "m", PATH=str(tmp_path / "empty"))
    assert result.returncode == 2 and "pip install vllm" in result.stderr and "--engine llama.cpp" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_vllm_decides_itself_what_it_runs_on(tmp_path: Path) -> None:
    program(tmp_path / "bin", "vllm", "echo it runs on the CPU")
    result = in_a_shell("serve", "--engine", "vllm", "--model", "m", PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin")
    assert result.returncode == 0 and result.stdout.splitlines()[-1] == "it runs on the CPU"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (
            "echo Traceback >&2; echo 'RuntimeError: Failed to infer device type' >&2; exit 1",
            "RuntimeError: Failed to infer",
        ),
        ("exit 3", "it ended with 3 and said nothing"),
    ],
)
def test_a_vllm_that_does_not_run_is_one_line(tmp_path: Path, script: str, why: str) -> None:
    vllm = program(tmp_path, "vllm", script)
    result = in_a_shell("serve", "--engine", "vllm", "--model", "m", "--vllm-bin", str(vllm))
    assert result.returncode == 2 and result.stdout == ""
    assert f"{vllm} does not run here: {why}" in result.stderr and "CPUs" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_what_an_engine_cannot_do_is_said() -> None:
    for arguments, complaint in (
        (("--engine", "vllm"), "--model ID"),
        (("--engine", "vllm", "--model", "m", "--lora", "/path"), "NAME=PATH"),
        (("--max-lora-rank", "8"), "llama.cpp serves"),
        (
            ("--adapter", "default", "--model", "smollm2-135m-instruct-q4_1"),
            "no adapter comes with the package for smollm2",
        ),
        (("--", "--dtype", "half"), "llama.cpp serves"),
    ):
        with pytest.raises(ConfigError, match=complaint):
            run("serve", *arguments)


@pytest.mark.engine
def test_serve_answers_until_it_is_told_to_stop(engine_model: object, model_path: Path) -> None:
    import httpx

    command = [sys.executable, "-c", PROGRAM, "model", "serve", "--model", str(model_path), "--context", "512"]
    process = subprocess.Popen([*command, "--parallel", "1", "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        url = lines[1].split(" at ")[1].split(";")[0]
        assert httpx.get(f"{url}/models", trust_env=False).json()["data"][0]["meta"]["n_ctx"] == 512
    finally:
        process.terminate()
    assert process.wait() == 0


@pytest.mark.engine
def test_a_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF and nothing else")
    result = in_a_shell("serve", "--model", str(file), "--port", "0")
    assert result.returncode == 2 and "is it a GGUF file" in result.stderr
