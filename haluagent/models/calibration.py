"""The constants fitted to one model: the curves that turn its judgements into probabilities, and its thresholds.

A model carries its own as the attribute `calibration`. For one without, `EMBEDDED` is used: the constants of the
embedded model without an adapter. `docs/calibration.md` says how to fit them, for this or another model.
"""

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, model_validator

from haluagent.types import Language, Probability, Record

Share = Annotated[float, Field(gt=0, lt=1)]
Wording = Literal["answer", "statement", "consistency", "results", "reasons", "relevance", "authentic"]


class MatchCurve(Record):
    """`P(right) = sigmoid(slope * (log_odds - lean) + familiar)` (Platt 1999).

    `familiar` applies only if all words of the claim are in the text.
    """

    lean: float
    slope: float = Field(gt=0)
    familiar: float = Field(default=0.0, ge=0)


class TranslationCurve(Record):
    """`P(right) = sigmoid(intercept + log_odds * odds + shared * words)`.

    `odds` is the mean log-odds that two texts say the same, `words` the F1 of their words.
    """

    intercept: float
    log_odds: float
    shared: float


class ProblemCurve(Record):
    """`P(wrong) = sigmoid(intercept + judged * log_odds + agrees + agrees_more + rivals)`.

    `log_odds` are those of "wrong". `agrees` applies if one formula gives the stated answer, `agrees_more` if a second
    one does too, and `rivals` if two formulas agree on another answer.
    """

    intercept: float
    judged: float
    agrees: float
    agrees_more: float
    rivals: float = 0.0


class Thresholds(Record):
    """Probabilities that a text supports a claim: above `supported` it does, below `wrong` it does not; between them nothing
    is decided."""

    supported: Probability = 0.55
    wrong: Probability = 0.45

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.wrong > self.supported:
            raise ValueError("wrong must not be above supported")
        return self


class Calibration(Record):
    """The constants of one model.

    A field that is left out has the embedded model's value; one that is given must cover every wording and language,
    with keys such as `answer:en`.

    `match` is for the log-odds of "supported". `agreement` is added to the log-odds that an answer generated anew
    agrees with the one being judged. `otherwise` are the mean log-odds above which a text that does not say a claim says
    otherwise, rather than nothing; `mentions` are those above which it says enough to answer a question; `claims` are
    those above which a sentence counts as a claim. `base_rate` is the share of answers and statements that are taken to be right
    before anything is read, and `thresholds` are for their probability of "supported" beside a reference.

    If `match` has no curves for `results` (a statement held against what tools returned), `reasons` (a judgement after
    reasons that the model wrote), `relevance` (a request held against what a tool does) or `authentic` (the values of a
    call against what was said before), the log-odds are used unchanged.
    """

    match: dict[str, MatchCurve]
    agreement: dict[Language, float]
    otherwise: dict[Language, float]
    mentions: dict[Language, float]
    translation: dict[Language, TranslationCurve]
    problem: ProblemCurve
    claims: dict[Language, float]
    base_rate: Share = 0.5
    thresholds: Thresholds = Thresholds()

    @model_validator(mode="before")
    @classmethod
    def _filled(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        filled = _EMBEDDED | given
        match = filled["match"]
        if isinstance(match, dict):
            as_they_are = {
                f"{wording}:{name}": {"lean": 0.0, "slope": 1.0} for wording in _AS_THEY_ARE for name in _LANGUAGES
            }
            filled["match"] = as_they_are | match
        return filled

    @model_validator(mode="after")
    def _complete(self) -> Self:
        for name, keys in _KEYS.items():
            if set(getattr(self, name)) != keys:
                raise ValueError(f"{name} must have the keys {', '.join(sorted(keys))}, and no other")
        return self

    def curve(self, wording: Wording, language: str) -> MatchCurve:
        return self.match[f"{wording}:{language}"]


class CalibrationFile(Record):
    """The file that `haluagent calibrate` writes."""

    calibration: Calibration


_AS_THEY_ARE: tuple[Wording, ...] = ("results", "reasons", "relevance", "authentic")
_LANGUAGES: frozenset[str] = frozenset(get_args(Language))
_KEYS: dict[str, frozenset[str]] = {
    "match": frozenset(f"{wording}:{language}" for wording in get_args(Wording) for language in _LANGUAGES),
    **dict.fromkeys(("agreement", "otherwise", "mentions", "translation", "claims"), _LANGUAGES),
}

_EMBEDDED: dict[str, Any] = {
    "match": {
        # Without an adapter these weights tell right from wrong bare answers hardly at all when they are asked with three
        # options (AUROC near one half): such a judgement decides little, and the answer given anew nearly all.
        "answer:en": {"lean": -0.8, "slope": 0.7},
        "answer:zh": {"lean": -0.9, "slope": 0.7},
        "statement:en": {"lean": -0.84, "slope": 3.7},
        "statement:zh": {"lean": -1.05, "slope": 2.4},
        "results:en": {"lean": 0.11, "slope": 13.6},
        "results:zh": {"lean": -0.01, "slope": 5.1, "familiar": 1.5},
        "consistency:en": {"lean": 0.0, "slope": 3.0},
        "consistency:zh": {"lean": 0.0, "slope": 3.0},
    },
    "agreement": {"en": 3.8, "zh": 3.5},
    "otherwise": {"en": -0.1, "zh": 0.45},
    "mentions": {"en": -0.20, "zh": 0.4},
    "translation": {
        "en": {"intercept": 1.3, "log_odds": 7.9, "shared": 2.0},
        "zh": {"intercept": 2.1, "log_odds": 7.5, "shared": 2.2},
    },
    "problem": {"intercept": 1.0, "judged": 0.4, "agrees": -1.0, "agrees_more": -1.6},
    # A sentence that is taken for no claim is not checked, so few claims may be lost: 9 % (docs/calibration.md).
    "claims": {"en": -0.75, "zh": -0.75},
}

EMBEDDED = Calibration.model_validate({})

# For a model fine-tuned on every judgement: its log-odds are used unchanged, and answers are put as answers. Also for a
# teacher that is always sure, and as the start when fitting the calibration of a new adapter.
IDENTITY = Calibration.model_validate(
    {
        "match": {key: {"lean": 0.0, "slope": 1.0} for key in sorted(_KEYS["match"])},
        "otherwise": dict.fromkeys(sorted(_LANGUAGES), 0.0),
        "mentions": dict.fromkeys(sorted(_LANGUAGES), 0.0),
    }
)


def calibration_of(model: object) -> Calibration:
    """Return a model's calibration: its own (`model.calibration`), or that of the embedded model where it has none."""
    own: Calibration | None = getattr(model, "calibration", None)
    return own or EMBEDDED


def fine_tuned_tools_of(model: object) -> frozenset[str]:
    """Return the names of the tools that a model was fine-tuned on (`model.fine_tuned_tools`); empty for a base model."""
    names: frozenset[str] = getattr(model, "fine_tuned_tools", frozenset())
    return names
