"""Waits until a service has so many trainers, or one that trains.

    wait_until.py SERVER COUNT
    wait_until.py SERVER trains
"""

import json
import sys
import time

import hippo_hpo as hippo

server, what = sys.argv[1:]
with hippo.connect(server) as client:
    while True:
        trainers = client.trainers()
        if (any(x.lease for x in trainers) if what == "trains"
                else len(trainers) >= int(what)):
            break
        time.sleep(0.005)
print(json.dumps(len(trainers)))
