"""A study in Ray Tune: given configurations, two workers, ASHA or all of it."""

import json
import time

import torch
from ray import tune
from ray.tune.schedulers import AsyncHyperBandScheduler

import fashion
import local_ray
import training


class Trainable(tune.Trainable):
    def setup(self, config, data):
        # Arrays come without a copy from the memory that workers share.
        self.data = [[torch.from_numpy(x.copy()) for x in part]
                     for part in data]
        self.reset_config(config)

    def reset_config(self, new_config):
        self.trial = training.Trial(new_config["configuration"], self.data)
        return True

    def step(self):
        return {"accuracy": self.trial.train(), "at": time.time()}


class History(tune.Callback):
    def __init__(self):
        self.rows = []

    def on_trial_result(self, iteration, trials, trial, result, **info):
        self.rows.append((result["at"], result["accuracy"]))


def main():
    parser = training.parser(__doc__)
    parser.add_argument("--reuse-actors", action="store_true",
                        help="give the next trial to the same process")
    args = parser.parse_args()
    study = json.loads(args.study.read_text())
    scheduler = None
    if study["asha"]:
        scheduler = AsyncHyperBandScheduler(
            max_t=study["epochs"], grace_period=study["asha"]["min"],
            reduction_factor=study["asha"]["eta"])
    with local_ray.started() as run_config, training.Cost() as cost:
        data = [[x.numpy() for x in part] for part in
                fashion.read_data(study["train"], study["validation"])]
        history = History()
        results = tune.Tuner(
            tune.with_resources(
                tune.with_parameters(Trainable, data=data), {"cpu": 1}),
            param_space={"configuration": tune.grid_search(
                study["configurations"])},
            tune_config=tune.TuneConfig(
                metric="accuracy", mode="max", max_concurrent_trials=2,
                reuse_actors=args.reuse_actors, scheduler=scheduler),
            run_config=run_config(callbacks=[history],
                                  stop={"training_iteration":
                                        study["epochs"]})).fit()
    assert len(results) == len(study["configurations"]) and not results.errors
    training.tell(cost, history.rows)


main()
