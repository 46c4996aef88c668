"""A service, a trainer and a client on two machines, each a network namespace,
with certificates. Skipped where the kernel does not allow namespaces."""

import json
import os
import shutil
import subprocess
import sys
import unittest

from gangs_test import STUDY as GANGS
from programs import HIPPO, PATIENCE, TRAINER, Case, main, study, wait_for

SERVICE = "10.213.77.1"
OTHER = "10.213.77.2"
MOVED = "10.213.77.3"


# Opens connections one after the other that show no certificate.
KNOCK = """
import socket, ssl, sys
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
while True:
    try:
        with socket.create_connection((sys.argv[1], 4848)) as plain:
            with context.wrap_socket(plain) as stream:
                stream.recv(1)
    except OSError:
        pass
"""


def ip(*args):
    return subprocess.run(["ip", *args], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


class TwoMachines(Case):
    @classmethod
    def setUpClass(cls):
        cls.near = f"hippo-near-{os.getpid()}"
        cls.far = f"hippo-far-{os.getpid()}"
        if not shutil.which("ip") or not ip("netns", "add", cls.near):
            raise unittest.SkipTest("no network namespaces here")
        cls.addClassCleanup(ip, "netns", "delete", cls.near)
        ip("netns", "add", cls.far)
        cls.addClassCleanup(ip, "netns", "delete", cls.far)
        made = ip("link", "add", "hippo0", "netns", cls.near, "type", "veth",
                  "peer", "name", "hippo1", "netns", cls.far)
        for namespace, device, address in (
                (cls.near, "hippo0", SERVICE), (cls.far, "hippo1", OTHER)):
            made = made and ip("-n", namespace, "addr", "add", f"{address}/24",
                               "dev", device)
            made = made and ip("-n", namespace, "link", "set", device, "up")
            made = made and ip("-n", namespace, "link", "set", "lo", "up")
        if not made:
            raise unittest.SkipTest("two namespaces cannot be connected here")

    def launch(self, namespace, log, *command):
        out = open(self.path(log), "w")
        self.addCleanup(out.close)
        process = subprocess.Popen(
            ["ip", "netns", "exec", namespace, *map(str, command)],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.addCleanup(self.end, process)
        return process

    def said(self, log):
        with open(self.path(log)) as text:
            return text.read()

    def ask(self, *args, code=0):
        """Runs a client verb on the other machine."""
        done = subprocess.run(
            ["ip", "netns", "exec", self.far, HIPPO, *map(str, args),
             "--server", f"{SERVICE}:4849"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def keys(self, folder, *names):
        self.hippo("keys", "init", "--keys", self.path(folder))
        for name, role in names:
            self.hippo("keys", "add", name, "--role", role, "--keys",
                       self.path(folder))

    def test_keys_let_in_who_has_one_and_nobody_else(self):
        self.keys("keys", ("gpu", "trainer"), ("ada", "client"))
        self.keys("foreign", ("gpu", "trainer"), ("eve", "client"))
        self.launch(
            self.near, "service.log", HIPPO, "serve", "--state",
            self.path("state"), "--keys", self.path("keys"), "--listen",
            f"{SERVICE}:4848", "--rpc", f"{SERVICE}:4849", "--http",
            "127.0.0.1:4850")
        wait_for("the service", lambda: "clients connect to"
                 in self.said("service.log"))

        for log, key, why in (
                ("wrong-role.log", "keys/ada.pem", "needs one of a trainer"),
                ("foreign.log", "foreign/gpu.pem", "authority")):
            self.launch(self.far, log, TRAINER, "--connect", f"{SERVICE}:4848",
                        "--keys", self.path(key))
            wait_for(why, lambda: why in self.said(log))
        refused = self.ask("ls", "--keys", self.path("foreign/eve.pem"), code=1)
        self.assertIn("authority", refused.stderr)
        refused = self.ask("ls", "--keys", self.path("keys/gpu.pem"), code=1)
        self.assertIn("client", refused.stderr)

        # The other machine does not see the folder of the service.
        self.launch(self.far, "trainer.log", "unshare", "--mount", "sh", "-c",
                    'mount -t tmpfs none "$0" && exec "$@"', self.path("state"),
                    TRAINER, "--connect", f"{SERVICE}:4848", "--keys",
                    self.path("keys/gpu.pem"))
        # Whoever is kept out harms nobody who has come in.
        self.launch(self.far, "knocking.log", sys.executable, "-c", KNOCK,
                    SERVICE)
        file = self.write("a.yaml", study("a", {"sha": {"eta": 3, "min": 1}}))
        self.ask("submit", file, "--wait", "--keys", self.path("keys/ada.pem"))
        listed = self.ask("ls", "-f", "json", "--keys",
                          self.path("keys/ada.pem"))
        self.assertEqual(json.loads(listed.stdout)[0]["state"], "COMPLETE")
        trainers = self.ask("top", "--columns", "device", "--keys",
                            self.path("keys/ada.pem")).stdout
        self.assertIn("cpu", trainers)
        self.assertIn("checkpoints come over the network",
                      self.said("trainer.log"))
        self.assertNotIn("lost", self.said("service.log"))

    def insecure_service(self, log):
        process = self.launch(
            self.near, log, HIPPO, "serve", "--insecure", "--state",
            self.path("state"), "--listen", f"{SERVICE}:4848", "--rpc",
            f"{SERVICE}:4849", "--http", "127.0.0.1:4850")
        wait_for("the service", lambda: "clients connect to"
                 in self.said(log))
        return process

    def move_far(self, before, after):
        """Gives the other machine another address. A second one would go with
        the first."""
        for verb, address in ("del", before), ("add", after):
            self.assertTrue(ip("-n", self.far, "addr", verb, f"{address}/24",
                               "dev", "hippo1"))

    def test_gangs_meet_where_their_members_reach_the_service(self):
        service = self.insecure_service("service.log")
        for namespace, log, address in ((self.near, "near.log", SERVICE),
                                        (self.far, "far.log", OTHER)):
            self.launch(namespace, log, TRAINER, "--connect",
                        f"{SERVICE}:4848", "--gang-listen", "auto")
            wait_for(log, lambda: "other trainers reach this one at "
                     f"{address}:" in self.said(log))
        self.ask("submit", self.write("gangs.yaml", GANGS))
        wait_for("a gang", lambda: [
            2, 2] == [x.get("members") for x in json.loads(
                self.ask("top", "--once", "-f", "json").stdout)])
        wait_for("the end", lambda: "COMPLETE" == json.loads(
            self.ask("ls", "-f", "json").stdout)[0]["state"])
        # Both measured what was trained by then.
        self.assertNotIn("of trainer", self.said("service.log"))
        # The other machine gets another address.
        service.terminate()
        service.wait(PATIENCE)
        self.move_far(OTHER, MOVED)
        self.addCleanup(self.move_far, MOVED, OTHER)
        self.insecure_service("again.log")
        wait_for("the other address", lambda: "other trainers reach this one "
                 f"at {MOVED}:" in self.said("far.log"))
        self.assertEqual(
            1, self.said("near.log").count("other trainers reach"))

    def test_other_machines_are_kept_out_without_keys(self):
        done = self.hippo("serve", "--state", self.path("state"), "--listen",
                          "0.0.0.0:4848", code=2)
        self.assertIn("hippo keys init", done.err)
        self.assertFalse(os.path.exists(self.path("state")))

    def test_insecure_lets_everybody_in_and_warns(self):
        self.insecure_service("service.log")
        self.assertIn("warning serve: --insecure: everybody",
                      self.said("service.log"))
        self.assertEqual(self.ask("ls", "-f", "json").stdout.strip(), "[]")


if __name__ == "__main__":
    main()
