@0xd44554e3c9b6f616;
# The nouns that clients see, each declared once: where a study, a trial and a
# trainer stand, what has happened, and what a study would train.
# schemas/generate_views.py makes of these declarations the structs of C++ with
# their messages, their JSON (docs/http.md) and the columns of tables, the
# records of Python, and the tables of fields in the docs. A field's name in
# JSON, C++ and Python is its name here, written like_this.
#
# The rules are those of sequence.capnp: numbers are never reused, and a field
# that is unset is 0 or empty. A union of a Void and one value is a value that
# may be missing. Of a union without a name one member has a value; the others
# are missing.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("hippo::schema");

annotation unit @0x9b0c5a2f9d1e7a31 (field, group, union) :Text;
# The unit of a number.

annotation since @0xa6f4c02a1b7d4e52 (field, group, union) :Text;
# The release whose messages were the first to have the field.

annotation deprecated @0xb3a1de1c77f05c63 (field, group, union) :Text;
# The field's name in Python up to release 0.1, an alias for a release more.

annotation former @0xd4b1c60f92a87e35 (field, group, union) :Text;
# The field's former name in JSON, an alias for a release more; in Python
# likewise, unless the field has another name there.

annotation formerColumn @0x8b6f0d9e5ac21743 (field, group, union) :Text;
# The same of the column's name.

annotation python @0xc85b7e94c2a64d74 (struct, field, group, union) :Text;
# The name in Python, where it is another one.

annotation spread @0xd917c3f00be83f85 (field, group, union) :Void;
# In Python the members of the value are fields of their own.

annotation flat @0xf80e4b17c9d2a365 (field) :Void;
# In JSON and Python the members of the value are fields of the noun itself.

annotation omitted @0xc1d97f26a40b853e (field, group, union) :Void;
# JSON leaves it out where there is none.

annotation key @0xe7a25c08d41f9b36 (field) :Text;
# The name in JSON, where it is another one.

annotation read @0x9d3e8a61b07c542f (field, group, union) :Text;
# The function of Python's records that reads it.

annotation column @0xe5d2894af61b2096 (field, group, union) :Text;
# The field's column in the tables of the command line: its name, a colon, how
# its values look (text, number, duration, brief) and, each after a comma:
#   hidden      only where it is asked for by name
#   if-any      hidden, too, if no row has a value
#   spare N     left out where a table has not enough room, highest N first
#   whole       never cut
#   in-data     in JSON, YAML and CSV also where tables do not show it

annotation nullable @0xf1c06e5d0a9411a7 (field) :Void;
# Zero or the empty text stands for no value: null in JSON.

annotation needs @0xa0b92c6e17d3f4fd (field) :Text;
# The number says something only if the text of this name is not empty: else it
# is null in JSON.

annotation json @0x8e3b54d1c7f202b8 (field) :Text;
# The text is JSON, which describes a noun of this name. JSON holds the value
# itself; one that is nullable and empty is left out.

annotation cpp @0x87d90ab62e51f3c9 (field) :Text;
# The type in C++ of a text that names one of its values.

annotation direction @0x92a4f7180c6be4da (field) :Void;
# The flag is the direction of an objective: "maximize" if set, else "minimize".

annotation map @0x9ee4d3b15f82d5eb (struct) :Void;
# A list of these is a map from the first member to the second.

annotation dict @0xb5c7108e6f93d24a (struct) :Void;
# The same in Python alone: elsewhere the order counts.

struct Metric $map {
  # A metric of a measurement.

  name @0 :Text;
  # Its name.
  value @1 :Float64;
  # Its value; may be NaN.
}

struct BestMeasurement {
  # The best value of a trial, and the first step that gave it.

  value @1 :Float64;
  # The value of the objective.
  step @0 :UInt64 $unit("steps");
  # The step of that value.
}

struct TrialView $python("TrialInfo") {
  # A trial at the time of the request.

