"""A decoder whose queries, keys and values are one matrix, and which knows neither positions nor places of logits: in the manner of
Baichuan2, with its head normalized as there, and rotary positions."""

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.generation import GenerationMixin
from transformers.modeling_outputs import CausalLMOutputWithPast

from .configuration_packed import PackedConfig


class Norm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        scaled = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * scaled.to(x.dtype)


def rotated(x, angles):
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), -1)
    return (x * angles.cos() + turned * angles.sin()).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.size = config.num_attention_heads, config.hidden_size // config.num_attention_heads
        self.W_pack = nn.Linear(config.hidden_size, 3 * config.hidden_size, bias=False)
        self.o_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=False)

    def forward(self, x, angles):
        q, k, v = (part.unflatten(-1, (self.heads, self.size)).transpose(1, 2) for part in self.W_pack(x).chunk(3, -1))
        seen = nn.functional.scaled_dot_product_attention(rotated(q, angles), rotated(k, angles), v, is_causal=True)
        return self.o_proj(seen.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x):
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.self_attn, self.mlp = Attention(config), MLP(config)
        self.input_layernorm, self.post_attention_layernorm = Norm(config.hidden_size), Norm(config.hidden_size)

    def forward(self, x, angles):
        x = x + self.self_attn(self.input_layernorm(x), angles)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.size = config.hidden_size // config.num_attention_heads
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))
        self.norm = Norm(config.hidden_size)

    def forward(self, ids):
        x = self.embed_tokens(ids)
        speeds = 10000 ** (-torch.arange(0, self.size, 2, device=ids.device) / self.size)
        angles = (torch.arange(ids.shape[1], device=ids.device)[:, None] * speeds).repeat(1, 2)
        for layer in self.layers:
            x = layer(x, angles)
        return self.norm(x)


class Head(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(config.vocab_size, config.hidden_size))

    def forward(self, x):
        return nn.functional.linear(x, nn.functional.normalize(self.weight))


class PackedForCausalLM(PreTrainedModel, GenerationMixin):
    config_class = PackedConfig
    base_model_prefix = "model"

    def __init__(self, config):
        super().__init__(config)
        self.model, self.lm_head = Decoder(config), Head(config)
        self.post_init()

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding, Head)):
            module.weight.data.normal_(std=0.2)

    def get_input_embeddings(self):
        return self.model.embed_tokens

    def get_output_embeddings(self):
        return self.lm_head

    def forward(
        self,
        input_ids=None,
        attention_mask=None,
        past_key_values=None,
        inputs_embeds=None,
        labels=None,
        use_cache=None,
        output_attentions=None,
        output_hidden_states=None,
        return_dict=None,
    ):
        return CausalLMOutputWithPast(logits=self.lm_head(self.model(input_ids)))
