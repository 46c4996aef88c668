"""Workloads of several processes, driven as a trainer drives them."""

import contextlib
import importlib.util
import math
import os
import signal
import tarfile
import tempfile
import textwrap
import time
import unittest
import unittest.mock

import hippo_hpo as hippo
from hippo_hpo._ranks import (RankFailed, interface_of, split_state,
                              visible_devices)
from hippo_hpo._schema import process
from hippo_hpo._state_file import read_state
from hippo_hpo.workload import own_rank
from processes import is_alive
from trainer_end import Trainer

# Each rank has a state of its own; ranks do what the hyper-parameter says.
SUM = """
    import os
    import time

    import hippo_hpo as hippo

    NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
             "GROUP_RANK", "GROUP_WORLD_SIZE", "MASTER_ADDR",
             "GLOO_SOCKET_IFNAME")

    class Sum(hippo.Workload):
        def setup(self, seed, device, args):
            self.seed, self.device = seed, device

        def init(self):
            self.total = 0.0

        def train(self, start, stop, hp):
            for step in range(start, stop):
                if hp.lr(step) < 0:  # the others wait for rank 1
                    if self.rank == 1:
                        self.fail(hp.lr(step))
                    time.sleep(1000)
                self.total += hp.lr(step) * (self.rank + 1)

        def fail(self, how):
            if how == -1:
                raise ValueError("a negative rate")
            if how == -2:
                os.kill(os.getpid(), 9)
            os._exit(3)

        def evaluate(self):
            return {"total": self.total, "rank": self.rank,
                    "ranks": self.world_size, "process": os.getpid()}

        def state_dict(self):
            return {"total": self.total}

        def load_state_dict(self, state):
            self.total = state["total"]

    class Around(Sum):
        def evaluate(self):
            raise ValueError(" ".join(
                [self.device, *(f"{x}={os.environ[x]}" for x in NAMES),
                 os.environ["TORCHELASTIC_RUN_ID"][:6],
                 os.environ["MASTER_PORT"]]))
"""

# The weights are the same on each rank, since gradients are averaged; each has
# a counter of its own.
DDP = """
    import torch
    import torch.distributed as dist

    import hippo_hpo as hippo
    from hippo_hpo.torch import data_loader

    @hippo.workload
    def train(ctx):
        if not dist.is_initialized():
            dist.init_process_group("gloo")
        torch.manual_seed(ctx.seed)
        net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Dropout(0.2),
                                  torch.nn.Linear(8, 1))
        model = torch.nn.parallel.DistributedDataParallel(net)
        opt = torch.optim.SGD(model.parameters(), lr=1, momentum=0.9)
        x = torch.linspace(-1, 1, 23 * 6).reshape(23, 6)
        data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True) ** 2)
        seen = {"samples": 0}
        for step in ctx.steps(net=net, opt=opt, seen=seen):
            for group in opt.param_groups:
                group["lr"] = ctx.hp.lr(step)
            for a, b in data_loader(data, ctx.seed, step, 4):
                opt.zero_grad()
                torch.nn.functional.mse_loss(model(a), b).backward()
                opt.step()
                seen["samples"] += len(a)

            def measure():
                net.eval()
                with torch.no_grad():
                    loss = (net(x) - data.tensors[1]).square().mean()
                net.train()
                dist.all_reduce(loss)
                return {"loss": float(loss) / ctx.world_size,
                        "samples": seen["samples"], "rank": ctx.rank}
            yield measure
"""


def children(pid):
    with contextlib.suppress(OSError), \
            open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(x) for x in file.read().split()]
    return []


