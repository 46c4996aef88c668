#!/usr/bin/env python3
"""Records what Optuna's PED-ANOVA says of random conditional spaces.

  record_optuna.py optuna.json          writes the recording
  record_optuna.py --check optuna.json  says whether Optuna still says the same
"""
import json
import random
import sys
import warnings

SPACES = 40


def distribution(domain):
    from optuna import distributions as d
    kind, low, high = domain["kind"], domain["low"], domain["high"]
    if kind == "category":
        return d.CategoricalDistribution(list(range(high + 1)))
    if kind == "integer":
        return d.IntDistribution(low, high)
    return d.FloatDistribution(low, high, log=kind == "log")


def random_domain(draw):
    kind = draw.choice(["real", "log", "integer", "category"])
    if kind == "category":
        return {"kind": kind, "low": 0, "high": draw.randint(0, 6)}
    if kind == "integer":
        low = draw.randint(-20, 20)
        return {"kind": kind, "low": low,
                "high": low + draw.choice([0, 1, 3, 10, 48, 49, 50, 300])}
    low = round(10 ** draw.uniform(-5, -1), 7)
    high = low * draw.choice([1.5, 10, 1e4])
    return {"kind": kind, "low": low, "high": high}


def value_of(domain, draw):
    low, high = domain["low"], domain["high"]
    if domain["kind"] in ("category", "integer"):
        return draw.randint(low, high)
    if domain["kind"] == "log":
        return min(max(low * (high / low) ** draw.random(), low), high)
    # Some are on the grid, or between two of its points.
    if draw.random() < .2:
        return low + (high - low) * draw.randint(0, 98) / 98
    return draw.uniform(low, high)


def space(seed):
    """Trials of which each has some of the parameters, of several domains."""
    draw = random.Random(seed)
    parameters = []
    for _ in range(draw.randint(1, 5)):
        domains = []
        while len(domains) < draw.choice([1, 1, 2, 3]):
            x = random_domain(draw)
            if x not in domains:
                domains.append(x)
        parameters.append({"domains": domains, "values": [],
                           "missing": draw.choice([0, 0, .3, .9])})
    trials = draw.choice([2, 3, 9, 10, 11, 40, 100, 300])
    losses = []
    for _ in range(trials):
        loss = draw.gauss(0, 1)
        for x in parameters:
            if draw.random() < x["missing"]:
                x["values"].append(None)
                continue
            no = draw.randrange(len(x["domains"]))
            value = value_of(x["domains"][no], draw)
            x["values"].append([no, value])
            low, high = x["domains"][no]["low"], x["domains"][no]["high"]
            loss += (value - low) / ((high - low) or 1)
        # Of some studies many trials are equal.
        losses.append(round(loss, 0 if seed % 4 == 0 else 9))
    for x in parameters:
        del x["missing"]
    return {"maximize": seed % 2 == 1, "losses": losses,
            "parameters": parameters}


def ask_optuna(x):
    import optuna
    study = optuna.create_study(
        direction="maximize" if x["maximize"] else "minimize")
    for i, loss in enumerate(x["losses"]):
        params, known = {}, {}
        for no, y in enumerate(x["parameters"]):
            if y["values"][i] is None:
                continue
            domain, value = y["values"][i]
            params[f"p{no}"] = value
            known[f"p{no}"] = distribution(y["domains"][domain])
        study.add_trial(optuna.trial.create_trial(
            params=params, distributions=known,
            value=-loss if x["maximize"] else loss))
    found = optuna.importance.PedAnovaImportanceEvaluator().evaluate(study)
    return [found.get(f"p{no}", 0.) for no in range(len(x["parameters"]))]


def record():
    import optuna
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    result = {"optuna": optuna.__version__, "spaces": []}
    for seed in range(SPACES):
        x = space(seed)
        result["spaces"].append({**x, "importance": ask_optuna(x)})
    return result


def main():
    try:
        import optuna
    except ImportError:
        print("skipped: Optuna is not installed")
        return 77
    check = sys.argv[1] == "--check"
    if check and optuna.__version__ != "5.0.0":
        print(f"skipped: this is Optuna {optuna.__version__}, not 5.0.0")
        return 77
    now = record()
    if not check:
        with open(sys.argv[1], "w") as file:
            json.dump(now, file, separators=(",", ":"))
        return 0
    with open(sys.argv[2]) as file:
        before = json.load(file)
    for seed, (x, y) in enumerate(zip(before["spaces"], now["spaces"])):
        for a, b in zip(x.pop("importance"), y.pop("importance")):
            assert abs(a - b) <= 1e-12 + 1e-9 * abs(b), (seed, a, b)
        assert x == y, f"space {seed} is another"
    assert len(before["spaces"]) == len(now["spaces"]) == SPACES
    return 0


if __name__ == "__main__":
    sys.exit(main())
