@0x9f3c1b5de07a6842;
# What a client can ask of a service: Cap'n Proto RPC, two parties over TCP (TLS
# on addresses other than loopback). docs/clients.md describes it for whoever
# writes a client in another language.
#
# The rules are those of sequence.capnp: 0 and unset mean what a field's comment
# says. Steps are in the workload's unit. A number that may be NaN says so. What
# cannot be done fails with an RPC exception whose text begins with the name of
# an error code (`hippo::errc`), a colon, and a sentence for people:
# "unknown_study: no study 'mist'. Did you mean 'mnist'?".

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("hippo::schema");
using Model = import "model.capnp";

const serviceProtocolVersion :UInt32 = 2;
# Grows whenever a client of before can no longer be served.

interface Entrance {
  # What a connection gives first. What it has depends on the certificate.
  greet @0 (protocol :UInt32, client :Text) -> (service :Service,
                                                info :ServiceInfo);
  # `protocol` is the client's `serviceProtocolVersion`; `client` says for logs
  # who it is, at most 1024 bytes. Fails with incompatible_version, with
  # resource_exhausted if there are too many clients, and with not_allowed for
  # who shows a trainer's certificate.

  depot @1 () -> (depot :Capability);
  # The `Depot` of depot.capnp: checkpoints, for trainers that do not see their
  # folder. Fails with not_allowed for a client's certificate.
}

struct ServiceInfo {
  protocol @0 :UInt32;  # the service's
  version  @1 :Text;    # of the release, e.g. "0.1.0"
  state    @2 :Text;    # path of its state folder, on its machine
}

interface Service {
  submit @0 (text :Text, name :Text) -> (study :Study, id :UInt64,
                                         warnings :List(Text),
                                         notes :List(Text));
  # Runs a study. `text` is that of a study file, at most 1 MiB; `name` stands
  # for the file in messages. Answers once the study is durable. `warnings`
  # are of what is odd in it, `notes` of what was decided for it, and why. Fails
  # with invalid_study and every finding, one a line.

  study @1 (idOrName :Text) -> (study :Study, id :UInt64);
  # Of several studies of a name, the last one is meant.

  list @2 (removed :Bool) -> (studies :List(Model.StudyView));
  # In the order of submission, those that have ended included; hidden ones only
  # with `removed`.

  trainers @3 () -> (trainers :List(Model.TrainerView));
  # In order of their numbers; those that have left are there too.

  preview @4 (text :Text, name :Text) -> (preview :Model.PreviewView);
  # What a study would train here, given all that has been trained, with
  # `knownSteps` and `newSteps`; without `times` and `tree`.

  logs @5 (trainer :UInt64, after :UInt64) -> (text :Text, next :UInt64);
  # What the service has logged, from byte `after` on, at most 64 KiB; `next` is
  # the `after` of the next call. `trainer` is kept for the logs of one trainer:
  # 0.

  timeline @6 () -> (timeline :Model.TimelineView);
  # What trainers did in the last hour.

  timings @7 () -> (timings :List(Model.WorkloadTimingsView));
  # How long steps and the rest were measured to take, by workload.

  sendInitial @8 (sha256 :Text, bytes :UInt64)
    -> (isThere :Bool, upload :Capability);
  # Begins to send a file of an initial state (`from` of a workload), before the
  # study that names it is submitted. `isThere`: the service has it already;
  # else `upload` is an `Upload` of depot.capnp, whose `put` and `commit` take
  # the file. Fails with invalid_argument for a digest that is none or more than
  # 64 GiB.

  demand @9 () -> (demand :Model.DemandView);
  # The trainers that could be used now, and those that are connected.
}

struct Steering {
  # A change of a running study, or of one that has ended because nothing was
  # left to do or a budget was spent: it then continues. A study that ended in
  # another way is refused.

  union {
    extend :group {
      # More of each; 0: as before.
      trials @0 :UInt64;
      seconds @1 :Float64;          # of budget.seconds
      deadlineSeconds @2 :Float64;  # by which the deadline comes later
      deviceSeconds @5 :Float64;    # of budget.device_hours, in seconds
      cost @6 :Float64;             # of budget.cost
      budgetSteps @16 :UInt64;      # of budget.steps
      steps @13 :UInt64;
      # The length of trials from now on; 0: as before. Trials that had come to
      # their end go on from there.
    }
    enqueue @3 :Text;
    # Trials with these values, which come next, in JSON or YAML, at most 1000:
    # {trials: [{lr: 0.1}, ...]}, each with a value for every hyper-parameter;
    # {outside: [...]}, the same of values that need not be of the space; or
    # {forks: [{trial: 3, at: 40, params: {lr: 0.01}}, ...]}, trials that have
    # the values of another one up to a step, and these from there on.
    tellPast @4 :Text;
    # Results of training elsewhere, for samplers to learn from; never answered
    # as results: {results: [{params: {lr: 0.1}, step: 10, metrics: {loss:
    # 0.3}}, ...]} in JSON or YAML, at most 1 MiB. Without a step it is the last
    # one.
    note :group {
      # Words of people; also of a study that has ended, whatever its end.
      setNote @7 :Bool;    # whether `note` takes the place of its note
      note @8 :Text;       # at most 10,000 bytes
      addTags @9 :List(Text);
      removeTags @10 :List(Text);
    }
    remove :group {
      # Hides trials, which end if they have not; without any the study itself,
      # which must have ended. Also of a study that has ended.
      trials @11 :List(UInt64);
    }
    restore :group {
      # Shows again what was hidden: these trials, or the study.
      trials @12 :List(UInt64);
    }
    setSpace :group {
      # The space from now on, for trials that have not begun. A study that has
      # ended continues if that leaves it trials.
      space @14 :Text;
      # {space: {...}}, perhaps with prior: {...}, in YAML or JSON. Other keys
      # must be as in the study's file.
      dryRun @15 :Bool;    # whether to answer only, and change nothing
    }
  }
}

