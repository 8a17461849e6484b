"""How far two people agree who marked spans of the same responses.

By response, whether it has any span: accuracy and Cohen's kappa (1960). By character: F1, in which it does not matter who comes first
(Hripcsak & Rothschild 2005), and Krippendorff's alpha for nominal data (Content Analysis, 2018, chapter 12).
"""

from collections import Counter
from collections.abc import Hashable, Sequence

from haluagent.bench.labelling.labels import KINDS, NOT_SURE, Kind, MarkedResponse
from haluagent.checks.reliability.agreement import kappa
from haluagent.errors import ConfigError
from haluagent.types import Record


class SpanKindAgreement(Record):
    """One kind: the characters that each person gave it and those that both did, and the F1 in [0, 1], None if neither did."""

    kind: Kind
    first: int
    second: int
    both: int
    f1: float | None


class SpanAgreement(Record):
    """The agreement of two people on `n` responses of `characters` in all. What somebody is not sure of counts as not marked,
    but for its own row of `kinds`.

    `accuracy` and `kappa` are about whether a response has any span, `f1` and `alpha` about whether a character is in
    one. `same_kind` is the share of the characters marked by both that got one kind, and `kind_kappa` the kappa of these.
    Shares are in [0, 1], kappa and alpha in [-1, 1]; each is None if there is nothing to compare. `unmatched` responses have the
    labels of one person.
    """

    annotators: tuple[str, str]
    n: int
    unmatched: int
    accuracy: float
    kappa: float | None
    characters: int
    f1: float | None
    alpha: float | None
    same_kind: float | None
    kind_kappa: float | None
    kinds: tuple[SpanKindAgreement, ...]


def compare(first: Sequence[MarkedResponse], second: Sequence[MarkedResponse]) -> SpanAgreement:
    """Return the agreement on the responses that both have labelled. Raise `ConfigError` if there is none, or if an id
    stands for two responses."""
    others = {one.id: one for one in second}
    pairs = [(one, others[one.id]) for one in first if one.id in others]
    if not pairs:
        raise ConfigError("the files have no response in common: give two people's labels of the same page")
    if other := next((one.id for one, same in pairs if one.response != same.response), None):
        raise ConfigError(
            f"item {other!r} has another response in each file: give two people's labels of the same page"
        )
    marked = [(bool(one.wrong), bool(same.wrong)) for one, same in pairs]
    kinds = [pair for one, same in pairs for pair in zip(_by_character(one), _by_character(same), strict=True)]
    wrong = [(a not in (None, NOT_SURE), b not in (None, NOT_SURE)) for a, b in kinds]
    both = [pair for pair, sure in zip(kinds, wrong, strict=True) if all(sure)]
    return SpanAgreement(
        annotators=(first[0].annotator, second[0].annotator),
        n=len(pairs),
        unmatched=len(first) + len(second) - 2 * len(pairs),
        accuracy=sum(a == b for a, b in marked) / len(marked),
        kappa=kappa(marked),
        characters=len(kinds),
        f1=f1(sum(a for a, _ in wrong), sum(b for _, b in wrong), sum(a and b for a, b in wrong)),
        alpha=alpha(wrong),
        same_kind=sum(a == b for a, b in both) / len(both) if both else None,
        kind_kappa=kappa(both) if both else None,
        kinds=tuple(_of_kind(kind, kinds) for kind in KINDS),
    )


def f1(first: int, second: int, both: int) -> float | None:
    """Return the harmonic mean of precision and recall, in [0, 1]; None if nothing is marked."""
    return 2 * both / (first + second) if first + second else None


def alpha(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Return Krippendorff's alpha of two labellings without gaps, nominal, in [-1, 1]; None if they have one label only."""
    n = 2 * len(pairs)
    counts = Counter(label for pair in pairs for label in pair)
    expected = n * n - sum(count * count for count in counts.values())
    observed = 2 * sum(one != other for one, other in pairs)
    return 1 - (n - 1) * observed / expected if expected else None


def table(found: SpanAgreement) -> str:
    """Return the agreement as text: the figures, then a Markdown table by kind, in percent."""
    one, other = found.annotators
    lines = [
        f"{found.n} responses labelled by {one} and {other}",
        f"with a span or without: the same {_percent(found.accuracy)} %, kappa {_plain(found.kappa)}",
        f"{found.characters} characters, in a span or not: F1 {_percent(found.f1)} %, Krippendorff's alpha {_plain(found.alpha)}",
        f"marked by both: the same kind {_percent(found.same_kind)} %, kappa {_plain(found.kind_kappa)}",
        "",
        f"| characters | {_cell(one)} | {_cell(other)} | both | F1 |",
        "|---|---:|---:|---:|---:|",
        *(f"| {of.kind} | {of.first} | {of.second} | {of.both} | {_percent(of.f1)} |" for of in found.kinds),
    ]
    if found.unmatched:
        lines += ["", f"{found.unmatched} responses have the labels of one person and are left out."]
    return "\n".join(lines)


def _by_character(one: MarkedResponse) -> list[Kind | None]:
    kinds: list[Kind | None] = [None] * len(one.response)
    for span in one.labels:
        kinds[span.start : span.end] = [span.label_type] * (span.end - span.start)
    return kinds


def _of_kind(kind: Kind, pairs: Sequence[tuple[Kind | None, Kind | None]]) -> SpanKindAgreement:
    first, second = (sum(pair[at] == kind for pair in pairs) for at in (0, 1))
    both = sum(one == other == kind for one, other in pairs)
    return SpanKindAgreement(kind=kind, first=first, second=second, both=both, f1=f1(first, second, both))


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _cell(name: str) -> str:
    return " ".join(name.replace("|", "/").split())
