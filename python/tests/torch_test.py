"""What hippo.torch makes exact, piece by piece."""

import io
import os
import random
import tempfile
import unittest
from unittest import mock

import hippo_hpo as hippo
from hippo_hpo._averaging import (
    Averaging, is_of_averages, mean_of, put_mean)
from hippo_hpo._compare import differences
from hippo_hpo._schema import process
from trainer_end import Trainer

try:
    import torch
except ImportError:
    torch = None
else:
    from torch import nn
    from torch.utils.data import TensorDataset

try:
    import numpy
except ImportError:
    numpy = None


# The features that four subnetworks keep (x), of 16.
KNOWN_MASKS = ["xxxx..x...xxxxx.", "xx.x....x.x..x.x",
               "...x...xxx.x.xxx", ".xxx.x..xx..x..."]

needs_torch = unittest.skipIf(torch is None, "torch is not installed")


class Noisy:
    """A data set that augments with all three global generators."""

    def __len__(self):
        return 10

    def __getitem__(self, i):
        drawn = [random.random(), torch.rand(()).item()]
        if numpy is not None:
            drawn.append(numpy.random.rand())
        return torch.tensor([float(i), *drawn])


def stacked(loader):
    return torch.cat(list(loader))


def drawn():
    """Draws from each global generator."""
    return (random.random(), torch.rand(3).tolist(),
            numpy is None or numpy.random.rand())


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5),
                         nn.Linear(8, 1))


def learn(model, optimizer):
    optimizer.zero_grad()
    model(torch.randn(6, 4)).pow(2).mean().backward()
    optimizer.step()


def bits(state):
    file = io.BytesIO()
    torch.save(state, file)
    return file.getvalue()


@needs_torch
class Seeds(unittest.TestCase):
    def test_a_step_has_an_address(self):
        hippo.torch.seed_step(1, 5)
        first = drawn()
        torch.rand(7), random.random()
        hippo.torch.seed_step(1, 5)
        self.assertEqual(drawn(), first)
        for seed, step in ((1, 6), (2, 5), (5, 1), (1, -1)):
            hippo.torch.seed_step(seed, step)
            self.assertNotEqual(drawn()[1], first[1])

    def test_large_seeds(self):
        hippo.torch.seed_step(2**64 - 1, 10**9)

    def test_a_stream_can_be_saved(self):
        hippo.torch.seed_step(1, 0)
        state = hippo.torch.State(rng=hippo.torch.RandomState())
        drawn()
        saved = state.state_dict()
        first = drawn()
        state.load_state_dict(saved)
        self.assertEqual(drawn(), first)


