"""The other end of a workload process: what a trainer does."""

import os
import socket
import subprocess
import sys

from hippo_hpo._schema import process


class Trainer:
    """Starts a process for FILE.py:CLASS and asks it things."""

    def __init__(self, *command, cwd=None):
        ours, theirs = socket.socketpair()
        self.stream = ours.makefile("rwb", buffering=0)
        self.socket = ours
        self.process = subprocess.Popen(
            [sys.executable, "-B", "-m", "hippo_hpo.workload_process",
             *command],
            pass_fds=[theirs.fileno()], cwd=cwd,
            env={**os.environ, "HIPPO_SOCKET": str(theirs.fileno()),
                 "OMP_NUM_THREADS": "1"})
        theirs.close()
        self.number = 0

    def ask(self, what, fill=None):
        self.number += 1
        request = process.Request.new_message(number=self.number)
        if fill is None:
            setattr(request, what, None)
        elif callable(fill):
            fill(request.init(what))
        else:
            setattr(request, what, fill)
        request.write(self.stream)
        answer = process.Answer.read(self.stream)
        assert answer.number == self.number
        return answer

    def setup(self, **args):
        def fill(x):
            x.seed, x.device, x.threads = 3, "cpu", 1
            for to, (name, value) in zip(x.init("args", len(args)),
                                         sorted(args.items())):
                to.name = name
                if isinstance(value, str):
                    to.value.word = value
                else:
                    to.value.number = value
        return self.ask("setup", fill)

    def train(self, start, stop, **values):
        def fill(x):
            setattr(x, "from", start)
            x.to = stop
            for to, (name, value) in zip(x.init("values", len(values)),
                                         sorted(values.items())):
                to.name = name
                to.numbers = value
        return self.ask("train", fill)

    def metrics(self):
        return {x.name: x.value for x in self.ask("evaluate").metrics}

    def close(self):
        self.stream.close()
        self.socket.close()
        return self.process.wait(30)