class GroupCase(unittest.TestCase):
    text = SUM

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.file = self.path("train.py")
        with open(self.file, "w") as file:
            file.write(textwrap.dedent(self.text))

    def path(self, name):
        return os.path.join(self.folder, name)

    def begin(self, name, ranks=2, devices="", member=()):
        trainer = Trainer("--ranks", str(ranks), devices,
                          *(["--member", *map(str, member)] if member else []),
                          f"{self.file}:{name}")
        self.addCleanup(trainer.close)
        said = trainer.ask("describe", process.processProtocolVersion)
        self.assertEqual("description", said.which(), said)
        self.assertFalse(said.description.captures)
        return trainer

    def start(self, name, ranks=3, devices="", member=()):
        trainer = self.begin(name, ranks, devices, member)
        self.assertEqual("done", trainer.setup().which())
        self.assertEqual("done", trainer.ask("init").which())
        return trainer

    def save(self, trainer, name):
        self.assertEqual("done", trainer.ask("save", self.path(name)).which())
        with open(self.path(name), "rb") as file:
            return file.read()


class Groups(GroupCase):
    def test_each_has_what_torchrun_sets(self):
        trainer = self.start("Around", ranks=2)
        said = trainer.ask("evaluate").failed
        rank = said.message[said.message.index("(rank ") + 6]
        self.assertRegex(
            said.message,
            rf"cpu RANK={rank} WORLD_SIZE=2 LOCAL_RANK={rank} "
            r"LOCAL_WORLD_SIZE=2 GROUP_RANK=0 GROUP_WORLD_SIZE=1 "
            r"MASTER_ADDR=127\.0\.0\.1 GLOO_SOCKET_IFNAME=lo hippo- \d+ "
            rf"\(rank {rank} of 2\)")
        self.assertIn("train.py", said.details)

    def test_each_gpu_is_that_of_its_rank(self):
        with unittest.mock.patch.dict(os.environ,
                                      CUDA_VISIBLE_DEVICES="5,6,7"):
            trainer = self.start("Around", 2, "cuda:1,cuda:2")
        said = trainer.ask("evaluate").failed.message
        rank = said[said.index("(rank ") + 6]
        self.assertIn(f"cuda:{rank} RANK={rank}", said)

    def test_metrics_are_those_of_rank_0(self):
        trainer = self.start("Sum")
        self.assertEqual("done", trainer.train(0, 3, lr=[1, 2, 4]).which())
        metrics = trainer.metrics()
        self.assertIn(metrics.pop("process"), children(trainer.process.pid))
        self.assertEqual({"total": 7, "rank": 0, "ranks": 3}, metrics)
        self.assertEqual(3, len(children(trainer.process.pid)))

    def test_a_state_has_the_part_of_each(self):
        first, other = self.start("Sum"), self.start("Sum")
        first.train(0, 3, lr=[1, 2, 4])
        saved = self.save(first, "state")
        self.assertEqual(saved, self.save(first, "again"))
        with tarfile.open(self.path("state")) as state:
            self.assertEqual(["rank0", "rank1", "rank2"], state.getnames())
        other.train(0, 1, lr=[100])
        self.assertEqual("done", other.ask("load", self.path("state")).which())
        for trainer in first, other:
            trainer.train(3, 4, lr=[0.5])
        self.assertEqual(self.save(first, "one"), self.save(other, "two"))
        self.assertEqual(["again", "one", "state", "train.py", "two"],
                         sorted(os.listdir(self.folder)))

        def both(x):
            x.path, x.other = self.path("one"), self.path("state")
        found = list(first.ask("compare", both).differences.found)
        self.assertEqual(["rank 0", "rank 1", "rank 2"],
                         [x[:6] for x in found])
        self.assertIn("total", found[2])

        def same(x):
            x.path, x.other = self.path("one"), self.path("two")
        self.assertEqual([], list(
            first.ask("compare", same).differences.found))

    def test_states_of_others_are_refused(self):
        three = self.start("Sum")
        self.save(three, "three")
        two = self.start("Sum", ranks=2)
        self.assertEqual("the state is of 3 ranks, not of 2",
                         two.ask("load", self.path("three")).failed.message)
        self.assertIn("the state cannot be read",
                      two.ask("load", self.file).failed.message)
        with self.assertRaisesRegex(RankFailed, "of 3 ranks, not of 1"):
            split_state(self.path("three"), [self.path("one")])

    def test_one_that_fails_ends_the_others(self):
        trainer = self.start("Sum")
        for how, why in ((-1, r"in step 1: ValueError: a negative rate "
                              r"\(rank 1 of 3\)"),
                         (-2, r"rank 1 of 3 ended with signal 9 \(Killed\); "
                              r"the system kills like this what takes too "
                              r"much memory"),
                         (-3, r"rank 1 of 3 ended with exit code 3")):
            with self.subTest(how=how):
                trainer.ask("init")
                trainer.train(0, 1, lr=[1])
                self.save(trainer, "state")
                before = children(trainer.process.pid)
                self.assertEqual(3, len(before))
                begun = time.monotonic()
                failed = trainer.train(1, 2, lr=[how]).failed
                self.assertLess(time.monotonic() - begun, 10)
                self.assertRegex(failed.message, rf"^{why}$")
                self.assertFalse(any(map(is_alive, before)))
                # Others take their place, with what was set up.
                self.assertEqual("done", trainer.ask(
                    "load", self.path("state")).which())
                self.assertEqual("done", trainer.train(1, 2, lr=[2]).which())
                self.assertEqual(3, trainer.metrics()["total"])

    def test_they_end_with_their_trainer(self):
        trainer = self.start("Sum")
        ranks = children(trainer.process.pid)
        self.assertEqual(0, trainer.close())
        self.assertFalse(any(map(is_alive, ranks)))

    def test_a_signal_to_all_is_a_failure(self):
        trainer = self.start("Sum")
        ranks = children(trainer.process.pid)
        for pid in (trainer.process.pid, *ranks):
            os.kill(pid, signal.SIGTERM)
        self.assertRegex(trainer.train(0, 1, lr=[1]).failed.message,
                         r"rank \d of 3 ended with signal 15")
        self.assertIsNone(trainer.process.poll())

    def test_what_is_no_workload_says_so(self):
        trainer = Trainer("--ranks", "2", "", f"{self.file}:Nothing")
        self.addCleanup(trainer.close)
        said = trainer.ask("describe", process.processProtocolVersion).failed
        self.assertRegex(said.message, r"called Nothing; it has: Around, Sum "
                                       r"\(rank \d of 2\)")


