"""How good the calibration is on pairs that it was not fitted to, what the tools decide on them, and the constants."""

from collections.abc import Callable, Sequence

from ..tools._calibration import MENTIONS
from ..tools._judge import NUMBER_MISSING
from ..tools.match import CLEAR, CONTRADICTED, SUPPORTED
from .curves import Curve, Row, deciding, fitted, mention, odds, present
from .fit import calibration_error, log_loss
from .passages import LANGUAGES
from .scores import auroc

Key = tuple[str, str]

FITTED = ("answer", "statement", "consistency")


def report(rows: Sequence[Row]) -> str:
    """Markdown tables of how good the curves are and what they decide, and the constants for `_calibration.py`."""
    curves: dict[Key, Curve] = {
        (use, language): fitted(_of(rows, use, language), use) or present(use, language)
        for use in FITTED
        for language in LANGUAGES
    }
    return "\n\n".join([_quality(rows), _decisions(rows, curves), _mentions(rows), _constants(rows, curves)])


def _quality(rows: Sequence[Row]) -> str:
    lines = [
        "| wording | language | n | AUROC of shared words | AUROC one order | AUROC both | AUROC of the curve | "
        "log loss | log loss now | error | error now |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for use in FITTED:
        for language in LANGUAGES:
            own = _of(rows, use, language)
            if own:
                lines.append(f"| {use} | {language} | {len(own)} | {' | '.join(_figures(own, use, language))} |")
    return "\n".join(lines)


def _figures(rows: Sequence[Row], use: str, language: str) -> list[str]:
    """How well the claims are sorted, and the loss and the error of probabilities: of curves that were fitted to the
    other half, and of the present ones."""
    labels, now = [not row["wrong"] for row in rows], present(use, language)
    halves = [fitted([row for row in rows if row["half"] != half], use) or now for half in (0, 1)]
    new = [halves[row["half"]].probability(row) for row in rows]
    old = [now.probability(row) for row in rows]
    ranks = [[row["overlap"] for row in rows], [row["odds"][0] for row in rows], [odds(row) for row in rows], new]
    figures = [auroc(labels, rank) for rank in ranks]
    figures += [log_loss(new, labels), log_loss(old, labels)]
    figures += [calibration_error(new, labels), calibration_error(old, labels)]
    return [f"{figure:.3f}" for figure in figures]


def _decisions(rows: Sequence[Row], curves: dict[Key, Curve]) -> str:
    """What is said of claims: by `match`, with the present curves and the fitted ones, and by `web_search`, as it was
    when the row was recorded."""
    judges: dict[str, Callable[[Row], str | None]] = {
        "match now": lambda row: _label(row, present(row["wording"], row["language"])),
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
                if use != "consistency" or name != "web_search":
                    cells = [cell for wrong in (False, True) for cell in _shares([r for r in own if r["wrong"] is wrong], judge)]
                    lines.append(f"| {use} | {language} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _shares(rows: Sequence[Row], judge: Callable[[Row], str | None]) -> list[str]:
    labels = [judge(row) for row in rows]
    shares = (sum(label == name for label in labels) / max(len(rows), 1) for name in ("supported", "contradicted"))
    return [str(len(rows)), *(f"{100 * share:.0f} %" for share in shares)]


def _label(row: Row, curve: Curve) -> str | None:
    """What `match` says at its thresholds."""
    if row["silent"]:
        return None
    probability = curve.probability(row)
    if row["wording"] == "consistency":
        return "contradicted" if probability <= CLEAR else None
    if row["missing"]:
        probability = min(probability, NUMBER_MISSING)
    return "supported" if probability > SUPPORTED else "contradicted" if probability < CONTRADICTED else None


def _mentions(rows: Sequence[Row]) -> str:
    """How many texts are taken to say enough, of those that decide a claim and of those that do not, with a threshold
    that was found on the other half, and with the present one."""
    lines = [
        "| wording | language | texts that decide | that do not | AUROC | kept | let through | kept now | let through now |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for key in MENTIONS:
        own = _mentioning(rows, key)
        labels = [deciding(row) for row in own]
        if len(set(labels)) == 2:
            other = [mention([row for row in own if row["half"] != half]) for half in (0, 1)]
            halves = [MENTIONS[key] if found is None else found for found in other]
            cells = [str(sum(labels)), str(len(labels) - sum(labels)), f"{auroc(labels, [r['mentions'] for r in own]):.3f}"]
            for thresholds in (halves, [MENTIONS[key]] * 2):
                said = [row["mentions"] >= thresholds[row["half"]] for row in own]
                cells += [_share_of(said, labels, True), _share_of(said, labels, False)]
            lines.append(f"| {' | '.join([*key, *cells])} |")
    return "\n".join(lines)


def _mentioning(rows: Sequence[Row], key: Key) -> list[Row]:
    return [row for row in rows if (row["wording"], row["language"]) == key]


def _share_of(said: Sequence[bool], labels: Sequence[bool], label: bool) -> str:
    own = [one for one, other in zip(said, labels, strict=True) if other is label]
    return f"{100 * sum(own) / len(own):.0f} %"


def _constants(rows: Sequence[Row], curves: dict[Key, Curve]) -> str:
    """For `tools/_calibration.py`, fitted to all rows; what could not be fitted is as it is there."""
    lines = ["CURVES: dict[tuple[str, str], tuple[float, float, float]] = {"]
    for (use, language), curve in curves.items():
        lines.append(f'    ("{use}", "{language}"): ({curve.lean:.2f}, {curve.slope:.1f}, {curve.familiar:.1f}),')
    agreement = ", ".join(f'"{language}": {curves["answer", language].agreement:.1f}' for language in LANGUAGES)
    lines += ["}", f"AGREEMENT = {{{agreement}}}", "MENTIONS = {"]
    for key, now in MENTIONS.items():
        found = mention(_mentioning(rows, key))
        lines.append(f'    ("{key[0]}", "{key[1]}"): {now if found is None else found:.2f},')
    return "\n".join([*lines, "}"])


def _of(rows: Sequence[Row], use: str, language: str) -> list[Row]:
    return [row for row in rows if row["use"] == use and row["language"] == language]
