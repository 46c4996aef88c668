#!/usr/bin/env python3
"""`hippo simulate`: studies in virtual time, on trainers that nobody has."""

import csv
import json
import os
import re
import statistics

import programs
from programs import Case, results

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        "..", "..", "examples", "paper")
RESNET = os.path.join(EXAMPLES, "profiles", "resnet56-cifar10.yaml")
RESNET_ASHA = os.path.join(EXAMPLES, "resnet56-asha.yaml")

LR = {"choice": [
    0.1, 0.05,
    {"multistep": {"initial": 0.1, "milestones": [8], "gamma": 0.1}},
    {"multistep": {"initial": 0.1, "milestones": [8, 12], "gamma": 0.1}}]}
MOMENTUM = {"choice": [0.9, {"piecewise": [[0, 0.9], [6, 0.95]]}]}
PLATEAU = {"choice": [
    {"reduce_on_plateau": {"initial": 0.1, "factor": {"choice": [0.1, 0.3]},
                           "patience": {"choice": [0, 1, 2]}}}, 0.05]}


def study(name, algorithm, every=2, steps=16, **more):
    """A study of the ResNet over 8 combinations, or over another space."""
    return {
        "study": name,
        "workload": {"name": "resnet56-cifar10", "seed": 1},
        "objective": {"metric": "val_accuracy"},
        "max_steps": steps,
        "eval_every": every,
        "space": {"lr": LR, "momentum": MOMENTUM},
        "algorithm": algorithm,
        **more,
    }


class Simulating(Case):
    def simulate(self, report, *args, code=0, profile=RESNET, trainers=3):
        return self.hippo("simulate", *args, "--profile", profile,
                          "--trainers", trainers, "--report",
                          self.path(report), code=code)

    def report(self, name):
        with open(self.path(name, "report.json")) as text:
            return json.load(text)

    def simulated(self, report, *args, **options):
        """Simulates and returns the report."""
        self.simulate(report, *args, **options)
        self.assert_nothing_half_written(report)
        return self.report(report)

    def content(self, folder):
        result = {}
        for name in os.listdir(self.path(folder)):
            with open(self.path(folder, name), "rb") as file:
                result[name] = file.read()
        return result

    def profile(self, name="profile.yaml", **changes):
        """Writes the ResNet's profile with other lines for some keys."""
        with open(RESNET) as text:
            lines = text.read().splitlines()
        for key, value in changes.items():
            (at,) = [i for i, x in enumerate(lines)
                     if x.startswith(key + ":")]
            lines[at] = value
        return self.write(name, "\n".join(lines) + "\n")


class Playing(Simulating):
    """A profile with a table instead of the curve."""

    HEAD = "lr,val_accuracy@2,val_accuracy@4\n"
    DECAYED = {"piecewise": [[0, 0.1], [2, 0.01]]}

    def playing(self, table, name="table.csv"):
        if table is not None:
            self.write("table.csv", table)
        return self.write("profile.yaml", f"""
device: none
workload:
  name: resnet56-cifar10
  hyper_parameters: {{lr: {{default: 0.1, min: 0}}}}
  metrics: {{val_accuracy: maximize}}
step_seconds: 1
curve: {{table: {name}}}
""")

    def two(self, *lrs, **more):
        x = study("two", "grid", steps=4, **more)
        x["workload"] = "resnet56-cifar10"
        x["space"] = {"lr": {"choice": list(lrs)}}
        return self.write("two.yaml", json.dumps(x))

    def decayed(self):
        return '"' + json.dumps(self.DECAYED).replace('"', '""') + '"'

    def test_measures_what_the_table_has(self):
        profile = self.playing(
            self.HEAD + f"0.1,0.5,0.6\n{self.decayed()},0.5,0.75\n")
        report = self.simulated("out", self.two(0.1, self.DECAYED),
                                "--measurements", self.path("measured.csv"),
                                profile=profile, trainers=1)
        self.assertEqual(
            [{x["step"]: x["metrics"] for x in trial["results"]}
             for trial in report["studies"][0]["trials"]],
            [{2: {"val_accuracy": 0.5}, 4: {"val_accuracy": 0.6}},
             {2: {"val_accuracy": 0.5}, 4: {"val_accuracy": 0.75}}])
        # The first two steps are trained once.
        self.assertEqual(report["trained_steps"], 6)
        self.assertEqual(report["wall_seconds"], 6)
        with open(self.path("measured.csv"), newline="") as file:
            self.assertEqual(list(csv.reader(file)), [
                ["seconds", "workload", "step", "val_accuracy"],
                ["2", "resnet56-cifar10", "2", "0.5"],
                ["4", "resnet56-cifar10", "4", "0.6"],
                ["6", "resnet56-cifar10", "4", "0.75"]])

    def test_says_where_measurements_cannot_be_written(self):
        done = self.simulate(
            "out", self.two(0.1), "--measurements", self.path("no", "x.csv"),
            code=1, profile=self.playing(self.HEAD + "0.1,0.5,0.6\n"))
        self.assertIn("cannot write " + self.path("no", "x.csv")
                      + ": No such file or directory", done.err)

    def test_says_what_a_study_would_train_that_is_not_there(self):
        done = self.simulate("out", self.two(0.1, 0.2), code=2,
                             profile=self.playing(self.HEAD + "0.1,0.5,0.6\n"))
        self.assertIn('two.yaml: space: {"lr":0.2} is not in table.csv: no row '
                      "goes on like it beyond step 0", done.err)
        done = self.simulate("out", self.two(0.1), code=2,
                             profile=self.playing(self.HEAD + "0.1,0.5,\n"))
        self.assertIn('{"lr":0.1} is not in table.csv: it was not measured at '
                      "step 4", done.err)

    def test_says_what_is_wrong_with_a_table(self):
        study = self.two(0.1)
        for table, why in [
                (None, "/table.csv cannot be read: No such file or directory"),
                ("", "/table.csv cannot be read: it is empty"),
                ("rate,val_accuracy@2\n1,1\n",
                 "/table.csv:1:1: column 'rate': unknown hyper-parameter"),
                (self.HEAD + "0.1,0.5\n",
                 "/table.csv:2:1: has 2 fields, the first line has 3")]:
            with self.subTest(why):
                done = self.simulate("out", study, code=2,
                                     profile=self.playing(table))
                self.assertIn(why, done.err)
        folder = self.playing(None, name=".")
        self.assertIn("cannot be read: Is a directory",
                      self.simulate("out", study, code=2,
                                    profile=folder).err)


