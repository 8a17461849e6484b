"""Which calibration a model is read with: its own, that of the adapter that its name tells, a file, or none."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from haluagent.errors import ConfigError
from haluagent.models import client
from haluagent.models.adapters import all_shipped
from haluagent.models.calibration import EMBEDDED, IDENTITY
from haluagent.models.engines.embedded import EmbeddedModel
from haluagent.models.resolution import resolve
from haluagent.models.weights import catalogue


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BASE_URL", "MODEL", "API_KEY", "ADAPTER", "CALIBRATION", "CONFIG"):
        monkeypatch.delenv(f"HALUAGENT_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    client._say_uncalibrated.cache_clear()


def test_an_unknown_model_is_called_uncalibrated(endpoint: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger=client.__name__):
        model: Any = resolve(base_url=endpoint.base_url)
    assert model.calibration == IDENTITY and "scripted is not calibrated" in caplog.text


@pytest.mark.parametrize("form", ["{weights}+{adapter}", "{adapter}"])
def test_a_served_adapter_is_known_by_its_name(endpoint: Any, caplog: pytest.LogCaptureFixture, form: str) -> None:
    (shipped,) = all_shipped()
    name = form.format(weights=catalogue.DEFAULT, adapter=shipped.name)
    with caplog.at_level(logging.WARNING, logger=client.__name__):
        model: Any = resolve(name, base_url=endpoint.base_url)
    assert model.calibration == shipped.calibration and model.fine_tuned_tools == shipped.fine_tuned_tools
    assert not caplog.text


def test_the_embedded_weights_are_read_with_their_own_curves_and_others_with_none(endpoint: Any) -> None:
    served: Any = resolve(catalogue.DEFAULT, base_url=endpoint.base_url)
    assert served.calibration == EmbeddedModel(adapter=None).calibration == EMBEDDED
    assert EmbeddedModel("smollm2-135m-instruct-q4_1", adapter=None).calibration == IDENTITY


@pytest.mark.parametrize("served", [True, False])
def test_a_file_comes_before_all_of_these(
    endpoint: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: bool
) -> None:
    own = IDENTITY.model_copy(update={"otherwise": {"en": 1.5, "zh": -1.5}})
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"calibration": own.model_dump()}), encoding="utf-8")
    monkeypatch.setenv("HALUAGENT_CALIBRATION", str(file))
    model: Any = resolve(base_url=endpoint.base_url if served else None)
    assert model.calibration == own


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "mine.json cannot be read"),
        ("{", "mine.json is no calibration"),
        (
            '{"calibration": {"otherwise": {"en": 0.0}}}',
            "mine.json is no calibration: calibration: .*otherwise must have the keys",
        ),
        ('{"calibration": {"thresholds": {"supported": 0.3, "wrong": 0.6}}}', "wrong must not be above supported"),
    ],
)
def test_a_file_that_is_none_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, message: str
) -> None:
    file = tmp_path / "mine.json"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    monkeypatch.setenv("HALUAGENT_CALIBRATION", str(file))
    with pytest.raises(ConfigError, match=message):
        resolve()
