"""Draw quality and cost of HaluAgent beside other detectors, as SVG. Needs the extra "docs".

    python docs/pictures/peers.py docs/pictures/peers.svg

The numbers are those of docs/results/peers.json, and for HaluAgent with its adapter those of peers-8.json: the first 30 items of
HaluEval-QA, the same weights for all.
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

RESULTS = Path(__file__).parent.parent / "results"
NAMES = {
    "haluagent": "without adapter",
    "haluagent-8": "HaluAgent",
    "lynx": "Lynx-form judge",
    "refchecker": "RefChecker",
    "deepeval": "DeepEval",
    "selfcheckgpt": "SelfCheckGPT",
}
BELOW = ("SelfCheckGPT", "without adapter")


def draw(out: Path) -> None:
    """Write the picture: seconds per item across, balanced accuracy with its 95 % interval upwards."""
    measured, adapted = (
        json.loads((RESULTS / name).read_text(encoding="utf-8"))["measured"]["sets"][0]["methods"]
        for name in ("peers.json", "peers-8.json")
    )
    measured += [method | {"method": "haluagent-8"} for method in adapted if method["method"] == "haluagent"]
    matplotlib.rcParams |= {"svg.hashsalt": "haluagent", "font.size": 11, "font.family": "sans-serif"}
    figure, axes = plt.subplots(figsize=(8, 4.2), facecolor="white")
    items = measured[0]["scores"]["n"]
    for method in measured:
        name = NAMES.get(method["method"])
        if name is None:
            continue
        seconds = method["cost"]["normalised"] / method["cost"]["items"]
        balanced = 100 * method["scores"]["balanced"]
        low, high = (100 * end for end in method["scores"]["intervals"]["balanced"])
        colour = "#0b6e4f" if name == "HaluAgent" else "#6b7280"
        axes.errorbar(
            seconds,
            balanced,
            yerr=[[balanced - low], [high - balanced]],
            fmt="o",
            color=colour,
            capsize=4,
            markersize=8,
        )
        # Above its bar, but for one whose bar ends beside another.
        end, beside, edge = (low, -6, "top") if name in BELOW else (high, 6, "bottom")
        axes.annotate(
            name,
            (seconds, end),
            (0, beside),
            textcoords="offset points",
            color=colour,
            weight="bold",
            ha="center",
            va=edge,
        )
    axes.axhline(50, color="#9ca3af", linewidth=1, linestyle="--")
    axes.annotate("chance", (34.5, 50), (0, 4), textcoords="offset points", color="#6b7280", ha="right")
    axes.set(xlim=(0, 35), ylim=(18, 102), xlabel="normalised seconds per item on two cores (less is better)")
    axes.set_ylabel("balanced accuracy, percent")
    axes.set_title(f"HaluEval-QA, first {items} items, same 1.5B model; bars: 95 % intervals")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
