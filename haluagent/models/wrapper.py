"""What models that stand around another model have in common: they say of themselves what that one says."""

from haluagent.models.calibration import calibration_of, taught_of
from haluagent.protocols import Model


class ModelWrapper:
    """The parts of a `Model` that are those of another one, `_model`; `generate` and `choose` are for the subclass."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.name = model.name
        self.context = model.context
        self.calibration = calibration_of(model)
        self.taught = taught_of(model)

    def count_tokens(self, text: str) -> int:
        return self._model.count_tokens(text)
