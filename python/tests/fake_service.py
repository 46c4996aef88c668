"""A service that trains nothing, in a process of its own.

    fake_service.py STATE [--port N] [--hang METHOD] [--drop METHOD]
                    [--refuse TEXT] [--tls PEM CLIENTS]

STATE is a JSON file with what there is: `studies`, each with `info`, `trials`
and `events` as the schema has them, and `states`, the changes of `info` that
one `wait` after the other sees; and what a study is that is `submitted`. What
is submitted and asked for is stored there, so that another process may go on.
Each call is a line on stdout once it is in; calls of the METHOD to hang are
never answered, and those of the METHOD to drop end all connections.
"""

import argparse
import asyncio
import copy
import json
import ssl
import traceback

import capnp

from hippo_hpo._schema import service as schema

# The text of an exception is all that a client gets of it.
traceback.format_exception = lambda kind, error, _: [str(error)]


# The answer to every new space.
SPACE_CHANGE = {"changes": [{"name": "lr", "before": "0.1"}], "replaced": 2,
                "learned": 3, "outside": 4, "imported": 5, "trials": 9}


class Refused(Exception):
    """CODE: SENTENCE."""


def say(*words):
    print(*words, flush=True)


class Model:
    def __init__(self, args):
        self.args = args
        with open(args.state) as file:
            self.content = json.load(file)
        self.training = 0
        self.streams = []

    def save(self):
        with open(self.args.state, "w") as file:
            json.dump(self.content, file)

    async def called(self, method, *words):
        say(method, *words)
        if method in self.args.drop:
            for stream in self.streams:
                stream.close()
        if method in self.args.hang:
            await asyncio.get_running_loop().create_future()

    def find(self, id_or_name):
        found = [i for i, x in enumerate(self.content["studies"])
                 if id_or_name in (str(i + 1), x["info"]["name"])]
        if not found:
            raise Refused(f"unknown_study: no study '{id_or_name}'.\n"
                          "Did you mean 'mnist'?")
        return found[-1]


def ended(info):
    return info.get("state") in ("COMPLETE", "FAILED", "CANCELLED")


class Study(schema.Study.Server):
    def __init__(self, model, index):
        self.model = model
        self.index = index

    @property
    def x(self):
        return self.model.content["studies"][self.index]

    async def describe(self, _context):
        return {"id": self.index + 1, **self.x["info"]}, self.x["text"]

    async def trials(self, first, most, _context):
        await self.model.called("trials", first, most)
        return self.x["trials"][first:first + most]

    async def best(self, _context):
        best = self.x["info"].get("best")
        if best is None:
            raise Refused("invalid_argument: there is no result yet")
        return best["value"]

    async def events(self, after, most, waitMillis, _context):
        await self.model.called("events", after, most)
        new = [x for x in self.x["events"] if x["id"] > after][:most]
        if not new and not ended(self.x["info"]) and waitMillis:
            await asyncio.sleep(waitMillis / 1000)
        return (new, new[-1]["id"] if new else after,
                ended(self.x["info"]) and (
                    not new or new[-1] == self.x["events"][-1]))

    async def wait(self, waitMillis, _context):
        await self.model.called("wait", waitMillis)
        left = self.x.get("states", [])
        if left:
            self.x["info"].update(left.pop(0))
        return {"id": self.index + 1, **self.x["info"]}

    async def pause(self, _context):
        await self.model.called("pause")

    async def resume(self, _context):
        await self.model.called("resume")

    async def retry(self, trials, all, _context):
        await self.model.called("retry", *trials, all)
        return len(trials) or 4

    async def stop(self, _context):
        await self.model.called("stop")

    async def cancel(self, reason, _context):
        await self.model.called("cancel", reason)

    async def setWeight(self, weight, _context):
        await self.model.called("setWeight", weight)
        if not weight > 0:
            raise Refused(f"invalid_argument: a weight of {weight}: more than "
                          "0 is asked for")

    async def steer(self, change, _context):
        kind = str(change.which())
        what = getattr(change, kind)
        if kind == "extend":
            what = (f"{what.trials} {what.seconds:g} "
                    f"{what.deadlineSeconds:g} {what.steps} "
                    f"{what.budgetSteps}")
        if kind == "setSpace":
            what = f"{what.space} {what.dryRun}"
        await self.model.called("steer", kind, what)
        if "refuse" in str(what):
            raise Refused("invalid_argument: trials[0].refuse: is unknown")
        return 7, SPACE_CHANGE

    async def export(self, after, _context):
        whole = json.dumps({"study": self.x["info"]["name"]})
        return (whole[5:], "") if after else (whole[:5], "5")

    async def ask(self, params, _context):
        values = json.loads(params) if params else {"lr": 0.1}
        self.x["trials"].append(
            {"trial": len(self.x["trials"]), "params": json.dumps(values)})
        self.model.save()
        await self.model.called("ask", params)
        return len(self.x["trials"]) - 1, json.dumps(values)

    async def train(self, trial, step, _context):
        self.model.training += 1
        try:
            await self.model.called("train", trial, step,
                                    self.model.training)
        finally:
            self.model.training -= 1
        lr = json.loads(self.x["trials"][trial]["params"])["lr"]
        if isinstance(lr, dict):
            lr = lr["multistep"]["initial"]
        if lr < 0:
            return {"state": "FAILED", "step": 1,
                    "failure": "the loss is nan\n  at step 1"}
        if lr > 1:
            return {"state": "CANCELLED", "step": 2}
        return {"state": "PAUSED", "step": step, "metrics": [
            {"name": "loss", "value": float("nan")},
            {"name": "val_accuracy", "value": lr * step}]}

    async def tell(self, trial, outcome, _context):
        await self.model.called("tell", trial, json.dumps(outcome.to_dict()))

    async def close(self, _context):
        await self.model.called("close")


