"""Report how good the calibration is on pairs it was not fitted to, what the tools decide on them, and the fitted
constants."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from haluagent.bench.scoring.fit import calibration_error, log_loss
from haluagent.bench.scoring.scores import auroc
from haluagent.corpora.passages import LANGUAGES
from haluagent.errors import ConfigError
from haluagent.judging.comparison import CLEAR
from haluagent.judging.judge import THREE_WAY, without_number
from haluagent.judging.probabilities import at_base_rate
from haluagent.judging.traced import in_digits
from haluagent.models.calibration import EMBEDDED, Calibration, Wording
from haluagent.train.calibration.curves import (
    FittedCurve,
    JudgementRow,
    Key,
    deciding,
    fitted,
    odds,
    of_wording,
    present,
    refitted,
    supported,
    threshold,
)
from haluagent.types import Language

FITTED: tuple[Wording, ...] = ("answer", "statement", "consistency", "results", "reasons", "relevance", "authentic")
THRESHOLDS = ("otherwise", "mentions")


def report(rows: Sequence[JudgementRow], calibration: Calibration = EMBEDDED) -> str:
    """Return Markdown tables on the quality and the decisions of the fitted curves, compared with the present
    calibration ("now"), followed by the calibration with the fitted curves as JSON for the card of an adapter."""
    new = _fitted(rows, calibration)
    tables = [_quality(rows, calibration), _decisions(rows, new, calibration), _thresholds(rows, calibration)]
    return "\n\n".join([*tables, f"```json\n{_json(new)}\n```"])


def _quality(rows: Sequence[JudgementRow], calibration: Calibration) -> str:
    lines = [
        "| wording | language | n | AUROC of shared words | AUROC one order | AUROC both | AUROC of the curve | "
        "log loss | log loss now | error | error now |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for use in FITTED:
        for language in LANGUAGES:
            own = of_wording(rows, use, language)
            if own:
                lines.append(
                    f"| {use} | {language} | {len(own)} | {' | '.join(_figures(own, use, present(calibration, use, language)))} |"
                )
    return "\n".join(lines)


def _figures(rows: Sequence[JudgementRow], use: Wording, now: FittedCurve) -> list[str]:
    """Return how well the claims are ranked, and the loss and the calibration error of two kinds of curves: those
    fitted to the other half, and the present ones."""
    labels = [supported(row) for row in rows]
    halves = [fitted([row for row in rows if row["half"] != half], use) or now for half in (0, 1)]
    new = [halves[row["half"]].probability(row) for row in rows]
    old = [now.probability(row) for row in rows]
    ranks = [[row["overlap"] for row in rows], [row["odds"][0] for row in rows], [odds(row) for row in rows], new]
    figures = [auroc(labels, rank) for rank in ranks]
    figures += [log_loss(new, labels), log_loss(old, labels)]
    figures += [calibration_error(new, labels), calibration_error(old, labels)]
    return [f"{figure:.3f}" for figure in figures]


def _decisions(rows: Sequence[JudgementRow], new: Calibration, calibration: Calibration) -> str:
    """Return a table of decisions: those of `match`, with the present and the fitted curves, and those of `web_search`,
    as they were recorded."""
    judges: dict[str, Callable[[JudgementRow], str | None]] = {
        "match now": lambda row: _label(row, present(calibration, row["wording"], row["language"]), calibration),
        "match new": lambda row: _label(row, present(new, row["wording"], row["language"]), new),
        "web_search": lambda row: row["found"],
    }
    lines = [
        "| text | language | tool | right claims | supported | contradicted | wrong claims | supported | contradicted |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for use in (*FITTED, "search"):
        for language in LANGUAGES:
            own = _of(rows, use, language)
            for name, judge in judges.items() if own else ():
                if name != "web_search" or use in ("answer", "statement", "search"):
                    cells = [
                        cell
                        for wrong in (False, True)
                        for cell in _shares([r for r in own if r["wrong"] is wrong], judge)
                    ]
                    lines.append(f"| {use} | {language} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _shares(rows: Sequence[JudgementRow], judge: Callable[[JudgementRow], str | None]) -> list[str]:
    labels = [judge(row) for row in rows]
    shares = (sum(label == name for label in labels) / max(len(rows), 1) for name in ("supported", "contradicted"))
    return [str(len(rows)), *(f"{100 * share:.0f} %" for share in shares)]


def _label(row: JudgementRow, curve: FittedCurve, calibration: Calibration) -> str | None:
    """Return the label that `match` gives at its thresholds."""
    if row["silent"]:
        return None
    probability = curve.probability(row)
    if row["wording"] == "consistency":
        return "contradicted" if probability <= CLEAR else None
    if row["wording"] in THREE_WAY:
        probability = at_base_rate(probability, calibration.base_rate)
    if in_digits(row["missing"]):
        probability = min(probability, without_number(row["wording"], calibration))
    if probability > calibration.thresholds.supported:
        return "supported"
    against = row.get("otherwise") is None or row["otherwise"] > calibration.otherwise[row["language"]]
    return "contradicted" if probability < calibration.thresholds.wrong and against else None


def _thresholds(rows: Sequence[JudgementRow], calibration: Calibration) -> str:
    """Return a table of how many texts are taken to decide a claim, or to answer its question, among those that do and those
    that do not, with a threshold found on the other half and with the present one."""
    lines = [
        "| threshold | language | texts that decide | that do not | AUROC | kept | let through | kept now | let through now |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in THRESHOLDS:
        for language in LANGUAGES:
            own = _with_threshold(rows, name, language)
            labels = [deciding(row) for row in own]
            if len(set(labels)) < 2:
                continue
            now = getattr(calibration, name)[language]
            other = [threshold([row for row in own if row["half"] != half], name) for half in (0, 1)]
            halves = [now if found is None else found for found in other]
            cells = [
                str(sum(labels)),
                str(len(labels) - sum(labels)),
                f"{auroc(labels, [row[name] for row in own]):.3f}",
            ]
            for values in (halves, [now] * 2):
                said = [row[name] >= values[row["half"]] for row in own]
                cells += [_share_of(said, labels, True), _share_of(said, labels, False)]
            lines.append(f"| {' | '.join([name, language, *cells])} |")
    return "\n".join(lines)


def _with_threshold(rows: Sequence[JudgementRow], name: str, language: Language) -> list[JudgementRow]:
    """Return the rows that a threshold is fitted to. Whether a text says otherwise is asked of claims that it does not
    support."""
    own = [row for row in rows if row["language"] == language and row.get(name) is not None]
    return [row for row in own if not supported(row)] if name == "otherwise" else own


def _share_of(said: Sequence[bool], labels: Sequence[bool], label: bool) -> str:
    own = [one for one, other in zip(said, labels, strict=True) if other is label]
    return f"{100 * sum(own) / len(own):.0f} %"


def write(rows: Sequence[JudgementRow], before: Calibration, path: Path) -> None:
    """Write the calibration fitted to all rows as JSON. Raises ConfigError if the file cannot be written."""
    try:
        path.write_text(_json(_fitted(rows, before)) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error}") from error


def _json(calibration: Calibration) -> str:
    return json.dumps({"calibration": calibration.model_dump()}, indent=1, ensure_ascii=False)


def _fitted(rows: Sequence[JudgementRow], before: Calibration) -> Calibration:
    """Return the calibration fitted to all rows. What could not be fitted keeps its present value."""
    curves: dict[Key, FittedCurve] = {
        (use, language): fitted(of_wording(rows, use, language), use) or present(before, use, language)
        for use in FITTED
        for language in LANGUAGES
    }
    thresholds: dict[str, dict[Language, float]] = {}
    for name in THRESHOLDS:
        thresholds[name] = dict(getattr(before, name))
        for language in LANGUAGES:
            found = threshold(_with_threshold(rows, name, language), name)
            if found is not None:
                thresholds[name][language] = found
    return refitted(before, curves, thresholds)


def _of(rows: Sequence[JudgementRow], use: str, language: Language) -> list[JudgementRow]:
    return [row for row in rows if row["use"] == use and row["language"] == language]