@needs_torch
class Loading(unittest.TestCase):
    def load(self, dataset=None, seed=1, epoch=0, batch_size=4, **options):
        return hippo.torch.data_loader(dataset or Noisy(), seed, epoch,
                                       batch_size, **options)

    def test_order_is_a_function_of_seed_and_epoch(self):
        def order(seed, epoch, size):
            return stacked(self.load(None, seed, epoch, size))[:, 0].tolist()
        first = order(1, 3, 4)
        self.assertEqual(sorted(first), list(range(10)))
        torch.rand(5)
        self.assertEqual(order(1, 3, 4), first)
        self.assertEqual(order(1, 3, 5.0), first)  # another batch size
        self.assertNotEqual(order(1, 4, 4), first)
        self.assertNotEqual(order(2, 3, 4), first)

    def test_what_a_batch_draws_has_an_address(self):
        def noise(seed, epoch, batch):
            loader = self.load(None, seed, epoch, 5, shuffle=False)
            return list(loader)[batch][:, 1:].flatten().tolist()
        first = noise(1, 3, 1)
        self.assertEqual(noise(1, 3, 1), first)
        for other in ((2, 3, 1), (1, 4, 1), (1, 3, 0)):
            self.assertFalse(set(noise(*other)) & set(first))

    def test_whoever_may_draw_has_an_address(self):
        class Jittered(TensorDataset):
            def __getitem__(self, i):
                return [x + torch.rand(()) for x in super().__getitem__(i)]

        def jitter(batch):
            return [torch.stack([x for x, in batch]) + torch.rand(())]

        def loaded(data, collate):
            return torch.cat([x for x, in self.load(data,
                                                    collate_fn=collate)])

        plain, jittered = (x(torch.zeros(10)) for x in (TensorDataset,
                                                        Jittered))
        subset = torch.utils.data.Subset(jittered, range(10))
        both = torch.utils.data.ConcatDataset([plain, subset])
        for data, collate in ((jittered, None), (subset, None), (both, None),
                              (plain, jitter)):
            first = loaded(data, collate)
            torch.rand(5)
            self.assertTrue(torch.equal(loaded(data, collate), first))

    def test_what_cannot_draw_is_not_kept_apart(self):
        plain = TensorDataset(torch.arange(10.))
        subset = torch.utils.data.Subset(plain, range(1, 9))
        with mock.patch.object(hippo.torch, "_drawing_from",
                               side_effect=AssertionError):
            for data in (plain, subset, range(10), [1., 2.],
                         torch.utils.data.ConcatDataset([plain, subset])):
                list(self.load(data))
            with self.assertRaises(AssertionError):
                list(self.load())

    def test_workers_do_not_matter(self):
        alone = stacked(self.load())
        for workers in (1, 2):
            self.assertTrue(torch.equal(
                stacked(self.load(num_workers=workers)), alone))

    def test_who_trains_draws_as_if_nothing_was_loaded(self):
        hippo.torch.seed_step(1, 1)
        first = drawn()
        hippo.torch.seed_step(1, 1)
        stacked(self.load())
        self.assertEqual(drawn(), first)

    def test_begins_inside_an_epoch(self):
        whole, rest = list(self.load()), list(self.load(start=1))
        self.assertEqual((len(whole), len(rest)), (3, 2))
        self.assertTrue(torch.equal(torch.cat(whole[1:]), torch.cat(rest)))

    def test_lengths(self):
        self.assertEqual(len(self.load()), 3)
        self.assertEqual(len(self.load(drop_last=True)), 2)
        self.assertEqual(len(list(self.load(drop_last=True))), 2)

    def test_collates(self):
        data = TensorDataset(torch.arange(10.), torch.arange(10))
        x, y = next(iter(self.load(data, shuffle=False)))
        self.assertEqual(x.tolist(), [0, 1, 2, 3])
        self.assertEqual(y.dtype, torch.int64)
        batch = next(iter(self.load(data, shuffle=False, collate_fn=len)))
        self.assertEqual(batch, 4)

    def test_bad_batch_sizes_and_data(self):
        for size in (0, 1.5, "64"):
            with self.assertRaisesRegex(ValueError, "whole number"):
                self.load(batch_size=size)
        with self.assertRaises(TypeError):
            self.load(type("Endless", (torch.utils.data.IterableDataset,),
                           {"__len__": lambda self: 3})())


LATE = """\
import hippo_hpo as hippo

@hippo.workload
def train(ctx):
    import torch
    net = {"w": torch.zeros(1)}
    for step in ctx.steps(net=net):
        net["w"] += ctx.hp.lr(step)
        yield lambda: {"w": float(net["w"])}
"""


