"""Studies, trials and trainers, beside what release 0.1 showed of the same
messages: tests/views/golden."""

import dataclasses
import json
import os
import unittest
import warnings

from hippo_hpo import _schema, records

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "../../tests/views/golden")

# Fields that have another name now.
RENAMED = {"left_seconds": "seconds_left",
           "deadline_left": "deadline_seconds_left"}


class Views(unittest.TestCase):
    def read(self, kind, struct, read):
        """The records of the messages of a kind."""
        result = []
        while os.path.exists(f"{GOLDEN}/{kind}-{len(result)}.bin"):
            with open(f"{GOLDEN}/{kind}-{len(result)}.bin", "rb") as file, \
                    struct.from_bytes(file.read()) as message:
                result.append(read(message))
        self.assertEqual(3, len(result))
        return result

    def expect(self, kind, found):
        with open(f"{GOLDEN}/python.json") as file:
            before = json.load(file)[kind]
        for was, x in zip(before, found, strict=True):
            # Tuples are lists in JSON.
            now = json.loads(json.dumps(dataclasses.asdict(x)))
            for name, value in was.items():
                value_now = now[RENAMED.get(name, name)]
                if name == "lease" and value is not None:
                    self.assertEqual([], value_now.pop("study_ids"))
                self.assertEqual(value, value_now, f"{name} of {x}")

    def test_studies_have_the_fields_of_before(self):
        studies = self.read("study", _schema.model.StudyView,
                            records.study_info_of)
        self.expect("studies", studies)
        self.assertEqual([False, True, True], [x.ended for x in studies])

    def test_trials_have_the_fields_of_before(self):
        self.expect("trials", self.read("trial", _schema.model.TrialView,
                                        records.trial_info_of))

    def test_trainers_have_the_fields_of_before(self):
        self.expect("trainers", self.read("trainer", _schema.model.TrainerView,
                                          records.trainer_info_of))

    def test_shows_all_that_messages_have(self):
        view = _schema.model.StudyView.new_message(
            trialsByState=[{"state": "FAILED", "count": 2},
                           {"state": "RUNNING", "count": 1}],
            improved={"value": 12.5}, stepSeconds=0.5, costSeconds=4,
            stoppedSeconds=3)
        x = records.study_info_of(view)
        self.assertEqual(({"FAILED": 2, "RUNNING": 1}, 12.5, 0.5, 4, 3),
                         (x.trials_by_state, x.improved, x.step_seconds,
                          x.cost_seconds, x.stopped_seconds))

    def test_warns_of_former_names(self):
        x = records.StudyInfo(seconds_left=2.0, deadline_seconds_left=-1.0)
        for former, name in RENAMED.items():
            with self.assertWarnsRegex(DeprecationWarning,
                                       f"'{former}' is '{name}' now"):
                self.assertEqual(getattr(x, name), getattr(x, former))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(2.0, x.seconds_left)


if __name__ == "__main__":
    unittest.main()
