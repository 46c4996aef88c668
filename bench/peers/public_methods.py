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
    """Ours, by `hippo ask-tell`."""

    def __init__(self, task, seed, workers, program, algorithm, budget):
        text = (f"study: public\n"
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
            [program, "ask-tell", self._file.name, "--workers", str(workers)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, bufsize=1)
        self._read()  # says which algorithm it is

    def _read(self):
        answer = json.loads(self._process.stdout.readline() or "null")
        if answer is None or "error" in answer:
            raise SystemExit(f"hippo ask-tell: {answer}")
        return answer

    def _ask(self, **request):
        self._process.stdin.write(json.dumps(request) + "\n")
        return self._read()

    def next(self, worker):
        x = self._ask(do="ask")["work"]
        if x is None:
            return None
        return (x["trial"], x["from"], x["to"],
                {self._names[k]: v for k, v in x["params"].items()})

    def told(self, worker, work, value):
        self._ask(do="tell", trial=work[0], to=work[2],
                  values={"value": value})

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._file.close()
