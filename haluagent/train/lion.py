"""The optimizer Lion (Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms"), with which Lynx was trained.

It keeps one moment where AdamW keeps two, and every step changes a weight by the rate, whatever its gradient.
"""

from collections.abc import Callable
from typing import Any

import torch


class Lion(torch.optim.Optimizer):
    """Lion with decoupled weight decay; `betas` weigh the moment in a step, and in the next moment."""

    def __init__(
        self, params: Any, lr: float, betas: tuple[float, float] = (0.9, 0.99), weight_decay: float = 0.0
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make a step, and return what the closure returns."""
        loss = closure() if closure is not None else None
        with torch.no_grad():
            for group in self.param_groups:
                for weight in group["params"]:
                    if weight.grad is not None:
                        self._move(weight, group)
        return loss

    def _move(self, weight: Any, group: dict[str, Any]) -> None:
        state, (in_step, in_moment) = self.state[weight], group["betas"]
        if not state:
            state["moment"] = torch.zeros_like(weight)
        moment = state["moment"]
        weight.mul_(1 - group["lr"] * group["weight_decay"])
        weight.add_(moment.lerp(weight.grad, 1 - in_step).sign_(), alpha=-group["lr"])
        moment.lerp_(weight.grad, 1 - in_moment)
