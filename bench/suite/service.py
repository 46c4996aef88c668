"""A service with trainers that only wait, for as long as a benchmark needs it."""

import contextlib
import re
import subprocess
import threading


class Service:
    """A `hippo serve` with simulated trainers.

    address: where clients connect
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
                r"hippo: (\w+) (?:connect to|look at) (\S+?)(/healthz)?$", line)
            if found:
                where[found[1]] = found[2]
            if len(where) == 3:
                break
        self._trainers = where["trainers"]
        self.address = where["clients"]
        self.http = where["people"]
        self.pid = self._process.pid
        # Nobody reads on, and the pipe must not fill up.
        threading.Thread(target=self._process.stderr.read, daemon=True).start()

    def add_trainers(self, count, step_seconds=0):
        self._children.append(subprocess.Popen(
            [self._bench.program("simulated_trainers"), self._trainers,
             str(count), str(step_seconds)], stderr=subprocess.DEVNULL))

    def resident_mb(self):
        """The memory that the service takes now."""
        with open(f"/proc/{self.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024

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
        yield running
    finally:
        running.close()