class Simulations(Simulating):
    def test_equal_seeds_give_equal_reports(self):
        profile = self.profile(failure_rate="failure_rate: 0.1")
        for report, seed in [("a", 7), ("b", 7), ("c", 8)]:
            self.simulate(report, RESNET_ASHA, "--seed", seed,
                          profile=profile, trainers=40)
        self.assertEqual(sorted(self.content("a")),
                         ["report.json", "stage-tree.svg", "timeline.svg",
                          "trials.csv"])
        self.assertEqual(self.content("a"), self.content("b"))
        self.assertNotEqual(self.report("a")["wall_seconds"],
                            self.report("c")["wall_seconds"])

    def test_quiet_leaves_out_notes_and_nothing_else(self):
        file = self.write("auto.yaml", json.dumps(study("auto", "auto")))
        loud = self.simulate("loud", file)
        quiet = self.simulate("quiet", file, "--quiet")
        self.assertIn("note: ", loud.err)
        self.assertEqual(quiet.err, "")
        self.assertEqual(quiet.out.replace("quiet", "loud"), loud.out)
        self.assertEqual(self.content("quiet"), self.content("loud"))

    def check_figures(self, x):
        self.assertIs(x["simulated"], True)
        self.assertIs(x["interrupted"], False)
        self.assertEqual(x["trained_steps"], x["unique_steps"])
        self.assertGreater(x["lower_bound_seconds"], 0)
        self.assertGreaterEqual(x["wall_seconds"], x["lower_bound_seconds"])
        busy = sum(x["overhead"][y] for y in ["load", "train", "evaluate",
                                              "save", "dispatch"])
        self.assertAlmostEqual(x["device_seconds"], busy, places=3)
        self.assertAlmostEqual(
            x["device_seconds"] + x["overhead"]["idle"],
            x["wall_seconds"] * len(x["trainers"]), places=3)

    def test_figures(self):
        for name in ["resnet56-sha", "resnet56-asha", "mobilenetv2-sha",
                     "bert-grid"]:
            with self.subTest(name):
                file = os.path.join(EXAMPLES, name + ".yaml")
                workload = {"resnet56": "resnet56-cifar10",
                            "mobilenetv2": "mobilenetv2-cifar10",
                            "bert": "bert-base-squad"}[name.split("-")[0]]
                x = self.simulated(name, file, trainers=40,
                                   profile=os.path.join(
                                       EXAMPLES, "profiles",
                                       workload + ".yaml"))
                self.check_figures(x)
                self.assertGreater(x["merge_rate"], 1.4)
                self.assertEqual(len(x["trainers"]), 40)

    def check_shares(self, trainers, **other):
        """Of an hour on a few trainers, with weights of 2 and 1."""
        def hour(name, weight, rates, **more):
            grid = {"lr": {"uniform": rates, "points": 20}}
            return study(name, "grid", 10, 1000, **{
                "space": grid, "weight": weight, "budget": {"seconds": 3600},
                **more})

        files = self.studies(hour("heavy", 2, [0.01, 0.02]),
                             hour("light", 1, [0.03, 0.04], **other))
        x = self.simulated("shares", *files, trainers=trainers)
        heavy, light = (y["device_seconds"] for y in x["studies"])
        due = 1200 * trainers
        self.assertAlmostEqual(heavy, 2 * due, delta=0.05 * 2 * due)
        self.assertAlmostEqual(light, due, delta=0.05 * due)
        # The whole does not count what was lost when the hour was over.
        self.assertGreaterEqual(heavy + light, x["device_seconds"])

    def test_workloads_share_the_time_of_trainers_by_weight(self):
        for trainers in [1, 3]:
            with self.subTest(trainers=trainers):
                self.check_shares(trainers, workload={
                    "name": "resnet56-cifar10", "seed": 2})

    def test_studies_of_one_tree_share_the_time_of_trainers_by_weight(self):
        for trainers in [1, 3]:
            with self.subTest(trainers=trainers):
                self.check_shares(trainers)

    def test_times_are_the_profiles(self):
        """One trainer, one trial, every number of the profile a round one."""
        profile = self.profile(
            step_seconds="step_seconds: 10", spread="spread: 0",
            dispatch_seconds="dispatch_seconds: 1",
            save_seconds="save_seconds: 0",
            evaluate_seconds="evaluate_seconds: 4")
        x = self.simulated("r", *self.studies(study(
            "one", "grid", every=4, space={"lr": 0.1})),
            profile=profile, trainers=1)
        self.assertEqual(x["wall_seconds"], 1 + 16 * 10 + 4 * 4)
        self.assertEqual(x["lower_bound_seconds"], 16 * 10 + 4 * 4)
        self.assertEqual(x["device_kinds"], ["V100-like (assumed)"])

    def test_leases_at_once_take_as_long_as_the_profile_says(self):
        """Four trials without a step in common on one trainer."""
        for gain, leases, seconds in [(1, 4, 4 * 177), (2, 4, 2 * 177),
                                      (4, 4, 177), (64, 2, 2 * 177)]:
            with self.subTest(gain=gain, leases=leases):
                profile = self.profile(
                    step_seconds=f"step_seconds: 10\nat_once_gain: {gain}",
                    spread="spread: 0", dispatch_seconds="dispatch_seconds: 1",
                    save_seconds="save_seconds: 0",
                    evaluate_seconds="evaluate_seconds: 4")
                x = self.simulated(f"r-{gain}-{leases}", *self.studies(study(
                    "four", "grid", every=4,
                    space={"lr": {"choice": [0.05, 0.1, 0.15, 0.2]}})),
                    "--at-once", leases, profile=profile, trainers=1)
                self.assertAlmostEqual(x["wall_seconds"], seconds, places=3)
                self.assertAlmostEqual(x["device_seconds"], seconds, places=3)

    def test_trains_again_what_fails(self):
        profile = self.profile(failure_rate="failure_rate: 0.1")
        for seed in range(5):
            with self.subTest(seed):
                x = self.simulated(f"r{seed}", RESNET_ASHA, "--seed", seed,
                                   profile=profile, trainers=40)
                self.assertGreater(x["trained_steps"], x["unique_steps"])
                self.assertGreaterEqual(x["wall_seconds"],
                                        x["lower_bound_seconds"])
                for trial in x["studies"][0]["trials"]:
                    self.assertIn(trial["state"],
                                  ["COMPLETE", "PRUNED", "FAILED"])

    def test_merging_off_trains_all_that_is_asked_for(self):
        files = self.studies(study("s", "grid"))
        merged = self.simulated("on", *files)
        alone = self.simulated("off", *files, "--merge", "off")
        self.assertEqual(merged["asked_steps"], 8 * 16)
        self.assertEqual(alone["asked_steps"], 8 * 16)
        self.assertEqual(alone["trained_steps"], 8 * 16)
        self.assertEqual(alone["merge_rate"], 1)
        self.assertLess(merged["trained_steps"], 8 * 16)
        self.assertLess(merged["device_seconds"], alone["device_seconds"])

    def check_one_result(self, *studies):
        """However it is trained, results are the same."""
        files = self.studies(*studies)
        reports = [self.simulated(f"{name}", *files, *args, trainers=trainers)
                   for name, trainers, args in [
                       ("1", 1, []), ("3", 3, []), ("40", 40, []),
                       ("crowded", 2, ["--at-once", "4"]),
                       ("off", 3, ["--merge", "off"]),
                       ("breadth", 3, ["--scheduler", "breadth-first"]),
                       ("trial", 3, ["--scheduler", "trial"]),
                       ("early", 3, ["--scheduler", "early"])]]
        for x in reports[1:]:
            self.assertEqual(results(x), results(reports[0]))
        for x in reports[:3]:
            self.check_figures(x)
        return reports[0]

    def test_one_result_however_trained(self):
        self.check_one_result(study("s", "grid"))

    def test_one_result_of_two_studies(self):
        x = self.check_one_result(
            study("a", "grid"),
            study("b", {"sha": {"eta": 2, "min": 4}}, space={
                "lr": LR, "momentum": {"choice": [0.9, 0.95]}}))
        self.assertGreater(x["k_wise_merge_rate"], 1)

    def test_one_result_of_schedules_that_follow_measurements(self):
        x = self.check_one_result(study(
            "plateau", "grid", every=1, steps=30,
            space={"lr": PLATEAU, "momentum": MOMENTUM}))
        self.assertEqual(len(x["studies"][0]["trials"]), 14)
        self.assertGreater(x["merge_rate"], 1.5)
        # At least one of the schedules has acted: else they were all alike.
        ends = {y["results"][-1]["metrics"]["val_loss"]
                for y in x["studies"][0]["trials"]}
        self.assertGreater(len(ends), 4)

    def test_two_workloads(self):
        bert = os.path.join(EXAMPLES, "profiles", "bert-base-squad.yaml")
        x = self.simulated(
            "r", *self.studies(study("resnet", "grid")),
            os.path.join(EXAMPLES, "bert-grid.yaml"), "--profile", bert,
            trainers=10)
        self.assertEqual([len(y["trials"]) for y in x["studies"]], [8, 40])
        self.assertEqual(x["k_wise_merge_rate"], 1)
        self.check_figures(x)

    def test_population_based_training(self):
        file, = self.studies(study(
            "pbt", {"pbt": {"population": 6, "interval": 4}}, space={
                "lr": {"log_uniform": [0.01, 0.3]}, "momentum": MOMENTUM}))
        x = self.simulated("pbt", file)
        trials = x["studies"][0]["trials"]
        self.check_figures(x)
        forks = [y for y in trials if "forked" in y["params"]]
        self.assertEqual(len(trials), 6 + len(forks))
        self.assertGreaterEqual(len(forks), 3)  # one for each generation
        for y in forks:
            self.assertGreaterEqual(y["shared_steps"],
                                    y["params"]["forked"]["at"])
        # It decides by generation, so it does not matter who trains when.
        self.assertEqual(results(x), results(self.simulated("1", file,
                                                            trainers=1)))
        # Forks are no merging: they train from where they leave.
        alone = self.simulated("off", file, "--merge", "off")
        self.assertEqual(results(x), results(alone))
        self.assertEqual(alone["trained_steps"],
                         alone["asked_steps"] - sum(
                             y["params"]["forked"]["at"] for y in forks))

    def test_samplers_that_learn(self):
        space = {"lr": {"log_uniform": [0.01, 0.3], "points": 9},
                 "momentum": MOMENTUM}
        for algorithm, budget in [
                ({"tpe": {"startup": 4}}, {"trials": 12}),
                ({"bohb": {"min": 4, "eta": 2, "startup": 4}}, {})]:
            (name, _), = algorithm.items()
            with self.subTest(name):
                x = self.simulated(name, *self.studies(study(
                    name, algorithm, space=space, budget=budget)))
                trials = x["studies"][0]["trials"]
                self.check_figures(x)
                self.assertGreaterEqual(len(trials), 9)
                self.assertEqual(
                    {y["state"] for y in trials} - {"COMPLETE", "PRUNED"},
                    set())
                again = self.simulated(name + "-again",
                                       self.path(name + ".yaml"))
                self.assertEqual(x, again)

    def test_budget_of_virtual_time(self):
        x = self.simulated("r", *self.studies(study(
            "s", "grid", budget={"seconds": 300})), trainers=1)
        self.assertEqual(x["wall_seconds"], 300)
        self.assertIn("CANCELLED", {y["state"]
                                    for y in x["studies"][0]["trials"]})

    def test_budget_of_device_time(self):
        x = self.simulated("r", *self.studies(study(
            "s", "grid", budget={"device_hours": 0.25})), trainers=3)
        self.assertIn("CANCELLED", {y["state"]
                                    for y in x["studies"][0]["trials"]})
        # Looked at when a trainer reports: after one step more at most.
        self.assertGreaterEqual(x["studies"][0]["device_seconds"], 900)
        self.assertLess(x["studies"][0]["device_seconds"],
                        900 + 3 * x["device_seconds"] / x["trained_steps"])

    def test_stop_when(self):
        whole, = self.simulated("all", *self.studies(study("s", "grid")),
                                trainers=2)["studies"]
        value = whole["best"]["value"]
        said = self.simulate("r", *self.studies(study(
            "s", "grid", stop_when={"value": value})), trainers=2).out
        self.assertIn("stop_when.value", said)
        short, = self.report("r")["studies"]
        self.assertEqual(short["best"]["value"], value)
        self.assertLess(short["delivered_steps"], whole["delivered_steps"])

    def test_leaves_only_the_report(self):
        files = self.studies(study("s", "grid"))
        self.simulate("r", *files)
        self.assertEqual(sorted(os.listdir(self.folder)), ["r", "s.yaml"])

    def test_a_path_that_is_too_long_for_a_message(self):
        file, = self.studies(study("x", "grid", every=1, steps=60_001,
                                   space={"lr": 0.1}))
        self.simulate("r", file, trainers=1)
        report = self.report("r")
        self.assertEqual(report["trained_steps"], 60_001)
        self.assertEqual(len(report["studies"][0]["trials"][0]["results"]),
                         60_001)