@needs_torch
class States(unittest.TestCase):
    def parts(self, kind):
        torch.manual_seed(1)
        model = net()
        optimizer = {
            "sgd": lambda x: torch.optim.SGD(x, lr=0.1, momentum=0.9),
            "adam": lambda x: torch.optim.AdamW(x, lr=0.1),
        }[kind](model.parameters())
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        return model, optimizer, schedule

    def test_a_function_that_imports_it_late(self):
        with tempfile.TemporaryDirectory() as folder:
            code = os.path.join(folder, "train.py")
            with open(code, "w") as file:
                file.write(LATE)
            trainers = []

            def start():
                trainers.append(Trainer(f"{code}:train"))
                self.addCleanup(trainers[-1].close)
                trainers[-1].ask("describe", process.processProtocolVersion)
                trainers[-1].setup()
                return trainers[-1]
            first, state = start(), os.path.join(folder, "state")
            first.ask("init")
            first.train(0, 2, lr=[0.5])
            self.assertEqual("done", first.ask("save", state).which())
            other = start()  # has not imported it
            self.assertEqual("done", other.ask("load", state).which())
            self.assertEqual("done", other.train(2, 3, lr=[0.5]).which())
            self.assertEqual({"w": 1.5}, other.metrics())

    def test_goes_on_from_a_file(self):
        for kind in ("sgd", "adam"):
            model, optimizer, schedule = self.parts(kind)
            state = hippo.torch.State(model=model, optimizer=optimizer,
                                      schedule=schedule)
            for _ in range(2):
                learn(model, optimizer)
                schedule.step()
            saved = bits(state.state_dict())
            torch.manual_seed(7)
            learn(model, optimizer)

            others = self.parts(kind)
            other = hippo.torch.State(model=others[0], optimizer=others[1],
                                      schedule=others[2])
            learn(*others[:2])
            other.load_state_dict(torch.load(io.BytesIO(saved),
                                             weights_only=False))
            self.assertEqual(bits(other.state_dict()), saved)
            torch.manual_seed(7)
            learn(*others[:2])
            self.assertEqual(bits(other.state_dict()),
                             bits(state.state_dict()))

    def test_later_training_leaves_it_alone(self):
        model, optimizer, _ = self.parts("sgd")
        state = hippo.torch.State(model=model, optimizer=optimizer)
        learn(model, optimizer)
        saved = state.state_dict()
        before = bits(saved)
        learn(model, optimizer)
        self.assertEqual(bits(saved), before)
        state.load_state_dict(saved)
        learn(model, optimizer)
        self.assertEqual(bits(saved), before)

    def test_no_gradients_remain(self):
        model, optimizer, _ = self.parts("sgd")
        state = hippo.torch.State(model=model)
        learn(model, optimizer)
        state.load_state_dict(state.state_dict())
        self.assertTrue(all(x.grad is None for x in model.parameters()))

    def test_parts_that_are_not_there(self):
        model, optimizer, _ = self.parts("sgd")
        saved = hippo.torch.State(model=model).state_dict()
        with self.assertRaisesRegex(KeyError, "there are model, optimizer"):
            hippo.torch.State(model=model,
                              optimizer=optimizer).load_state_dict(saved)


@needs_torch
class Options(unittest.TestCase):
    def hp(self, **values):
        return hippo.HyperParameters(
            0, 2, {k: v if isinstance(v, (list, str)) else [v]
                   for k, v in values.items()})

    def test_all_groups(self):
        a, b = nn.Linear(1, 1), nn.Linear(1, 1)
        optimizer = torch.optim.SGD([{"params": a.parameters()},
                                     {"params": b.parameters()}], lr=1)
        hp = self.hp(lr=[0.1, 0.2], momentum=0.9, nesterov=1, batch_size=64)
        hippo.torch.apply(optimizer, hp, 1)
        for group in optimizer.param_groups:
            self.assertEqual((group["lr"], group["momentum"]), (0.2, 0.9))
            self.assertIs(group["nesterov"], True)
            self.assertNotIn("batch_size", group)
        self.assertEqual(hp.read, {"lr", "momentum", "nesterov"})

    def test_some_groups(self):
        a, b = nn.Linear(1, 1), nn.Linear(1, 1)
        optimizer = torch.optim.SGD(
            [{"params": a.parameters()},
             {"params": b.parameters(), "weight_decay": 0}], lr=1)
        hippo.torch.apply(optimizer, self.hp(weight_decay=0.1), 0,
                          optimizer.param_groups[:1])
        self.assertEqual([x["weight_decay"] for x in optimizer.param_groups],
                         [0.1, 0])

    def test_betas(self):
        optimizer = torch.optim.Adam(nn.Linear(1, 1).parameters())
        hippo.torch.apply(optimizer, self.hp(beta1=0.8, eps=1e-6), 0)
        self.assertEqual(optimizer.param_groups[0]["betas"], (0.8, 0.999))
        hippo.torch.apply(optimizer, self.hp(beta2=0.9), 0)
        self.assertEqual(optimizer.param_groups[0]["betas"], (0.8, 0.9))
        self.assertEqual(optimizer.param_groups[0]["eps"], 1e-6)

    def test_words(self):
        optimizer = torch.optim.Adam(nn.Linear(1, 1).parameters())
        with self.assertRaisesRegex(ValueError, "lr is 'high'"):
            hippo.torch.apply(optimizer, self.hp(lr="high"), 0)

    def test_dropout(self):
        model = nn.Sequential(nn.Dropout(0.1), nn.Dropout2d(0.1),
                              nn.LSTM(2, 2, 2))
        hippo.torch.set_dropout(model, 0.3)
        self.assertEqual((model[0].p, model[1].p, model[2].dropout),
                         (0.3, 0.3, 0.3))
        with self.assertRaisesRegex(ValueError, r"\[0, 1\]"):
            hippo.torch.set_dropout(model, 1.5)
        with self.assertRaisesRegex(ValueError, "no dropout"):
            hippo.torch.set_dropout(nn.Linear(1, 1), 0.3)


