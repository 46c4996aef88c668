@0xb2d1f6a3c04e7d95;
# What a trainer and a workload process say to each other: training code of
# one's own, in any language. docs/workload-process.md describes it for whoever
# implements the other end.
#
# The process inherits a connected stream socket; the environment's HIPPO_SOCKET
# is the number of its file descriptor. Over it go Cap'n Proto messages in
# standard framing (unpacked): the trainer sends a Request and waits for Answers
# to it; there is never a second Request meanwhile. When the socket is closed
# the process is to end.
#
# The rules are those of sequence.capnp.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("hippo::schema");
using Sequence = import "sequence.capnp";
using Workload = import "workload.capnp";

const processProtocolVersion :UInt32 = 1;
# Grows whenever a process of before can no longer be used.

struct Request $Cxx.name("ProcessRequest") {
  number @0 :UInt64;  # counts from 1; 0 = malformed
  union {
    describe @1 :UInt32;
    # The first one: the trainer's `processProtocolVersion`. Answer:
    # description.

    setup @2 :Setup;
    # The second one, once: what is constant from now on. Answer: done.

    init @3 :Void;
    # Go to the state at step 0, whatever there was before. Answer: done.

    train @4 :Train;
    # Train some steps from the present state on. Answers: any number of
    # progress, then done.

    evaluate @5 :Void;
    # Measure the present state and leave it as it is. Answer: metrics.

    save @6 :Text;
    # Write the present state to a new file of that path: all that a later step
    # reads. Answer: done, once it is written.

    load @7 :Text;
    # Restore the state that `save` wrote to that file, perhaps in another
    # process. Answer: done.

    compare @8 :Compare;
    # Say in which parts two saved states differ. For `hippo check` alone; it
    # changes nothing. Answer: differences.

    capture @9 :Text;
    # Keep the present state as it is now, and write it to the empty file of that
    # path while further requests are answered. Asked only of processes whose
    # description says that they can. Answer: done, once no later request can
    # change what is written. From before the answer until the file is whole or
    # cannot be written, the process, or one that it has started, holds an
    # exclusive lock on it (flock). A file that is whole is given the path with
    # ".whole" behind it before the lock goes; of one that cannot be written, a
    # file with ".failed" behind the path says why.

    renew @10 :Void;
    # Be as before the first request, for another workload of the same code: end
    # what was started, forget what was kept. Asked only of processes whose
    # description says that they can; describe is next. Answer: done, once
    # nothing of the workload is left.
  }
}

struct Compare {
  path  @0 :Text;  # of a file that `save` wrote; empty = malformed
  other @1 :Text;  # of another; empty = malformed
}

struct Setup {
  seed    @0 :UInt64;           # of all randomness; 0 = the seed 0
  device  @1 :Text;             # "cpu" or "cuda:N"; empty = malformed
  threads @2 :UInt32;           # to train with; 0 = as many as there are
  args    @3 :List(Workload.Option);
  # Constants of the study, sorted by name, strictly; empty = none.
  initial @4 :Text;
  # The path of the file or folder that the study names as its initial state
  # (`from`); it is there as long as the process; empty = none.
  average @5 :Averaging;
  # The mean that `evaluate` measures, asked only of processes whose description
  # says that they can; unset = the weights as they are.
}

struct Averaging {
  # The weights at the last `of` steps that are multiples of `every`, by the
  # present step; before the first of these, the weights as they are. States have
  # what that takes.
  of    @0 :UInt32;  # 0 or 1 = malformed
  every @1 :UInt64;  # 0 = malformed
}

struct Train {
  from @0 :UInt64;  # the present state; 0 = the initial one
  to   @1 :UInt64;  # the state to reach, greater than `from`; 0 = malformed
  values @2 :List(Values);
  # Of each hyper-parameter at each step, sorted by name; empty = there are
  # none. They are worked out by the trainer, so that they are the same bits
  # whatever language a process is written in.
  pieces @3 :Sequence.Configuration;
  # The closed forms of the same, for who wants to look ahead; unset = none.
}

struct Values {
  name @0 :Text;  # empty = malformed
  union {
    numbers @1 :List(Float64);  # at the steps from, from + 1, ...; where there
                                # are fewer, the last one goes on
    word    @2 :Text;           # at all of them
  }
  type @3 :Sequence.ValueType;  # what the code is to be given of these; 0 =
                                # numbers with a point, or a word
}

struct Answer $Cxx.name("ProcessAnswer") {
  number @0 :UInt64;  # of the request; 0 = malformed
  union {
    done        @1 :Void;
    description @2 :Description;
    progress    @3 :UInt64;       # the state that has been reached
    metrics     @4 :List(Metric);
    failed      @5 :Problem;      # instead of any other: it cannot be done
    differences :group {
      union {
        unknown @6 :Void;         # it cannot tell: bytes are compared
        found   @7 :List(Text);   # a sentence for each part; empty = equal
      }
    }
  }
  size @8 :Workload.WorkloadSize;
  # Beside done, where the process knows it by then: how much there is to
  # compute. The last one told counts; unset = as before.

  setupNanos @9 :UInt64;
  # Beside done, of a train: of the time since the request, in nanoseconds, what
  # was spent beside the steps: on data, on a model, on trying the code.

  ranksApart @10 :Bool;
  # Beside done, of a train by several ranks: whether they have joined no process
  # group of PyTorch, so that each trains alone. false = they have, or the
  # process cannot tell.
}

struct Description {
  protocol @0 :UInt32;        # the process's; 0 = malformed
  name     @1 :Text;          # of what trains, for people; empty = unknown
  metrics  @2 :List(Text);    # that evaluate gives; empty = not known before
  versions @3 :List(Version); # of what decides results, sorted by name
  captures @4 :Bool;          # whether it can be asked to capture a state
  averages @5 :Bool;          # whether it can measure the mean of weights
  renews   @6 :Bool;          # whether it can be asked to renew itself
}

struct Version {
  name    @0 :Text;  # e.g. "python", "torch"; empty = malformed
  version @1 :Text;  # empty = unknown
}

struct Metric $Cxx.name("ProcessMetric") {
  name  @0 :Text;     # unique in its answer; empty = malformed
  value @1 :Float64;  # may be NaN: training has diverged then
}

struct Problem {
  message @0 :Text;  # one sentence for people; empty = malformed
  details @1 :Text;  # e.g. a traceback; empty = none
}

struct FolderState {
  # What is kept of a program that reads and writes files: the folder that it
  # has saved. No message: it is what a checkpoint holds.
  files    @0 :List(StateFile);  # sorted by path; empty = the folder is
  measured @1 :List(Metric);     # of that state, sorted by name; empty = nothing
}

struct StateFile {
  path    @0 :Text;  # relative, '/' between folders; empty = malformed
  content @1 :Data;  # empty = an empty file
}
