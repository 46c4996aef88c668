#!/usr/bin/env python3
"""Studies of a linear model of a CSV file."""

import hashlib

import programs
from programs import Case, results


class Csv(Case):
    """No result depends on merging or on the number of trainers."""

    STUDY = """
study: csv
workload:
  name: csv-linear
  parts: 3
  data: {file: FILE, target: kind, sha256: DIGEST}
objective: {metric: val_loss}
max_steps: 6
eval_every: 2
space:
  lr: {choice: [0.01, {piecewise: [[0, 0.01], [4, 0.001]]}]}
  optimizer: {choice: [saga, sgd]}
algorithm: grid
"""

    def study(self, rows, digest=None):
        text = "size,kind,age\n" + "".join(
            f"{7 * i % 31},{'red' if i % 3 else 'blue'},{i}\n"
            for i in range(rows))
        path = self.write("t.csv", text)
        known = digest or hashlib.sha256(text.encode()).hexdigest()
        return self.write("csv.yaml", self.STUDY.replace("FILE", str(path))
                          .replace("DIGEST", known))

    def test_merged_and_alone(self):
        study = self.study(60)
        merged = self.run_studies([study], "merged", "--trainers", 1)
        alone = self.run_studies([study], "alone", "--merge", "off",
                                 "--trainers", 2)
        self.assertEqual(merged["trained_steps"], 16)
        self.assertEqual(alone["trained_steps"], 24)
        self.assertEqual(results(merged), results(alone))
        self.assertIn("exact: ", self.hippo("check", study).out)

    def test_a_file_of_another_content(self):
        said = self.hippo("run", self.study(60, "0" * 64), code=2).err
        self.assertIn(f"workload: data.sha256: {self.path('t.csv')} has ",
                      said)
        self.assertIn(", the study says " + "0" * 64, said)


if __name__ == "__main__":
    programs.main()