class Members(GroupCase):
    """Trainers that have some of the ranks each."""

    def member(self, name, first, count, host="127.0.0.1"):
        return self.start(name, ranks=4, member=(
            first, count, host, "node1.example", 4711, "hippo-7"))

    def test_each_has_what_torchrun_sets_on_several_nodes(self):
        trainer = self.member("Around", 2, 2)
        said = trainer.ask("evaluate").failed.message
        rank = said[said.index("(rank ") + 6]
        self.assertIn(rank, "23")
        self.assertIn(
            f"cpu RANK={rank} WORLD_SIZE=4 LOCAL_RANK={int(rank) - 2} "
            f"LOCAL_WORLD_SIZE=2 GROUP_RANK=1 GROUP_WORLD_SIZE=2 "
            f"MASTER_ADDR=node1.example GLOO_SOCKET_IFNAME=lo hippo- 4711 "
            f"(rank {rank} of 4)", said)

    def test_an_interface_is_that_of_the_host(self):
        for host in "127.0.0.1", "127.0.1.1", "localhost":
            self.assertEqual("lo", interface_of(host), host)
        self.assertEqual("", interface_of("192.0.2.1"))

    def test_their_parts_are_the_state_of_all(self):
        for count in 2, 1:
            with self.subTest(count=count):
                whole = self.start("Sum", ranks=4)
                members = [self.member("Sum", x, count)
                           for x in range(0, 4, count)]
                for trainer in whole, *members:
                    trainer.train(0, 3, lr=[1, 2, 4])
                expected = self.save(whole, f"whole{count}")
                found = b"".join(self.save(x, f"part{count}{i}")
                                 for i, x in enumerate(members))
                size = len(expected)
                self.assertEqual(expected, found.ljust(size, b"\0"))
                self.assertEqual(0, size % 10240)
                self.assertLessEqual(len(found) + 1024, size)
                # Each takes its own parts of the whole.
                for x in members:
                    x.train(0, 1, lr=[100])
                    self.assertEqual("done", x.ask(
                        "load", self.path(f"whole{count}")).which())
                self.assertEqual(found, b"".join(
                    self.save(x, f"again{count}{i}")
                    for i, x in enumerate(members)))
                for x in whole, *members:
                    x.close()

    def test_states_of_others_are_refused(self):
        three = self.start("Sum")
        self.save(three, "three")
        self.assertEqual("the state is of 3 ranks, not of 4", self.member(
            "Sum", 2, 2).ask("load", self.path("three")).failed.message)

    def test_one_that_fails_ends_the_member(self):
        for how, why in ((-1, "a negative rate (rank 1 of 4)"),
                         (-2, "rank 1 of 4 ended with signal 9 (Killed)")):
            with self.subTest(how=how):
                trainer = self.member("Sum", 0, 2)
                ranks = children(trainer.process.pid)
                self.assertIn(why, trainer.train(0, 1, lr=[how]).failed.message)
                # The others are in a world that has ended.
                self.assertEqual(b"", trainer.socket.recv(1))
                self.assertEqual(0, trainer.close())
                self.assertFalse(any(map(is_alive, ranks)))

    def test_one_that_ends_while_nothing_is_asked_ends_the_member(self):
        trainer = self.member("Sum", 0, 2)
        first, other = children(trainer.process.pid)
        os.kill(other, signal.SIGKILL)
        self.assertEqual(0, trainer.process.wait(30))
        self.assertFalse(is_alive(first))
        trainer.close()


