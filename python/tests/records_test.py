"""Studies, trials and trainers, beside what release 0.1 showed of the same
state: tests/views/golden."""

import dataclasses
import json
import os
import unittest
import warnings

from hippo_hpo import _schema, records

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "../../tests/views/golden")

# Fields of 0.1 that have another name now, by record.
RENAMED = {
    records.StudyInfo: {"left_seconds": "seconds_left",
                        "deadline_left": "deadline_seconds_left"},
    records.TrialInfo: {"steps": "delivered_steps"},
    records.TrainerInfo: {"failed": "failure"},
    records.LeaseInfo: {"what": "values", "at": "step", "to": "to_step"}}


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
            self.expect_record(was, x)

    def expect_record(self, was, record):
        """Compares a record with what its fields were."""
        renamed = RENAMED.get(type(record), {})
        for name, value in was.items():
            now = getattr(record, renamed.get(name, name))
            if isinstance(value, dict) and type(now) in RENAMED:
                self.expect_record(value, now)
                continue
            if dataclasses.is_dataclass(now):
                now = dataclasses.asdict(now)
            # Tuples are lists in JSON.
            self.assertEqual(value, json.loads(json.dumps(now)),
                             f"{name} of {record}")

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
        for x in (records.StudyInfo(seconds_left=2.0,
                                    deadline_seconds_left=-1.0),
                  records.TrialInfo(delivered_steps=3),
                  records.TrainerInfo(failure="no room"),
                  records.LeaseInfo(values="lr 0.1", step=3, to_step=9)):
            for former, name in RENAMED[type(x)].items():
                with self.assertWarnsRegex(DeprecationWarning,
                                           f"{former} is {name} now"):
                    self.assertEqual(getattr(x, name), getattr(x, former))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(2.0, records.StudyInfo(
                seconds_left=2.0).seconds_left)

    def test_reads_events_of_all_kinds(self):
        found = []
        for i in range(4):
            with open(f"{GOLDEN}/event-{i}.bin", "rb") as file, \
                    _schema.model.EventView.from_bytes(
                        file.read()) as message:
                found.append(records.event_of(message))
        measured, failed, command, chosen = found
        self.assertEqual(
            records.Event(1, 1.7e9, 0, 3, {"acc": 0.5, "loss": 0.25}),
            measured)
        self.assertEqual("loss is nan", failed.failure)
        self.assertEqual(("weight", "2"), command.command)
        self.assertEqual("startup", chosen.chosen)
        self.assertEqual([3, 3, 3], [
            [x.metrics, x.failure, x.command, x.chosen].count(None)
            for x in found[1:]])


if __name__ == "__main__":
    unittest.main()
