"""Runs a program as long as its own standard input is open. Then it kills the
program and all processes that have come of it, also those that have made
themselves daemons: however the test ends that has started it.

    guard.py COMMAND [ARG...]
"""

import ctypes
import os
import signal
import subprocess
import sys

from programs import children

PR_SET_CHILD_SUBREAPER = 36


def main():
    # Orphans become children of this process.
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("guard: cannot adopt orphans")
    subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    # Nobody waits for those that end meanwhile.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdin.buffer.read()
    # From now on a number that was seen stays that of the same process.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    while True:
        for pid in children(os.getpid()):
            os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


if __name__ == "__main__":
    main()