interface Study {
  # Stays usable while the service lives, whatever becomes of the study.

  describe @0 () -> (info :Model.StudyView, text :Text);
  # `text` is the study file.

  trials @1 (first :UInt64, most :UInt32) -> (trials :List(Model.TrialView));
  # By number, from `first` on; at most `most` (0: as many as may be) and never
  # more than 1000.

  best @2 () -> (trial :Model.TrialView);
  # Fails with invalid_argument if there is no result yet, or if the study has
  # several metrics: `front` of its StudyView says which trials are best.

  events @3 (after :UInt64, most :UInt32, waitMillis :UInt32)
    -> (events :List(Model.EventView), next :UInt64, ended :Bool);
  # What the study has heard, in its order, after the event `after`; 0 = from
  # the first. At most `most` (0: as many as may be) and never more than 1000.
  # If there is none it waits for one, up to `waitMillis` and never longer than
  # 60,000. `next` is the `after` of the next call. `ended`: the study has
  # ended, and nothing that it heeds comes after these. Results are a stream
  # like this: call it again and again.

  wait @4 (waitMillis :UInt32) -> (info :Model.StudyView);
  # Answers once the study has ended, or after `waitMillis`, never later than
  # 60,000.

  pause @5 () -> ();                 # nothing new starts; what runs goes on
  resume @6 () -> ();
  stop @7 () -> ();                  # finish what runs, then end
  cancel @8 (reason :Text) -> ();    # end now
  setWeight @9 (weight :Float64) -> ();  # share of the trainers, above 0

  export @10 (after :Text) -> (json :Text, next :Text);
  # All that is known of the study. This is JSON, and no type of model.capnp,
  # as it is a document with a format of its own, which is also a file:
  # docs/report.md, one study. It comes in parts of about 1 MiB, or one trial or
  # result: put together, they are the whole. `after` is empty for the first
  # part, and then the `next` of the part before; an empty `next` = this was the
  # last one. Fails with invalid_argument for any other `after`.

  # For studies with `algorithm: client`:

  ask @11 (params :Text) -> (trial :UInt64, params :Text);
  # One more trial. `params` are its values as a map in JSON or YAML; empty =
  # those that the study's sampler draws. Answers with its number and its values
  # as JSON. Not to be repeated blindly: each call makes a trial.

  train @12 (trial :UInt64, step :UInt64) -> (trained :Model.TrainedTrial);
  # Trains a trial up to a step, where something must be measured, and answers
  # when it is there or has ended. Asking again is harmless: what is known is
  # answered at once.

  tell @13 (trial :UInt64, outcome :Model.TrialOutcome) -> ();
  # Ends a trial.

  close @14 () -> ();
  # Nothing more will be asked for; the study ends when its trials have.

  output @15 (trial :UInt64, fromStep :UInt64)
    -> (text :Text, nextStep :UInt64, ended :Bool);
  # What the workload has printed while it trained a trial, also what it did so
  # for others that share that training: on the way to states from `fromStep`
  # on, as far as the trial has been measured. A part of it: `nextStep` is the
  # `fromStep` of the next call, the same if there was nothing. `ended`: the
  # trial has ended.

  weights @16 (trial :UInt64, step :UInt64, without :List(Text))
    -> (recipe :Data, code :Data, kind :Text);
  # What it takes to have the state that a trial had at a step at which it was
  # measured. `recipe` is a message with a Lease (trainer.capnp), which
  # `hippo-trainer --export` carries out: from the last state on the way that
  # was kept, which `checkpoint` reads, to the one that is wanted; from the
  # initial state if there is none. Files in `without` are not to be used: they
  # were found to be damaged, or are gone. `code` is what the study brings to be
  # run; empty: nothing. `kind`: the kind of device that trained it; others give
  # other bits if there is something to train again.

  checkpoint @17 (file :Text, offset :UInt64) -> (content :Data);
  # A checkpoint of the study's workload from byte `offset` on, at most 1 MiB;
  # nothing at its end. `file` may be the SHA-256 of a file of an initial state,
  # too. Fails with bad_checkpoint if it is gone.

  retry @18 (trials :List(UInt64), all :Bool) -> (trials :UInt64);
  # Tries trials again that have failed: these, or all if there are none. Of a
  # study that has ended, too: it goes on. Unless `all`, only those whose
  # failures may pass: they have not diverged, nor did three trainers fail at
  # the same step with the same words. Answers with how many are tried again.
  # Fails with invalid_argument if that is none, and says why.

  importance @19 (step :UInt64, metric :Text)
    -> (importance :Model.ImportanceView);
  # What the best tenth of the trials that were measured at a step have in
  # common, by hyper-parameter. 0 = the last step at which nine tenths of the
  # trials were. The best by a metric of the study's goals; empty = by the first
  # one. Fails with invalid_argument if it is none of them, or if fewer than ten
  # were measured there.

  steer @21 (change :Steering)
    -> (trials :UInt64, space :Model.SpaceChangeView);
  # Gives a study more than it was submitted with. Answers with the number of
  # its trials by then. Fails with invalid_argument, says what and where, and
  # changes nothing where it makes no sense. Not to be repeated blindly: each
  # call adds.

  columns @20 (kind :Model.ColumnKind, after :UInt64) -> (json :Text);
  # What the page shows of the study, by columns, as HTTP answers it: JSON, as
  # the columns follow from the study and long ones are coded:
  # docs/http.md#columns. `after` is of `table` and `curves`, what an earlier
  # answer said; 0 = all.
}
