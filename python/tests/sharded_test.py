"""Models that are sharded over ranks, driven as a trainer drives them."""

import concurrent.futures
import os
import shutil
import tempfile
import unittest

from hippo_hpo._ranks import _free_port
from pages_test import block_with
from ranks_test import CutCase

try:
    import torch
    from torch.distributed.fsdp import fully_shard
    import hippo_hpo.torch
except ImportError:
    fully_shard = None

# The function of docs/own-code.md as classes, and over meshes.
MORE = '''

from torch.distributed.checkpoint.state_dict import (get_state_dict,
                                                     set_state_dict)
from torch.distributed.device_mesh import init_device_mesh


def sharded(mesh=None):
    model = Net()
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def epoch(model, opt, data, seed, step):
    model.train()
    for x, y in hippo.torch.data_loader(data, seed, step, 8):
        opt.zero_grad()
        mse_loss(model(x), y).backward()
        opt.step()


def measured(model, data):
    model.eval()
    with torch.no_grad():
        x, y = data.tensors
        return {"loss": mse_loss(model(x), y).item()}


class Attributes(hippo_hpo.torch.Workload):
    def setup(self, seed, device, args):
        super().setup(seed, device, args)
        self.data = load_data()

    def build(self):
        if not dist.is_initialized():
            dist.init_process_group("gloo")
        self.model = sharded()
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    def train_step(self, step, hp):
        hippo.torch.apply(self.opt, hp, step)
        epoch(self.model, self.opt, self.data, self.seed, step)

    def evaluate(self):
        return measured(self.model, self.data)


class ByState(hippo.Workload):
    def setup(self, seed, device, args):
        self.seed, self.data = seed, load_data()
        torch.use_deterministic_algorithms(True)
        if not dist.is_initialized():
            dist.init_process_group("gloo")

    def init(self):
        torch.manual_seed(self.seed)
        self.model = sharded()
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    def train(self, start, stop, hp):
        for step in range(start, stop):
            hippo.torch.seed_step(self.seed, step)
            self.opt.param_groups[0]["lr"] = hp.lr(step)
            epoch(self.model, self.opt, self.data, self.seed, step)

    def evaluate(self):
        return measured(self.model, self.data)

    def state_dict(self):
        model, opt = get_state_dict(self.model, self.opt)
        return {"model": model, "opt": opt}

    def load_state_dict(self, state):
        self.init()
        set_state_dict(self.model, self.opt, model_state_dict=state["model"],
                       optim_state_dict=state["opt"])


@hippo.workload
def hybrid(ctx):
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    data = ctx.once(load_data)
    # A group for each dimension, others in each call.
    model = sharded(init_device_mesh("cpu", (2, 2),
                                     mesh_dim_names=("copies", "shards")))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in ctx.steps(model=model, opt=opt):
        hippo.torch.apply(opt, ctx.hp, step)
        epoch(model, opt, data, ctx.seed, step)
        yield lambda: measured(model, data)


@hippo.workload
def part(ctx):
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    data = ctx.once(load_data)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("more", "shards"))
    model = sharded(mesh["shards"])
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in ctx.steps(model=model, opt=opt):
        hippo.torch.apply(opt, ctx.hp, step)
        epoch(model, opt, data, ctx.seed, step)
        yield lambda: measured(model, data)
'''

