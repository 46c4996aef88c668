"""A small GPT on bytes, about 1 M parameters: a step is an optimiser step.

python prepare_text.py  writes the text that it trains on, before a study runs.
"""

import os

import torch
from torch import nn
from torch.nn import functional

import hippo_hpo as hippo

FOLDER = "/var/tmp/hippo-recipes"
LAYERS, WIDTH, HEADS = 4, 144, 4


def texts(folder):
    """The bytes of each set, and last those that are measured."""
    result = []
    for name in ("web", "math", "code", "validation"):
        with open(os.path.join(folder, name + ".bin"), "rb") as file:
            result.append(torch.frombuffer(bytearray(file.read()),
                                           dtype=torch.uint8))
    return result


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                                 nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norms[0](x)).view(
            b, t, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) * (WIDTH // HEADS) ** -0.5
        future = torch.ones(t, t, dtype=torch.bool,
                            device=x.device).triu(1)
        seen = scores.masked_fill(future, float("-inf")).softmax(-1) @ v
        x = x + self.out(seen.transpose(1, 2).reshape(b, t, WIDTH))
        return x + self.mlp(self.norms[1](x))


class GPT(nn.Module):
    def __init__(self, context):
        super().__init__()
        self.tokens = nn.Embedding(256, WIDTH)
        self.places = nn.Embedding(context, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 256))

    def forward(self, x):
        places = torch.arange(x.shape[1], device=x.device)
        return self.head(self.blocks(self.tokens(x) + self.places(places)))


def batch(sets, shares, size, context, draw):
    """Some pieces of texts, of each as many as its share says, and what follows
    each byte of them."""
    pieces = []
    for i in torch.multinomial(shares, size, replacement=True, generator=draw):
        begin = int(torch.randint(len(sets[i]) - context - 1, (1,),
                                  generator=draw))
        pieces.append(sets[i][begin:begin + context + 1])
    pieces = torch.stack(pieces).long()
    return pieces[:, :-1], pieces[:, 1:]


def loss_of(model, x, y):
    return functional.cross_entropy(model(x).flatten(0, 1), y.flatten())


@hippo.workload(seed=1)
def train(ctx, size=2, context=32, folder=FOLDER):
    *sets, validation = ctx.once(texts, folder)
    measured = [batch([validation], torch.ones(1), 16, context,
                      torch.Generator().manual_seed(i)) for i in range(4)]
    model = GPT(context).to(ctx.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1)

    def losses():
        with torch.no_grad():
            found = [loss_of(model, x.to(ctx.device), y.to(ctx.device))
                     for x, y in measured]
        return {"val_loss": (sum(found) / len(found)).item()}

    for step in ctx.steps(model=model, optimizer=optimizer):
        hippo.torch.apply(optimizer, ctx.hp, step)
        shares = torch.tensor([ctx.hp.web(step), ctx.hp.math(step),
                               ctx.hp.code(step)])
        x, y = batch(sets, shares, size, context,
                     torch.Generator().manual_seed(step))
        optimizer.zero_grad()
        loss_of(model, x.to(ctx.device), y.to(ctx.device)).backward()
        optimizer.step()
        yield losses