class Devices(unittest.TestCase):
    def test_are_those_that_the_trainer_sees(self):
        self.assertEqual(["2", "3"], visible_devices(["cuda:2", "cuda:3"], {}))
        self.assertEqual(["7", "GPU-a"], visible_devices(
            ["cuda:0", "cuda:2"], {"CUDA_VISIBLE_DEVICES": "7, 8, GPU-a"}))

    def test_ranks_of_others_do_not_count(self):
        torchrun = {"RANK": "2", "WORLD_SIZE": "4"}
        for run, ranks in (("none", (0, 1)), ("hippo-7", (2, 4))):
            with unittest.mock.patch.dict(os.environ, torchrun,
                                          TORCHELASTIC_RUN_ID=run):
                self.assertEqual(ranks, own_rank())


# Added to the text of a CutCase.
CHOSEN = """

import hippo_hpo


class Chosen(hippo_hpo.Workload):
    # Of the chosen one.
    init = train = evaluate = state_dict = load_state_dict = None

    def setup(self, seed, device, args):
        kind = globals()[args["kind"]]
        chosen = getattr(kind, "make_workload", kind)()
        chosen.setup(seed, device, {})
        for name in dir(hippo_hpo.Workload):
            method = getattr(chosen, name)
            if callable(method) and name[:2] != "__" and name != "setup":
                setattr(self, name, method)
"""


