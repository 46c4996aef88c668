"""Ray on this machine alone, with two CPUs, quiet, and gone afterwards."""

import contextlib
import logging
import os
import sys
import tempfile

os.environ.update(RAY_USAGE_STATS_ENABLED="0",
                  RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0")

import ray
from ray import tune


@contextlib.contextmanager
def started():
    """Starts Ray; gives how a tuner is to run: in a folder that is removed."""
    with tempfile.TemporaryDirectory() as folder:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False,
                 logging_level=logging.ERROR, _temp_dir=folder,
                 # Any but 127.0.0.1, which it replaces by the network's.
                 _node_ip_address="127.0.0.2")
        try:
            # It prints a little even so.
            with contextlib.redirect_stdout(sys.stderr):
                # A class is saved at each trial's end unless one says no.
                yield lambda **options: tune.RunConfig(
                    storage_path=folder, verbose=0,
                    checkpoint_config=tune.CheckpointConfig(
                        checkpoint_at_end=False), **options)
        finally:
            ray.shutdown()