class Preview(Simulating):
    """How long it would take is what `hippo simulate` says."""

    def setUp(self):
        super().setUp()
        self.files = self.studies(study("a", {"sha": {"eta": 2, "min": 4}}),
                                  study("b", "grid", every=4))

    def preview(self, *args, code=0):
        return self.hippo("preview", *self.files, *args, code=code)

    def test_times_of_simulations(self):
        said = self.preview("--trainers", 3, "--profile", RESNET, "-f", "json")
        self.assertRegex(said.err, r"\A(warning: \S+\.yaml:.*\n)*\Z")
        times = json.loads(said.out)["times"]
        self.assertEqual(times.pop("trainers"), 3)
        self.assertEqual(times.pop("simulations"), 5)
        for name, merge in [("merged", "on"), ("alone", "off")]:
            reports = [self.simulated(f"{merge}{seed}", *self.files, "--merge",
                                      merge, "--seed", seed)
                       for seed in range(5)]
            walls = [x["wall_seconds"] for x in reports]
            self.assertEqual(times[name].pop("wall_low"), min(walls))
            self.assertEqual(times[name].pop("wall_high"), max(walls))
            self.assertEqual(set(times[name]), {
                "wall_seconds", "device_seconds", "lower_bound_seconds"})
            for x, mean in times[name].items():
                self.assertAlmostEqual(
                    mean, statistics.fmean(y[x] for y in reports), 6)

    def test_table(self):
        said = self.preview("--trainers", 3, "--profile", RESNET)
        lines = said.out.splitlines()
        self.assertLessEqual(max(map(len, lines)), 80)
        at = lines.index(next(x for x in lines
                              if x.startswith("3 trainers, simulated")))
        self.assertEqual([x.split()[:2] for x in lines[at + 1:-2]],
                         [["merging", "on"], ["merging", "off"]])
        self.assertRegex(lines[-2], r"^saved by merging +\d+ % +\d+ %$")
        self.assertRegex(lines[-1], r"^means of 5 simulations; with merging on "
                                    r"they took \d+ \w+.* to \d+ \w+.*$")

    def test_half_of_what_it_takes(self):
        for args, missing in [(("--trainers", 3), "--profile"),
                              (("--profile", RESNET), "--trainers")]:
            said = self.preview(*args, code=2)
            self.assertIn(f"{args[0]} requires {missing}", said.err)
            self.assertEqual(said.out, "")


