"""Ask and tell, one call after the other

A study of a service over loopback that a client drives; every answer is durable
before it is given. Optuna's storages in the process of the client.
"""

from harness import Result, Row
from suite.service import service

AIM = 0.2
SIZES = [100, 1_000, 10_000]


def run(bench):
    sizes = SIZES[:1] if bench.quick else SIZES
    trials = str(sizes[len(sizes) // 2])
    number = iter(range(10**6))

    def ours(ask):
        with service(bench, bench.scratch / f"{next(number)}") as running:
            return ask(running.address)

    def optuna(storage):
        return lambda: bench.peer("optuna_ask_tell.py", "--storage", storage,
                                  "--trials", "100")

    def in_cpp(trials):
        return ours(lambda address: bench.json(
            [bench.program("client"), address, trials]))

    values = bench.in_turn({
        "C++": lambda: in_cpp(trials),
        "Python": lambda: ours(lambda address: bench.client(
            "ask_tell.py", address, trials)),
        "Optuna, SQLite": optuna("sqlite"),
        "Optuna, journal": optuna("journal"),
        "Optuna, in memory": optuna("memory")}, min(bench.rounds, 3))

    def figures(who, what):
        return [x[f"{what}_ms"] for x in values[who]]

    grown = [(size, in_cpp(str(size))) for size in sizes]
    return Result(
        [Row(f"{what}, {language}", "ms", figures(language, what), opponent,
             figures(opponent, what), more_is_better=False, aim=AIM)
         for language in ("C++", "Python") for what in ("ask", "tell")
         for opponent in values if opponent.startswith("Optuna")],
        {what: [(size, x[f"{what}_ms"]) for size, x in grown]
         for what in ("ask", "tell")}, ("trials of the study", "ms, C++"))
