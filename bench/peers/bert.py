"""BERT (Devlin et al., 2019) with a head for spans in PyTorch, as one writes
it: what bench/gpu compares ours with.
"""

import torch
from torch import nn
from torch.nn import functional


class Layer(nn.Module):
    """Self-attention and a perceptron, each normalised after its sum."""

    def __init__(self, hidden, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)
        self.attention = nn.Linear(hidden, hidden)
        self.attention_norm = nn.LayerNorm(hidden, eps=1e-12)
        self.intermediate = nn.Linear(hidden, 4 * hidden)
        self.output = nn.Linear(4 * hidden, hidden)
        self.output_norm = nn.LayerNorm(hidden, eps=1e-12)

    def forward(self, x, mask):
        def by_head(y):
            return y.unflatten(2, (self.heads, -1)).transpose(1, 2)

        def drop(y):
            return functional.dropout(y, self.dropout, self.training)

        seen = functional.scaled_dot_product_attention(
            by_head(self.query(x)), by_head(self.key(x)),
            by_head(self.value(x)), attn_mask=mask,
            dropout_p=self.dropout if self.training else 0.0)
        seen = seen.transpose(1, 2).flatten(2)
        x = self.attention_norm(x + drop(self.attention(seen)))
        inner = functional.gelu(self.intermediate(x))
        return self.output_norm(x + drop(self.output(inner)))


class Bert(nn.Module):
    """Scores of each token to be the first and the last of the answer."""

    def __init__(self, vocabulary, hidden, layers, heads, dropout):
        super().__init__()
        self.dropout = dropout
        self.words = nn.Embedding(vocabulary, hidden, padding_idx=0)
        self.positions = nn.Embedding(512, hidden)
        self.segments = nn.Embedding(2, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.layers = nn.ModuleList(
            Layer(hidden, heads, dropout) for _ in range(layers))
        self.head = nn.Linear(hidden, 2)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, tokens, segments, present):
        at = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.words(tokens) + self.segments(segments)
                      + self.positions(at))
        x = functional.dropout(x, self.dropout, self.training)
        mask = present[:, None, None, :]
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(x).unbind(2)


MODELS = {
    "squad-bert-base": lambda dropout: Bert(30522, 768, 12, 12, dropout),
    "squad-bert-tiny": lambda dropout: Bert(1024, 128, 2, 2, dropout)}
