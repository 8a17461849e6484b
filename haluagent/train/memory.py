"""The memory that a training takes, reckoned from the sizes of its base.

What the layers keep for the backward pass was counted in transformers' own code, tensor by tensor; a test compares. Allocators
round, and keep what was freed: see `MemoryNeed.total`.
"""

from dataclasses import dataclass

from haluagent.train.architecture import Architecture
from haluagent.train.settings import TARGETS, TrainingSettings

HALF, SINGLE = 2, 4  # bytes of a number in bfloat16 and in float32
FOUR_BIT = (
    0.5 + 1 / 64 + 4 / (64 * 256)
)  # with the scales of 64 weights in 8 bits and theirs in float32 (QLoRA, section 3)
OPTIMIZER = {"adamw": 2 * SINGLE, "lion": SINGLE}  # the two moments of AdamW, the one of Lion
LOGIT = 16  # bytes of a logit and of what its gradient takes: in bfloat16 and float32, each twice, and an exponential
PROGRAM = 800_000_000  # Python with its libraries on a CPU, the context and its libraries on a GPU
SPARE_GPU, SPARE_CPU = 1.1, 2.5  # times the activations that an allocator takes; on a CPU measured between 1.5 and 3


@dataclass(frozen=True)
class MemoryNeed:
    """The memory of a training on one device, in bytes.

    `trained` are the trained numbers with their gradients and the optimizer's moments, `kept` what the layers keep for the backward
    pass, `logits` those of the learned tokens, `working` what a step needs for a moment, and `loading` the peak of the machine's
    own memory while the base is loaded.
    """

    weights: int
    trained: int
    kept: int
    logits: int
    working: int
    loading: int
    spare: float

    @property
    def total(self) -> int:
        """The sum, with what the allocator adds to activations, and the program."""
        return round(self.weights + self.trained + self.spare * (self.kept + self.logits + self.working) + PROGRAM)


def trained(architecture: Architecture, settings: TrainingSettings) -> int:
    """Return the number of parameters that are trained."""
    layers = architecture.layers - settings.first_layer
    if settings.rank == 0:
        rest = architecture.parameters - architecture.layers * architecture.layer if settings.first_layer == 0 else 0
        return layers * architecture.layer + rest
    return layers * sum(settings.rank * (out + into) for out, into in _targets(architecture, settings))


def memory(
    architecture: Architecture,
    settings: TrainingSettings,
    *,
    tokens: int,
    learned: int,
    gpus: int = 0,
    file: int = 0,
) -> MemoryNeed:
    """Return the memory of a training with rows of `tokens` tokens, of which `learned` carry a loss; logits are computed in each row at
    the places of all rows that are computed together. On several `gpus` the weights and what is trained are divided (FSDP); with 0 it
    runs on the CPU. `file` is the size of a GGUF base in bytes."""
    a, full = architecture, settings.rank == 0
    if full:
        weights = a.parameters * (SINGLE + HALF)  # a copy in bfloat16 stays for a step
    elif settings.four_bit:
        weights = round(a.layers * a.layer * FOUR_BIT + (a.parameters - a.layers * a.layer) * HALF)
    else:
        weights = a.parameters * HALF
    moved = trained(a, settings) * (SINGLE + OPTIMIZER[settings.optimizer] + (0 if full else SINGLE))
    rows = settings.together
    layer = rows * tokens * kept_by_layer(a, settings, tokens)
    layers = a.layers - settings.first_layer
    kept = layers * rows * tokens * a.hidden * HALF if settings.gradient_checkpointing else layers * layer
    working = layer + max(out * into for out, into in a.matrices().values()) * (HALF if settings.four_bit else 0)
    if gpus > 1:  # one layer at a time is whole
        working += a.layer * HALF
    return MemoryNeed(
        weights=weights // max(gpus, 1),
        trained=moved // max(gpus, 1),
        kept=kept,
        logits=rows * (tokens if a.own_code else learned) * a.vocabulary * (LOGIT + 2 * HALF * (rows - 1)),
        working=working,
        loading=_loading(a, settings, gpus, file),
        spare=SPARE_GPU if gpus else SPARE_CPU,
    )


def kept_by_layer(architecture: Architecture, settings: TrainingSettings, tokens: int) -> int:
    """Return the bytes that a layer keeps of each token until its backward pass, in rows of `tokens` tokens."""
    a, full = architecture, settings.rank == 0
    queries, keys = a.heads * a.head, a.key_heads * a.head
    number = 2 * a.hidden * SINGLE + 2 * SINGLE  # the input of both norms, and their scale
    if a.family == "qwen3":  # so for queries and keys
        number += (queries + keys) * SINGLE + (a.heads + a.key_heads) * SINGLE
    number += (
        4 * queries * HALF + a.heads * SINGLE
    )  # queries, keys and values for each head, the outcome, and its scale
    number += tokens * HALF  # its row of the mask
    if a.own_code:  # attention as it is written in a paper: scores, masked, as probabilities
        number += 4 * a.heads * tokens * HALF
    number += 3 * a.inner * HALF + a.hidden * HALF  # gate, up and their product; the input of the attention's matrices
    if full or settings.targets == "all":
        number += a.inner * HALF + a.hidden * HALF  # the inputs of the MLP's matrices
    if full:
        number += 2 * a.hidden * SINGLE  # the outcome of both norms, which stays in float32
    else:
        number += len(_targets(a, settings)) * settings.rank * HALF
    return number


def _targets(architecture: Architecture, settings: TrainingSettings) -> list[tuple[int, int]]:
    return [shape for name, shape in architecture.matrices().items() if name in TARGETS[settings.targets]]


def _loading(architecture: Architecture, settings: TrainingSettings, gpus: int, file: int) -> int:
    """Return the peak of the machine's memory while the base is loaded."""
    if file:  # all weights are dequantized to float32 first
        return architecture.parameters * SINGLE + file + PROGRAM // 2
    if settings.four_bit:  # a file of at most 5 GB after the other, straight to the GPU
        return 5_000_000_000 + PROGRAM
    return architecture.parameters * (HALF if settings.rank else SINGLE) * max(gpus, 1) + PROGRAM
