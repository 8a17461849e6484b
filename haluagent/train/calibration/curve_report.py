"""Report how good the calibration is on pairs it was not fitted to, what the tools decide on them, and the fitted
constants."""

import json
from collections.abc import Callable, Sequence

from haluagent.bench.scoring.fit import calibration_error, log_loss
from haluagent.bench.scoring.scores import auroc
from haluagent.corpora.passages import LANGUAGES
from haluagent.judging.comparison import CLEAR, CONTRADICTED, SUPPORTED
from haluagent.judging.judge import NUMBER_MISSING
from haluagent.models.calibration import EMBEDDED, MENTIONED, Calibration, Wording
from haluagent.train.calibration.curves import (
    FittedCurve,
    JudgementRow,
    Key,
    deciding,
    fitted,
    mention,
    odds,
    present,
    refitted,
)
from haluagent.types import Language

FITTED: tuple[Wording, ...] = ("answer", "statement", "consistency", "results", "reasons", "relevance", "authentic")
_MENTIONED = [(wording, language) for wording in MENTIONED for language in LANGUAGES]


def report(rows: Sequence[JudgementRow], calibration: Calibration = EMBEDDED) -> str:
    """Return Markdown tables on the quality and the decisions of the fitted curves, compared with the present
    calibration ("now"), followed by the calibration with the fitted curves as JSON for the card of an adapter."""
    curves: dict[Key, FittedCurve] = {
        (use, language): fitted(_of(rows, use, language), use) or present(calibration, use, language)
        for use in FITTED
        for language in LANGUAGES
    }
    tables = [_quality(rows, calibration), _decisions(rows, curves, calibration), _mentions(rows, calibration)]
    return "\n\n".join([*tables, _constants(rows, curves, calibration)])


def _quality(rows: Sequence[JudgementRow], calibration: Calibration) -> str:
    lines = [
        "| wording | language | n | AUROC of shared words | AUROC one order | AUROC both | AUROC of the curve | "
        "log loss | log loss now | error | error now |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for use in FITTED:
        for language in LANGUAGES:
            own = _of(rows, use, language)
            if own:
                lines.append(
                    f"| {use} | {language} | {len(own)} | {' | '.join(_figures(own, use, present(calibration, use, language)))} |"
                )
    return "\n".join(lines)


def _figures(rows: Sequence[JudgementRow], use: Wording, now: FittedCurve) -> list[str]:
    """Return how well the claims are ranked, and the loss and the calibration error of two kinds of curves: those
    fitted to the other half, and the present ones."""
    labels = [not row["wrong"] for row in rows]
    halves = [fitted([row for row in rows if row["half"] != half], use) or now for half in (0, 1)]
    new = [halves[row["half"]].probability(row) for row in rows]
    old = [now.probability(row) for row in rows]
    ranks = [[row["overlap"] for row in rows], [row["odds"][0] for row in rows], [odds(row) for row in rows], new]
    figures = [auroc(labels, rank) for rank in ranks]
    figures += [log_loss(new, labels), log_loss(old, labels)]
    figures += [calibration_error(new, labels), calibration_error(old, labels)]
    return [f"{figure:.3f}" for figure in figures]


def _decisions(rows: Sequence[JudgementRow], curves: dict[Key, FittedCurve], calibration: Calibration) -> str:
    """Return a table of decisions: those of `match`, with the present and the fitted curves, and those of `web_search`,
    as they were recorded."""
    judges: dict[str, Callable[[JudgementRow], str | None]] = {
        "match now": lambda row: _label(row, present(calibration, row["wording"], row["language"])),
        "match new": lambda row: _label(row, curves[row["wording"], row["language"]]),
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


def _label(row: JudgementRow, curve: FittedCurve) -> str | None:
    """Return the label that `match` gives at its thresholds."""
    if row["silent"]:
        return None
    probability = curve.probability(row)
    if row["wording"] == "consistency":
        return "contradicted" if probability <= CLEAR else None
    if row["missing"]:
        probability = min(probability, NUMBER_MISSING)
    return "supported" if probability > SUPPORTED else "contradicted" if probability < CONTRADICTED else None


def _mentions(rows: Sequence[JudgementRow], calibration: Calibration) -> str:
    """Return a table of how many texts are taken to say enough, among those that decide a claim and those that do not,
    with a threshold found on the other half and with the present one."""
    lines = [
        "| wording | language | texts that decide | that do not | AUROC | kept | let through | kept now | let through now |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for wording, language in _MENTIONED:
        now = calibration.mentions[f"{wording}:{language}"]
        own = _mentioning(rows, wording, language)
        labels = [deciding(row) for row in own]
        if len(set(labels)) == 2:
            other = [mention([row for row in own if row["half"] != half]) for half in (0, 1)]
            halves = [now if found is None else found for found in other]
            cells = [
                str(sum(labels)),
                str(len(labels) - sum(labels)),
                f"{auroc(labels, [r['mentions'] for r in own]):.3f}",
            ]
            for thresholds in (halves, [now] * 2):
                said = [row["mentions"] >= thresholds[row["half"]] for row in own]
                cells += [_share_of(said, labels, True), _share_of(said, labels, False)]
            lines.append(f"| {' | '.join([wording, language, *cells])} |")
    return "\n".join(lines)


def _mentioning(rows: Sequence[JudgementRow], wording: Wording, language: Language) -> list[JudgementRow]:
    return [row for row in rows if (row["wording"], row["language"]) == (wording, language)]


def _share_of(said: Sequence[bool], labels: Sequence[bool], label: bool) -> str:
    own = [one for one, other in zip(said, labels, strict=True) if other is label]
    return f"{100 * sum(own) / len(own):.0f} %"


def _constants(rows: Sequence[JudgementRow], curves: dict[Key, FittedCurve], calibration: Calibration) -> str:
    """Return the calibration fitted to all rows in the format of a card. What could not be fitted keeps its present
    value."""
    mentions = dict(calibration.mentions)
    for wording, language in _MENTIONED:
        found = mention(_mentioning(rows, wording, language))
        if found is not None:
            mentions[f"{wording}:{language}"] = found
    new = refitted(calibration, curves, mentions)
    text = json.dumps({"calibration": new.model_dump()}, indent=1, ensure_ascii=False)
    return f"```json\n{text}\n```"


def _of(rows: Sequence[JudgementRow], use: str, language: Language) -> list[JudgementRow]:
    return [row for row in rows if row["use"] == use and row["language"] == language]
