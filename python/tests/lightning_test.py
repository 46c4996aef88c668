"""Lightning modules as workloads, cut anywhere."""

import os
import unittest
import unittest.mock
import warnings

import old_torch  # noqa: F401
from exact_resume import ExactResume
from hippo_hpo._compare import differences
from hippo_hpo.workload import HyperParameters
from pages_test import block_with

try:
    import torch
    import hippo_hpo.lightning
    import hippo_hpo.torch
    from hippo_hpo._iterations import SampleOrder
    from small_net import Data, Net
except ImportError:
    torch = None

warnings.simplefilter("ignore")

if torch is not None:
    class Scheduled(Net):
        def configure_optimizers(self):
            optimizer = super().configure_optimizers()
            return [optimizer], [
                torch.optim.lr_scheduler.StepLR(optimizer, 1)]

    class Example(hippo_hpo.lightning.Workload):
        kind = Net

        def module(self, constant):
            return self.kind(int(constant("width")))

        def datamodule(self):
            return Data(20)

    class WithScheduler(Example):
        kind = Scheduled

    class Sharded(Example):
        trainer_options = {"strategy": "fsdp"}

    class Counted(Net):
        """A module that reads what it is told of its place."""
        seen = []

        def training_step(self, batch, i):
            Counted.seen.append((i, self.global_step))
            return super().training_step(batch, i)

    class Iterations(Example):
        step_is = "iteration"

    class Accumulating(Iterations):
        kind = Counted
        trainer_options = {"accumulate_grad_batches": 4,
                           "gradient_clip_val": 0.5}

    class IterationsWithScheduler(Iterations):
        kind = Scheduled

LR = [0.1, 0.1, 0.05, 0.05, 0.01]
SIZE = [4.0, 5.0, 5.0, 10.0, 10.0]


def hp(start, stop, **more):
    return HyperParameters(start, stop, {
        "lr": LR[start:stop], "batch_size": SIZE[start:stop], "width": [4.0],
        **more})


@unittest.skipIf(torch is None, "PyTorch Lightning is not installed")
class Training(ExactResume, unittest.TestCase):
    metrics = {"val_loss"}
    another = {"lr": [0.5], "batch_size": [3.0], "width": [7.0]}
    others = {"lr": [*LR[:4], 0.02], "batch_size": [*SIZE[:4], 4.0]}
    hp = staticmethod(hp)

    @property
    def Example(self):
        return Example

    def test_it_is_the_loop_by_hand(self):
        x = self.made()
        x.train(0, 5, hp(0, 5))
        tools = hippo_hpo.torch
        data = Data(20)
        data.setup("fit")
        tools.seed_step(1, -1)
        net = Net(4)
        optimizer = net.configure_optimizers()
        for step in range(5):
            optimizer.param_groups[0]["lr"] = LR[step]
            tools.seed_step(1, step)
            for batch in tools.data_loader(data.data, 1, step, SIZE[step]):
                optimizer.zero_grad()
                net.training_step(batch, 0).backward()
                optimizer.step()
        self.assertEqual([], differences(
            dict(net.state_dict()),
            dict(x.state_dict()["trained"]["state_dict"])))

    def test_what_the_page_shows(self):
        names = {"Net": lambda depth: Net(depth), "Data": lambda: Data(20)}
        exec(block_with("docs/python-workloads.md",
                        "hippo_hpo.lightning.Workload"), names)
        x = self.made(names["Digits"])
        x.train(0, 2, HyperParameters(0, 2, {
            "lr": LR[:2], "batch_size": SIZE[:2], "depth": [4.0]}))
        like = self.made()
        like.train(0, 2, hp(0, 2))
        self.assertEqual(like.evaluate(), x.evaluate())

    def test_errors(self):
        with self.assertRaisesRegex(TypeError, "returns a scheduler"):
            self.made(WithScheduler).train(0, 1, hp(0, 1))
        with self.assertRaisesRegex(ValueError, "nothing has read lrr"):
            self.made().train(0, 1, hp(0, 1, lrr=[1.0]))
        with self.assertRaisesRegex(ValueError, "width is 5.0 at step 1"):
            self.made().train(0, 2, hp(0, 2, width=[4.0, 5.0]))
        with unittest.mock.patch.object(Sharded, "world_size", 2), \
                unittest.mock.patch.dict(os.environ, LOCAL_WORLD_SIZE="2"), \
                self.assertRaisesRegex(ValueError, "strategy is 'fsdp': with "
                                       "ranks it must be \"ddp\""):
            self.made(Sharded).train(0, 1, hp(0, 1))


@unittest.skipIf(torch is None, "PyTorch Lightning is not installed")
class Iterating(ExactResume, unittest.TestCase):
    metrics = {"val_loss"}
    another = {"lr": [0.5], "batch_size": [3.0], "width": [7.0]}
    others = {"lr": [*LR[:4], 0.02], "batch_size": [*SIZE[:4], 4.0],
              "momentum": [0.9] * 4 + [0.5]}
    hp = staticmethod(hp)

    @property
    def Example(self):
        return Iterations

    @property
    def kinds(self):
        return Accumulating,

    def test_it_is_the_loop_by_hand(self):
        x, tools, data = self.made(), hippo_hpo.torch, Data(20)
        x.train(0, 5, hp(0, 5))
        data.setup("fit")
        order = SampleOrder(20, 1).at(0, 34)
        tools.seed_step(1, -1)
        net = Net(4)
        optimizer = net.configure_optimizers()
        for step in range(5):
            optimizer.param_groups[0]["lr"] = LR[step]
            places, order = order[:int(SIZE[step])], order[int(SIZE[step]):]
            tools.seed_step(1, step)
            optimizer.zero_grad()
            net.training_step(data.data[places], 0).backward()
            optimizer.step()
        self.assertEqual([], differences(
            dict(net.state_dict()),
            dict(x.state_dict()["trained"]["module"])))

    def test_errors(self):
        with self.assertRaisesRegex(TypeError, "returns a scheduler"):
            self.made(IterationsWithScheduler).train(0, 1, hp(0, 1))
        with self.assertRaisesRegex(ValueError, "nothing has read lrr"):
            self.made().train(0, 1, hp(0, 1, lrr=[1.0]))
        with self.assertRaisesRegex(ValueError, "width is 5.0 at step 1"):
            self.made().train(0, 2, hp(0, 2, width=[4.0, 5.0]))
        with self.assertRaisesRegex(ValueError, "batch_size is 0.5"):
            self.made().train(0, 1, hp(0, 1, batch_size=[0.5]))

    def test_a_module_counts_the_batches_and_steps_of_the_trial(self):
        x = self.made(Accumulating)
        Counted.seen.clear()
        x.train(0, 1, hp(0, 1))
        x.train(1, 3, hp(1, 3))
        self.assertEqual([(i, i // 4) for i in range(12)], Counted.seen)
        self.assertEqual(4 * (4 + 5 + 5), x.state_dict()["samples"])


if __name__ == "__main__":
    unittest.main()