@needs_torch
class Gyro(unittest.TestCase):
    """Gyro dropout."""

    WORD = 2**64 - 1

    def drop(self, p=0.5, shape=(32, 24), **changes):
        how = {"seed": 5, "epoch": 0, "subnetworks": 16, "at_once": 4,
               **changes}
        return hippo.torch.gyro_dropout(torch.ones(shape), p, **how)

    def rows(self, **changes):
        return {tuple(x) for x in self.drop(**changes).tolist()}

    def number(self, *address):
        """By its definition, without tensors."""
        def scrambled(x):
            x = ((x ^ x >> 30) * 0xbf58476d1ce4e5b9) & self.WORD
            x = ((x ^ x >> 27) * 0x94d049bb133111eb) & self.WORD
            return x ^ x >> 31

        step = 0x9e3779b97f4a7c15
        seed, purpose, *rest = address
        key = scrambled(seed + step)
        key = scrambled(key ^ (purpose * step & self.WORD))
        for x in rest:
            key = scrambled((key + (x + 1) * step) & self.WORD)
        return key

    def test_masks_are_those_of_the_built_in_workloads(self):
        # tests/train/subnetworks_test.cpp expects the same.
        y = self.drop(shape=(4, 16), layer=3)
        self.assertEqual(["".join("x."[v == 0] for v in row)
                          for row in y.tolist()], KNOWN_MASKS)

    def test_a_mask_by_its_definition(self):
        y = self.drop(shape=(1, 40), subnetworks=1, at_once=1, layer=2)
        kept = [self.number(5, 7, 2, 0, i) & 0xffffffff >= 2**31
                for i in range(40)]
        self.assertEqual(y[0].tolist(), [2.0 * x for x in kept])

    def test_few_masks_that_stay_for_a_period(self):
        first = self.drop(period=2.5)
        self.assertEqual(len(self.rows(period=2.5)), 4)
        for i in range(4):
            slot = first[8 * i:8 * i + 8]
            self.assertTrue(slot.eq(slot[0]).all())
        for place in ({"epoch": 1}, {"epoch": 2, "share": 0.49}):
            self.assertTrue(self.drop(period=2.5, **place).equal(first))
        later = self.drop(period=2.5, epoch=2, share=0.5)
        self.assertFalse(later.equal(first))

    def test_all_subnetworks_take_turns(self):
        cycles = [set().union(*(self.rows(epoch=4 * c + i) for i in range(4)))
                  for c in range(3)]
        self.assertEqual(len(cycles[0]), 16)
        self.assertEqual(cycles, cycles[:1] * 3)
        self.assertNotEqual(self.rows(epoch=0), self.rows(epoch=4))
        drawn = set().union(*(self.rows(epoch=i, draw="replace")
                              for i in range(4)))
        self.assertLess(len(drawn), 16)

    def test_the_mean_stays(self):
        n, width = 4096, 64
        for p in (0.1, 0.5, 0.8):
            total = sum(self.drop(p, (64, width), subnetworks=n, at_once=64,
                                  epoch=i).double().sum().item()
                        for i in range(n // 64))
            error = (p / (1 - p) / (n * width)) ** 0.5
            self.assertAlmostEqual(total / (n * width), 1, delta=3 * error)

    def test_blocks(self):
        y = self.drop(block=8).reshape(32, 3, 8)
        self.assertTrue(y.amin(2).equal(y.amax(2)))
        self.assertTrue(y.amin(2).equal(self.drop(shape=(32, 3))))

    def test_shapes_and_types(self):
        images = self.drop(shape=(8, 2, 3, 4))
        self.assertTrue(images.reshape(8, 24).equal(self.drop(shape=(8, 24))))
        x = torch.full((8, 24), 3.0, dtype=torch.bfloat16)
        y = hippo.torch.gyro_dropout(x, 0.3, seed=5, epoch=0)
        self.assertEqual(y.dtype, torch.bfloat16)
        self.assertEqual(set(y.flatten().tolist()),
                         {0.0, torch.tensor(3 / 0.7).bfloat16().item()})
        self.assertEqual(self.drop(shape=(0, 24)).shape, (0, 24))
        self.assertEqual(self.drop(1.0).abs().sum(), 0)

    def test_gradients_are_dropped_alike(self):
        x = torch.ones(32, 24, requires_grad=True)
        y = hippo.torch.gyro_dropout(x, 0.5, seed=5, epoch=0)
        y.sum().backward()
        self.assertTrue(x.grad.equal(y))

    def test_bad_values(self):
        for changes, said in [
                ({"subnetworks": 2}, "at_once is 4, above subnetworks, which "
                                     "is 2"),
                ({"subnetworks": 0}, "subnetworks is 0"),
                ({"subnetworks": 1.5}, "a whole number from 0 to 65536"),
                ({"subnetworks": 99, "at_once": 65}, "from 1 to 64"),
                ({"period": 0}, "period is 0: it must be above 0"),
                ({"period": float("nan")}, "above 0"),
                ({"block": 5}, "block is 5: it must divide the 24 features"),
                ({"draw": "any"}, "permute or replace"),
                ({"share": 1}, r"share is 1: it must be in \[0, 1\)"),
                ({"p": 1.5}, r"p is 1.5: it must be in \[0, 1\]")]:
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                self.drop(**changes)

    def model(self, **settings):
        return nn.Sequential(
            nn.Linear(4, 8), hippo.torch.GyroDropout(**settings),
            nn.Linear(8, 8), hippo.torch.GyroDropout(**settings))

    def test_module(self):
        model = self.model(p=0.5, subnetworks=16, at_once=4)
        with self.assertRaisesRegex(RuntimeError, "set_subnetworks"):
            model(torch.ones(8, 4))
        hippo.torch.set_subnetworks(model, 5, 3, 0.25)
        x = torch.ones(8, 8)
        for layer, module in enumerate([model[1], model[3]]):
            self.assertTrue(module(x).equal(self.drop(
                shape=(8, 8), epoch=3, share=0.25, layer=layer)))
        hippo.torch.set_subnetworks(model, 5, 3, 0.25, block=4.0, period=2.0)
        self.assertTrue(model[1](x).equal(self.drop(
            shape=(8, 8), epoch=3, share=0.25, block=4, period=2)))
        self.assertEqual(list(model.state_dict()),
                         ["0.weight", "0.bias", "2.weight", "2.bias"])
        model.eval()
        self.assertTrue(model[1](x).equal(x))

    def test_module_without_subnetworks(self):
        layer = hippo.torch.GyroDropout(subnetworks=0)
        x = torch.ones(64, 8)
        hippo.torch.seed_step(1, 2)
        y = layer(x)
        hippo.torch.seed_step(1, 2)
        self.assertTrue(y.equal(nn.functional.dropout(x, 0.5)))

    def test_set_dropout(self):
        model = self.model()
        hippo.torch.set_dropout(model, 0.25)
        self.assertEqual((model[1].p, model[3].p), (0.25, 0.25))
        self.assertIn("p=0.25, subnetworks=256", repr(model))

    def test_bad_settings(self):
        with self.assertRaisesRegex(ValueError, "at_once is 16, above"):
            hippo.torch.GyroDropout(subnetworks=8)
        model = self.model()
        with self.assertRaisesRegex(ValueError, "at_once is 16, above"):
            hippo.torch.set_subnetworks(model, 1, 0, subnetworks=8)
        with self.assertRaisesRegex(TypeError, "no setting 'count'"):
            hippo.torch.set_subnetworks(model, 1, 0, count=8)
        with self.assertRaisesRegex(ValueError, "no GyroDropout"):
            hippo.torch.set_subnetworks(nn.Dropout(), 1, 0)

    def test_resumed(self):
        class Net(hippo.torch.Workload):
            def build(self):
                self.model = nn.Sequential(
                    nn.Linear(4, 8), nn.ReLU(),
                    hippo.torch.GyroDropout(0.5, 8, 2, 0.75), nn.Linear(8, 1))
                self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)

            def train_step(self, epoch, hp):
                for i in range(4):
                    hippo.torch.set_subnetworks(self.model, self.seed, epoch,
                                                i / 4)
                    learn(self.model, self.optimizer)

            def evaluate(self):
                return {}

        def made():
            workload = Net()
            workload.setup(3, "cpu", {})
            workload.init()
            return workload

        self.addCleanup(torch.use_deterministic_algorithms, False)
        whole, part = made(), made()
        for step in range(4):
            hippo.torch.seed_step(3, step)
            whole.train_step(step, None)
            other = made()
            other.load_state_dict(part.state_dict())
            hippo.torch.seed_step(3, step)
            other.train_step(step, None)
            part = other
        self.assertEqual(bits(part.state_dict()), bits(whole.state_dict()))


def pair():
    class Pair(hippo.torch.Workload):
        """Two models with their optimisers, in a list and a map."""

        def build(self):
            self.models = [net(), net()]
            self.optimizers = {
                "first": torch.optim.SGD(self.models[0].parameters(), 0.1,
                                         momentum=0.9),
                "second": torch.optim.Adam(self.models[1].parameters())}

        def train_step(self, step, hp):
            for model, optimizer in zip(self.models, self.optimizers.values()):
                hippo.torch.apply(optimizer, hp, step)
                learn(model, optimizer)

        def evaluate(self):
            return {}

    workload = Pair()
    workload.setup(3, "cpu", {})
    return workload


@needs_torch
class Workloads(unittest.TestCase):
    def setUp(self):
        self.addCleanup(torch.use_deterministic_algorithms, False)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "state")

    def train(self, workload, start, stop, **more):
        workload.train(start, stop, hippo.HyperParameters(
            start, stop, {"lr": [0.01], **more}))

    def test_finds_what_has_a_state(self):
        workload = pair()
        self.assertEqual(workload.parts(), {})
        workload.init()
        self.assertEqual(sorted(workload.parts()),
                         ["models.0", "models.1", "optimizers.first",
                          "optimizers.second"])

    def test_init_is_the_same_whatever_was_before(self):
        workload, other = pair(), pair()
        workload.init()
        first = bits(workload.state_dict())
        self.train(workload, 0, 2)
        workload.init()
        self.assertEqual(bits(workload.state_dict()), first)
        drawn()
        other.init()
        self.assertEqual(bits(other.state_dict()), first)

    def test_goes_on_from_a_file(self):
        workload, other = pair(), pair()
        workload.init()
        self.train(workload, 0, 2)
        workload.save(self.path)
        self.train(workload, 2, 4)
        other.load(self.path)  # without init
        self.train(other, 2, 3)
        drawn()
        self.train(other, 3, 4)
        self.assertEqual(bits(other.state_dict()),
                         bits(workload.state_dict()))

    def test_files_of_equal_states_are_equal(self):
        workload, other = pair(), pair()
        workload.init()
        self.train(workload, 0, 2)
        workload.save(self.path)
        other.load(self.path)
        other.save(self.path + "2")
        with open(self.path, "rb") as one, open(self.path + "2", "rb") as two:
            self.assertEqual(one.read(), two.read())

    def test_a_captured_state_is_written_as_a_saved_one(self):
        workload = pair()
        workload.init()
        self.train(workload, 0, 2)
        workload.save(self.path)
        write = workload._capture()
        if (child := os.fork()) == 0:
            try:
                torch.set_num_threads(1)
                write(self.path + "2")
            finally:
                os._exit(0)
        self.train(workload, 2, 3)
        os.waitpid(child, 0)
        with open(self.path, "rb") as one, open(self.path + "2", "rb") as two:
            self.assertEqual(one.read(), two.read())

    def test_tells_what_nothing_reads(self):
        workload = pair()
        workload.init()
        with self.assertRaisesRegex(ValueError, "has read weight_dekay in"):
            self.train(workload, 0, 1, weight_dekay=[0.1])

    def test_setup_asks_for_exact_operations(self):
        pair()
        self.assertTrue(torch.are_deterministic_algorithms_enabled())
        self.assertIn("CUBLAS_WORKSPACE_CONFIG", os.environ)


