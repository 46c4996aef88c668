"""Ask and tell, one call after the other

A study of a service over loopback that a client drives; every answer is durable
before it is given. Optuna's storages in the process of the client. Each is the
median of the last tenth of its trials.
"""

from harness import Result, Row
from suite.service import service

AIM = 0.2


def run(bench):
    trials = "100" if bench.quick else "1000"
    number = iter(range(10**6))

    def ours(ask):
        with service(bench, bench.scratch / f"{next(number)}") as running:
            return ask(running.address)

    def optuna(storage):
        return lambda: bench.peer("optuna_ask_tell.py", "--storage", storage,
                                  "--trials", "100")

    values = bench.in_turn({
        "C++": lambda: ours(lambda address: bench.json(
            [bench.program("client"), address, trials])),
        "Python": lambda: ours(lambda address: bench.client(
            "ask_tell.py", address, trials)),
        "Optuna, SQLite": optuna("sqlite"),
        "Optuna, journal": optuna("journal"),
        "Optuna, in memory": optuna("memory")}, min(bench.rounds, 3))

    def figures(who, what):
        return [x[f"{what}_ms"] for x in values[who]]

    return Result([
        Row(f"{what}, {language}", "ms", figures(language, what), opponent,
            figures(opponent, what), more_is_better=False, aim=AIM)
        for language in ("C++", "Python") for what in ("ask", "tell")
        for opponent in values if opponent.startswith("Optuna")])
