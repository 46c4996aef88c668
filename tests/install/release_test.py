#!/usr/bin/env python3
"""scripts/release in a clone, whose builds are stand-ins: what it refuses, the
files that it gathers, and its tag.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Programs that take long, and the file that each makes.
BUILDS = {
    "scripts/wheel": 'echo x >"$1/hippo_hpo.whl"',
    "scripts/pack": 'mkdir -p "$1/bin" && echo x >"$1/bin/hippo"',
    "scripts/test": 'echo x >build/tested',
    "bin/cpack": 'mkdir -p "$4" && echo x >"$4/hippo.deb"',
}


@unittest.skipUnless((ROOT / ".git").exists(), "this is no checkout of git")
class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.clone = pathlib.Path(folder.name) / "clone"
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", "--sparse",
                        f"file://{ROOT}", cls.clone], check=True)
        subprocess.run(["git", "sparse-checkout", "set", "python", "scripts"],
                       cwd=cls.clone, check=True)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "clone"
        shutil.copytree(self.clone, self.root, symlinks=True)
        # As it is here, committed or not.
        (self.root / "scripts/release").write_bytes(
            (ROOT / "scripts/release").read_bytes())
        for name, line in BUILDS.items():
            path = self.root / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"#!/bin/sh\nset -e\nmkdir -p build\n{line}\n")
            path.chmod(0o755)
        self.edit("CMakeLists.txt", r"(project\(hippo VERSION) \S+",
                  r"\1 0.9.1")
        self.edit("python/pyproject.toml", r'(?m)^version = ".*"',
                  'version = "0.9.1"')
        self.edit("python/pyproject.toml", r"(hippo-hpo-trainer==)[\d.]+",
                  r"\g<1>0.9.1")
        (self.root / "CHANGELOG.md").write_text(
            "# Changelog\n\n## [0.9.1] - 2026-01-02\n\n- This.\n\n"
            "## [0.9.0] - 2025-01-02\n\n- That.\n")
        self.commit()

    def git(self, *words):
        return subprocess.run(
            ["git", "-c", "user.name=A", "-c", "user.email=a@localhost",
             *words], cwd=self.root, check=True, text=True,
            stdout=subprocess.PIPE).stdout

    def commit(self):
        # bin/ lies outside of what the clone has.
        self.git("add", "--all", "--sparse")
        self.git("commit", "--quiet", "--message", "Change")

    def edit(self, name, pattern, text):
        path = self.root / name
        old = path.read_text()
        new = re.sub(pattern, text, old)
        self.assertNotEqual(new, old)
        path.write_text(new)

    def release(self, *flags):
        environment = {
            **os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}",
            "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@localhost"}
        return subprocess.run(["scripts/release", *flags], cwd=self.root,
                              env=environment, text=True, capture_output=True)

    def assert_refused(self, problem):
        done = self.release("--dry-run")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, problem)
        self.assertEqual(done.stdout, "")

    def test_a_release_has_its_files_and_its_tag(self):
        done = self.release()
        self.assertEqual(done.returncode, 0, done.stderr)
        files = {x.name for x in (self.root / "build/release-0.9.1").iterdir()}
        pack, = [x for x in files if x.endswith(".tar.gz")]
        self.assertEqual(files, {"NOTES.md", "SHA256SUMS", "hippo.deb",
                                 "hippo_hpo.whl", pack})
        self.assertTrue((self.root / "build/tested").exists())
        tag = self.git("cat-file", "tag", "v0.9.1")
        self.assertIn("Hippo 0.9.1", tag)
        self.assertIn("- This.", tag)
        self.assertNotIn("- That.", tag)
        self.assert_refused("there is a tag v0.9.1")

    def test_tests_can_be_left_out(self):
        self.assertEqual(self.release("--no-tests").returncode, 0)
        self.assertFalse((self.root / "build/tested").exists())

    def test_a_dry_run_does_nothing(self):
        done = self.release("--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("+ scripts/test\n", done.stdout)
        self.assertIn("+ git tag -a v0.9.1", done.stdout)
        self.assertFalse((self.root / "build").exists())
        self.assertEqual(self.git("tag"), "")

    def test_changes_are_committed(self):
        (self.root / "new").write_text("x")
        self.assert_refused("not committed")

    def test_versions_agree(self):
        self.edit("python/pyproject.toml", r"(hippo-hpo-trainer==)[\d.]+",
                  r"\g<1>0.9.0")
        self.commit()
        self.assert_refused("builtin is 0.9.0, not 0.9.1")
        self.edit("python/pyproject.toml", r'(?m)^version = ".*"',
                  'version = "0.9.2"')
        self.commit()
        self.assert_refused("has version 0.9.2, not 0.9.1")

    def test_the_changelog_has_the_version_with_its_date(self):
        self.edit("CHANGELOG.md", r"2026-01-02", "unreleased")
        self.commit()
        self.assert_refused(r"CHANGELOG.md begins with '## \[0.9.1\] - unrel")
        self.edit("CHANGELOG.md", r"(?s)## \[0.9.1\].*?- This.\n\n", "")
        self.commit()
        self.assert_refused("says nothing about 0.9.1")


if __name__ == "__main__":
    unittest.main()
