"""Studies of a workload that costs nothing on simulated trainers."""


def study(name, trials, steps=1, **more):
    """Returns a study whose trials each have a learning rate of their own.

    more: further keys of the study file
    """
    return {
        "study": name,
        "workload": {"name": "fashion-mlp"},
        "objective": {"metric": "val_accuracy", "direction": "maximize"},
        "max_steps": steps,
        "space": {"lr": {"log_uniform": [1e-6, 0.1]}},
        "algorithm": "random",  # what is measured is not a model's fit
        "budget": {"trials": trials},
        **more,
    }
