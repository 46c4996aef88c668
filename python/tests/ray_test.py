"""Trainers in a Ray cluster of several nodes on this machine, with the real Ray
and the real programs, which the environment names: HIPPO, HIPPO_TRAINER."""

import contextlib
import io
import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

# Loopback alone: Ray would take an address of the network for 127.0.0.1.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
# A killed node is noticed in about 3 s instead of 20 s.
os.environ["RAY_health_check_period_ms"] = "1000"
os.environ["RAY_health_check_timeout_ms"] = "5000"
os.environ["RAY_health_check_failure_threshold"] = "3"
# On a busy machine, trainers of niceness 15 would starve.
os.environ["RAY_worker_niceness"] = "0"

import hippo_hpo as hippo
from hippo_hpo import _ray_actor, choice, multistep
from processes import is_alive

try:
    import ray
    from ray.cluster_utils import Cluster

    import hippo_hpo.ray
    from hippo_hpo import _ray_cluster as placing
    from hippo_hpo import ray_engine
    from hippo_hpo.ray_engine import Patience
except ImportError:
    ray = None

HIPPO = os.environ.get("HIPPO", "")
TRAINER = os.environ.get("HIPPO_TRAINER", "")

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))

# On a busy machine everything takes long; nothing here waits this long twice.
PATIENCE = 120

NODE = {"num_cpus": 1, "object_store_memory": 80 << 20,
        "node_ip_address": "127.0.0.1", "include_dashboard": False}

TRAIN = """\
import os
import time

import hippo_hpo as hippo


class Net(hippo.Workload):
    def setup(self, seed, device, args):
        self.log = args["log"]
        self.seconds = float(os.environ.get("HIPPO_TEST_SECONDS", 0))

    def init(self):
        self.w = 0.0

    def train(self, start, stop, hp):
        for step in range(start, stop):
            time.sleep(self.seconds)
            while os.path.exists(os.path.join(self.log, "halt")):
                time.sleep(0.02)
            self.w = 0.9 * self.w + hp.lr(step)
            with open(os.path.join(self.log, str(os.getpid())), "a") as file:
                file.write("x")

    def evaluate(self):
        return {"loss": abs(self.w - 1)}

    def state_dict(self):
        return {"w": self.w}

    def load_state_dict(self, state):
        self.w = state["w"]
"""

RESULTS = """
SELECT e.trial, e.step, m.name, m.value
FROM events e JOIN metrics m USING (workload, node, step)
JOIN studies s ON s.id = e.study WHERE e.kind = 'measured' AND s.name = ?
ORDER BY e.trial, e.step, m.name"""


# Steps of a trial.
STEPS = 30


@hippo.workload(seed=1)
def add(ctx):
    net = {"w": 0.0}
    for step in ctx.steps(net=net):
        net["w"] += ctx.hp.lr(step)
        yield lambda: {"w": net["w"]}


def study(name, log, milestones):
    """A study of two rates that drop at some steps; it trains Net."""
    return json.dumps({
        "study": name,
        "workload": {"python": "train.py:Net", "seed": 1, "check": False,
                     "args": {"log": log}},
        "objective": {"metric": "loss", "direction": "minimize"},
        "max_steps": STEPS, "eval_every": 2, "algorithm": "grid",
        "space": {"lr": {"choice": [
            rate if at is None else {"multistep": {
                "initial": rate, "milestones": [at], "gamma": 0.5}}
            for rate in (0.1, 0.2) for at in milestones]}}})


def results(state, name):
    """All measurements that a study was told, from a state folder."""
    with contextlib.closing(sqlite3.connect(
            os.path.join(state, "hippo.db"))) as found:
        return list(found.execute(RESULTS, (name,)))


def setUpModule():
    if ray is None:
        raise unittest.SkipTest("there is no Ray")


