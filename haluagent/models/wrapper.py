"""The common part of models that wrap another model: they report its properties as their own."""

from haluagent.models.calibration import calibration_of, fine_tuned_tools_of
from haluagent.protocols import Model


class ModelWrapper:
    """A `Model` that takes its properties from another one, `_model`; subclasses provide `generate` and `choose`."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.name = model.name
        self.context = model.context
        self.calibration = calibration_of(model)
        self.fine_tuned_tools = fine_tuned_tools_of(model)

    def count_tokens(self, text: str) -> int:
        return self._model.count_tokens(text)
