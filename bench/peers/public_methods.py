"""Searches of public tables: each has `next`, which gives a worker its work or
None, and `told`, which takes what that measured.

Work is (trial, from, to, values): the steps from one state to the other are
trained, and `to` is measured.
"""

import json
import subprocess
import tempfile


def values_of(task, name):
    """The values of a hyper-parameter, as a study file writes them."""
    if name in task.ranges:
        x = task.ranges[name]
        if task.fold:
            return "{uniform: [0, 1]}"
        kind = ("log_" if x.log else "") + ("int_" if x.whole else "")
        return f"{{{kind}uniform: [{x.low!r}, {x.high!r}]}}"
    options = []
    for word in task.choices[name]:
        there = [child for child, (parent, words) in task.conditions.items()
                 if parent == name and word in words]
        within = ", ".join(f"{x.replace('.', '_')}: {values_of(task, x)}"
                           for x in there)
        options.append(f"{{value: {word}, with: {{{within}}}}}" if within
                       else json.dumps(word))
    return f"{{choice: [{', '.join(options)}]}}"


def space_file(task):
    """The space of a task as a study file has it."""
    return "\n".join(f"  {x.replace('.', '_')}: {values_of(task, x)}"
                     for x in [*task.ranges, *task.choices]
                     if x not in task.conditions)


class Hippo:
    """Ours, by the program `play`."""

    def __init__(self, task, seed, workers, program, algorithm, budget):
        text = (f"study: public\nworkload: public\n"
                f"objective: {{metric: value, direction: "
                f"{task.about['direction']}}}\n"
                f"max_steps: {task.steps}\nspace:\n{space_file(task)}\n"
                f"algorithm: {algorithm}\nseed: {seed}\n"
                f"budget: {budget}\n")
        self._file = tempfile.NamedTemporaryFile("w", suffix=".yaml")
        self._file.write(text)
        self._file.flush()
        self._names = {x.replace(".", "_"): x
                       for x in [*task.ranges, *task.choices]}
        self._process = subprocess.Popen(
            [program, self._file.name, str(workers),
             *(x.replace(".", "_") for x in task.ranges),
             *(f"{x.replace('.', '_')}={','.join(words)}"
               for x, words in task.choices.items())], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, bufsize=1)

    def _ask(self, line):
        self._process.stdin.write(line + "\n")
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("play has ended: " + line)
        return json.loads(answer)

    def next(self, worker):
        x = self._ask(f"next {worker}")
        if x is None:
            return None
        return (x["trial"], x["from"], x["to"],
                {self._names[k]: v for k, v in x["values"].items()})

    def told(self, worker, work, value):
        self._ask(f"told {worker} {value:.17g}")

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._file.close()
