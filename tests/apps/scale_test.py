#!/usr/bin/env python3
"""`hippo scale`: trainers of stand-ins for Slurm, Kubernetes and Ray."""

import getpass
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

import programs
import stand_ins
from programs import HIPPO, PATIENCE, SHA, Case, study, wait_for

CACHE = pathlib.Path(__file__).resolve().parents[2] / ".cache"
VALIDATE = CACHE / "python-venv/bin/kubernetes-validate"
# Debian's Slurm, unpacked and not installed.
SLURM = CACHE / "slurm/usr"

GUARD = pathlib.Path(__file__).resolve().parent / "guard.py"

GROUP = """
service: gpu-lab:4848
insecure: true
trainers:
  - {{name: cpu, cpus: 1, notice_seconds: 10, program: {program}{more}}}
"""

PODS = """
service: {image: hippo:1, storage: 1Gi}
insecure: true
trainers:
  - {name: cpu, image: hippo-trainer:1, count_max: 8}
"""

# What trains nothing, and leaves when it is told to.
IDLE = """#!/bin/sh
trap 'exit 0' TERM
while :; do sleep 0.1; done
"""


class Scaling(Case):
    """A service, and stand-ins."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        os.mkdir(self.path("engine"))
        for name in ("sbatch", "squeue", "scancel"):
            self.program(f"bin/{name}", f"#!/bin/sh\nexec {sys.executable} "
                         f'{stand_ins.HERE} {name} "$@"\n')
        self.program("bin/idle", IDLE)
        self.addCleanup(self.end_jobs)
        self.env = {**os.environ, "STAND_IN": self.path("engine"),
                    "PATH": self.path("bin") + ":" + os.environ["PATH"]}
        self.count = 0
        self.serve()

    def program(self, name, text):
        os.chmod(self.write(name, text), 0o755)
        return self.path(name)

    def serve(self, *args):
        """Starts a service, at the ports of the one before."""
        ports = getattr(self, "ports", ("0", "0"))
        log = self.path(f"serve-{self.count}.log")
        self.count += 1
        with open(log, "w") as out:
            self.service = self.start(
                "serve", "--state", self.path("state"), "--listen",
                f"127.0.0.1:{ports[0]}", "--rpc", f"127.0.0.1:{ports[1]}",
                "--http", "127.0.0.1:0", *args, stderr=out)

        def announced():
            with open(log) as said:
                return re.findall(r"127\.0\.0\.1:(\d+)", said.read())
        self.ports = wait_for("the service",
                              lambda: announced()[2:] and announced())[:2]
        self.server = f"127.0.0.1:{self.ports[1]}"

    def end_jobs(self):
        with stand_ins.Queue(self.path("engine")) as queue:
            for job in queue.jobs:
                if job["pid"] and stand_ins.runs(job["pid"]):
                    os.killpg(job["pid"], signal.SIGKILL)

    def jobs(self):
        with stand_ins.Queue(self.path("engine")) as queue:
            return queue.jobs

    def alive(self):
        return [x["name"] for x in self.jobs()
                if x["state"] in ("RUNNING", "PENDING")]

    def fail(self, *args):
        """Tells a stand-in to fail: its call, and a fault for each."""
        if len(args) < 2:
            return super().fail(*args)
        self.write(f"engine/fail-{args[0]}", "\n".join(args[1:]))

    def submit(self, name="waves", train=64):
        x = study(name, SHA, steps=3, train=train)
        self.hippo("submit", self.write(f"{name}.yaml", x), "--server",
                   self.server)

    def words(self, *args, on="slurm", machines=None, **group):
        machines = machines or GROUP.format(
            program=group.get("program", self.path("bin/idle")),
            more=group.get("more", ""))
        return ["scale", self.write("machines.yaml", machines), "--on", on,
                "--server", self.server, "--journal", self.path("journal"),
                "--connect", f"127.0.0.1:{self.ports[0]}", "--interval",
                "0.2s", *args]

    def scale(self, *args, code=0, **options):
        return self.hippo(*self.words(*args, **options), code=code,
                          env=self.env)

    def keep_scaling(self, *args, **options):
        log = open(self.path(f"scale-{self.count}.log"), "w+")
        self.count += 1
        self.addCleanup(log.close)
        process = subprocess.Popen(
            [HIPPO, *self.words(*args, **options)], stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, env=self.env,
            cwd=self.folder)  # for the logs of jobs
        self.addCleanup(self.end, process)
        process.log = log.name
        return process

    @staticmethod
    def said(process):
        with open(process.log) as log:
            return log.read()


class Slurm(Scaling):
    def test_what_waits_is_started_once(self):
        self.submit()
        done = self.scale("--max", "3", "--once")
        self.assertEqual(
            ["start hippo-1 in cpu", "start hippo-2 in cpu",
             "start hippo-3 in cpu"],
            [x.partition(":")[0] for x in done.out.splitlines()])
        self.assertEqual(["hippo-1", "hippo-2", "hippo-3"], self.alive())
        self.assertEqual("", self.scale("--max", "3", "--once").out)
        with open(self.path("engine/hippo-2.sh")) as script:
            text = script.read()
        for line in ("#SBATCH --signal=B:TERM@10", "#SBATCH --requeue",
                     f"  --connect 127.0.0.1:{self.ports[0]} \\",
                     "  --name hippo-2"):
            self.assertIn(line + "\n", text)

    def test_orders_can_be_looked_at_first(self):
        self.submit()
        done = self.scale("--max", "1", "--once", "--dry-run")
        self.assertIn("start hippo-1 in cpu: ", done.out)
        self.assertEqual([], self.jobs())
        self.assertFalse(os.path.exists(self.path("journal")))

    def test_killed_and_started_again_it_starts_nothing_twice(self):
        self.submit()
        for _ in range(5):
            process = self.keep_scaling("--max", "4")
            wait_for("four jobs", lambda: len(self.alive()) == 4)
            process.kill()
            process.wait()
        self.assertEqual(4, len(self.jobs()))
        os.remove(self.path("journal"))
        self.assertEqual("", self.scale("--max", "4", "--once").out)

    def test_a_second_one_is_refused(self):
        process = self.keep_scaling("--max", "1", "--min", "1")
        wait_for("a job", self.alive)
        done = self.scale("--max", "1", code=1)
        self.assertIn("another hippo scale has this fleet", done.err)
        self.assertIsNone(process.poll())

    def test_what_is_interrupted_leaves_its_trainers(self):
        process = self.keep_scaling("--max", "2", "--min", "2")
        wait_for("two jobs", lambda: len(self.alive()) == 2)
        wait_for("another look", lambda: self.said(process))
        time.sleep(0.5)
        process.terminate()
        self.assertEqual(130, process.wait(PATIENCE))
        self.assertIn("2 of the fleet go on", self.said(process))
        self.assertEqual(2, len(self.alive()))
        done = self.scale("--down")
        self.assertEqual(2, done.out.count("the fleet is taken down"))
        self.assertEqual([], self.alive())

    def test_all_are_ended_where_that_is_wanted(self):
        process = self.keep_scaling("--max", "2", "--min", "2",
                                    "--end-all-on-exit")
        wait_for("two jobs", lambda: len(self.alive()) == 2)
        process.send_signal(signal.SIGINT)
        self.assertEqual(130, process.wait(PATIENCE))
        self.assertEqual([], self.alive())

    def test_only_its_own_are_ended(self):
        with stand_ins.Queue(self.path("engine")) as queue:
            for name, comment in (("hippo-7", "mine"), ("other", ""),
                                  ("lab-1", "hippo:lab:cpu")):
                queue.add(name=name, comment=comment, state="PENDING", pid=0)
        self.scale("--down")
        self.assertEqual(3, len(self.alive()))

    def test_failures_are_told_and_tried_again(self):
        self.fail("sbatch", "Invalid account or account/partition combination")
        process = self.keep_scaling("--max", "1", "--min", "1")
        wait_for("a job", self.alive)
        self.assertEqual(["hippo-1"], self.alive())
        self.assertRegex(self.said(process),
                         "hippo-1 was not started: sbatch: error: Invalid "
                         r"account .*; the next attempt comes in 5 s\n")
        self.fail("squeue", "always Unable to contact slurm controller")
        wait_for("the complaint", lambda: "nothing is started or ended"
                 in self.said(process))
        os.remove(self.path("engine/fail-squeue"))
        wait_for("the end of it",
                 lambda: "answer again" in self.said(process))
        self.assertEqual(1, self.said(process).count("does not say what runs"))
        self.assertEqual(["hippo-1"], self.alive())

    def test_an_answer_that_is_lost_starts_nothing_twice(self):
        self.fail("sbatch", "lost Socket timed out on send/recv operation")
        process = self.keep_scaling("--max", "1", "--min", "1")
        wait_for("the failure",
                 lambda: "may not have started" in self.said(process))
        time.sleep(1)
        self.assertEqual(["hippo-1"], [x["name"] for x in self.jobs()])

    def test_the_service_may_be_away(self):
        self.submit()
        process = self.keep_scaling("--max", "2")
        wait_for("two jobs", lambda: len(self.alive()) == 2)
        self.service.kill()
        self.service.wait()
        wait_for("the complaint", lambda: "the service does not answer"
                 in self.said(process))
        self.assertEqual(2, len(self.alive()))
        self.serve()
        wait_for("the end of it",
                 lambda: "answer again" in self.said(process))
        time.sleep(1)
        self.assertEqual(2, len(self.jobs()))

    def test_what_waits_in_vain_is_cancelled(self):
        self.write("engine/no-room", "")
        self.submit()
        process = self.keep_scaling("--max", "2", "--idle", "1s")
        wait_for("two jobs", lambda: len(self.alive()) == 2)
        self.hippo("cancel", "waves", "--server", self.server)
        wait_for("their end", lambda: not self.alive())
        self.assertIn("nothing waits for it any more", self.said(process))
        with open(self.path("engine/scancel.log")) as log:
            self.assertNotIn("--signal", log.read())

    def test_bad_input(self):
        for args, said in (
                ((), "say by --max how many"),
                (("--max", "1", "--min", "2"), "--min is 2"),
                (("--max", "1", "--group", "gpu"), "has no trainers 'gpu'"),
                (("--max", "1", "--fleet", "Lab"), "lower-case"),
                (("--max", "1", "--idle", "soon"), "--idle"),
                (("--max", "1", "--machines", self.write(
                    "prices.yaml",
                    "machines: {a100: {device: A100, price: 1}}\n")),
                 "has no kind 'cpu'")):
            done = self.scale(*args, code=2)
            self.assertIn(said, done.err + done.out, args)
        self.env["PATH"] = self.path("engine")
        done = self.scale("--max", "1", code=1)
        self.assertIn("squeue", done.err)
        self.assertEqual([], self.jobs())

    def test_the_maximum_of_a_group(self):
        self.submit()
        self.scale("--once", more=", count_max: 2")
        self.assertEqual(2, len(self.alive()))


CLUSTER = """
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/slurm
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=batch_sched_delay=1,sched_interval=2
NodeName=n[1-3] NodeHostname={host} NodeAddr=127.0.0.1 Port={range}
PartitionName=p Nodes=n[1-3] Default=YES MaxTime=INFINITE State=UP
"""


@unittest.skipUnless(SLURM.exists(), "scripts/setup has not unpacked Slurm")
class RealSlurm(Scaling):
    """A cluster of three nodes on loopback."""

    def setUp(self):
        super().setUp()
        for name in ("sbatch", "squeue", "scancel"):
            os.remove(self.path("bin", name))
        (libraries,) = SLURM.glob("lib/*-linux-gnu")
        plugins = libraries / "slurm-wlm"
        self.env["LD_LIBRARY_PATH"] = f"{libraries}:{plugins}"
        self.env["PATH"] = f"{SLURM / 'bin'}:" + self.env["PATH"]
        for name in ("slurm", "spool-n1", "spool-n2", "spool-n3"):
            os.mkdir(self.path(name))
        ports = self.free_ports()
        host = socket.gethostname()
        config = CLUSTER.format(host=host, user=getpass.getuser(),
                                folder=self.folder, ports=ports,
                                range=f"[{ports[1]}-{ports[1] + 2}]")
        config = config.replace("/spool\n", "/spool-%n\n").replace(
            "slurmd.pid", "slurmd-%n.pid") + f"PluginDir={plugins}\n"
        self.env["SLURM_CONF"] = self.write("slurm.conf", config)
        self.daemon("slurmctld", "-D", "-i")
        for node in ("n1", "n2", "n3"):
            self.daemon("slurmd", "-D", "-N", node, "-d",
                        SLURM / "sbin/slurmstepd-wlm")
        try:
            wait_for("the nodes", lambda: self.slurm(
                "sinfo", "-h", "-o", "%D %t").out.split() == ["3", "idle"], 60)
        except AssertionError:
            with open(self.path("slurmctld.log")) as log:
                self.skipTest("Slurm does not start here: " + log.read()[-300:])

    @staticmethod
    def free_ports():
        with socket.socket() as x:
            x.bind(("127.0.0.1", 0))
            port = x.getsockname()[1]
        return port, port + 1

    def daemon(self, name, *options):
        """Starts a daemon; it ends with the test, and so do its jobs, which
        would outlive it."""
        with open(self.path(f"{name}.log"), "a") as log:
            process = subprocess.Popen(
                [sys.executable, "-B", GUARD, SLURM / f"sbin/{name}-wlm",
                 *options], env=self.env, stdin=subprocess.PIPE, stdout=log,
                stderr=log, cwd=self.folder)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdin.close)

    def slurm(self, *words):
        done = subprocess.run(words, env=self.env, text=True,
                              stdin=subprocess.DEVNULL, timeout=PATIENCE,
                              capture_output=True)
        return programs.Done(done.returncode, done.stdout, done.stderr)

    def states(self):
        return sorted(self.slurm("squeue", "-h", "-o", "%j %T").out.split("\n")
                      [:-1])

    def test_jobs_run_are_queued_again_and_end(self):
        log = self.path("trained.log")
        self.program("bin/idle", IDLE.replace("exit 0", f"echo left >> {log}; "
                                                        "exit 0"))
        process = self.keep_scaling("--max", "4", "--min", "4")
        running = [f"hippo-{i} RUNNING" for i in (1, 2, 3)]
        wait_for("three that run and one that waits",
                 lambda: self.states() == [*running, "hippo-4 PENDING"])
        self.slurm("scontrol", "requeue", "2")
        wait_for("one that is queued again",
                 lambda: "hippo-2 PENDING" in self.states())
        process.terminate()
        process.wait(PATIENCE)
        self.assertEqual(4, len(self.states()))
        done = self.scale("--max", "4", "--min", "4", "--once")
        self.assertEqual("", done.out)
        self.scale("--down")
        wait_for("their end", lambda: not self.states())
        with open(log) as said:
            # Each one that ran was told, and left in good order.
            self.assertGreaterEqual(said.read().count("left"), 3)

    def test_a_trainer_knows_the_end_of_its_job(self):
        told = self.path("told.log")
        self.program("bin/idle", IDLE.replace(
            "trap", f"echo ${{SLURM_JOB_END_TIME-nothing}} >> {told}\ntrap"))
        self.write("told.log", "")

        def words():
            with open(told) as file:
                return file.read().split()
        begun = time.time()
        for count, more in (1, ", time: '00:30:00'"), (2, ""):
            self.scale("--max", "1", "--min", "1", "--once", more=more)
            wait_for("its words", lambda: len(words()) == count)
            self.scale("--down")
            wait_for("its end", lambda: not self.states())
        limited, unlimited = words()
        self.assertLess(abs(float(limited) - begun - 1800), 60)
        self.assertEqual("nothing", unlimited)


class Guard(Case):
    """Below which the daemons of Slurm run."""

    def test_everything_ends_with_its_input(self):
        pids = self.path("pids")
        process = subprocess.Popen(
            [sys.executable, "-B", GUARD, "sh", "-c",
             f"(setsid sh -c 'echo $$ >> {pids}; exec sleep 1000' &); "
             f"echo $$ >> {pids}; exec sleep 1000"], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdin.close)

        def started():
            with open(pids) as file:
                return [int(x) for x in file]

        def end_all():
            for x in filter(programs.is_alive, started()):
                os.kill(x, signal.SIGKILL)
        self.addCleanup(end_all)
        wait_for("a program and a daemon",
                 lambda: os.path.exists(pids) and len(started()) == 2)
        program, daemon = map(programs.is_alive, started())
        self.assertTrue(program and daemon)
        process.stdin.close()
        self.assertEqual(0, process.wait(PATIENCE))
        self.assertFalse([x for x in started() if programs.is_alive(x)])


class Trained(Scaling):
    """With trainers that train."""

    def test_they_come_with_work_and_go_without(self):
        process = self.keep_scaling(
            "--max", "3", "--idle", "3s",
            program=os.path.abspath(programs.TRAINER))
        time.sleep(1)
        self.assertEqual([], self.jobs())
        self.submit()
        self.hippo("watch", "waves", "--server", self.server)
        top = self.hippo("top", "--once", "--all", "--server", self.server)
        self.assertIn("hippo-1:", top.out)
        names = [x["name"] for x in self.jobs()]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual(len(names), 3)
        wait_for("their end", lambda: not self.alive())
        self.assertIn("it has had no work for ", self.said(process))
        self.submit("again", train=128)  # nothing of it is known
        wait_for("new ones", self.alive)
        self.hippo("watch", "again", "--server", self.server)
        after = [x["name"] for x in self.jobs()]
        self.assertEqual(len(after), len(set(after)))


class Ray(Scaling):
    def setUp(self):
        super().setUp()
        self.python = self.program(
            "bin/python-of-ray",
            f'#!/bin/sh\necho "$@" >> {self.path("engine/python.log")}\n'
            f"exec {sys.executable} {stand_ins.HERE} ray\n")

    def ray(self, *args, **options):
        return self.scale("--python", self.python, *args, on="ray", **options)

    def calls(self):
        with open(self.path("engine/calls.log")) as log:
            return [json.loads(x) for x in log]

    def test_calls_are_lines_of_json(self):
        self.submit()
        self.ray("--max", "1", "--once", "--ray-address", "ray://head:10001",
                 more=", memory: 2Gi")
        with open(self.path("engine/python.log")) as log:
            self.assertEqual("-m hippo_hpo.ray_engine --address "
                             "ray://head:10001\n", log.read())
        listing, again, start = self.calls()
        self.assertEqual({"call": "list", "fleet": "hippo"}, listing)
        self.assertEqual(listing, again)
        self.assertEqual(
            {"call": "start", "fleet": "hippo", "name": "hippo-1",
             "group": "cpu", "gpus": 0, "cpus": 1, "memory_bytes": 2 << 30,
             "command": [self.path("bin/idle"), "--connect",
                         f"127.0.0.1:{self.ports[0]}", "--threads", "1",
                         "--gang-listen", "auto", "--notice", "10", "--name",
                         "hippo-1"],
             "env": {}}, start)
        self.ray("--down")
        self.assertIn({"call": "end", "id": "1"}, self.calls())
        self.assertEqual([], self.alive())

    def test_a_program_that_dies_is_started_again(self):
        process = self.keep_scaling("--max", "1", "--min", "1", "--python",
                                    self.python, on="ray")
        wait_for("a trainer", self.alive)
        self.fail("list", "die")
        wait_for("the complaint",
                 lambda: "its messages are above" in self.said(process))
        wait_for("the end of it", lambda: "answer again"
                 in self.said(process))
        self.assertEqual(["hippo-1"], self.alive())

    def test_refusals_are_sentences(self):
        self.fail("start", "the cluster has no GPU")
        done = self.ray("--max", "1", "--min", "1", "--once")
        self.assertIn("may not have started: the cluster has no GPU", done.err)
        self.program("bin/python-of-ray", "#!/bin/sh\nread x\necho hello\n")
        done = self.ray("--max", "1", "--once", code=1)
        self.assertIn("the program of Ray", done.err)
        done = self.scale("--max", "1", "--python", self.path("none"),
                          on="ray", code=1)
        self.assertIn(self.path("none"), done.err)


class Kubernetes(Scaling):
    def setUp(self):
        super().setUp()
        self.certificate = None
        if shutil.which("openssl"):
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                 "-subj", "/CN=api", "-addext",
                 "subjectAltName=IP:127.0.0.1", "-keyout", self.path("key"),
                 "-out", self.path("ca.crt")],
                check=True, capture_output=True)
            with open(self.path("both.pem"), "w") as out:
                for name in ("ca.crt", "key"):
                    with open(self.path(name)) as part:
                        out.write(part.read())
            self.certificate = self.path("both.pem")
        self.api = stand_ins.ApiServer("secret", self.certificate)
        self.addCleanup(self.api.server_close)
        self.addCleanup(self.api.shutdown)
        self.write("token", "secret\n")

    def access(self, *args, namespace="lab"):
        return ["--api-server", self.api.address, "--token-file",
                self.path("token"), "--namespace", namespace,
                *(["--ca-file", self.path("ca.crt")] if self.certificate
                  else []), *args]

    def pods(self, *args, machines=PODS, namespace="lab", **options):
        return self.scale(*self.access(*args, namespace=namespace),
                          on="kubernetes", machines=machines, **options)

    def methods(self):
        return [x for x, _, _ in self.api.requests if x != "GET"]

    def test_a_job_for_each(self):
        self.submit()
        self.pods("--max", "3", "--once")
        self.assertEqual(["hippo-1", "hippo-2", "hippo-3"],
                         sorted(self.api.jobs))
        self.assertEqual("", self.pods("--max", "3", "--once").out,
                         "the list has several parts")
        self.assertEqual(["POST"] * 3, self.methods())
        done = self.pods("--down")
        self.assertEqual(3, done.out.count("taken down"))
        self.assertEqual({}, self.api.jobs)

    @unittest.skipUnless(VALIDATE.exists(), "scripts/setup has not installed "
                         "kubernetes-validate")
    def test_jobs_keep_to_the_schemas(self):
        self.pods("--max", "1", "--min", "1", "--once",
                  machines=PODS.replace("count_max: 8", "gpus: 1, queue: q"))
        text = [body for method, _, body in self.api.requests
                if method == "POST"][0]
        self.assertIn("kueue.x-k8s.io/queue-name: q", text)
        done = subprocess.run(
            [VALIDATE, "--strict", "-k", "1.31", self.write("job.yaml", text)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.assertEqual(0, done.returncode, done.stdout)

    def test_a_name_that_is_taken_was_started(self):
        self.submit()
        self.api.lost = 1
        # The request is sent again by whoever carries it, and refused then.
        self.pods("--max", "1", "--once")
        self.assertEqual(["POST", "POST"], self.methods())
        self.assertEqual(["hippo-1"], list(self.api.jobs))
        self.assertEqual("", self.pods("--max", "1", "--once").out)
        # The list is late: the same name is asked for, and refused.
        os.remove(self.path("journal"))
        hidden = self.api.jobs["hippo-1"]["metadata"]["labels"]
        hidden["hippo-fleet"] = "hidden"
        done = self.pods("--max", "1", "--once")
        self.assertEqual("", done.err)
        self.assertEqual(["hippo-1"], list(self.api.jobs))

    def test_an_api_server_that_is_busy(self):
        self.submit()
        self.api.answers.append(("POST", (429, [("Retry-After", "2")],
                                          "too many requests")))
        process = self.keep_scaling(*self.access("--max", "1"),
                                    on="kubernetes", machines=PODS)
        wait_for("the refusal", lambda: "429: too many requests"
                 in self.said(process))
        wait_for("the pause", lambda: "has asked for a pause"
                 in self.said(process))
        asked = len(self.api.requests)
        time.sleep(0.5)
        self.assertEqual(asked, len(self.api.requests))
        wait_for("the end of it", lambda: "answer again"
                 in self.said(process))
        self.api.answers.append(("GET", (503, [], "etcd is away")))
        wait_for("the complaint", lambda: "503: etcd is away"
                 in self.said(process))

    def test_who_has_no_rights_is_told(self):
        self.write("token", "wrong")
        done = self.pods("--max", "1", code=1)
        self.assertIn("the API server says 401: Unauthorized", done.err)
        self.write("token", "secret")
        done = self.pods("--max", "1", namespace="other", code=1)
        self.assertIn("403: jobs.batch is forbidden", done.err)
        os.remove(self.path("token"))
        done = self.pods("--max", "1", code=1)
        self.assertIn("there is no token", done.err)

    def test_outside_a_pod_it_must_be_said_where(self):
        self.env.pop("KUBERNETES_SERVICE_HOST", None)
        done = self.scale("--max", "1", on="kubernetes", machines=PODS, code=2)
        self.assertIn("--api-server", done.err)

    def test_another_certificate_is_refused(self):
        if not self.certificate:
            self.skipTest("there is no openssl to make certificates")
        self.certificate = None  # so that it is not named
        done = self.pods("--max", "1", "--once", code=1)
        self.assertIn("does not answer", done.err)


if __name__ == "__main__":
    programs.main()
