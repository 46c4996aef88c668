"""Stand-ins for the engines of `hippo scale`, which keep what they are told.

Slurm's three commands and Ray's engine are this file as a program; Kubernetes
is an API server on loopback. Each can be told to fail.
"""

import fcntl
import http.server
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

HERE = os.path.abspath(__file__)


class Queue:
    """Jobs in a file, by number; one process has it at a time."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        self.file = open(os.path.join(self.folder, "queue.json"), "a+")
        fcntl.flock(self.file, fcntl.LOCK_EX)
        self.file.seek(0)
        self.jobs = json.loads(self.file.read() or "[]")
        for job in self.jobs:
            if job["state"] == "RUNNING" and not runs(job["pid"]):
                job["state"] = "COMPLETED"
        return self

    def __exit__(self, *_):
        self.file.seek(0)
        self.file.truncate()
        self.file.write(json.dumps(self.jobs))
        self.file.close()

    def add(self, **job):
        job["id"] = len(self.jobs) + 1
        self.jobs.append(job)
        return job


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def faults(folder, call):
    """Pops the next fault of a call, a line of its file; the last one stays if
    it begins with `always `."""
    path = os.path.join(folder, f"fail-{call}")
    try:
        with open(path) as file:
            lines = file.read().splitlines()
    except OSError:
        return ""
    if not lines:
        return ""
    if lines[0].startswith("always "):
        return lines[0][len("always "):]
    with open(path, "w") as file:
        file.write("\n".join(lines[1:]))
    return lines[0]


def launch(folder, name, command, env=None):
    with open(os.path.join(folder, f"{name}.out"), "a") as out:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                                stderr=out, cwd=folder, env=env,
                                start_new_session=True).pid


# -- Slurm --------------------------------------------------------------------


def sbatch(folder):
    script = sys.stdin.read()
    fault = faults(folder, "sbatch")
    if fault and not fault.startswith("lost "):
        sys.exit(f"sbatch: error: {fault}")
    said = dict(re.findall(r"^#SBATCH --([a-z-]+)=(.*)$", script, re.M))
    path = os.path.join(folder, f"{said['job-name']}.sh")
    with open(path, "w") as out:
        out.write(script)
    with Queue(folder) as queue:
        waits = os.path.exists(os.path.join(folder, "no-room"))
        job = queue.add(name=said["job-name"], comment=said["comment"],
                        state="PENDING" if waits else "RUNNING", pid=0)
        if not waits:
            job["pid"] = launch(folder, job["name"], ["bash", path])
    if fault:
        sys.exit(f"sbatch: error: {fault[len('lost '):]}")
    print(job["id"])


def squeue(folder):
    if "--json" not in sys.argv:
        sys.exit("squeue: only --json is known")
    fault = faults(folder, "squeue")
    if fault:
        sys.exit(f"slurm_load_jobs error: {fault}")
    with Queue(folder) as queue:
        print(json.dumps({"jobs": [
            {"job_id": x["id"], "name": x["name"], "comment": x["comment"],
             "job_state": x["state"]} for x in queue.jobs]}))


def scancel(folder):
    with open(os.path.join(folder, "scancel.log"), "a") as log:
        log.write(" ".join(sys.argv[1:]) + "\n")
    fault = faults(folder, "scancel")
    if fault:
        sys.exit(f"scancel: error: {fault}")
    gentle = "--signal=TERM" in sys.argv
    with Queue(folder) as queue:
        job = queue.jobs[int(sys.argv[-1]) - 1]
        if job["state"] == "RUNNING":
            try:
                (os.kill if gentle else os.killpg)(
                    job["pid"], signal.SIGTERM if gentle else signal.SIGKILL)
            except ProcessLookupError:
                pass
        if job["state"] == "PENDING" and not gentle:
            job["state"] = "CANCELLED"


# -- Ray ----------------------------------------------------------------------


def ray_engine(folder):
    for line in sys.stdin:
        x = json.loads(line)
        fault = faults(folder, x["call"])
        if fault == "die":
            sys.exit("the cluster is away")
        if fault == "hang":
            time.sleep(3600)
        with open(os.path.join(folder, "calls.log"), "a") as log:
            log.write(line)
        answer = {"error": fault, "temporary": True} if fault else {}
        if not fault:
            with Queue(folder) as queue:
                if x["call"] == "list":
                    answer["trainers"] = [
                        {"id": str(y["id"]), "name": y["name"],
                         "group": y["comment"],
                         "state": {"RUNNING": "running"}.get(y["state"],
                                                             "ended")}
                        for y in queue.jobs]
                elif x["call"] == "start":
                    job = queue.add(name=x["name"], comment=x["group"],
                                    state="RUNNING", pid=0)
                    job["pid"] = launch(folder, x["name"], x["command"],
                                        {**os.environ, **x["env"]})
                    answer["id"] = str(job["id"])
                else:
                    os.kill(queue.jobs[int(x["id"]) - 1]["pid"],
                            signal.SIGTERM)
        print(json.dumps(answer), flush=True)


# -- Kubernetes ---------------------------------------------------------------


class ApiServer(http.server.ThreadingHTTPServer):
    """Jobs of one namespace. `answers` are given first: pairs of a method and
    (status, headers, body); `lost` POSTs are done, and not answered."""

    daemon_threads = True

    def __init__(self, token, certificate=None):
        super().__init__(("127.0.0.1", 0), ApiHandler)
        self.token = token
        self.jobs = {}
        self.answers = []
        self.lost = 0
        self.requests = []
        self.lock = threading.Lock()
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        scheme = "https" if certificate else "http"
        self.address = f"{scheme}://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class ApiHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    FOLDER = "/apis/batch/v1/namespaces/lab/jobs"

    def log_message(self, *_):
        pass

    def handle(self):
        try:
            super().handle()
        except (ConnectionError, ssl.SSLError):
            pass

    def reply(self, status, body, headers=()):
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, status, why):
        self.reply(status, {"kind": "Status", "code": status, "message": why})

    def begin(self):
        """Returns the body; None if the request is answered already."""
        server = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with server.lock:
            server.requests.append((self.command, self.path, body.decode()))
            for i, (method, answer) in enumerate(server.answers):
                if method == self.command:
                    del server.answers[i]
                    status, headers, said = answer
                    self.reply(status, {"message": said}, headers)
                    return None
        if self.headers.get("Authorization") != f"Bearer {server.token}":
            self.refuse(401, "Unauthorized")
            return None
        if not self.path.startswith(self.FOLDER):
            self.refuse(403, f"jobs.batch is forbidden: {self.path}")
            return None
        return body.decode()

    def do_GET(self):
        if self.begin() is None:
            return
        asked = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
        fleet = asked["labelSelector"][0].split("=")[1]
        with self.server.lock:
            jobs = [x for _, x in sorted(self.server.jobs.items())
                    if x["metadata"]["labels"]["hippo-fleet"] == fleet]
        first = int(asked.get("continue", ["0"])[0])
        most = min(int(asked["limit"][0]), 2)  # to see that lists go on
        more = str(first + most) if first + most < len(jobs) else ""
        self.reply(200, {"metadata": {"continue": more},
                         "items": jobs[first:first + most]})

    def do_POST(self):
        text = self.begin()
        if text is None:
            return
        name = re.search(r"^  name: (\S+)$", text, re.M)[1]
        labels = dict(re.findall(r"^    (hippo-\w+): (\S+)$", text, re.M))
        with self.server.lock:
            if name in self.server.jobs:
                self.refuse(409, f'jobs.batch "{name}" already exists')
                return
            self.server.jobs[name] = {
                "metadata": {"name": name, "labels": labels},
                "status": {"active": 1}}
            if self.server.lost > 0:
                self.server.lost -= 1
                self.close_connection = True
                return
        self.reply(201, {})

    def do_DELETE(self):
        if self.begin() is None:
            return
        with self.server.lock:
            gone = self.server.jobs.pop(self.path.rpartition("/")[2], None)
        if gone is None:
            self.refuse(404, "not found")
        else:
            self.reply(200, {})


if __name__ == "__main__":
    {"sbatch": sbatch, "squeue": squeue, "scancel": scancel,
     "ray": ray_engine}[sys.argv.pop(1)](os.environ["STAND_IN"])