class Gangs(Simulating):
    """Trainers that train a trial together."""

    CODE = {
        "device": "none",
        "workload": {
            "name": "python",
            "hyper_parameters": {"lr": {"default": 0.1, "min": 0}},
            "metrics": {"val": "maximize"}},
        "step_seconds": 10, "evaluate_seconds": 2}

    def ranks_study(self, ranks=4, trials=2):
        self.write("train.py", "")
        return self.write("ranks.yaml", {
            "study": "wide",
            "workload": {"python": "train.py:Net", "seed": 1, "ranks": ranks},
            "objective": {"metric": "val", "direction": "maximize"},
            "max_steps": 5, "eval_every": 5,
            "space": {"lr": {"choice": [x / 10 for x in range(1, trials + 1)]}},
            "algorithm": "grid"})

    def code_profile(self, **changes):
        return self.write("code.yaml", {**self.CODE, **changes})

    def test_ranks_take_as_many_trainers_at_once(self):
        # Two trials of 52 s each.
        for ranks, trainers, wall, bound in (
                (1, 1, 104, 104), (1, 4, 52, 52), (4, 4, 104, 104),
                (4, 7, 104, 416 / 7), (4, 8, 52, 52), (2, 3, 104, 208 * 2 / 6)):
            with self.subTest(ranks=ranks, trainers=trainers):
                x = self.simulated(
                    f"out-{ranks}-{trainers}", self.ranks_study(ranks),
                    profile=self.code_profile(), trainers=trainers)
                self.assertEqual(wall, x["wall_seconds"])
                self.assertAlmostEqual(104 * ranks, x["device_seconds"])
                self.assertAlmostEqual(bound, x["lower_bound_seconds"])
                self.assertAlmostEqual(100 * ranks, x["alone_device_seconds"])

    def test_two_workloads_get_the_trainers_for_all_ranks_in_turns(self):
        self.write("train.py", "")
        files = []
        for seed in 1, 2:
            with open(self.ranks_study(2, 3)) as text:
                x = json.load(text)
            x["study"], x["workload"]["seed"] = f"s{seed}", seed
            files.append(self.write(f"s{seed}.yaml", x))
        for trainers in 2, 3, 4:
            x = self.simulated(f"out{trainers}", *files,
                               profile=self.code_profile(), trainers=trainers)
            self.assertAlmostEqual(6 * 52 * 2, x["device_seconds"])
            # And not without an end, though trainers wait for each other.
            least = 6 * 52 // (trainers // 2)
            self.assertGreaterEqual(x["wall_seconds"], least)
            self.assertLess(x["wall_seconds"], 2 * least)

    def test_too_few_trainers_say_how_many_are_needed(self):
        for verb in "simulate", "preview":
            said = self.hippo(verb, self.ranks_study(), "--profile",
                              self.code_profile(), "--trainers", 3, *(
                                  ["--report", self.path("out")]
                                  if verb == "simulate" else []), code=1).err
            self.assertIn(
                "study 'wide' waits: it needs 4 trainers of one kind at once "
                "(trials of 4 ranks); there are 3: start 1 more", said)

    def test_a_preview_counts_the_time_of_all_ranks(self):
        times = json.loads(self.hippo(
            "preview", self.ranks_study(), "--profile", self.code_profile(),
            "--trainers", 4, "-f", "json").out)["times"]["merged"]
        self.assertEqual(104, times["wall_seconds"])
        self.assertAlmostEqual(104 * 4, times["device_seconds"])
        self.assertAlmostEqual(104, times["lower_bound_seconds"])

    def test_members_are_as_fast_as_the_profile_says(self):
        with open(os.path.join(EXAMPLES, "resnet56-sha.yaml")) as text:
            file = self.write("sha.yaml", re.sub(
                r"(?m)^(workload: \{.*)\}$", r"\1, parts: 8}", text.read()))
        with open(RESNET) as text:
            lines = [x for x in text.read().splitlines()
                     if not x.startswith(("members:", "spread:"))]
        walls = []
        for members in "", "members: {2: 1.8}", "members: {2: 1.1}":
            profile = self.write("p.yaml", "\n".join([*lines, members]))
            walls.append(self.simulated(
                f"out{len(walls)}", file, profile=profile,
                trainers=40)["wall_seconds"])
        # As in docs/simulation.md: twice as many are 1.8 times as fast.
        self.assertEqual(walls[0], walls[1])
        self.assertGreater(walls[2], 1.1 * walls[1])
        said = self.simulate(
            "bad", file, profile=self.profile(members="members: {3: 2}"),
            code=2).err
        self.assertIn("members.3: must be a number of trainers, a power of two "
                      "from 2 to 64, found '3'", said)


