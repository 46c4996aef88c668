"""Compares searches over tasks: normalised regrets, mean ranks, and whether
these differ significantly (Demšar, Statistical Comparisons of Classifiers over
Multiple Data Sets, JMLR 7, 2006), reported as CARP-S does.

Courses are (budget spent, value) whenever a search's best got better, of values
more is better; `found` has a list of them, one a seed, by task and method.
"""

import math
import statistics

import harness

# Of the studentized range, divided by the root of two, for the critical
# difference of mean ranks at .05, from two methods on (Demšar, table 5).
NEMENYI = [1.960, 2.344, 2.569, 2.728, 2.850, 2.948, 3.031, 3.102, 3.164, 3.219,
           3.268, 3.313, 3.354, 3.391, 3.426, 3.458, 3.489, 3.517, 3.544]

# Budgets at which pictures show a search, as shares of the last one.
SHARES = [2 ** (x / 2 - 6) for x in range(13)]


def regret(course, budget, bounds):
    """0 for the best value known, 1 for the median configuration's."""
    median, best = bounds
    found = [value for spent, value in course if spent <= budget]
    if not found:
        return 1.0
    return (best - found[-1]) / (best - median) if best > median else 0.0


def best_known(found, bounds):
    """The bounds, where what any search has found may be the best known."""
    return {task: (bounds[task][0],
                   max(bounds[task][1],
                       *(x[-1][1] for courses in by_method.values()
                         for x in courses if x)))
            for task, by_method in found.items()}


def regrets(found, budget, bounds):
    """The mean regret over seeds, by task and method."""
    return {task: {who: statistics.fmean(
        regret(x, budget, bounds[task]) for x in courses)
        for who, courses in by_method.items()}
        for task, by_method in found.items()}


def ranks(values):
    """The rank of each value among them, from 1 on; equal ones share theirs."""
    return [sum(y < x for y in values) + (sum(y == x for y in values) + 1) / 2
            for x in values]


def mean_ranks(by_task):
    """By method, over tasks; the first is best."""
    methods = list(next(iter(by_task.values())))
    found = [ranks([x[who] for who in methods]) for x in by_task.values()]
    return {who: statistics.fmean(x[i] for x in found)
            for i, who in enumerate(methods)}


def chi_square_beyond(x, degrees):
    """The probability that a chi-square variable is greater than x."""
    half = x / 2
    first = .5 if degrees % 2 else 0
    terms = [half ** (first + i) * math.exp(-half) / math.gamma(first + i + 1)
             for i in range(degrees // 2)]
    return (math.erfc(math.sqrt(half)) if degrees % 2 else 0) + sum(terms)


def friedman(by_task):
    """The probability of mean ranks that differ as much, if all methods were
    equal.
    """
    found = mean_ranks(by_task).values()
    k = len(found)
    statistic = 12 * len(by_task) / (k * (k + 1)) * sum(
        (x - (k + 1) / 2) ** 2 for x in found)
    return chi_square_beyond(statistic, k - 1) if k > 1 else 1.0


def critical_difference(methods, tasks):
    """By which mean ranks must differ to do so significantly (Nemenyi, .05)."""
    if methods < 2:
        return math.inf
    return NEMENYI[methods - 2] * math.sqrt(methods * (methods + 1)
                                            / (6 * tasks))


def standard_error(values):
    if len(values) < 2:
        return 0.0
    return statistics.stdev(values) / math.sqrt(len(values))


def behind_peers(by_task, ours, mine="auto"):
    """Tasks on which a peer's regret is lower: (task, ours, peer, its), the
    largest difference first.
    """
    result = []
    for task, x in by_task.items():
        peers = [who for who in x if who not in ours]
        if mine in x and peers:
            peer = min(peers, key=x.get)
            if x[peer] < x[mine]:
                result.append((task, x[mine], peer, x[peer]))
    return sorted(result, key=lambda x: x[3] - x[1])


def comparison(by_mark):
    """What is kept beside the regrets."""
    by_task = next(iter(by_mark.values()))
    return {"mean ranks": {m: mean_ranks(x) for m, x in by_mark.items()},
            "Friedman": {m: friedman(x) for m, x in by_mark.items()},
            "critical difference": critical_difference(
                len(next(iter(by_task.values()))), len(by_task))}


def table(by_mark, difference):
    """Mean regret ± its standard error over tasks, and the mean rank; bold
    where the rank is not significantly behind the first.
    """
    first = next(iter(by_mark.values()))
    methods = list(next(iter(first.values())))
    lines = [["", *(f"at {mark}" for mark in by_mark)]]
    lines += [[who] for who in methods]
    for by_task in by_mark.values():
        found = mean_ranks(by_task)
        for line, who in zip(lines[1:], methods):
            values = [x[who] for x in by_task.values()]
            rank = f"{found[who]:.1f}"
            if found[who] - min(found.values()) < difference:
                rank = f"**{rank}**"
            line.append(f"{statistics.fmean(values):.3f} ± "
                        f"{standard_error(values):.3f} ({rank})")
    return harness.markdown(lines)


def section(title, by_mark, ours):
    """The text of a table in the page."""
    tasks = len(next(iter(by_mark.values())))
    methods = len(next(iter(next(iter(by_mark.values())).values())))
    difference = critical_difference(methods, tasks)
    chance = max(friedman(x) for x in by_mark.values())
    notes = [f"{title}. Critical difference {difference:.2f}; Friedman's p is "
             + ("below .001." if chance < .001 else f"{chance:.3f} at most."),
             table(by_mark, difference)]
    behind = []
    for mark, by_task in by_mark.items():
        found = behind_peers(by_task, ours)
        if found:
            most = ", ".join(f"{task} ({mine:.3f}, {peer} {theirs:.3f})"
                             for task, mine, peer, theirs in found[:3])
            behind.append(f"at {mark} on {len(found)} of {tasks}, most on "
                          f"{most}")
    if behind:
        notes.append("A peer's mean regret is below that of `auto` "
                     + "; ".join(behind) + ".")
    return notes


def panels(title, found, last, bounds):
    """Regret and mean rank over the budget, as pictures show them."""
    budgets = [last * x for x in SHARES]
    regret_curves, rank_curves = {}, {}
    for budget in budgets:
        by_task = regrets(found, budget, bounds)
        for who, rank in mean_ranks(by_task).items():
            values = [x[who] for x in by_task.values()]
            mean, error = statistics.fmean(values), standard_error(values)
            regret_curves.setdefault(who, []).append(
                (budget, mean, max(mean - error, mean / 3), mean + error))
            rank_curves.setdefault(who, []).append((budget, rank))
    return [harness.Panel(title, ("budget", "regret"), regret_curves),
            harness.Panel(title, ("budget", "mean rank"), rank_curves,
                          linear=True)]