  trial @0 :UInt64 $python("number") $column("trial: number");
  # Its number in the study, from 0, in the order in which trials are made.
  state @1 :Text $cpp("trial_state") $column("state: text");
  # PENDING, RUNNING, PAUSED, COMPLETE, PRUNED, FAILED or CANCELLED.
  params @2 :Text $json("Params");
  # A value, or the form of a sequence, for each hyper-parameter.
  best :union $spread {
    # Its best objective value so far; none before the first one, and of a
    # failed trial, whose measurements are among the events.
    none  @6 :Void;
    value @7 :BestMeasurement;
  }
  askedSteps @3 :UInt64 $unit("steps") $column("asked: number");
  # The step to which it is to be trained.
  deliveredSteps @4 :UInt64 $unit("steps") $former("steps")
    $column("steps: number");
  # The step to which it has been trained.
  sharedSteps @5 :UInt64 $unit("steps") $column("shared: number");
  # Of these, the steps that another trial had been given before.
  failure @8 :Text $nullable $column("failure: text, if-any, in-data");
  # The reason of its failure.
  chosen @9 :Text $nullable $column("chosen: text, hidden");
  # The way in which a sampler that learns chose its values: "startup", "model"
  # or "cross of A, B, C"; none for other samplers.
  predicted :union $column("predicted: number, hidden") {
    # The objective after the last step that the model predicted.
    none  @10 :Void;
    value @11 :Float64;
  }
  untrained :union $unit("steps") $column("untrained: number, hidden") {
    # Of its steps to its first goal, those that no trial of the study had been
    # asked for when its values were chosen.
    none  @12 :Void;
    value @13 :UInt64;
  }
  spread :union $since("0.2") $column("spread: number, if-any") {
    # The standard deviation of that best value over the seeds of the trial;
    # none with one seed.
    none  @14 :Void;
    value @15 :Float64;
  }
}

struct GoalView $dict {
  # A metric that a study maximises or minimises.

  metric @0 :Text;
  # Its name.
  maximize @1 :Bool $direction;
  # The direction: "maximize" or "minimize".
}

struct FrontPointView $python("FrontPoint") {
  # A measurement that no other one of its study dominates.

  trial @0 :UInt64;
  # The number of its trial.
  step @1 :UInt64 $unit("steps");
  # Its step.
  values @2 :List(Metric);
  # All metrics of the measurement, by name.
}

struct FrontView $python("Front") {
  # The Pareto front of a study of several metrics or constraints, at the time
  # of the request.

  goals @0 :List(GoalView);
  # Each metric of the objective and its direction, in the order of the study
  # file.
  constraints @1 :List(Text);
  # The constraints, such as "ms <= 5"; all points satisfy them.
  points @2 :List(FrontPointView);
  # The measurements of the front, by trial and step.
  hypervolume :union {
    # The volume that the points dominate up to `reference`; none before the
    # first result. It never falls.
    none  @3 :Void;
    value @4 :Float64;
  }
  reference @5 :List(Metric) $nullable;
  # For each metric the worst of the trials' first measurements; none before the
  # first result.
}

struct StateCount $map {
  # The number of trials in a state.

  state @0 :Text;
  # The state of these trials.
  count @1 :UInt64;
  # Their number.
}

struct StudyView $python("StudyInfo(HasEnded)") {
  # A study at the time of the request.