class Machines(Simulating):
    """Machines of several kinds, that come and go."""

    def setUp(self):
        super().setUp()
        self.files = self.studies(study("grid", "grid"))
        self.slow = self.profile(
            "slow.yaml", device="device: L4",
            step_seconds="step_seconds: {by: batch_size, values: {64: 96, "
                         "128: 60, 256: 48}}")
        self.machines = self.write("machines.yaml", """
machines:
  v100: {device: V100-like (assumed), price: 2, count: 9}
  spot:
    {device: V100-like (assumed), price: 1, count: 9, start: 240,
     interruptions: 20, notice: 120}
  gone:
    {device: V100-like (assumed), price: 1, count: 9, start: 240,
     interruptions: 20}
  l4: {device: L4, price: 1, count: 9, profile: [slow.yaml]}
  tpu: {device: TPU, price: 1}
  hasty: {device: V100-like (assumed), price: 1, interruptions: 900}
""")

    def use(self, report, used, *args, code=0):
        done = self.hippo("simulate", *self.files, "--profile", RESNET,
                          "--machines", self.machines, "--use", used,
                          "--report", self.path(report), *args, code=code)
        return done.err if code else self.report(report)

    def test_machines_that_stay_are_trainers(self):
        self.simulate("trainers", *self.files)
        self.use("machines", "3xv100")
        machines, trainers = (json.loads(
            self.content(x).pop("report.json")) for x in
            ["machines", "trainers"])
        # They have prices, and are else the same.
        self.assertAlmostEqual(machines["cost"],
                               3 * 2 * machines["wall_seconds"] / 3600)
        for x in [machines, trainers]:
            del x["cost"], x["machines"]
            for y in x["studies"]:
                del y["cost"]
            for y in x["trainers"]:
                for key in ["machine", "price", "work_cost", "idle_cost"]:
                    del y[key]
        self.assertEqual(machines, trainers)

    def test_costs_are_those_of_the_time(self):
        x = self.use("costs", "2xv100,1xl4", "--placement", "fair")
        kinds = x["machines"]
        self.assertEqual({y: z["price"] for y, z in kinds.items()},
                         {"v100": 2, "l4": 1})
        work = sum(y["work_cost"] for y in kinds.values())
        idle = sum(y["idle_cost"] for y in kinds.values())
        self.assertAlmostEqual(x["cost"], work + idle)
        self.assertAlmostEqual(x["cost"], 5 * x["wall_seconds"] / 3600)
        # What stands idle is no study's.
        self.assertGreater(idle, 0)
        self.assertAlmostEqual(sum(y["cost"] for y in x["studies"]), work,
                               delta=0.01 * work)

    def test_budgets_of_cost_and_time(self):
        def ended(name, used, **budget):
            self.files = self.studies(study(name, "grid", budget=budget))
            x = self.use(name, used)
            return x, x["studies"][0]

        x, late = ended("late", "1xv100", deadline="5m")
        self.assertEqual(x["wall_seconds"], 300)
        self.assertEqual(late["reason"],
                         "its deadline, 5m after it was submitted, has come")
        for used in ["2xv100", "1xv100,2xl4"]:
            with self.subTest(used):
                whole = ended("whole", used)[1]["cost"]
                half = round(whole / 2, 3)
                x, dear = ended("dear", used, cost=half)
                self.assertEqual(dear["reason"],
                                 f"its budget.cost, {half}, is spent")
                self.assertGreaterEqual(dear["cost"], half)
                self.assertLess(dear["cost"], 1.2 * half)
                self.assertIn("CANCELLED", {y["state"]
                                            for y in dear["trials"]})

    def test_budgets_that_cannot_be_kept_to(self):
        files = self.studies(study("s", "grid", budget={"cost": 3}))
        self.assertIn("budget.cost: what trainers cost is not known here: say "
                      "so with --machines and --use", self.hippo(
                          "simulate", *files, "--profile", RESNET,
                          "--trainers", "2", code=2).err)
        files = self.studies(study("s", "grid", budget={
            "deadline": "2020-01-31T18:00Z"}))
        self.assertIn("budget.deadline: 2020-01-31T18:00Z is past",
                      self.hippo("simulate", *files, "--profile", RESNET,
                                 "--trainers", "2", code=2).err)

    def test_a_slow_kind_takes_longer_to_the_same_results(self):
        fast = self.use("fast", "2xv100")
        slow = self.use("slow", "2xl4")
        self.assertEqual(results(slow), results(fast))
        self.assertGreater(slow["wall_seconds"], 3 * fast["wall_seconds"])

    def test_kinds_side_by_side(self):
        alone = self.use("alone", "1xv100")
        for rule in ["advantage", "complexity", "fair"]:
            with self.subTest(rule):
                both = self.use(rule, "1xv100,2xl4", "--placement", rule)
                self.assertEqual(results(both), results(alone))
                self.assertEqual({x["device"] for x in both["trainers"]},
                                 {"V100-like (assumed)", "L4"})

    def test_interruptions_change_no_result(self):
        stays = self.use("stays", "4xv100")
        for kind in ["spot", "gone"]:
            with self.subTest(kind):
                x = self.use(kind, "4x" + kind)
                self.assertEqual(results(x), results(stays))
                self.assertGreater(len(x["trainers"]), 4)
                self.assertGreater(x["wall_seconds"], stays["wall_seconds"])
                self.assertGreaterEqual(x["trained_steps"], x["unique_steps"])
                again = self.use(kind + "-again", "4x" + kind)
                self.assertEqual(again, x)
                other = self.use(kind + "-other", "4x" + kind, "--seed", 9)
                self.assertEqual(results(other), results(self.use(
                    "stays-other", "4xv100", "--seed", 9)))
        for kind, lost in [("spot", False), ("gone", True)]:
            self.assertEqual(any(x["lost"] for x in
                                 self.report(kind)["trainers"]), lost, kind)

    def test_machines_that_go_too_soon(self):
        self.assertIn("machines are interrupted before a checkpoint is saved",
                      self.use("hasty", "1xhasty", code=1))

    def test_bad_input(self):
        for used, why in {
                "1xtpu": "machines.tpu: has no profile of 'resnet56-cifar10', "
                         "and nothing that was measured says how long it takes "
                         "there: make one on such a machine (`hippo profile "
                         "STUDY -o tpu.yaml`) and name it by 'profile', give "
                         "--profile with one of device: TPU, or preview with "
                         "--server,",
                "1xv10": "--use: there is no kind of machine 'v10', did you "
                         "mean 'v100'?",
                "99xv100": "--use: there are 9 of 'v100', and 99 are asked for",
                "v100": "--use: "}.items():
            with self.subTest(used):
                self.assertIn(why, self.use("bad", used, code=2))

    def test_profiles_of_two_devices_need_machines(self):
        done = self.hippo("simulate", *self.files, "--profile", RESNET,
                          "--profile", self.slow, "--trainers", 2, code=2)
        self.assertIn("'resnet56-cifar10' has 2 profiles, of several devices: "
                      "say with --machines and --use", done.err)