def regress(ctx):
    """Learns from data that augment, with all that has a state."""
    model = net().to(ctx.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1, momentum=0.9)
    for step in ctx.steps(model=model, optimizer=optimizer):
        hippo.torch.apply(optimizer, ctx.hp, step)
        model.train()
        for x in ctx.loader(ctx.once(Noisy), step, 4, num_workers=0):
            optimizer.zero_grad()
            model(x[:, :4]).pow(2).mean().backward()
            optimizer.step()

        def measure():
            model.eval()
            with torch.no_grad():
                return {"loss": float(model(torch.ones(1, 4)))}
        yield measure


@needs_torch
class Functions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "state")

    def made(self, function=regress):
        result = hippo.workload(function, seed=3).make_workload()
        result.setup(3, "cpu", {})
        return result

    def train(self, x, start, stop, lr=(0.1, 0.1, 0.05, 0.02, 0.02)):
        x.train(start, stop, hippo.HyperParameters(
            start, stop, {"lr": list(lr[start:stop])}))

    def test_cut_anywhere_it_is_the_same_to_the_bit(self):
        whole = self.made()
        self.train(whole, 0, 5)
        for cut in range(5):
            one = self.made()
            self.train(one, 0, cut)
            one.save(self.path)
            other = self.made()
            self.train(other, 0, 2, lr=(0.7, 0.6))
            other.evaluate()
            drawn()
            other.load(self.path)
            self.train(other, cut, 5)
            self.assertEqual(whole.evaluate(), other.evaluate())
            self.assertEqual(bits(whole.state_dict()["parts"]),
                             bits(other.state_dict()["parts"]), cut)

    def test_a_scheduler_is_refused(self):
        def scheduled(ctx, named):
            model = net()
            optimizer = torch.optim.SGD(model.parameters(), lr=1)
            scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
            parts = {"scheduler": scheduler} if named else {}
            for _ in ctx.steps(model=model, optimizer=optimizer, **parts):
                yield dict
        for named in (True, False):
            def wrapped(ctx):
                yield from scheduled(ctx, named)
            with self.assertRaisesRegex(TypeError, "write the schedule in the "
                                                   "space"):
                self.train(self.made(wrapped), 0, 1)


