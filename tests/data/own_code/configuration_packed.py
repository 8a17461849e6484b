"""The configuration of a model that brings its code with it, in the manner of Baichuan2."""

from transformers import PretrainedConfig


class PackedConfig(PretrainedConfig):
    model_type = "baichuan"

    def __init__(
        self, vocab_size=300, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, **more
    ):
        self.vocab_size, self.hidden_size, self.intermediate_size = vocab_size, hidden_size, intermediate_size
        self.num_hidden_layers, self.num_attention_heads = num_hidden_layers, num_attention_heads
        super().__init__(**more)