class Failures(Simulating):
    def setUp(self):
        super().setUp()
        self.file, = self.studies(study("s", "grid"))

    def fails(self, code, *args, **options):
        """@returns stderr of a simulation that leaves no report"""
        done = self.simulate("r", *args, code=code, **options)
        self.assertEqual(done.out, "")
        self.assertFalse(os.path.exists(self.path("r")))
        return done.err

    def refused(self, *args, **options):
        return self.fails(2, *args, **options)

    def test_every_trial_fails(self):
        profile = self.profile(failure_rate="failure_rate: 1")
        for trainers in [1, 1000]:
            done = self.simulate("r", self.file, profile=profile, code=1,
                                 trainers=trainers)
            self.assertEqual(done.err,
                             "hippo: every trial of study 's' failed\n")
            self.assertIn("report: ", done.out)
            for trial in self.report("r")["studies"][0]["trials"]:
                self.assertEqual(trial["state"], "FAILED")
                self.assertIn("simulated failure while training step",
                              trial["failure"])

    def test_three_attempts_wherever_they_fail(self):
        file, = self.studies(study("x", "grid", every=1, steps=60,
                                   space={"lr": 0.1}))
        profile = self.profile(failure_rate="failure_rate: 1")
        for seed in range(5):
            self.simulate(f"r{seed}", file, "--seed", seed, profile=profile,
                          code=1)
            self.assertLess(self.report(f"r{seed}")["trained_steps"], 3 * 60)

    def test_every_trial_diverges(self):
        file, = self.studies(study("x", "grid", space={
            "lr": {"choice": [50, 60]}}))
        done = self.simulate("r", file, code=1)
        self.assertIn("every trial of study 'x' failed", done.err)
        self.assertIn("diverged", done.out)

    def test_no_such_profile(self):
        none = self.path("none.yaml")
        self.assertEqual(self.refused(self.file, profile=none),
                         f"hippo: {none}: cannot be read: "
                         "No such file or directory\n")

    def test_no_such_study(self):
        none = self.path("none.yaml")
        self.assertIn(f"{none}: cannot be read", self.refused(none))

    def test_profile_of_another_workload(self):
        bert = os.path.join(EXAMPLES, "profiles", "bert-base-squad.yaml")
        said = self.refused(self.file, profile=bert)
        self.assertIn(f"{self.file}:4:", said)
        self.assertIn("workload.name: unknown workload 'resnet56-cifar10'",
                      said)
        self.assertIn("bert-base-squad", said)

    def test_workload_without_a_profile(self):
        file = self.write("x.yaml", programs.study("x", "grid"))
        self.assertIn(f"{file}: workload: 'fashion-mlp' has no profile",
                      self.refused(file))

    def test_two_profiles_of_one_workload(self):
        again = self.profile()
        said = self.refused(self.file, "--profile", again)
        self.assertIn("'resnet56-cifar10' has a profile already", said)

    def test_no_yaml(self):
        profile = self.write("p.yaml", "device: x\nworkload: {name: y\n")
        self.assertRegex(self.refused(self.file, profile=profile),
                         rf"^error: {profile}:[23]:\d+: .*not valid YAML")

    def test_unknown_key(self):
        profile = self.profile(spread="spraed: 0.03")
        said = self.refused(self.file, profile=profile)
        self.assertRegex(said, rf"^error: {profile}:\d+:1: spraed: ")
        self.assertIn("did you mean 'spread'?", said)

    def test_two_bad_values_are_both_told(self):
        profile = self.profile(spread="spread: -1",
                               load_seconds="load_seconds: long")
        said = self.refused(self.file, profile=profile)
        self.assertIn("spread: must be at least 0, found '-1'", said)
        self.assertIn("load_seconds: must be a number, found 'long'", said)

    def test_numbers_of_trainers(self):
        for number in ["0", "-1", "1.5", "many", "100001"]:
            with self.subTest(number):
                self.assertIn("--trainers",
                              self.refused(self.file, trainers=number))

    def test_seeds(self):
        for seed in ["-1", "x"]:
            with self.subTest(seed):
                self.assertIn("--seed",
                              self.refused(self.file, "--seed", seed))

    def test_what_must_be_given(self):
        for why, args in [("--trainers requires --profile",
                           ["--trainers", 1]),
                          ("give --trainers and --profile, or --machines and "
                           "--use", ["--profile", RESNET]),
                          ("--use requires --machines", ["--use", "1xa"]),
                          ("--machines requires --use",
                           ["--machines", self.file])]:
            done = self.hippo("simulate", self.file, *args, code=2)
            self.assertIn(why, done.err)

    def test_report_that_cannot_be_written(self):
        self.write("r", "a file")
        done = self.simulate("r", self.file, code=1)
        self.assertIn("cannot write '" + self.path("r"), done.err)
        with open(self.path("r")) as file:
            self.assertEqual(file.read(), "a file")

    def test_help_has_an_example(self):
        self.assertIn("Example: hippo simulate a.yaml",
                      self.hippo("simulate", "--help").out)


if __name__ == "__main__":
    programs.main()