class Members:
    """Trainers that have a rank each, asked together."""

    def __init__(self, case, ranks):
        port, run = _free_port(), f"hippo-{os.getpid()}"
        self.case = case
        self.trainers = together([
            lambda i=i: case.ranks(ranks, member=(
                i, 1, "127.0.0.1", "127.0.0.1", port, run))
            for i in range(ranks)])

    def ask(self, what, path=None):
        if what != "load":
            return self.each(lambda x, i: x.ask(what, path))[0]

        def load(x, i):
            # Each in a folder of its own, as trainers do.
            own = os.path.join(tempfile.mkdtemp(dir=self.case.folder), "state")
            shutil.copy(path, own)
            return x.ask("load", own)
        return self.each(load)[0]

    def setup(self, **args):
        return self.each(lambda x, i: x.setup(**args))[0]

    def train(self, start, stop, **values):
        return self.each(lambda x, i: x.train(start, stop, **values))[0]

    def metrics(self):
        return self.each(lambda x, i: x.metrics())[0]

    def save(self, name):
        whole = b"".join(self.each(
            lambda x, i: self.case.save(x, f"{name}{i}")))
        # The end of a tar file.
        whole += b"\0" * 1024
        whole += b"\0" * (-len(whole) % 10240)
        with open(self.case.path(name), "wb") as file:
            file.write(whole)
        return whole

    def each(self, function):
        return together([lambda x=x, i=i: function(x, i)
                         for i, x in enumerate(self.trainers)])

    def close(self):
        self.each(lambda x, i: x.close())


def together(functions):
    """Calls functions at the same time. @returns what they return"""
    with concurrent.futures.ThreadPoolExecutor(len(functions)) as pool:
        return [x.result() for x in [pool.submit(f) for f in functions]]


@unittest.skipIf(fully_shard is None, "there is no PyTorch with fully_shard")
class Sharded(CutCase):
    rates = CutCase.rates[:3]
    averages = False

    def setUp(self):
        self.text = block_with("docs/own-code.md", "fully_shard") + MORE
        super().setUp()

    def choose(self, trainer, name):
        if not self.averages:
            return super().choose(trainer, name)

        def average(x):
            x.seed, x.device, x.threads = 3, "cpu", 1
            x.average.of, x.average.every = 2, 1
            kind, = x.init("args", 1)
            kind.name, kind.value.word = "kind", name
        for said in trainer.ask("setup", average), trainer.ask("init"):
            self.assertEqual("done", said.which(), said)

    def save(self, trainer, name):
        return trainer.save(name) if isinstance(trainer, Members) \
            else super().save(trainer, name)

    def assert_on_members(self, name, cut, whole):
        """Expects the same of two trainers with a rank each."""
        members = Members(self, 2)
        self.choose(members, name)
        self.assert_goes_on(members, cut, whole)
        members.close()
        ranks = [x["parts"] for x in self.states()]
        joined = hippo_hpo.torch.unsharded(ranks)
        weight = joined["model"]["head.weight"]
        self.assertEqual((16, 16), tuple(weight.shape))
        for i, x in enumerate(ranks):
            shard = x["model"]["head.weight"]
            self.assertTrue(torch.equal(weight[8 * i:8 * i + 8], shard.local))
            self.assertTrue(torch.equal(
                joined["opt"]["state"][0]["step"],
                x["opt"]["state"][0]["step"]))

    def test_two_ranks(self):
        pair = self.pair()
        for name in "Attributes", "ByState":
            with self.subTest(name):
                self.assert_the_same_cut(name, *pair)
        with self.subTest("what the page shows, on one trainer and two"):
            whole = self.assert_the_same_cut("train", *pair)
            with open(self.path("cut"), "rb") as file:
                self.assert_on_members("train", file.read(), whole)
        with self.subTest("the mean of weights"):
            self.averages = True
            mean = self.assert_the_same_cut("train", *pair)
            self.assertNotEqual(whole[1], mean[1])

    def test_meshes_of_two_dimensions(self):
        ranks = self.ranks(4)
        with self.subTest("a part of a mesh"):
            self.assert_the_same_cut("part", ranks)
        self.assert_the_same_cut("hybrid", ranks)
        states = [x["parts"] for x in self.states()]
        weight = hippo_hpo.torch.unsharded(states)["model"]["head.weight"]
        for i, x in enumerate(states):
            part = 8 * (i % 2)
            self.assertTrue(torch.equal(weight[part:part + 8],
                                        x["model"]["head.weight"].local))


if __name__ == "__main__":
    unittest.main()
