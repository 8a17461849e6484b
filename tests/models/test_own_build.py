"""The engine compiled on this machine: for which processor and release it counts, and that a bad one leaves the wheel in use."""

import shutil
import subprocess
import sys
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path

import pytest
import xllamacpp

from haluagent.errors import ConfigError
from haluagent.models.engines import own_build
from haluagent.models.engines.embedded import EmbeddedModel

WHERE = "import sys; from haluagent.models.engines import own_build; own_build.prefer(); import xllamacpp; print(xllamacpp.__file__)"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path))
    return tmp_path


def build(release: str = "", options: tuple[str, ...] = (), code: str = "") -> None:
    own_build.folder().mkdir()
    made = own_build.OwnBuild(release=release or version("xllamacpp"), options=options, faster=1.5)
    (own_build.folder() / "build.json").write_text(made.model_dump_json())
    (own_build.folder() / "xllamacpp.py").write_text(code)


def loaded() -> str:
    return subprocess.run([sys.executable, "-c", WHERE], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ("avx2 fma f16c bmi2", ()),
        ("avx512f avx512_vnni", ()),  # less than the wheel needs
        ("avx2 fma f16c bmi2 amx_int8 amx_tile amx_bf16", ()),  # llama.cpp wrote garbage with it
        ("avx2 fma f16c bmi2 avx512f avx512vbmi avx512_bf16", ("GGML_AVX512", "GGML_AVX512_BF16", "GGML_AVX512_VBMI")),
    ],
)
def test_the_instructions_of_a_processor(tmp_path: Path, flags: str, options: tuple[str, ...]) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor : 0\nflags\t\t: fpu {flags}\n\nprocessor : 1\nflags : fpu\n")
    assert own_build.options(tmp_path / "cpuinfo") == options
    assert own_build.options(tmp_path / "missing") == ()


def test_a_build_is_used_for_its_release_and_processor() -> None:
    build()
    assert loaded() == str(own_build.folder() / "xllamacpp.py")
    assert own_build.remove() and not own_build.remove()
    assert loaded() == xllamacpp.__file__


@pytest.mark.parametrize(
    "made", [{"release": "1.0"}, {"options": ("GGML_OF_ANOTHER_PROCESSOR",)}, {"code": "raise ImportError('libm.so')"}]
)
def test_another_build_leaves_the_wheel_in_use(made: dict[str, str]) -> None:
    build(**made)  # type: ignore[arg-type]
    assert loaded() == xllamacpp.__file__


def test_what_is_no_build(cache: Path) -> None:
    own_build.folder().mkdir()
    (own_build.folder() / "build.json").write_text('{"release": ')
    assert own_build.installed() is None


def test_nothing_to_gain_and_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_build, "options", lambda: ())
    with pytest.raises(ConfigError, match="nothing to gain"):
        own_build.build("any")
    monkeypatch.setattr(own_build, "options", lambda: ("GGML_AVX512",))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigError, match=r"apt-get install g\+\+"):
        own_build.build("any")


@pytest.fixture(scope="module")
def weights() -> str:
    return str(EmbeddedModel("smollm2-135m-instruct-q4_1").path())


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """Stands in for what the compiler makes in ten minutes: the wheel's own engine."""
    shutil.copytree(Path(xllamacpp.__file__).parent, tmp_path / "made" / "xllamacpp")
    return tmp_path / "made"


@pytest.mark.parametrize(
    ("texts", "share", "used"),
    [("abcdef", 0.5, True), ("abcdeX", 0.56, True), ("abcdXX", 0.5, False), ("abcdef", 0.62, False)],
)
def test_a_build_may_differ_by_rounding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: str, share: float, used: bool
) -> None:
    def answers(model: str, engine: Path | None = None) -> own_build.GreedyAnswers:
        own = (texts, share) if engine else ("abcdef", 0.5)
        return own_build.GreedyAnswers(texts=tuple(own[0]), shares=(own[1], 1 - own[1]), speed=1)

    monkeypatch.setattr(own_build, "_answers", answers)
    (tmp_path / "made").mkdir()
    with nullcontext() if used else pytest.raises(ConfigError, match="answers otherwise"):
        own_build.install(version("xllamacpp"), (), tmp_path / "made", "any")
    assert (own_build.installed() is not None) is used


@pytest.mark.engine
def test_a_build_that_writes_what_the_wheel_writes(compiled: Path, weights: str) -> None:
    own_build.install(version("xllamacpp"), (), compiled, weights)
    assert loaded() == str(own_build.folder() / "xllamacpp" / "__init__.py")


@pytest.mark.engine
def test_a_build_that_breaks_is_not_installed(compiled: Path, weights: str) -> None:
    (compiled / "xllamacpp" / "__init__.py").write_text("import os; os.abort()")
    with pytest.raises(ConfigError, match="compiled here failed on a test prompt"):
        own_build.install(version("xllamacpp"), (), compiled, weights)
    assert own_build.installed() is None


@pytest.mark.engine
def test_a_build_that_writes_something_else_is_not_installed(compiled: Path, weights: str) -> None:
    other = "params = CommonParams\ndef CommonParams():\n    made = params()\n    made.rope_freq_base = 5.0\n    return made\n"
    (compiled / "xllamacpp" / "__init__.py").open("a").write("\n" + other)
    with pytest.raises(ConfigError, match="answers otherwise"):
        own_build.install(version("xllamacpp"), (), compiled, weights)