class CutCase(GroupCase):
    """Ranks whose training is cut.

    Each `choose` gives them another workload of the file: to start them takes
    longer than to train.
    """

    rate = "lr"
    rates = (0.01, 0.005, 0.02, 0.01, 0.002)

    def setUp(self):
        super().setUp()
        self.add(CHOSEN)

    def add(self, text):
        with open(self.file, "a") as file:
            file.write(text)

    def ranks(self, ranks=2, member=()):
        return self.begin("Chosen", ranks, member=member)

    def pair(self, ranks=2):
        return self.ranks(ranks), self.ranks(ranks)

    def choose(self, trainer, name):
        for said in trainer.setup(kind=name), trainer.ask("init"):
            self.assertEqual("done", said.which(), said)

    def step(self, trainer, start, stop):
        answer = trainer.train(start, stop,
                               **{self.rate: self.rates[start:stop]})
        self.assertEqual("done", answer.which(), answer)
        return answer

    def end(self, trainer):
        """The state and the metrics."""
        return self.save(trainer, "end"), trainer.metrics()

    def assert_the_same_cut(self, name, trainer, elsewhere=None):
        """Expects the same from training that is cut, where it began and
        elsewhere, as from training that is not.

        @returns the state and the metrics
        """
        self.choose(trainer, name)
        self.step(trainer, 0, 1)
        cut = self.save(trainer, "cut")
        self.step(trainer, 1, len(self.rates))
        whole = self.end(trainer)
        self.assertTrue(all(map(math.isfinite, whole[1].values())), whole[1])
        self.assert_goes_on(trainer, cut, whole)
        if elsewhere is not None:
            self.choose(elsewhere, name)
            self.assert_goes_on(elsewhere, cut, whole)
        return whole

    def assert_goes_on(self, trainer, cut, whole):
        """Expects a state and metrics after the steps from the cut on."""
        said = trainer.ask("load", self.path("cut"))
        self.assertEqual("done", said.which(), said)
        # The loaded state is the saved one.
        self.assertEqual(cut, self.save(trainer, "again"))
        self.step(trainer, 1, 2)
        self.step(trainer, 2, len(self.rates))
        self.assertEqual(whole, self.end(trainer))

    def states(self):
        """The states of all ranks at the last end."""
        folder = tempfile.mkdtemp(dir=self.folder)
        with tarfile.open(self.path("end")) as whole:
            whole.extractall(folder)
            return [read_state(os.path.join(folder, x))
                    for x in whole.getnames()]


@unittest.skipUnless(importlib.util.find_spec("torch"), "there is no PyTorch")
class Distributed(CutCase):
    text = DDP

    def test_cut_anywhere_it_is_the_same_to_the_bit(self):
        metrics = self.assert_the_same_cut("train", *self.pair())[1]
        # 23 samples are padded to 24, so that each rank has 12 in an epoch.
        self.assertEqual(12 * len(self.rates), metrics["samples"])
        self.assertEqual(0, metrics["rank"])
        # Their number decides the result.
        three = self.ranks(3)
        self.choose(three, "train")
        self.step(three, 0, len(self.rates))
        self.assertNotEqual(metrics["loss"], three.metrics()["loss"])


@hippo.workload
def averaged(ctx):
    """Ranks that train alone, and are averaged after each step."""
    import torch
    import torch.distributed as dist
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    weights = {"w": 0.0}
    for step in ctx.steps(weights=weights):
        mean = torch.tensor(weights["w"] + ctx.hp.lr(step) * (ctx.rank + 1))
        dist.all_reduce(mean)
        weights["w"] = float(mean) / ctx.world_size
        yield lambda: {"loss": abs(weights["w"] - 1)}


@unittest.skipUnless(os.environ.get("HIPPO_TRAINER")
                     and importlib.util.find_spec("torch"),
                     "there are no programs, or no PyTorch")
class Studies(unittest.TestCase):
    def test_a_function_of_two_ranks(self):
        with tempfile.TemporaryDirectory() as folder, \
                unittest.mock.patch.dict(
                    os.environ, HIPPO_PROGRAM=os.environ["HIPPO"]):
            study = hippo.optimize(
                averaged, {"lr": hippo.choice(0.125, 0.25)}, max_steps=3,
                objective={"loss": "minimize"},
                algorithm="grid", state=folder, trainers=1, ranks=2,
                progress=False)
            # The mean of the ranks' steps is 1.5 times the rate.
            self.assertEqual([abs(3 * 1.5 * 0.125 - 1), 3 * 1.5 * 0.25 - 1],
                             [x.value for x in study.trials])
            states = study.best_state()
            study._client.close()
        self.assertEqual([1.125] * 2, [x["weights"]["w"] for x in states])


if __name__ == "__main__":
    unittest.main()