  id @0 :UInt64 $column("id: number");
  # Its number in the service, from 1, in the order of submission.
  uid @29 :Text $nullable $column("uid: text, hidden");
  # Its identity outside of the service: a random number that is made once and
  # kept in copies of the state. None if only an older program has written the
  # state.
  name @1 :Text $column("name: text, whole");
  # Its name in the study file. Several studies may have the same.
  state @2 :Text $column("state: text, whole");
  # RUNNING, PAUSED, STOPPING, COMPLETE, FAILED or CANCELLED.
  reason @3 :Text $nullable $column("reason: text, hidden, in-data");
  # The reason why it ended early, or paused by itself.
  metric @4 :Text;
  # The metric of its objective, the first one of several.
  maximize @5 :Bool $direction;
  # The direction of its objective: "maximize" or "minimize".
  weight @6 :Float64 $column("weight: number, hidden");
  # Its share of the trainers, relative to the weights of other studies.
  algorithm @7 :Text $column("algorithm: text, hidden");
  # The algorithm that makes its trials, such as "asha".
  workload @8 :Text $column("workload: text, hidden");
  # Its workload key. Studies with equal keys share training.
  trials @9 :UInt64 $column("trials: number");
  # The number of its trials so far.
  finished @10 :UInt64 $column("finished: number")
    $formerColumn("done");
  # The number of trials that have ended.
  failed @30 :UInt64;
  # The number of trials that have failed.
  trialsByState @31 :List(StateCount) $since("0.2");
  # The number of its trials in each state.
  askedSteps @11 :UInt64 $unit("steps") $column("asked: number, spare 4");
  # The steps that its trials asked for, added up.
  deliveredSteps @17 :UInt64 $unit("steps") $column("steps: number, spare 2");
  # The steps that its trials were given, added up.
  sharedSteps @12 :UInt64 $unit("steps") $column("shared: number, spare 3");
  # Of these, the steps that another trial had been given before.
  best :union $python("best_trial") {
    # Its best trial so far; none before the first result, and with several
    # metrics.
    none  @13 :Void;
    value @14 :TrialView;
  }
  improved :union $unit("seconds since 1970") $since("0.2") {
    # The time of its best value.
    none  @32 :Void;
    value @33 :Float64;
  }
  activeSeconds @15 :Float64 $unit("seconds")
    $column("active: duration, hidden");
  # The time during which it was running.
  stepSeconds @34 :Float64 $unit("seconds") $since("0.2");
  # The mean device time of a step of its workload, evaluation and the rest
  # included; 0 before the first one.
  costSeconds @19 :Float64 $unit("seconds");
  # Estimate of the device time that was spent on it: the steps that were
  # trained for it times the mean time of a step.
  savedSeconds @16 :Float64 $unit("seconds")
    $column("saved_seconds: duration, spare 1") $formerColumn("saved");
  # Estimate of the device time that merging has saved: shared steps times the
  # time of a step alone.
  stoppedSeconds @20 :Float64 $unit("seconds");
  # Estimate of the device time that stopping trials early has saved.
  secondsLeft :union $unit("seconds") $deprecated("left_seconds")
      $column("seconds_left: duration, hidden") $formerColumn("left") {
    # Estimate of the remaining time.
    none  @21 :Void;
    value @22 :Float64;
  }
  cost @24 :Float64;
  # The cost of trainers for it, as far as prices were known.
  costMax @25 :Float64 $nullable $column("budget: number, hidden");
  # The limit of its budget for that cost.
  deadlineSecondsLeft :union $unit("seconds") $deprecated("deadline_left")
      $column("deadline_seconds_left: duration, hidden")
      $formerColumn("deadline") {
    # The time until its deadline, negative after it; none without a deadline,
    # or if the study has ended.
    none  @26 :Void;
    value @27 :Float64;
  }
  needed @28 :Text $nullable;
  # Estimate of the machines that it needs to meet its deadline, such as "3 more
  # a100"; none if no machines are needed, or none would help.
  waiting @18 :Text $nullable $column("waiting: text, if-any");
  # The reason why nothing of it can be trained now, and the remedy.
  initialState @36 :Text $nullable $since("0.2")
    $column("initial_state: text, hidden");
  # The state that its training begins from, as `from` of its workload names it,
  # such as "/models/base" or "trial 12 of study pretrain at step 9000"; none if
  # its code makes the first state.
  note @37 :Text $nullable $since("0.2") $column("note: text, hidden");
  # Words of people about it; none if there are none.
  tags @38 :List(Text) $since("0.2");
  # Words by which people group studies, sorted.
  removed @39 :Bool $since("0.2");
  # Whether it is hidden: neither listed nor found by its name.
  seeds @40 :UInt32 $since("0.2") $column("seeds: number, hidden");
  # The number of seeds that each trial is trained with. Steps are counted for
  # each of them, results are a summary of all.
  front :union $omitted $read("front_of_several") {
    # Its goals and its Pareto front, if it has several metrics or constraints.
    none  @23 :Void;
    value @35 :FrontView;
  }
}

