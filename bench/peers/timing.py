"""How fast epochs are."""

import time


def epochs_per_second(epoch, seconds):
    """Calls `epoch` for about so long."""
    begin = time.perf_counter()
    epochs = spent = 0
    while spent < seconds:
        epoch()
        epochs += 1
        spent = time.perf_counter() - begin
    return epochs / spent
