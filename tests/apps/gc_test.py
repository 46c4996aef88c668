"""What `hippo gc` explains, and what it gives up."""

import json
import os
import sqlite3
import time

import programs
from programs import SHA, Case, results, study


class Collection(Case):
    def setUp(self):
        super().setUp()
        first = study("first", SHA)
        second = study("second", SHA)
        second["workload"]["seed"] = 2
        self.files = self.studies(first, second)
        self.state = self.path("state")
        self.before = self.run_studies(self.files, "state")

    def gc(self, *args):
        return json.loads(self.hippo("gc", "--state", self.state, "-f", "json",
                                     *args).out)

    def checkpoints(self):
        """Every checkpoint that is known, and every file that there is."""
        with sqlite3.connect(os.path.join(self.state, "hippo.db")) as store:
            known = store.execute("SELECT count(*) FROM checkpoints")
            count, = known.fetchone()
        return count, sum(len(files) for _, _, files in os.walk(
            os.path.join(self.state, "checkpoints")))

    def test_within_the_budget_all_stays(self):
        before = self.checkpoints()
        plan = self.gc()
        self.assertEqual([x["given_up"] for x in plan["workloads"]], [[], []])
        self.assertEqual(self.checkpoints(), before)

    def test_says_what_would_go_and_why(self):
        before = self.checkpoints()
        plan = self.gc("--dry-run", "--checkpoint-budget", "0")
        self.assertEqual((plan["budget"], plan["dry_run"]), (0, True))
        for x in plan["workloads"]:
            self.assertEqual(len(x["given_up"]), x["checkpoints"])
            self.assertEqual(x["freed_bytes"], x["bytes"])
            self.assertTrue(all(y["steps_to_train_again"] > 0
                                for y in x["given_up"]))
        self.assertEqual(self.checkpoints(), before)
        text = self.hippo("gc", "--state", self.state, "--dry-run",
                          "--checkpoint-budget", "0").out
        self.assertIn("would give up", text)
        self.assertIn("the budget is 0 MB; would free", text)

    def change(self, sql, *values):
        with sqlite3.connect(os.path.join(self.state, "hippo.db")) as store:
            store.execute(sql, values)

    def test_what_only_hidden_trials_need_goes(self):
        before, _ = self.checkpoints()
        # As the service stores it that they are hidden.
        self.change("UPDATE studies SET removed = 1 WHERE name = 'second'")
        best = self.before["studies"][0]["best"]["trial"]
        self.change("DELETE FROM trials WHERE study = 1 AND trial != ?", best)
        first, second = self.gc("--dry-run")["workloads"]
        self.assertEqual(([], []), (first["given_up"], second["given_up"]))
        self.assertEqual(second["checkpoints"], len(second["hidden"]))
        self.assertEqual(second["bytes"], second["freed_bytes"])
        self.assertGreater(len(first["hidden"]), 0)
        self.assertLess(len(first["hidden"]), first["checkpoints"])
        self.assertEqual(before, self.checkpoints()[0])
        text = self.hippo("gc", "--state", self.state).out
        self.assertIn(f"gave up {len(second['hidden'])} of them that only "
                      "hidden trials need", text)
        known, files = self.checkpoints()
        self.assertEqual(before - len(first["hidden"]) - len(second["hidden"]),
                         known)
        self.assertLess(files, known + 2)
        # Of the trial that is left nothing was lost.
        self.assertEqual([[], []],
                         [x["hidden"] for x in self.gc()["workloads"]])

    def test_the_oldest_workload_gives_up_first(self):
        plan = self.gc("--dry-run")
        first, second = plan["workloads"]
        budget = second["bytes"] + first["bytes"] // 2
        first, second = self.gc("--checkpoint-budget",
                                budget)["workloads"]
        self.assertGreater(len(first["given_up"]), 0)
        self.assertLess(len(first["given_up"]), first["checkpoints"])
        self.assertEqual(second["given_up"], [])
        cost = [x["steps_to_train_again"] for x in first["given_up"]]
        self.assertEqual(cost, sorted(cost))
        known, files = self.checkpoints()
        self.assertEqual(known, first["checkpoints"] + second["checkpoints"]
                         - len(first["given_up"]))
        self.assertLess(files, first["checkpoints"] + second["checkpoints"]
                        + 2)

    def test_results_do_not_depend_on_what_is_left(self):
        self.gc("--checkpoint-budget", "0")
        self.assertEqual(self.checkpoints()[0], 0)
        longer = study("longer", SHA, steps=12)
        longer["algorithm"] = {"sha": {"eta": 2, "min": 3}}
        file, = self.studies(longer)
        self.hippo("run", file, "--state", self.state)
        alone = self.run_studies([file], "alone", "--merge", "off")
        self.assertEqual(results(self.report("state"))["longer"],
                         results(alone)["longer"])

    def test_files_that_nobody_knows_go_once_they_are_old(self):
        checkpoints = os.path.join(self.state, "checkpoints")
        folder = next(path for path, _, files in os.walk(checkpoints)
                      if files and path != checkpoints)
        old, young = (os.path.join(folder, x) for x in ("old", "young"))
        for path in (old, young):
            with open(path, "w") as out:
                out.write("x" * 100)
        os.utime(old, (time.time() - 7200,) * 2)
        unknown = [x["file"] for y in self.gc()["workloads"]
                   for x in y["unknown_files"]]
        self.assertEqual(unknown, [old])
        self.assertFalse(os.path.exists(old))
        self.assertTrue(os.path.exists(young))

    def test_bad_folders(self):
        nowhere = self.path("nowhere")
        self.assertIn(nowhere, self.hippo("gc", "--state", nowhere, "--dry-run",
                                          code=2).err)
        self.assertFalse(os.path.exists(nowhere))


if __name__ == "__main__":
    programs.main()
