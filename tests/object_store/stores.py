"""Two real servers of objects, and a link to one that may be bad."""

import json
import os
import signal
import socket
import subprocess
import threading
import time

PATIENCE = 120
BUCKET = "models"


def wait_for(what, ready, patience=PATIENCE):
    end = time.monotonic() + patience
    while not ready():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.05)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def connects(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


class Store:
    """A server with an empty bucket."""

    def __init__(self, venv, folder):
        self.port = free_port()
        self.log = open(os.path.join(folder, "store.log"), "w")
        self.start(venv, folder)
        wait_for("the store", lambda: connects(self.port))
        self.prepare(venv)

    def launch(self, *command, **env):
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log, env={**os.environ, **env})

    def prepare(self, venv):
        pass

    def environment(self, **changes):
        """What a program needs to use it."""
        return {**{k: v for k, v in os.environ.items()
                   if not k.startswith("AWS_")},
                "AWS_ACCESS_KEY_ID": self.id,
                "AWS_SECRET_ACCESS_KEY": self.secret,
                "AWS_EC2_METADATA_DISABLED": "true", **changes}

    def end(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()


class Rclone(Store):
    id, secret = "hippo-id", "hippo-secret"

    def start(self, venv, folder):
        os.makedirs(os.path.join(folder, "objects", BUCKET))
        self.launch(
            os.path.join(venv, "bin", "rclone"), "serve", "s3", "--addr",
            f"127.0.0.1:{self.port}", "--auth-key", f"{self.id},{self.secret}",
            "--config", os.devnull, "--vfs-cache-mode", "off",
            "--dir-cache-time", "1s",  # tests put files there, too
            os.path.join(folder, "objects"))


# Whoever comes after these calls shows a key.
PREPARE = """
import json, sys, boto3
url, bucket = sys.argv[1:]
def client(name):
    return boto3.client(name, endpoint_url=url, region_name="us-east-1",
                        aws_access_key_id="x", aws_secret_access_key="y")
client("s3").create_bucket(Bucket=bucket)
iam = client("iam")
everything = json.dumps(
    {"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]})
role = iam.create_role(RoleName="trainer", AssumeRolePolicyDocument="{}")
iam.put_role_policy(RoleName="trainer", PolicyName="all",
                    PolicyDocument=everything)
iam.create_user(UserName="hippo")
iam.put_user_policy(
    UserName="hippo", PolicyName="all", PolicyDocument=everything)
key = iam.create_access_key(UserName="hippo")["AccessKey"]
print(json.dumps([key["AccessKeyId"], key["SecretAccessKey"],
                  role["Role"]["Arn"]]))
"""


class Moto(Store):
    unsigned = 6  # calls that come first, those of PREPARE

    def start(self, venv, folder):
        self.launch(os.path.join(venv, "bin", "moto_server"), "-H", "127.0.0.1",
                    "-p", str(self.port),
                    INITIAL_NO_AUTH_ACTION_COUNT=str(self.unsigned))

    def prepare(self, venv):
        said = subprocess.run(
            [os.path.join(venv, "bin", "python"), "-c", PREPARE,
             f"http://127.0.0.1:{self.port}", BUCKET],
            stdout=subprocess.PIPE, check=True, timeout=PATIENCE)
        self.id, self.secret, self.role = json.loads(said.stdout)


class MotoOnce(Moto):
    """Takes one more call without a signature."""

    unsigned = 7


class Link:
    """A way to a store that can be slow, cut, silent, or answer 503."""

    def __init__(self, port):
        self.to = port
        self.refusals = 0  # answers of 503 to come
        self.cut_after = None  # bytes of the next connection that sends so many
        self.bytes_per_second = None
        self.is_silent = False
        self.sent = 0  # bytes towards the store
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(near,),
                             daemon=True).start()

    def refuse(self, near):
        head = b""
        while b"\r\n\r\n" not in head:
            part = near.recv(65536)
            if not part:
                return
            head += part
        head, body = head.split(b"\r\n\r\n", 1)
        length = 0
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        while len(body) < length:
            body += near.recv(65536) or b"\0" * length
        answer = b"<Error><Code>SlowDown</Code></Error>"
        near.sendall(b"HTTP/1.1 503 Slow Down\r\nConnection: close\r\n"
                     b"Content-Length: %d\r\n\r\n%s" % (len(answer), answer))

    def serve(self, near):
        try:
            with near:
                if self.is_silent:
                    while near.recv(65536):
                        pass
                    return
                with self.lock:
                    refused = self.refusals > 0
                    self.refusals -= refused
                if refused:
                    self.refuse(near)
                    return
                with socket.create_connection(("127.0.0.1", self.to)) as far:
                    back = threading.Thread(target=self.pump,
                                            args=(far, near, False),
                                            daemon=True)
                    back.start()
                    self.pump(near, far, True)
                    back.join()
        except OSError:
            pass

    def pump(self, source, target, is_forth):
        passed = 0
        try:
            while True:
                rate = self.bytes_per_second if is_forth else None
                part = source.recv(16384 if rate else 65536)
                if not part:
                    break
                if rate:
                    time.sleep(len(part) / rate)
                passed += len(part)
                if is_forth:
                    self.sent += len(part)
                    if self.cut_after is not None and passed > self.cut_after:
                        self.cut_after = None
                        source.shutdown(socket.SHUT_RDWR)
                        target.shutdown(socket.SHUT_RDWR)
                        return
                target.sendall(part)
        except OSError:
            pass
        for x in (source, target):
            try:
                x.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def end(self):
        self.listener.close()