class Conditions(unittest.TestCase):
    """What needs no cluster."""

    def condition(self, *lines):
        result = _ray_actor.Condition()
        for x in lines:
            result.on_line(x)
        return result

    def test_a_log_tells_the_state(self):
        reached = "2026-01-01 10:00:00.000 info trainer: reached a:1"
        registered = ('{"level":"info","message":"trainer: registered as '
                      'number 2 with cpu"}')
        lost = ("2026-01-01 10:00:00.000 warning trainer: cannot reach a:1: "
                "Connection refused; trying again")
        x = self.condition(reached)
        self.assertEqual(("starting", ""), (x.state, x.why))
        x = self.condition(lost)
        self.assertEqual(("starting", "cannot reach a:1: Connection refused"),
                         (x.state, x.why))
        x = self.condition(lost, registered)
        self.assertEqual(("ready", ""), (x.state, x.why))
        x = self.condition(registered, lost)
        self.assertEqual("starting", x.state)

    def test_refusals_are_final_before_a_registration_only(self):
        registered = "info trainer: registered as number 1 with cpu"
        for line in (
                "warning trainer: cannot reach a:1: the service at a:1: its "
                "certificate is of another authority: ...; trying again",
                "error trainer: this service speaks version 9 and the trainer "
                "version 8: run the same release of both"):
            self.assertEqual("failed", self.condition(line).state, line)
            self.assertEqual("starting" if "reach" in line else "ready",
                             self.condition(registered, line).state)

    def test_exit_codes(self):
        for code, state, why in [(2, "failed", "exit code 2"),
                                 (1, "starting", "exit code 1"),
                                 (-9, "starting", "signal 9")]:
            x = self.condition()
            x.on_end(code)
            self.assertEqual(state, x.state)
            self.assertIn(why, x.why)
        x = self.condition("info trainer: registered as number 1 with cpu")
        x.on_end(2)
        self.assertEqual("starting", x.state)
        x = self.condition("hippo-trainer: there is no file none.pem")
        x.on_end(2)
        self.assertEqual("there is no file none.pem", x.why)

    def test_needs(self):
        for need, why in [(placing.Need(num_gpus=0.5), "whole number"),
                          (placing.Need(num_cpus=-1), "num_cpus=-1"),
                          (placing.Need(resources={"GPU": 1}), "num_gpus="),
                          (placing.Need(resources={"tpu": 0}), "above 0")]:
            with self.assertRaisesRegex(hippo.InvalidArgument, why):
                need.check()
        self.assertEqual({"CPU": 1, "a": 2},
                         placing.Need(resources={"a": 2}).amounts())

    def test_places(self):
        node = {"CPU": 4.0, "GPU": 2.0}
        for wanted, places in [({"CPU": 1}, 4), ({"CPU": 3}, 1),
                               ({"CPU": 1, "GPU": 1}, 2), ({"tpu": 1}, 0),
                               ({"CPU": 0.1}, 40)]:
            self.assertEqual(places, placing._places(node, wanted), wanted)

    def test_names(self):
        for parts in [("a", "b"), ("a/b", "c"), ("a%2Fb", "ä ö", "1")]:
            name = placing.name_of(*parts)
            self.assertEqual(list(parts), placing.parts_of(name))
        self.assertNotEqual(placing.name_of("a/b", "c"),
                            placing.name_of("a", "b", "c"))

    def test_arguments(self):
        def refused(why, service="a:1", **options):
            with self.assertRaisesRegex(hippo.InvalidArgument, why):
                hippo_hpo.ray.trainers(service, **{"num": 1, **options})
        refused("num=0", num=0)
        refused("name=", name="a/b")
        refused("cannot read the key", key="/none.pem")
        refused("no private key", key=b"text")
        refused("give one", key=b"PRIVATE KEY", node_key="a.pem")
        refused("threads= is for", num_gpus=1, threads=2)

    def test_trainers_are_in_gangs_unless_told_otherwise(self):
        def command(gangs=True, *options):
            return hippo_hpo.ray._command("a:1", 0, 1, None, None, None, None,
                                          gangs, options, None)
        alone = ["hippo-trainer", "--connect", "a:1", "--threads", "1"]
        joined = [*alone, "--gang-listen", "auto"]
        self.assertEqual(joined, command())
        self.assertEqual([*joined, "--ranks", "2"],
                         command(True, "--ranks", "2"))
        self.assertEqual(alone, command(False))
        for options in (["--gang-listen", "node7"], ["--members=2"]):
            self.assertEqual([*alone, *options], command(True, *options))

    def test_without_ray(self):
        for module in "ray", "ray_engine":
            done = subprocess.run(
                [sys.executable, "-c", "import sys; sys.modules['ray'] = None; "
                 f"import hippo_hpo.{module}"], capture_output=True, text=True)
            self.assertIn("ImportError: this needs Ray: pip install "
                          "'hippo-hpo[ray]'", done.stderr)

    def test_patience(self):
        """A call that hangs is given up, and the next one waits for it."""
        patience, gate = Patience(0.05), threading.Event()
        self.assertEqual({"a": 1}, patience.call(lambda: {"a": 1}))
        self.assertIsNone(patience.call(lambda: {"b": gate.wait()}))
        self.assertIsNone(patience.call(lambda: {"c": 1}))
        gate.set()
        while (found := patience.call(lambda: {"d": 1})) is None:
            pass
        self.assertEqual({"d": 1}, found)

    def test_nobody_reads_the_answers(self):
        reader, writer = os.pipe()
        os.close(reader)
        requests = io.StringIO("3\n4\n")
        with os.fdopen(writer, "w") as answers:
            ray_engine.serve(requests, answers)
        self.assertEqual("4\n", requests.read())

    def test_the_key_is_not_shown(self):
        self.assertNotIn("secret", repr(placing.Order(["a"], b"secret")))