struct LeaseView $python("LeaseInfo") {
  # The present work of a trainer. Of several lanes `values`, `step` and
  # `to_step` are those of the lane that is behind the others.

  values @0 :Text $former("what");
  # The values in training of the hyper-parameters in which trials differ.
  step @1 :UInt64 $unit("steps") $former("at");
  # The present step.
  toStep @2 :UInt64 $unit("steps") $former("to");
  # The last step of the lease.
  stepsPerSecond @3 :Float64;
  # The speed of all its lanes together; 0 before its first report.
  lanes @4 :UInt32;
  # The number of lanes in training; 0 if it is unknown.
  studies @5 :List(Text);
  # The names of the studies that it trains for.
  studyIds @6 :List(UInt64) $since("0.2");
  # Their numbers.
  members @7 :UInt32 = 1 $since("0.2");
  # The number of trainers that train it together, as a gang.
}

struct TrainerView $python("TrainerInfo") {
  # A trainer that is or was connected.

  trainer @0 :UInt64 $python("number") $former("number")
    $column("trainer: number") $formerColumn("number");
  # Its number in the service, in the order of connection.
  name @1 :Text $column("name: text");
  # Its host and process.
  device @2 :Text $column("device: text, hidden");
  # Its device kind, which decides the bits of results.
  lost @3 :Text $nullable $column("lost: text, hidden");
  # The reason why it left; none if it is connected.
  lease :union {
    # Its present work; none if it is idle.
    none  @4 :Void;
    value @5 :LeaseView;
  }
  memoryBytes @6 :UInt64 $unit("bytes") $column("memory_bytes: number, hidden");
  # The memory of its device; 0 if it is unknown.
  driver @7 :Text $nullable $column("driver: text, hidden");
  # The newest CUDA that the driver of its GPU can run, as "13.0"; none if it is
  # unknown, or without a GPU.
  computeCapability @8 :Text $nullable
    $column("compute_capability: text, hidden");
  # The compute capability of its GPU, as "9.0"; none likewise.
  sick @9 :Text $nullable $column("sick: text, hidden");
  # The failed work that other trainers could do, for which it gets a pause.
  machine @10 :Text $nullable $column("machine: text, hidden");
  # Its machine type in the list of machines; none without a list, or if it is
  # unknown: see `unpriced`.
  unpriced @11 :Text $nullable $column("unpriced: text, hidden");
  # The reason why its price is unknown.
  price @12 :Float64 $needs("machine") $column("price: number, hidden");
  # The price of the trainer for an hour.
  workCost @13 :Float64 $needs("machine") $column("work_cost: number, hidden");
  # The cost of its time with work.
  idleCost @14 :Float64 $needs("machine") $column("idle_cost: number, hidden");
  # The cost of the rest of its connected time.
  noticeSeconds @15 :Float64 $unit("seconds")
    $column("notice_seconds: number, hidden") $formerColumn("notice");
  # The warning before its machine is taken away; 0 if it is unknown, or none.
  failures @16 :UInt64 $column("failures: number, hidden");
  # The number of times that training has failed on it, for any reason but
  # divergence.
  failure @17 :Text $nullable $former("failed")
    $column("failure: text, hidden") $formerColumn("failed");
  # The message of the last failure.
  heldUp @18 :Text $nullable $column("held_up: text, hidden");
  # The reason why it gets no work though it is not sick, such as "does not
  # return since 40 s".
  secondsLeft :union $unit("seconds")
    $column("seconds_left: number, hidden") $since("0.2") {
    # The time until it begins to leave by its time limit; none without one.
    none  @19 :Void;
    value @20 :Float64;
  }
}

struct WorkDemand $python("WorkDemand") {
  # The trainers that studies of one workload could use now.

