"""No-op trials per second of Ray Tune with two workers."""

import time

from ray import tune

import local_ray
import noop


class Noop(tune.Trainable):
    def step(self):
        return {"value": self.config["x"], tune.result.DONE: True}

    def reset_config(self, new_config):
        return True


def main():
    parser = noop.parser(__doc__)
    parser.add_argument("--reuse-actors", action="store_true",
                        help="give the next trial to the same process")
    args = parser.parse_args()
    with local_ray.started() as run_config:
        tuner = tune.Tuner(
            tune.with_resources(Noop, {"cpu": 1}),
            param_space={"x": tune.uniform(0, 1)},
            tune_config=tune.TuneConfig(
                num_samples=args.trials, metric="value", mode="max",
                max_concurrent_trials=2, reuse_actors=args.reuse_actors),
            run_config=run_config())
        begin = time.perf_counter()
        results = tuner.fit()
        seconds = time.perf_counter() - begin
    assert len(results) == args.trials and not results.errors
    noop.tell(args.trials, seconds)


main()
