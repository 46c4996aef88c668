"""An Optuna sampler chooses, an Optuna pruner stops, and Hippo trains.

    pip install './python[optuna]'
    hippo serve --state /tmp/hippo --trainers 2
    python python/examples/optuna_sampler.py --trials 40

A trial's learning rate drops at some step. Trials of the same first rate share
their training up to there, whatever the sampler had in mind.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor

import hippo_hpo as hippo
import optuna

STEPS = 9


STUDY = {
    "study": "optuna",
    "workload": {"name": "fashion-mlp", "seed": 1,
                 "data": {"train": 2000, "validation": 1000}},
    "objective": {"metric": "val_accuracy", "direction": "maximize"},
    "max_steps": STEPS,
    "space": {"lr": {"log_uniform": [0.01, 0.3]}},
    "algorithm": {"client": {"interval": 1}},  # a trial may end at each step
}


def run_trial(sampled, study):
    """Has Hippo train one trial, for as long as Optuna wants it."""
    trial = sampled.ask()
    lr = trial.suggest_categorical("lr", [0.03, 0.1, 0.3])
    drop = trial.suggest_int("drop", 2, 8, step=2)
    mine = study.ask({"lr": {"multistep": {
        "initial": lr, "milestones": [drop], "gamma": 0.1}}})
    try:
        for step in range(1, STEPS + 1):
            value = mine.train(step)["val_accuracy"]
            trial.report(value, step)
            if step < STEPS and trial.should_prune():
                study.tell(mine, state="PRUNED")
                sampled.tell(trial, state=optuna.trial.TrialState.PRUNED)
                return
        sampled.tell(trial, value)
    except hippo.TrialFailed as e:
        print(f"trial {mine.number} failed: {e}")
        sampled.tell(trial, state=optuna.trial.TrialState.FAIL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", metavar="HOST:PORT",
                        help="default: HIPPO_SERVER, or 127.0.0.1:4849")
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=4,
                        help="trials at a time")
    args = parser.parse_args()

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampled = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=1),
        pruner=optuna.pruners.MedianPruner(n_warmup_steps=2))
    with hippo.connect(args.server) as client:
        study = client.submit(STUDY)
        with ThreadPoolExecutor(args.jobs) as pool:
            for _ in pool.map(lambda _: run_trial(sampled, study),
                              range(args.trials)):
                pass
        study.close()
        info = study.wait(progress=False)
        pruned = sum(x.state == "PRUNED" for x in study.trials)
        print(f"{info.trials} trials, {pruned} of them pruned")
        print(f"best: {sampled.best_value:.4f} with {sampled.best_params}")
        print(f"trained for {info.delivered_steps - info.shared_steps} of the "
              f"{info.delivered_steps} steps that its trials got")


if __name__ == "__main__":
    main()
