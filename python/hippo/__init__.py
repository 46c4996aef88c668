"""Client of Hippo, a hyper-parameter optimisation service.

    >>> import hippo
    >>> with hippo.connect("127.0.0.1:4849") as client:
    ...     study = client.submit("lr-schedules.yaml")
    ...     study.wait()
    ...     print(study.best_value, study.best_params)
"""

from .client import Client, connect
from .errors import (Cancelled, Closed, Disconnected, Error,
                     IncompatibleVersion, InvalidArgument, InvalidStudy,
                     MissingData, NotAllowed, ResourceExhausted, Timeout,
                     TrialFailed, UnknownStudy, UnknownWorkload)
from .records import (Event, LeaseInfo, ServiceInfo, StudyInfo, TrainerInfo,
                      TrialInfo)
from .study import Study, Trial
from .workload import HyperParameters, Workload

__all__ = [
    "Cancelled", "Client", "Closed", "Disconnected", "Error", "Event",
    "HyperParameters", "IncompatibleVersion", "InvalidArgument", "InvalidStudy",
    "LeaseInfo",
    "MissingData", "NotAllowed", "ResourceExhausted", "ServiceInfo", "Study",
    "StudyInfo", "Timeout", "TrainerInfo", "Trial", "TrialFailed",
    "TrialInfo", "UnknownStudy", "UnknownWorkload", "Workload",
    "connect",
]
