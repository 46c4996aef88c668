"""A GPT with bytes as tokens, for the three studies beside this file.

A step is `sequences` pieces of text, which depend on the seed, the step and the
shares of the sets alone. `batch_size` of them make an update.
"""

import os

import hippo_hpo as hippo
import hippo_hpo.torch
import torch
from torch import nn
from torch.nn import functional

SETS = ("prose", "python", "perl")
FOLDER = "/var/tmp/hippo-recipes"
# Layers, width, heads, bytes of context, and pieces of each set to measure by.
MODELS = {"1M": (4, 144, 4, 64, 64), "tiny": (1, 16, 2, 16, 8)}
# The learning rate is that of a batch of so many; it grows with their root.
USUAL_BATCH = 4


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                 nn.Linear(4 * width, width))

    def forward(self, x):
        b, t, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(
            b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        later = torch.full((t, t), float("-inf"), device=x.device).triu(1)
        scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5 + later
        seen = (scores.softmax(-1) @ v).transpose(1, 2)
        x = x + self.out(seen.reshape(b, t, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, layers, width, heads, context):
        super().__init__()
        self.tokens = nn.Embedding(256, width)
        self.places = nn.Parameter(torch.zeros(context, width))
        self.blocks = nn.Sequential(*(Block(width, heads)
                                      for _ in range(layers)))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 256))
        for x in (self.tokens, *self.blocks.modules()):
            if isinstance(x, (nn.Embedding, nn.Linear)):
                nn.init.normal_(x.weight, std=0.02)

    def loss(self, text):
        seen = self.tokens(text[:, :-1]) + self.places
        found = self.head(self.blocks(seen))
        return functional.cross_entropy(found.flatten(0, 1),
                                        text[:, 1:].flatten())


def read(folder, kind):
    """The bytes of each set, as prepare_text.py writes them."""
    paths = [os.path.join(folder, f"{name}.{kind}") for name in SETS]
    return [torch.from_file(x, size=os.path.getsize(x), dtype=torch.uint8)
            for x in paths]


def pieces(sets, of, context, draw=None):
    """A piece of text from a random place of each set in `of`."""
    places = torch.rand(len(of), dtype=torch.double, generator=draw)
    begins = [int(x * (len(sets[i]) - context)) for i, x in zip(of, places)]
    return torch.stack([sets[i][a:a + context + 1]
                        for i, a in zip(of, begins)]).long()


def validation(folder, count, context):
    """Pieces of each set, the same for all trials and seeds."""
    draw = torch.Generator().manual_seed(0)
    sets = read(folder, "val")
    return [pieces(sets, [i] * count, context, draw) for i in range(len(SETS))]


@hippo.workload(seed=1)
def train(ctx):
    *shape, context, count = MODELS[ctx.args.get("model", "1M")]
    folder = ctx.args.get("folder", FOLDER)
    sets = ctx.once(read, folder, "train")
    measured = ctx.once(validation, folder, count, context)
    model = GPT(*shape, context)
    model.to(ctx.device)
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95),
                                  weight_decay=0.1)

    def losses():
        with torch.no_grad():
            found = [model.loss(x.to(ctx.device)).item() for x in measured]
        return {"val_loss": sum(found) / len(found),
                **{f"{name}_loss": x for name, x in zip(SETS, found)}}

    for step in ctx.steps(model=model, optimizer=optimizer):
        hippo.torch.apply(optimizer, ctx.hp, step)
        batch_size = ctx.hp.batch_size(step)
        for group in optimizer.param_groups:
            group["lr"] *= (batch_size / USUAL_BATCH) ** 0.5
        shares = torch.tensor([float(ctx.hp[x](step)) for x in SETS])
        of = torch.multinomial(shares, ctx.args["sequences"], replacement=True)
        for text in pieces(sets, of, context).split(batch_size):
            optimizer.zero_grad()
            model.loss(text.to(ctx.device)).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1)
            optimizer.step()
        yield losses