class Clustered(unittest.TestCase):
    """A cluster of three nodes with a CPU each, and a service with keys."""

    # How long a step takes in the cluster.
    SECONDS = 0.3

    @classmethod
    def setUpClass(cls):
        if not (HIPPO and TRAINER):
            raise unittest.SkipTest("HIPPO and HIPPO_TRAINER name nothing")
        # The nodes inherit these.
        os.environ["HIPPO_TRAINER_PROGRAM"] = TRAINER
        os.environ["HIPPO_PROGRAM"] = HIPPO
        os.environ["HIPPO_TEST_SECONDS"] = str(cls.SECONDS)
        os.environ["PATH"] = os.pathsep.join(
            [os.path.dirname(sys.executable), os.environ["PATH"]])
        cls.cluster = Cluster(initialize_head=True,
                              head_node_args={**NODE, "num_cpus": 0})
        cls.addClassCleanup(cls.cluster.shutdown)
        cls.nodes = [cls.cluster.add_node(**NODE) for _ in range(3)]
        ray.init(address=cls.cluster.address, log_to_driver=False)
        cls.addClassCleanup(ray.shutdown)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hippo-ray-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.keys("keys")
        self.state = os.path.join(self.folder, "state")
        self.log = os.path.join(self.folder, "log")
        os.mkdir(self.log)
        self.write("train.py", TRAIN)
        self.addCleanup(self.end_all)

    def end_all(self):
        """Ends what a failed test has left."""
        for name in placing.names():
            if (actor := placing.find(name)) is not None:
                actor.kill()

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def keys(self, name):
        for words in (["init"], ["add", "ray", "--role", "trainer"],
                      ["add", "ada", "--role", "client"]):
            subprocess.run([HIPPO, "keys", *words, "--keys", name],
                           cwd=self.folder, check=True, capture_output=True)
        return os.path.join(self.folder, name, "ray.pem")

    def serve(self):
        """Starts the service. @returns the addresses for trainers, clients"""
        service = subprocess.Popen(
            [HIPPO, "serve", "--state", self.state, "--listen", "127.0.0.1:0",
             "--rpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--keys",
             os.path.join(self.folder, "keys")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.addCleanup(service.wait, PATIENCE)
        self.addCleanup(service.terminate)
        self.until(lambda: os.path.exists(
            os.path.join(self.state, "service.json")))
        with open(os.path.join(self.state, "service.json")) as file:
            found = json.load(file)
        return found["trainers"], found["clients"]

    def connect(self, address):
        client = hippo.connect(address, credentials=os.path.join(
            self.folder, "keys", "ada.pem"), timeout=PATIENCE)
        self.addCleanup(client.close)
        return client

    @property
    def key(self):
        return os.path.join(self.folder, "keys", "ray.pem")

    def until(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def idle(self):
        """Waits until the actors of a test have given back their CPUs."""
        self.until(lambda: ray.available_resources().get("CPU", 0) == 3)

    def steps(self):
        return sum(os.path.getsize(os.path.join(self.log, x))
                   for x in os.listdir(self.log))

    def run_alone(self, *files):
        """Runs studies on this machine. @returns the state folder"""
        alone = os.path.join(self.folder, "alone")
        subprocess.run([HIPPO, "run", *files, "--quiet", "--trainers", "3",
                        "--state", alone], check=True, capture_output=True,
                       env={**os.environ, "HIPPO_TEST_SECONDS": "0"})
        return alone

    def block(self, page, word, language="python(?: cluster| tune)?"):
        """The block of a page that has a word."""
        with open(os.path.join(ROOT, "docs", page)) as file:
            found = re.findall(rf"^```{language}\n(.*?)^```$", file.read(),
                               re.DOTALL | re.MULTILINE)
        text, = (x for x in found if word in x)
        return text

    def changed(self, text, *pairs):
        """A text with other words."""
        for there, here in pairs:
            self.assertIn(there, text)
            text = text.replace(there, here)
        return text


class Trainers(Clustered):
    """Those that a program starts."""

    def secret(self):
        """A line of the trainers' private key."""
        with open(self.key) as file:
            return re.search(r"PRIVATE KEY-----\n(.{40})", file.read())[1]

    def logs_with(self, text):
        """The logs of Ray that have a text."""
        folder = self.cluster.head_node.get_logs_dir_path()
        found = subprocess.run(["grep", "-rl", "-e", text, folder],
                               capture_output=True, text=True)
        return found.stdout.split()

    def test_nodes_are_killed_and_nothing_is_lost(self):
        """Two studies on three nodes, of which one after the other is lost."""
        files = [self.write(f"{name}.yaml", study(name, self.log, at))
                 for name, at in (("a", [None, 4, 8]), ("b", [None, 6, 10]))]
        alone = self.run_alone(*files)
        unique = self.steps()
        trainers, clients = self.serve()
        client = self.connect(clients)
        with hippo_hpo.ray.trainers(trainers, num=3, key=self.key,
                                    name="lossy") as fleet:
            fleet.wait_ready(PATIENCE)
            studies = [client.submit(x) for x in files]
            for i in range(3):
                before = self.steps()
                self.until(lambda: self.steps() >= before + 8)
                lost = self.nodes.pop(0)
                self.cluster.remove_node(lost, allow_graceful=False)
                self.nodes.append(self.cluster.add_node(**NODE))
                fleet.wait_ready(PATIENCE)
            infos = [x.wait(progress=False, timeout=PATIENCE) for x in studies]
        self.assertEqual(["COMPLETE"] * 2, [x.state for x in infos])
        self.assertEqual([0, 0], [x.failed for x in infos])
        for x in "a", "b":
            self.assertEqual(results(alone, x), results(self.state, x))
            self.assertGreater(len(results(alone, x)), 60)
        # Each loss costs one stage at most.
        self.assertLessEqual(self.steps() - unique, unique + 3 * STEPS)
        self.idle()

    def test_actors_and_trainers_come_back(self):
        trainers, clients = self.serve()
        with hippo_hpo.ray.trainers(trainers, num=2, key=self.key,
                                    name="back", notice=20) as fleet:
            fleet.wait_ready(PATIENCE)
            first, other = fleet.states()
            self.assertEqual(["back/0", "back/1"], fleet.names)
            self.assertEqual([], [x.name for x in fleet.states()
                                  if x.host == "" or not x.pid])
            with open(f"/proc/{first.pid}/cmdline") as file:
                self.assertIn("--notice\x0020\x00", file.read())
            with self.subTest("the trainer is killed"):
                os.kill(first.pid, signal.SIGKILL)
                self.until(lambda: fleet.states()[0].starts == 2)
                fleet.wait_ready(PATIENCE)
                second = fleet.states()[0]
                self.assertEqual(first.worker, second.worker)
                self.assertNotEqual(first.pid, second.pid)
            with self.subTest("the worker of Ray is killed"):
                os.kill(second.worker, signal.SIGKILL)
                self.until(lambda: not is_alive(second.pid))
                self.until(lambda: fleet.states()[0].worker
                           not in (0, second.worker))
                fleet.wait_ready(PATIENCE)
            with self.subTest("the actor is killed"):
                third = fleet.states()[0]
                ray.kill(ray.get_actor("back/0", namespace="hippo"),
                         no_restart=False)
                self.until(lambda: not is_alive(third.pid))
                self.until(lambda: fleet.states()[0].worker
                           not in (0, third.worker))
                fleet.wait_ready(PATIENCE)
            self.assertEqual(other, fleet.states()[1])
            with self.subTest("a second call"):
                same = hippo_hpo.ray.trainers(trainers, num=2, key=self.key,
                                              name="back", notice=20)
                self.assertEqual(([], fleet.names), (same.started, same.names))
                same.end()
                self.assertTrue(is_alive(other.pid))
                self.assertFalse(self.logs_with(self.secret()))
                self.assertTrue(self.logs_with("trainer: registered as "))
                with self.assertRaisesRegex(hippo.InvalidArgument, "back/0"):
                    hippo_hpo.ray.trainers(trainers, num=2, name="back")
            last = fleet.states()
        # They have left in good order: the service knows no loss.
        ends = [x.lost for x in self.connect(clients).trainers()]
        self.assertEqual(2, ends.count("has left"), ends)
        self.assertEqual(5, len(ends), ends)
        self.until(lambda: not any(is_alive(x.pid) for x in last))
        self.assertEqual([], fleet.names)
        self.assertEqual([], [x for x in placing.names() if "back" in x])
        self.idle()

    def test_refusals(self):
        trainers, _ = self.serve()
        seconds, hippo_hpo.ray._DOUBT_SECONDS = hippo_hpo.ray._DOUBT_SECONDS, 1
        self.addCleanup(setattr, hippo_hpo.ray, "_DOUBT_SECONDS", seconds)

        def refused(kind, why, **options):
            with self.assertRaisesRegex(kind, why):
                with hippo_hpo.ray.trainers(trainers, num=1, name="no",
                                            **options) as fleet:
                    fleet.wait_ready(PATIENCE)
        refused(hippo.NotAllowed, "another authority", key=self.keys("other"))
        refused(hippo.NotAllowed, "the given file is the key of a client",
                key=os.path.join(self.folder, "keys", "ada.pem"))
        refused(hippo.NotAllowed, "does it want --keys")
        refused(hippo.Error, "there is no file /none.pem",
                node_key="/none.pem")
        refused(hippo.Error, "no program /none/trainer", key=self.key,
                program="/none/trainer")
        old = self.fake("echo 'error trainer: this service speaks version 9 "
                        "and the trainer version 8: run the same release of "
                        "both'\nexit 1\n")
        refused(hippo.Error, "speaks version 9", key=self.key, program=old)
        refused(hippo.Error, "no place for 1 trainers of 1 CPU, 1 GPU each: it "
                "could take 0. Its 4 nodes have 3 CPU, 0 GPU", num_gpus=1)
        refused(hippo.Error, "0 tpu", resources={"tpu": 1})
        with hippo_hpo.ray.trainers(trainers, num=1, name="no", wait=True,
                                    resources={"tpu": 1}) as fleet:
            with self.assertRaisesRegex(hippo.Timeout,
                                        "no/0 is waiting: no node has room"):
                fleet.wait_ready(1)
        self.idle()

    def fake(self, text):
        """A program in the place of hippo-trainer."""
        path = self.write("fake", "#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        return path

    def test_a_trainer_that_stays(self):
        """It is killed after its notice."""
        program = self.fake("trap '' TERM\necho 'trainer: registered as "
                            "number 1'\nwhile :; do sleep 0.2; done\n")
        with hippo_hpo.ray.trainers("127.0.0.1:1", num=1, name="stays",
                                    program=program, notice=1) as fleet:
            fleet.wait_ready(PATIENCE)
            pid = fleet.states()[0].pid
            self.assertTrue(is_alive(pid))
        self.until(lambda: not is_alive(pid))
        self.idle()

    def test_gpus(self):
        """Ray counts GPUs that it is told of; here are none."""
        program = self.fake(
            f"echo $CUDA_VISIBLE_DEVICES $* >> {self.folder}/said\n"
            "echo 'trainer: registered as number 1'\nexec sleep 1000\n")
        node = self.cluster.add_node(**{**NODE, "num_gpus": 3})
        self.addCleanup(self.cluster.remove_node, node)

        def start(num, gpus):
            with hippo_hpo.ray.trainers(
                    "127.0.0.1:1", num=num, num_gpus=gpus, name="gpu",
                    program=program, num_cpus=0, notice=5) as fleet:
                fleet.wait_ready(PATIENCE)
            with open(os.path.join(self.folder, "said")) as file:
                said = sorted(file.read().splitlines())
            os.unlink(os.path.join(self.folder, "said"))
            return said
        first = "--connect 127.0.0.1:1 --device cuda:0"
        rest = "--notice 5 --gang-listen auto"
        self.assertEqual([f"{i} {first} {rest}" for i in range(3)],
                         start(3, 1))
        (two,) = start(1, 2)
        self.assertRegex(two, rf"^\d,\d {first} --device cuda:1 {rest}$")
        with self.assertRaisesRegex(hippo.Error, "2 GPU each: it could take 1"):
            start(2, 2)

    def test_a_node_without_hippo(self):
        """The code of the actor travels; the program would have to."""
        without = {"env_vars": {"HIPPO_TRAINER_PROGRAM": "",
                                "PATH": "/usr/bin:/bin", "PYTHONPATH": ""}}
        with self.assertRaisesRegex(hippo.Error, "runtime_env="):
            with hippo_hpo.ray.trainers("127.0.0.1:1", num=1, name="bare",
                                        runtime_env=without) as fleet:
                fleet.wait_ready(PATIENCE)
        self.idle()

    def test_the_engine(self):
        trainers, clients = self.serve()
        engine = subprocess.Popen(
            [sys.executable, "-m", "hippo_hpo.ray_engine", "--address",
             self.cluster.address], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(engine.stdout.close)
        self.addCleanup(engine.wait, PATIENCE)
        self.addCleanup(engine.stdin.close)

        def send(request):
            engine.stdin.write(json.dumps(request) + "\n")
            engine.stdin.flush()
            return json.loads(engine.stdout.readline())

        def ask(call, **words):
            return send({"call": call, **words})

        def start(name, **words):
            return ask("start", fleet="lab", group="cpu", name=name, **{
                "gpus": 0, "cpus": 1, "memory_bytes": 0, "env": {},
                "command": ["hippo-trainer", "--connect", trainers, "--keys",
                            self.key, "--notice", "20"], **words})

        def states():
            return {x["name"]: x["state"]
                    for x in ask("list", fleet="lab")["trainers"]}
        self.assertEqual({"trainers": []}, ask("list", fleet="lab"))
        self.assertEqual({"id": "lab/cpu/1"}, start("1"))
        self.assertEqual({"id": "lab/cpu/1"}, start("1"))
        self.assertEqual({"id": "lab/cpu/far"}, start("far", cpus=2))
        with hippo_hpo.ray.trainers(trainers, num=1, key=self.key,
                                    name="mine") as mine:
            self.until(lambda: states() == {"1": "running", "far": "waiting"})
            self.assertEqual([], ask("list", fleet="other")["trainers"])
            client = self.connect(clients)
            self.until(lambda: sum(
                x.lost == "" for x in client.trainers()) == 2)
            self.assertEqual(
                {"id": "lab/cpu/1", "name": "1", "group": "cpu",
                 "state": "running"}, ask("list", fleet="lab")["trainers"][0])
            self.assertEqual({}, ask("end", id="lab/cpu/1"))
            self.assertEqual({}, ask("end", id="lab/cpu/far"))
            self.assertEqual({}, ask("end", id="lab/cpu/none"))
            self.until(lambda: states() == {})
            self.assertEqual(["", "has left"], sorted(
                x.lost for x in client.trainers()))
            self.assertEqual(["ready"], [x.state for x in mine.states()])
        start("bad", command=["hippo-trainer", "--connect", trainers,
                              "--keys", self.keys("other")])
        self.until(lambda: states().get("bad") != "waiting")
        seen = []
        self.until(lambda: seen.append(states().get("bad")) or seen[-1] is None)
        self.assertIn("ended", seen)
        for request, why in [
                ([], "must be a JSON object"),
                ({"call": "fly"}, "must be list, start, end"),
                ({"call": "list"}, "fleet: must be a text"),
                ({"call": "end", "id": "mine/0"}, "must be one that start"),
                ({"call": "start", "fleet": "a", "group": "b", "name": "c",
                  "command": "x"}, "command: must be"),
                ({"call": "start", "fleet": "a", "group": "b", "name": "c",
                  "command": ["x"], "gpus": 0.5}, "whole number")]:
            found = send(request)
            self.assertIn(why, found.get("error", ""), found)
            self.assertFalse(found["temporary"])
        self.idle()

    def test_the_engine_without_a_cluster(self):
        done = subprocess.run(
            [sys.executable, "-m", "hippo_hpo.ray_engine", "--address",
             "none:x"], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=PATIENCE)
        self.assertEqual(1, done.returncode)
        found = json.loads(done.stdout)
        self.assertIn("no Ray cluster at 'none:x'", found["error"])
        self.assertTrue(found["temporary"])

    def test_optimize(self):
        space = {"lr": choice(0.5, multistep(0.5, [3], 0.5))}

        def optimize():
            return hippo_hpo.ray.optimize(
                add, space, num_trainers=2, state=self.state, max_steps=6,
                algorithm="grid", objective={"w": "maximize"}, progress=False)
        found = optimize()
        self.assertEqual(("COMPLETE", 3.0), (found.state, found.best_value))
        self.assertEqual(2, len(found.trials))
        self.assertEqual(found.id, optimize().id)
        with self.assertRaisesRegex(hippo.Error, "no place for 9"):
            hippo_hpo.ray.optimize(add, space, num_trainers=9)
        with self.assertRaisesRegex(TypeError, "n_trials"):
            hippo_hpo.ray.optimize(add, space, num_trainers=1, n_trials=3)
        self.idle()
        from hippo_hpo import _ray_service
        for x in _ray_service._services.values():
            x.client.close()
        _ray_service._services.clear()
        self.until(lambda: not os.path.exists(
            os.path.join(self.state, "service.json")))

    def run_script(self, text):
        path = self.write("script.py", text)
        done = subprocess.run(
            [sys.executable, path], cwd=self.folder, capture_output=True,
            text=True, timeout=PATIENCE,
            env={**os.environ, "RAY_ADDRESS": self.cluster.address})
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def test_from_ray(self):
        """docs/from-ray.md, as somebody would type it."""
        compile(self.block("from-ray.md", "tune.with_resources"), "page",
                "exec")
        said = self.run_script(self.block("from-ray.md", "ray.optimize"))
        self.assertRegex(said, r"^0\.\d+ \{'lr'")
        self.idle()

    def test_deploying(self):
        """docs/deploy.md, with other numbers: trainers outlive the program
        that has started them, and another one lets them leave."""
        trainers, clients = self.serve()
        text = self.changed(
            self.block("deploy.md", "ray.trainers"),
            ("gpu-lab:4848", trainers), ("num=8", "num=2"),
            ("num_gpus=1", "num_gpus=0"), ("num_cpus=4", "num_cpus=1"),
            ("hippo-keys/ray.pem", "keys/ray.pem"))
        self.run_script(text)
        client = self.connect(clients)
        self.assertEqual(["", ""], [x.lost for x in client.trainers()])
        self.run_script(text + "fleet.end(found=True)")
        self.assertEqual(["has left"] * 2,
                         [x.lost for x in client.trainers()])
        self.idle()


class Scaling(Clustered):
    """`hippo scale --on ray`, with its true engine. The command and its file
    are those of docs/deploy.md, with other numbers."""

    SECONDS = 0.05

    def setUp(self):
        super().setUp()
        self.trainers, self.clients = self.serve()
        self.client = self.connect(self.clients)
        # A CPU in place of a GPU.
        self.write("machines.yaml", self.changed(
            self.block("deploy.md", "key: /home/ray", "yaml"),
            ("gpus: 1, cpus: 4, memory: 16Gi",
             "cpus: 1, notice_seconds: 20, memory: 100Mi"),
            ("/home/ray/.hippo/gpu.pem", self.key)))
        self.logs = 0

    def command(self, *args, most=2):
        line, = self.block("deploy.md", "--on ray", "sh").splitlines()
        words = shlex.split(self.changed(
            line, ("--max 40", f"--max {most}"),
            ("--ray-address auto", f"--ray-address {self.cluster.address}"),
            ("/opt/ray/bin/python", sys.executable)))
        self.assertEqual("hippo", words[0])
        return [HIPPO, *words[1:], "--server", self.clients, "--keys",
                os.path.join(self.folder, "keys", "ada.pem"), "--connect",
                self.trainers, "--journal", "journal", "--interval", "0.3s",
                *args]

    def once(self, *args):
        """Runs `hippo scale` to its end. @returns its orders"""
        done = subprocess.run(self.command(*args), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE,
                              cwd=self.folder)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout

    def scale(self, **options):
        """Starts `hippo scale`. @returns its process and what it has said"""
        self.logs += 1
        path = self.write(f"scale-{self.logs}.log", "")
        with open(path, "a") as log:
            process = subprocess.Popen(
                self.command("--idle", "3s", **options),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.folder)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def said():
            with open(path) as file:
                return file.read()
        return process, said

    def kill(self, process):
        """Kills it, and waits for the end of its engine."""
        process.kill()
        process.wait()
        self.until(lambda: not self.engines())

    def engines(self):
        """The engines of this cluster that run."""
        result = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/cmdline") as file:
                    words = file.read().split("\0")
                if "hippo_hpo.ray_engine" in words and \
                        self.cluster.address in words and is_alive(int(pid)):
                    result.append(int(pid))
        return result

    def alive(self):
        """Process ids of the fleet's trainers on their nodes, by name."""
        actors = [placing.find(x) for x in placing.names()
                  if x.startswith("hippo/gpu/")]
        states = placing.look([x for x in actors if x is not None], 5.0)
        return {x.name: state["pid"] for x, state in zip(
            (x for x in actors if x is not None), states)
            if state["state"] == "ready"}

    def wait_for(self, *names):
        """Waits until just these are ready. @returns their process ids"""
        wanted = {f"hippo/gpu/{x}" for x in names}
        self.until(lambda: set(self.alive()) == wanted)
        return self.alive()

    def hold(self):
        """Lets training wait until the returned function is called."""
        path = self.write(os.path.join("log", "halt"), "")

        def go_on():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        self.addCleanup(go_on)
        return go_on

    def connected(self):
        return [x for x in self.client.trainers() if x.lost == ""]

    def test_trainers_come_and_go_with_work(self):
        files = [self.write(f"{name}.yaml", study(name, self.log, at))
                 for name, at in (("a", [None, 4, 8]), ("b", [6, 10]))]
        alone = self.run_alone(*files)
        with self.subTest("no work"):
            self.assertEqual("", self.once("--once"))
            self.assertEqual([], placing.names())
        go_on = self.hold()
        first = self.client.submit(files[0])
        with self.subTest("killed while it starts a trainer"):
            # One alone: the next would count as started for a minute.
            process, said = self.scale(most=1)
            self.until(lambda: "start hippo-1 in gpu: " in said()
                       or process.poll() is not None)
            self.assertIsNone(process.poll(), said())
            self.kill(process)
        with self.subTest("killed once all are there"):
            process, said = self.scale()
            pids = self.wait_for("hippo-1", "hippo-2")
            self.until(lambda: len(self.connected()) == 2)
            self.kill(process)
            self.assertEqual("", self.once("--once"))
            self.assertEqual(pids, self.wait_for("hippo-1", "hippo-2"))
        process, said = self.scale()
        go_on()
        info = first.wait(progress=False, timeout=PATIENCE)
        self.assertEqual(("COMPLETE", 0), (info.state, info.failed))
        self.assertEqual(results(alone, "a"), results(self.state, "a"))
        self.assertGreater(len(results(alone, "a")), 60)
        with self.subTest("they go when nothing is left"):
            self.until(lambda: placing.names() == [])
            self.assertEqual(2, said().count("it has had no work for "), said())
            self.assertNotIn("start ", said())
            self.assertEqual(["has left"] * 2,
                             [x.lost for x in self.client.trainers()])
            self.assertFalse([x for x in pids.values() if is_alive(x)])
        go_on = self.hold()
        second = self.client.submit(files[1])
        self.wait_for("hippo-3", "hippo-4")
        with self.subTest("interrupted, it leaves them"):
            process.terminate()
            self.assertEqual(130, process.wait(PATIENCE), said())
            self.assertIn(" of the fleet go on", said())
            self.assertFalse(self.engines())
            self.wait_for("hippo-3", "hippo-4")
        with self.subTest("--down ends the fleet and nothing else"), \
                hippo_hpo.ray.trainers(self.trainers, num=1, key=self.key,
                                       name="mine") as mine:
            mine.wait_ready(PATIENCE)
            go_on()
            self.assertEqual(2, self.once("--down").count(
                ": the fleet is taken down"))
            self.assertEqual(["mine/0"], placing.names())
            # It has the work that they have left.
            info = second.wait(progress=False, timeout=PATIENCE)
            self.assertEqual(("COMPLETE", 0), (info.state, info.failed))
        self.assertEqual(results(alone, "b"), results(self.state, "b"))
        self.assertEqual(["has left"] * 5,
                         [x.lost for x in self.client.trainers()])
        self.idle()


if __name__ == "__main__":
    unittest.main()
