#!/usr/bin/env python3
"""Whether gdb shows ids and sequences by scripts/gdb-printers.py.

The environment has CXX, the compiler.
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

SAMPLE = r"""
#include "hippo/base/ids.hpp"
#include "hippo/sequence/sequence.hpp"

using namespace hippo;

int main() {
  trainer_id trainer{3};
  lease_id lease{7};
  study_no study{2};
  form curve{form_kind::exponential, 8, {0.1, 0.9}, {}};
  form flat{form_kind::constant, 0, {0.25}, {}};
  form count{form_kind::constant, 0, {64}, {}, value_type::whole};
  form word{form_kind::text, 0, {}, "adamw"};
  sequence one{flat};
  std::vector<piece> pieces{{0, flat}, {8, curve}};
  return static_cast<int>(number_of(trainer)); // here
}
"""


class Printers(unittest.TestCase):
    def test_ids_and_sequences(self):
        expected = {"trainer": "trainer 3", "lease": "lease 7",
                    "study": "study of the plan 2",
                    "curve": "exp(0.1,0.9)@8", "flat": "0.25",
                    "count": "int:64", "word": "adamw", "one": "0: 0.25",
                    "pieces[1]": "8: exp(0.1,0.9)@8"}
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "sample.cpp")
            source.write_text(SAMPLE)
            program = pathlib.Path(folder, "sample")
            # Without optimisation: the variables are not used.
            subprocess.run(
                [os.environ["CXX"], "-std=c++20", "-g", "-O0", "-I",
                 ROOT / "libhippo", source, "-o", program], check=True)
            line = SAMPLE[:SAMPLE.index("// here")].count("\n") + 1
            commands = ["-ex", f"break sample.cpp:{line}", "-ex", "run"]
            for name in expected:
                commands += ["-ex", f'printf "{name} = "',
                             "-ex", f"output {name}", "-ex", 'printf "\\n"']
            said = subprocess.run(
                ["gdb", "--batch", "-nx", "-x",
                 ROOT / "scripts/gdb-printers.py", *commands, program],
                text=True, check=True, capture_output=True).stdout
        for name, text in expected.items():
            with self.subTest(name):
                shown = re.search(rf"(?m)^{re.escape(name)} = (.*)$", said)
                self.assertEqual(shown[1], text)


if __name__ == "__main__":
    unittest.main()
