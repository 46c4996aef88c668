@0xd44554e3c9b6f616;
# The nouns that clients see, each declared once: where a study, a trial and a
# trainer stand. schemas/generate_views.py makes of these declarations the
# structs of C++ with their messages, their JSON (docs/http.md) and the columns
# of tables, the records of Python, and the tables of fields in the docs. A
# field's name in JSON, C++ and Python is its name here, written like_this.
#
# The rules are those of sequence.capnp: numbers are never reused, and a field
# that is unset is 0 or empty. A union of a Void and one value is a value that
# may be missing.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("hippo::schema");

annotation unit @0x9b0c5a2f9d1e7a31 (field, group, union) :Text;
# The unit of a number.

annotation since @0xa6f4c02a1b7d4e52 (field, group, union) :Text;
# The release whose messages were the first to have the field.

annotation deprecated @0xb3a1de1c77f05c63 (field, group, union) :Text;
# The field's name in Python up to release 0.1, an alias for a release more.

annotation python @0xc85b7e94c2a64d74 (struct, field, group, union) :Text;
# The name in Python, where it is another one.

annotation spread @0xd917c3f00be83f85 (field, group, union) :Void;
# In Python the members of the value are fields of their own.

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
  steps @4 :UInt64 $unit("steps") $column("steps: number");
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
  finished @10 :UInt64 $column("done: number");
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
    $column("saved: duration, spare 1");
  # Estimate of the device time that merging has saved: shared steps times the
  # time of a step alone.
  stoppedSeconds @20 :Float64 $unit("seconds");
  # Estimate of the device time that stopping trials early has saved.
  secondsLeft :union $unit("seconds") $deprecated("left_seconds")
      $column("left: duration, hidden") {
    # Estimate of the remaining time.
    none  @21 :Void;
    value @22 :Float64;
  }
  cost @24 :Float64;
  # The cost of trainers for it, as far as prices were known.
  costMax @25 :Float64 $nullable $column("budget: number, hidden");
  # The limit of its budget for that cost.
  deadlineSecondsLeft :union $unit("seconds") $deprecated("deadline_left")
      $column("deadline: duration, hidden") {
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
  front @23 :Text $nullable $json("Front");
  # Its goals and its Pareto front, if it has several metrics or constraints.
}

struct LeaseView $python("LeaseInfo") {
  # The present work of a trainer. Of several lanes `what`, `at` and `to` are
  # those of the lane that is behind the others.

  what @0 :Text;
  # The values in training of the hyper-parameters in which trials differ.
  at @1 :UInt64 $unit("steps");
  # The present step.
  to @2 :UInt64 $unit("steps");
  # The last step of the lease.
  stepsPerSecond @3 :Float64;
  # The speed of all its lanes together; 0 before its first report.
  lanes @4 :UInt32;
  # The number of lanes in training; 0 if it is unknown.
  studies @5 :List(Text);
  # The names of the studies that it trains for.
  studyIds @6 :List(UInt64) $since("0.2");
  # Their numbers.
}

struct TrainerView $python("TrainerInfo") {
  # A trainer that is or was connected.

  number @0 :UInt64 $column("number: number");
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
  noticeSeconds @15 :Float64 $unit("seconds") $column("notice: number, hidden");
  # The warning before its machine is taken away; 0 if it is unknown, or none.
  failures @16 :UInt64 $column("failures: number, hidden");
  # The number of times that training has failed on it, for any reason but
  # divergence.
  failed @17 :Text $nullable $column("failed: text, hidden");
  # The message of the last failure.
  heldUp @18 :Text $nullable $column("held_up: text, hidden");
  # The reason why it gets no work though it is not sick, such as "does not
  # return since 40 s".
}