  workload @0 :Text;
  # The workload key.
  kinds @1 :List(Text);
  # The device kinds that can train it, as their trees were begun on them; empty
  # if any can.
  unfit @2 :List(Text);
  # The device kinds on which it was found that it cannot be trained.
  working @3 :UInt64;
  # The trainers that train it now.
  waiting @4 :UInt64;
  # The trainers that it could use beside them, at once.
  seconds :union $unit("seconds") {
    # Estimate of the time for which there is work, with all these trainers.
    none  @5 :Void;
    value @6 :Float64;
  }
  deadlineSeconds :union $unit("seconds") {
    # The time until the first deadline of its studies, negative after it; none
    # without one.
    none  @8 :Void;
    value @9 :Float64;
  }
  stuck @7 :Text $nullable;
  # The reason why no connected trainer can train it; it then asks for those of
  # one trial at most, unless none is connected.
  ranks @10 :UInt32;
  # The processes of its trials that each of these trainers holds.
}

struct ConnectedTrainer $python("ConnectedTrainer") {
  # A connected trainer.

  trainer @0 :UInt64;
  # Its number in the service.
  name @1 :Text;
  # Its host, or the name that it was given, and its process.
  device @2 :Text;
  # Its device kind.
  memoryBytes @3 :UInt64 $unit("bytes");
  # The memory of its device; 0 if it is unknown.
  idleSeconds :union $unit("seconds") {
    # The time since it had work; none while it has some.
    none  @4 :Void;
    value @5 :Float64;
  }
  secondsLeft :union $unit("seconds") {
    # The time until it begins to leave by its time limit; none without one.
    none  @6 :Void;
    value @7 :Float64;
  }
  ranks @8 :UInt32;
  # The processes of each trial that it trains.
}

struct RefusedTrainer $python("RefusedTrainer") {
  # A trainer that was not let in.

  name @0 :Text;
  # Its host, or the name that it was given, and its process.
  reason @1 :Text;
  # The reason, and the remedy.
}

struct DemandView $python("Demand") {
  # The trainers that could be used now, and those that are connected.

  trainers @0 :UInt64;
  # The trainers that could be used now: those with work, and those that could
  # start at once.
  work @1 :List(WorkDemand);
  # The same by workload, without those that need none.
  connected @2 :List(ConnectedTrainer);
  # The connected trainers by number.
  refused @3 :List(RefusedTrainer);
  # The last trainers that were refused, at most 64, the newest last.
}

struct CommandView $python("Command(NamedTuple)") {
  # A command for a study.

  verb @0 :Text $key("command");
  # The command: ask, train, tell, close, pause, resume, stop, cancel, weight,
  # widen, retry, extend, enqueue, tell_past, note, remove, restore, set_space
  # or finish.
  text @1 :Text;
  # Its argument.
}

struct EventView $python("Event") {
  # An event of a study: a measurement, a failure, a command, or a choice of
  # its sampler.

  id @0 :UInt64;
  # Its number; grows, with gaps.
  time @1 :Float64 $unit("seconds since 1970");
  # The time at which it was stored.
  trial @2 :UInt64;
  # The number of its trial.
  step @3 :UInt64 $unit("steps");
  # Its step.
  union {
    measured @4 :List(Metric) $python("metrics");
    # The metrics of a measurement, by name; a value may be NaN.
    failure @5 :Text $former("failed");
    # The reason of a trial's failure.
    command @6 :CommandView $flat;
    # A command for the study, and its argument.
    chosen @7 :Text;
    # The way in which a sampler that learns chose the trial's values: as of a
    # trial.
  }
}

struct TrainedTrial {
  # A trial at rest where a client wanted it, or ended before.

  trial @0 :UInt64;
  # Its number.
  state @1 :Text $cpp("trial_state");
  # PAUSED, or as of a trial.
  step @2 :UInt64 $unit("steps");
  # The step that was asked for, or the last one measured if the trial has ended
  # before.
  metrics @3 :List(Metric);
  # The metrics measured there, by name.
  failure @4 :Text $nullable;
  # The reason of its failure.
}

struct ParameterChangeView $python("ParameterChange(NamedTuple)") {
  # A hyper-parameter whose values are others in a study's new space.

  name @0 :Text;
  # Its name.
  before @1 :Text $nullable;
  # Its values in the former space, as a study file in JSON has them.
  after @2 :Text $nullable;
  # The same in the new space.
}

