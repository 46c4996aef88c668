"""A service with trainers that only wait, for as long as a benchmark needs it."""

import contextlib
import json
import re
import subprocess
import threading


class Service:
    """A `hippo serve` with simulated trainers.

    address: where clients connect
    page: where people look
    """

    def __init__(self, bench, state, flags=()):
        self._bench = bench
        self.state = state
        self._children = []
        self._process = subprocess.Popen(
            [bench.program("hippo"), "serve", "--state", state,
             *[x for port in ("listen", "rpc", "http")
               for x in (f"--{port}", "127.0.0.1:0")], *flags],
            stderr=subprocess.PIPE, text=True)
        where = {}
        for line in self._process.stderr:
            found = re.match(
                r"hippo: (\w+) (?:connect to|look at) (\S+?)$", line)
            if found:
                where[found[1]] = found[2]
            if len(where) == 3:
                break
        self._trainers = where["trainers"]
        self.address = where["clients"]
        self.page = where["people"]
        self.pid = self._process.pid
        # Nobody reads on, and the pipe must not fill up.
        threading.Thread(target=self._process.stderr.read, daemon=True).start()

    def add_trainers(self, count, step_seconds=0):
        self._children.append(subprocess.Popen(
            [self._bench.program("simulated_trainers"), self._trainers,
             str(count), str(step_seconds)],
            stdout=subprocess.PIPE, text=True))

    def wait_for_trainers(self, count):
        self._bench.client("wait_until.py", self.address, str(count))

    def wait_for_lease(self):
        """Waits until a trainer trains."""
        self._bench.client("wait_until.py", self.address, "trains")

    def stop(self):
        """Ends the service. Returns for how many seconds its trainers trained,
        and waited between two steps, added up.
        """
        self._process.kill()
        self._process.wait()
        told = [json.loads(child.stdout.read()) for child in self._children]
        return tuple(sum(x[key] for x in told) for key in ("busy", "idle"))

    def close(self):
        for child in self._children:
            child.kill()
            child.wait()
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def service(bench, state, trainers=0, step_seconds=0, flags=()):
    """Starts a service in a state folder, and ends it."""
    running = Service(bench, state, flags)
    try:
        if trainers:
            running.add_trainers(trainers, step_seconds)
            running.wait_for_trainers(trainers)
        yield running
    finally:
        running.close()
