"""Tunes a small network on two spirals: python quickstart.py

Takes a minute or less on two cores, and needs no data.
"""

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import TensorDataset

import hippo_hpo as hippo
from hippo_hpo import choice, constant, cosine, multistep, warmup


def spirals(points, seed):
    """Two spirals of points with noise, and which each is on."""
    draw = torch.Generator().manual_seed(seed)
    which = torch.arange(points) % 2
    angle = 9 * torch.rand(points, generator=draw).sqrt()
    place = torch.stack([angle.cos(), angle.sin()], 1) * angle[:, None] / 3
    place = place * (1 - 2 * which)[:, None]
    place += 0.1 * torch.randn(points, 2, generator=draw)
    return TensorDataset(place, which)


@hippo.workload(seed=1)
def train(ctx):
    data = ctx.once(spirals, 4000, 1)
    points, labels = ctx.once(spirals, 1000, 2).tensors
    model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64),
                          nn.Tanh(), nn.Linear(64, 2)).to(ctx.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1)

    def accuracy():
        with torch.no_grad():
            found = model(points.to(ctx.device)).argmax(1).cpu()
        return {"val_accuracy": (found == labels).float().mean().item()}

    for epoch in ctx.steps(model=model, optimizer=optimizer):
        hippo.torch.apply(optimizer, ctx.hp, epoch)
        for x, y in ctx.loader(data, epoch, ctx.hp.batch_size(epoch)):
            optimizer.zero_grad()
            functional.cross_entropy(model(x.to(ctx.device)),
                                     y.to(ctx.device)).backward()
            optimizer.step()
        yield accuracy


space = {
    "lr": choice(constant(0.3),
                 multistep(0.3, [choice(6, 9)], 0.1),
                 warmup(2, 0.03, 0.3, then=cosine(10, end=0.003))),
    "momentum": choice(0.8, 0.9),
    "batch_size": choice(32, 64),
}

if __name__ == "__main__":
    study = hippo.optimize(train, space, max_steps=12, algorithm="grid",
                           objective={"val_accuracy": "maximize"})
    info = study.info
    print(f"best: {study.best_value:.4f} with {study.best_params}")
    print(f"{info.delivered_steps} epochs asked for, "
          f"{info.delivered_steps - info.shared_steps} trained")