class Service(schema.Service.Server):
    def __init__(self, model):
        self.model = model

    async def submit(self, text, name, _context):
        if "nonsense" in text:
            raise Refused("invalid_study: mist.yaml:3:1: unknown key "
                          "'nonsense'\nmist.yaml:4:1: and another")
        studies = self.model.content["studies"]
        x = copy.deepcopy(self.model.content.get("submitted", {"info": {}}))
        x["info"] = {"state": "RUNNING", **x["info"], "name": name}
        studies.append({"text": text, "trials": [], "events": [], **x})
        self.model.save()
        await self.model.called("submit", name)
        return (Study(self.model, len(studies) - 1), len(studies),
                ["one warning"] if "warn" in text else [],
                ["one note"] if "note" in text else [])

    async def study(self, idOrName, _context):
        index = self.model.find(idOrName)
        return Study(self.model, index), index + 1

    async def list(self, removed, _context):
        await self.model.called("list")
        return [{"id": i + 1, **x["info"]}
                for i, x in enumerate(self.model.content["studies"])]

    async def trainers(self, _context):
        return self.model.content.get("trainers", [])

    async def demand(self, _context):
        return self.model.content["demand"]

    async def preview(self, text, name, _context):
        return {"trials": len(name), "full": {
            "askedSteps": 9, "mergeRate": 1.5,
            "newSteps": {"value": len(text)}}}


class Entrance(schema.Entrance.Server):
    def __init__(self, model):
        self.model = model

    async def greet(self, protocol, client, _context):
        await self.model.called("greet", protocol, client)
        if self.model.args.refuse:
            raise Refused(self.model.args.refuse)
        return Service(self.model), {"protocol": protocol, "version": "1.2.3",
                                     "state": self.model.args.state}


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("state")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--hang", action="append", default=[])
    parser.add_argument("--drop", action="append", default=[])
    parser.add_argument("--refuse", default="")
    parser.add_argument("--tls", nargs=2, metavar=("PEM", "CLIENTS"))
    args = parser.parse_args()
    model = Model(args)

    async def serve(stream):
        model.streams.append(stream)
        server = capnp.TwoPartyServer(stream, bootstrap=Entrance(model))
        await server.on_disconnect()

    tls = None
    if args.tls:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(args.tls[0])
        tls.load_verify_locations(args.tls[1])
        tls.verify_mode = ssl.CERT_REQUIRED
    async with capnp.kj_loop():
        server = await capnp.AsyncIoStream.create_server(
            serve, "127.0.0.1", args.port, ssl=tls)
        say("ready", server.sockets[0].getsockname()[1])
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main())
