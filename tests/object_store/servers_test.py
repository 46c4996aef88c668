"""Objects in two real stores, over links that are good and bad."""

import os
import shutil
import subprocess
import tempfile
import time
import unittest

from stores import BUCKET, PATIENCE, Link, Moto, MotoOnce, Rclone, wait_for

TOOL = os.environ["OBJECT_TOOL"]
VENV = os.environ["OBJECT_VENV"]
PART = 5 << 20  # the least that stores take


class Objects:
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.store = cls.make(VENV, cls.folder)
        cls.addClassCleanup(cls.store.end)

    def setUp(self):
        self.link = Link(self.store.port)
        self.addCleanup(self.link.end)
        self.prefix = self.id().rsplit(".", 1)[1]

    def command(self, *args, part=PART, silence=20):
        return [TOOL, f"s3://{BUCKET}/{self.prefix}",
                f"http://127.0.0.1:{self.link.port}", str(part), str(silence),
                *args]

    def run_tool(self, *args, data=b"", code=0, env=None, **how):
        done = subprocess.run(
            self.command(*args, **how), input=data, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=env or self.store.environment(),
            timeout=PATIENCE)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done

    def get(self, name, **how):
        return self.run_tool("get", name, **how).stdout

    def put(self, name, data, **how):
        return self.run_tool("put", name, data=data, **how)

    def test_what_is_written_is_read(self):
        for name, data in (("empty", b""), ("one", b"\0"),
                           ("key/n1-s2-l3.ckpt.00ff", os.urandom(3 << 20))):
            self.put(name, data)
            self.assertEqual(self.get(name), data)
            self.put(name, data)  # once more is harmless
            self.assertEqual(self.get(name), data)

    def test_large_ones_go_in_parts(self):
        data = os.urandom(2 * PART + 12345)
        self.put("large", data)
        self.assertEqual(self.get("large"), data)

    def test_they_are_listed_and_deleted(self):
        self.put("a/1", b"x")
        self.put("a/2", b"yz")
        self.put("b/1", b"")
        listed = self.run_tool("list", "a/").stdout.decode().split("\n")
        self.assertEqual(listed, [f"{self.prefix}/a/1 1 dated",
                                  f"{self.prefix}/a/2 2 dated", ""])
        self.run_tool("remove", "a/1")
        self.run_tool("remove", "a/1")  # it is gone already
        self.assertIn(b"missing", self.run_tool("get", "a/1", code=1).stderr)
        self.assertEqual(self.get("a/2"), b"yz")

    def test_a_wrong_secret_is_refused_at_once_and_not_told(self):
        env = self.store.environment(AWS_SECRET_ACCESS_KEY="wrong-secret-word")
        for args in (("put", "a"), ("get", "a"), ("list", "")):
            said = self.run_tool(*args, env=env, code=1).stderr.decode()
            self.assertIn("status 403", said)
            self.assertNotIn("wrong-secret-word", said)
            self.assertNotIn(self.store.secret, said)

    def test_credentials_are_read_from_the_file_that_tools_share(self):
        path = os.path.join(self.folder, "credentials")
        with open(path, "w") as out:
            out.write(f"[default]\naws_access_key_id = nobody\n"
                      f"aws_secret_access_key = none\n[gpu]\n"
                      f"aws_access_key_id = {self.store.id}\n"
                      f"aws_secret_access_key = {self.store.secret}\n")
        env = self.store.environment(AWS_SHARED_CREDENTIALS_FILE=path,
                                     AWS_PROFILE="gpu")
        del env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"]
        self.put("a", b"abc", env=env)
        self.assertEqual(self.get("a"), b"abc")

    def test_a_store_that_has_too_much_to_do_is_asked_again(self):
        self.link.refusals = 3
        self.put("a", b"abc")
        self.link.refusals = 3
        self.assertEqual(self.get("a"), b"abc")
        self.link.refusals = 1000
        said = self.put("b", b"abc", code=1).stderr.decode()
        self.assertIn("status 503, SlowDown", said)
        self.link.refusals = 0
        self.assertIn(b"missing", self.run_tool("get", "b", code=1).stderr)

    def test_a_cut_link_costs_one_more_attempt(self):
        data = os.urandom(1 << 20)
        self.link.cut_after = 300_000
        self.put("a", data)
        self.assertIsNone(self.link.cut_after)
        self.assertEqual(self.get("a"), data)

    def test_a_slow_link_is_no_silent_one(self):
        data = os.urandom(600_000)
        self.link.bytes_per_second = 300_000
        self.put("a", data, silence=1)
        self.link.bytes_per_second = None
        self.assertEqual(self.get("a"), data)

    def test_a_silent_store_is_given_up(self):
        self.link.is_silent = True
        begin = time.monotonic()
        said = self.put("a", b"abc", silence=1, code=1).stderr.decode()
        self.assertIn("tried 6 times", said)
        self.assertLess(time.monotonic() - begin, PATIENCE)

    def test_killed_in_the_midst_of_an_upload(self):
        for part in (PART, 64 << 20):  # in parts and whole
            name = f"a{part}"
            data = os.urandom(2 * PART)
            self.link.sent = 0
            self.link.bytes_per_second = 2 << 20
            with subprocess.Popen(
                    self.command("put", name, part=part), stdin=subprocess.PIPE,
                    env=self.store.environment()) as process:
                process.stdin.write(data)
                process.stdin.close()
                wait_for("half of it", lambda: self.link.sent > PART)
                process.kill()
            self.link.bytes_per_second = None
            said = self.run_tool("get", name, code=1).stderr
            self.assertIn(b"missing", said)
            self.put(name, data, part=part)
            self.assertEqual(self.get(name), data)


@unittest.skipUnless(os.path.exists(os.path.join(VENV, "bin", "rclone")),
                     "there is no rclone: run scripts/setup")
class RcloneStore(Objects, unittest.TestCase):
    make = Rclone


@unittest.skipUnless(os.path.exists(os.path.join(VENV, "bin", "moto_server")),
                     "there is no moto: run scripts/setup")
class MotoStore(Objects, unittest.TestCase):
    make = Moto


@unittest.skipUnless(os.path.exists(os.path.join(VENV, "bin", "moto_server")),
                     "there is no moto: run scripts/setup")
class WebIdentity(unittest.TestCase):
    def test_gets_credentials_that_the_store_takes(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder, True)
        store = MotoOnce(VENV, folder)
        self.addCleanup(store.end)
        token = os.path.join(folder, "token")
        with open(token, "w") as out:
            out.write("a.web.identity")
        url = f"http://127.0.0.1:{store.port}"
        env = store.environment(
            AWS_WEB_IDENTITY_TOKEN_FILE=token, AWS_ROLE_ARN=store.role,
            AWS_ENDPOINT_URL_STS=url)
        del env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"]
        tool = [TOOL, f"s3://{BUCKET}/p", url, str(PART), "20"]
        # One process asks for credentials once, and signs all parts with them.
        data = os.urandom(2 * PART)
        done = subprocess.run([*tool, "put", "a"], input=data, env=env,
                              stderr=subprocess.PIPE, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        read = subprocess.run([*tool, "get", "a"], env=store.environment(),
                              stdout=subprocess.PIPE, timeout=PATIENCE)
        self.assertEqual(read.stdout, data)


if __name__ == "__main__":
    unittest.main()
