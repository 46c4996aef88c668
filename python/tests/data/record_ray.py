"""Records the experiment folder ray-decay, which importing_test.py reads.

    python3 record_ray.py DIR       # with ray[tune]==2.60.0

Only the files that are read are kept.
"""

import os
import sys

import ray
from ray import tune


def trainable(config):
    x = 1.0
    for step in range(9):
        lr = config["lr"] * (0.1 if step >= config["drop"] else 1)
        x -= lr * (x + 0.01 * config["net"]["depth"])
        tune.report({"error": abs(x)})


def main(folder):
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    tune.Tuner(
        trainable,
        param_space={
            "lr": tune.loguniform(0.001, 0.5),
            "drop": tune.choice([4, 6, 9]),
            "net": {"depth": tune.randint(1, 5),
                    "act": tune.grid_search(["relu", "tanh"])},
            "data": "small",
            "decay": tune.sample_from(lambda spec: spec.config.lr * 0.1)},
        tune_config=tune.TuneConfig(
            metric="error", mode="min", num_samples=3,
            scheduler=tune.schedulers.ASHAScheduler(
                max_t=9, grace_period=2, reduction_factor=3)),
        run_config=tune.RunConfig(name="ray-decay", storage_path=folder),
    ).fit()
    for place, _, files in os.walk(os.path.join(folder, "ray-decay")):
        for name in files:
            if name not in ("result.json", "tuner.pkl") \
                    and not name.startswith("experiment_state-"):
                os.remove(os.path.join(place, name))


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
