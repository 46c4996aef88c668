#!/usr/bin/env python3
"""Scripts that complete command lines, read by the shells they are for."""

import shutil
import subprocess

import programs
from programs import Case


class Completion(Case):
    def completed(self, *words):
        """What bash offers for a line whose last word is being typed."""
        script = self.hippo("completion", "bash").out + f"""
COMP_WORDS=({' '.join(f"'{x}'" for x in ('hippo', *words))})
COMP_CWORD={len(words)}
_hippo
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
        done = subprocess.run(["bash", "-uc", script], text=True,
                              capture_output=True, timeout=60)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout.split()

    def test_bash_completes_verbs_options_and_values(self):
        self.assertEqual(["restore", "resume", "retry"],
                         self.completed("re"))
        self.assertEqual({"--merge", "--machines", "--members"},
                         set(self.completed("run", "a.yaml", "--m")))
        self.assertEqual(["on", "off"], self.completed("run", "--merge", ""))
        self.assertEqual(["add"], self.completed("keys", "a"))
        self.assertIn("--role", self.completed("keys", "add", "gpu1", "--r"))
        self.assertEqual([], self.completed("submit", "a.ya"))  # then files

    def test_each_verb_is_there(self):
        for shell in "bash", "zsh", "fish":
            text = self.hippo("completion", shell).out
            for verb in "run", "serve", "ls", "best", "token":
                self.assertIn(verb, text)
        self.assertIn("bash,zsh,fish",
                      self.hippo("completion", "tcsh", code=2).err)

    def test_others_can_read_theirs(self):
        for shell, check in (("zsh", ["-n"]), ("fish", ["--no-execute"])):
            with self.subTest(shell):
                if not shutil.which(shell):
                    self.skipTest(f"there is no {shell} here")
                path = self.write("script", self.hippo("completion",
                                                       shell).out)
                subprocess.run([shell, *check, path], check=True, timeout=60)

    def test_fish_completes(self):
        if not shutil.which("fish"):
            self.skipTest("there is no fish here")
        path = self.write("hippo.fish", self.hippo("completion", "fish").out)
        for line, offered in (("hippo res", ["restore", "resume"]),
                              ("hippo run --merge ", ["off", "on"]),
                              ("hippo keys a", ["add"])):
            done = subprocess.run(
                ["fish", "--no-config", "-c",
                 f"source {path}; complete -C '{line}'"], text=True,
                capture_output=True, timeout=60, check=True)
            self.assertEqual(offered, sorted(
                x.split("\t")[0] for x in done.stdout.splitlines()))


if __name__ == "__main__":
    programs.main()
