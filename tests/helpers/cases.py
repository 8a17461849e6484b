"""Cases of parametrized tests."""

from typing import Any

import pytest


def cases(named: dict[str, Any], *core: str) -> list[Any]:
    """Return the cases under their names; the ones named after them are of the core."""
    assert set(core) <= set(named)
    return [
        pytest.param(*(case if isinstance(case, tuple) else [case]), id=name, marks=[pytest.mark.core] * (name in core))
        for name, case in named.items()
    ]