def small_class():
    class Small(hippo.torch.Workload):
        def build(self):
            self.model = net()
            self.model.register_buffer("fixed", torch.full((3,), 0.1))
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1)

        def train_step(self, step, hp):
            hippo.torch.apply(self.optimizer, hp, step)
            self.model.train()
            learn(self.model, self.optimizer)

        def evaluate(self):
            self.model.eval()
            with torch.no_grad():
                return {"loss": float(self.model(torch.ones(1, 4)).sum())}
    return Small()


@needs_torch
class Averages(unittest.TestCase):
    """`objective.average`, of a class and of a function."""

    OF, EVERY, LAST = 3, 2, 9

    def setUp(self):
        self.addCleanup(torch.use_deterministic_algorithms, False)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "state")

    def inner(self, kind):
        result = small_class() if kind == "class" \
            else hippo.workload(regress, seed=3).make_workload()
        result.setup(3, "cpu", {})
        result.init()
        return result

    def averaging(self, kind, of=OF, every=EVERY):
        return Averaging(self.inner(kind), of, every)

    def train(self, x, start, stop):
        x.train(start, stop, hippo.HyperParameters(
            start, stop, {"lr": [0.1 / (1 + i) for i in range(start, stop)]}))

    def model(self, x):
        """The state of the model, as it would be exported."""
        state = x.state_dict()
        state = state.get("parts", state)
        return {key: value.clone() for key, value in state["model"].items()}

    def test_measures_the_mean_of_the_last_states(self):
        for kind in "class", "function":
            x, alone, seen = self.averaging(kind), self.inner(kind), []
            for step in range(self.LAST):
                self.train(x, step, step + 1)
                self.train(alone, step, step + 1)
                if (step + 1) % self.EVERY == 0:
                    seen = [*seen, self.model(alone)][-self.OF:]
                expected = dict(self.model(alone))
                for key, value in expected.items():
                    if seen and value.is_floating_point():
                        expected[key] = (sum(y[key].double() for y in seen)
                                         / len(seen)).float()
                reference = self.inner(kind)
                self.train(reference, 0, step + 1)
                part = reference.model if kind == "class" \
                    else reference._ctx._parts["model"]
                part.load_state_dict(expected)
                self.assertEqual(reference.evaluate(), x.evaluate(), step)
                # Training goes on from the weights as they are.
                self.assertEqual([], differences(
                    self.model(alone), self.model(x._workload)))

    def test_cut_anywhere_it_is_the_same_to_the_bit(self):
        for kind in "class", "function":
            whole = self.averaging(kind)
            self.train(whole, 0, self.LAST)
            for cut in range(1, self.LAST):
                one = self.averaging(kind)
                self.train(one, 0, cut)
                one.save(self.path)
                other = self.averaging(kind)
                self.train(other, 0, 4)
                other.evaluate()
                drawn()
                other.load(self.path)
                if kind == "function":  # measured when it was saved
                    self.assertEqual(one.evaluate(), other.evaluate())
                self.train(other, cut, self.LAST)
                self.assertEqual(whole.evaluate(), other.evaluate())
                self.assertEqual([], differences(whole.state_dict(),
                                                 other.state_dict()), cut)

    def test_the_mean_of_equal_weights_is_these_weights(self):
        x = self.averaging("class", 7, 1)
        self.train(x, 0, 7)
        kept = mean_of(x._kept)["model"]
        self.assertTrue(torch.equal(torch.full((3,), 0.1), kept["fixed"]))
        half = {"a": {"w": torch.tensor([1.0, 1 / 128], dtype=torch.bfloat16)}}
        self.assertEqual(torch.bfloat16, mean_of([half])["a"]["w"].dtype)
        self.assertTrue(torch.equal(half["a"]["w"],
                                    mean_of([half] * 100)["a"]["w"]))

    def test_the_mean_is_put_into_a_state_that_is_read(self):
        for kind in "class", "function":
            x = self.averaging(kind)
            self.train(x, 0, self.LAST)
            state = x.state_dict()
            self.assertTrue(is_of_averages(state))
            inner = state["state"].get("parts", state["state"])
            put_mean(state["average"], inner)
            model = net() if kind == "function" else x._workload.model
            model.load_state_dict(inner["model"])
            for key, value in mean_of(x._kept)["model"].items():
                self.assertTrue(torch.equal(value, model.state_dict()[key]))

    def test_what_has_no_modules_is_refused(self):
        def numbers(ctx):
            state = {"x": 0.0}
            for _ in ctx.steps(state=state):
                state["x"] += ctx.hp.lr(_)
                yield lambda: {"x": state["x"]}
        x = hippo.workload(numbers).make_workload()
        x.setup(3, "cpu", {})
        x = Averaging(x, 2, 1)
        x.init()
        with self.assertRaisesRegex(TypeError, "and the state has none: name"):
            self.train(x, 0, 1)

        class Own(hippo.Workload):
            init = train = evaluate = None
            state_dict = load_state_dict = None
        with self.assertRaisesRegex(TypeError, "Own cannot measure the mean"):
            Averaging(Own(), 2, 1)


if __name__ == "__main__":
    unittest.main()