struct SpaceChangeView $python("SpaceChange") {
  # The effects of a new space on a study.

  changes @0 :List(ParameterChangeView);
  # The hyper-parameters whose values are others, by name.
  replaced @1 :UInt64;
  # The number of its trials that have not begun, in whose place others come,
  # with values of the new space.
  learned @2 :UInt64;
  # The number of its trials that have begun and lie in the new space: its
  # sampler learns from them.
  outside @3 :UInt64;
  # The number of those that do not: they stay, and its sampler learns no more
  # from them.
  imported @4 :UInt64;
  # The number of results from elsewhere that lie in the new space.
  trials @5 :UInt64;
  # The number of its trials by then.
}

struct TrialOutcome {
  # The end of a trial, as a client decides it.

  state @0 :Text = "COMPLETE" $cpp("trial_state");
  # COMPLETE, PRUNED or FAILED.
  value :union {
    # The objective value that the client has measured itself; NaN stands for
    # none. Refused where there are several metrics or constraints.
    none  @1 :Void;
    value @2 :Float64;
  }
  step @3 :UInt64 $unit("steps");
  # The step of that value; 0: the study's last.
}

enum ColumnKind {
  # What the page shows of a study by columns: docs/http.md.

  table @0;
  curves @1;
  tree @2;
  front @3;
  sharing @4;
  schedules @5;
  work @6;
}

struct ParameterImportanceView $python("ParameterImportance") {
  # The importance of a hyper-parameter.

  parameter @0 :Text;
  # Its name, or that of a part of its schedule such as `lr.cosine.horizon`.
  importance @1 :Float64;
  # The distance of its values in the best tenth of the trials from those in
  # all.
  share @2 :Float64;
  # The same as a share of the sum.
  trials @3 :UInt64;
  # The number of trials that have it.
}

struct ImportanceView $python("Importance") {
  # The importance of a study's hyper-parameters.

  study @0 :Text;
  # The name of the study.
  metric @1 :Text;
  # The metric by which trials are the best.
  maximize @2 :Bool $direction;
  # Its direction: "maximize" or "minimize".
  step @3 :UInt64 $unit("steps");
  # The step at which trials are compared.
  trials @4 :UInt64;
  # The number of trials measured there.
  best @5 :UInt64;
  # The number of the best of them.
  importance @6 :List(ParameterImportanceView);
  # Each hyper-parameter, the most important one first.
  constant @7 :List(Text);
  # The hyper-parameters that do not vary.
  leftOut @8 :List(Text);
  # Those with too many different words for a statement.
}

struct TimingView {
  # Measured times of one thing on one kind of device: docs/state.md.

  device @0 :Text;
  # The kind of device.
  what @1 :Text;
  # What was timed: step, evaluate, save, load, dispatch or start.
  speed @2 :Text;
  # Of steps, the values of the hyper-parameters that affect their time.
  stages @3 :UInt64;
  # The number of measurements.
  count @4 :Float64;
  # The number of steps, or whatever was timed, of weight 1.
  seconds @5 :Float64 $unit("seconds");
  # The time of these.
  squaredLogDeviations @6 :Float64;
  # The squared deviations of their logarithms, added up.
  operations @7 :Float64;
  # Of steps, the size of the workload: operations.
  parameters @8 :Float64;
  # Likewise its parameters.
  samples @9 :Float64;
  # Likewise its samples.
}

struct WorkloadTimingsView {
  # Measured times of a workload.

  workload @0 :Text;
  # Its workload key.
  timings @1 :List(TimingView);
  # Its times, by device and thing.
}

struct TimelineView $python("Timeline") {
  # The work of trainers in the last hour, by columns: a row for each lease.

  trainer @0 :List(UInt64);
  # The trainer's number.
  begin @1 :List(Float64) $unit("seconds");
  # Its begin, relative to now: below 0.
  end @2 :List(Float64) $unit("seconds");
  # Its end, likewise.
  fromStep @3 :List(UInt64) $unit("steps") $former("from");
  # The step from which it was trained.
  toStep @4 :List(UInt64) $unit("steps") $former("to");
  # The step to which it was trained.
  train @5 :List(Float64) $unit("seconds");
  # The part of its time in which steps were trained.
  node @6 :List(UInt64);
  # Its stage of the tree.
  workload @7 :List(Text);
  # The workload key.
}

