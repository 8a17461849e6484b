"""Where things are in the checkout that is tested."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
HELPERS = ROOT / "tests" / "helpers"