struct StepFigures $python("StepFigures") {
  # The steps that a set of trials would train.

  askedSteps @0 :UInt64 $unit("steps");
  # The steps that the trials ask for.
  deliveredSteps @1 :UInt64 $unit("steps");
  # Of these, the steps that the trials would get.
  uniqueSteps @2 :UInt64 $unit("steps");
  # The delivered steps after merging.
  mergeRate @3 :Float64 = 1;
  # p: delivered over unique steps.
  kWiseMergeRate @4 :Float64 = 1;
  # q; 1 for a study by itself.
  knownSteps :union $unit("steps") $omitted {
    # Of the unique steps, those that are trained already, where that is known.
    none  @5 :Void;
    value @6 :UInt64;
  }
  newSteps :union $unit("steps") $omitted {
    # The others of them.
    none  @7 :Void;
    value @8 :UInt64;
  }
}

struct StudyPreview $python("StudyPreview") {
  # The training of one study by itself.

  name @0 :Text;
  # Its name.
  trials @1 :UInt64;
  # The number of its trials.
  full @2 :StepFigures $flat;
  # The steps if every trial is trained to its end.
  estimate :union $omitted {
    # The likely steps, for algorithms that stop early.
    none  @3 :Void;
    value @4 :StepFigures;
  }
}

struct TimeFigures $python("TimeFigures") {
  # The mean duration of simulated runs, in virtual time.

  wallSeconds @0 :Float64 $unit("seconds");
  # The wall time.
  deviceSeconds @1 :Float64 $unit("seconds");
  # The device time.
  lowerBoundSeconds @2 :Float64 $unit("seconds") $nullable;
  # A lower bound of the wall time.
  wallLow @3 :Float64 $unit("seconds");
  # The least wall time of a run.
  wallHigh @4 :Float64 $unit("seconds");
  # The greatest.
}

struct TimePreview $python("TimePreview") {
  # The duration of studies together on equal trainers.

  trainers @0 :UInt32 = 1;
  # The number of trainers.
  simulations @1 :UInt32 = 1;
  # The number of simulated runs.
  merged @2 :TimeFigures;
  # The times with merging.
  alone @3 :TimeFigures;
  # The times without.
}

struct PlannedTree $python("PlannedTree") {
  # The stages that studies would make, each trial trained to its end, by
  # columns; parents come first.

  allNodes @0 :UInt64;
  # The number of all stages, of which the first are here.
  id @1 :List(UInt64);
  # The stage's number, from 1.
  parent @2 :List(UInt64);
  # That of the stage before it; 0: none.
  begin @3 :List(UInt64) $unit("steps");
  # The step at which it begins.
  end @4 :List(UInt64) $unit("steps");
  # The step at which it ends.
  knownTo @5 :List(UInt64) $unit("steps");
  # The step up to which it is trained already.
  others @6 :List(UInt64);
  # The number of trials of other studies that pass it.
  trials @7 :List(UInt64);
  # The number of the studies' own trials that pass it.
  label @8 :List(Text);
  # The values that change in it.
}

struct PreviewView $python("Preview") {
  # The training of studies, before anything is spent.

  trials @0 :UInt64;
  # The number of trials.
  full @1 :StepFigures $flat;
  # The steps of all studies merged.
  estimate :union $omitted {
    # The likely steps, if any study has an estimate; the others count in full.
    none  @2 :Void;
    value @3 :StepFigures;
  }
  studies @4 :List(StudyPreview);
  # Each study by itself.
  times :union $omitted {
    # Simulated times, where they were asked for.
    none  @5 :Void;
    value @6 :TimePreview;
  }
  tree :union $omitted {
    # The stages, where they were asked for.
    none  @7 :Void;
    value @8 :PlannedTree;
  }
}
