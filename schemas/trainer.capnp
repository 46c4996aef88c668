@0xc539d6293e1615b7;
# What a service and its trainers tell each other. The rules are those of
# sequence.capnp; all times are nanoseconds of a monotonic clock unless a field
# says otherwise.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("hippo::schema");
using Sequence = import "sequence.capnp";
using Workload = import "workload.capnp";

struct Failure {
  code    @0 :UInt8;  # `hippo::errc`, may be of a newer peer; 0 = malformed
  message @1 :Text;   # one sentence for people; empty = there is none
}

struct Ability {
  # A workload that a trainer can train.
  name    @0 :Text;  # empty = malformed
  version @1 :Text;  # what decides its results beside the device; empty = any
}

struct Hello {
  # Trainer to pool, first.
  protocol  @0 :UInt32;      # `protocol_version` of the sender; 0 = malformed
  host      @1 :Text;        # host name; empty = unknown
  processId @2 :UInt64;      # of the trainer on its host; 0 = unknown
  device    @3 :Text;        # kind of device: decides the bits of results;
                             # empty = malformed
  workloads @4 :List(Ability);  # sorted by name, strictly; empty = none
  threads   @5 :UInt32;      # that it trains with; 0 = unknown
  memory    @6 :UInt64;      # bytes of its device's memory; 0 = unknown
  driver    @7 :Text;        # of its GPU: the newest CUDA that it can run, as
                             # "13.0"; empty = unknown, or it is no GPU
  computeCapability @8 :Text;  # of its GPU, as "9.0"; empty likewise
  numerics  @9 :Text;      # of its CPU: "portable" or "native"; empty = it
                           # trains what is of either
  notice    @10 :UInt32;   # seconds between the warning that it has to go and
                           # its end; 0 = it is not known, or none
  machine   @11 :Text;     # kind of its machine, as a list of prices names it;
                           # empty = its device says so
  atOnce    @12 :UInt32;   # leases that it trains at once, at most 64; 0 = 1
  codeAtOnce @13 :UInt32;  # the same of code that studies bring
  secondsLeft @14 :UInt32; # until it begins to leave by itself; 0 = no limit
  ranks     @15 :UInt32;   # processes of each trial that it trains, at most
                           # 1024; 0 = 1
  gang      @16 :Text;     # address, HOST:PORT, where other trainers reach it
                           # that train a path with it; empty = it trains alone
}

struct Welcome {
  # Pool to trainer, the answer to Hello.
  union {
    accepted :group {
      trainer            @0 :UInt64;  # number of the trainer, from 1; 0 =
                                      # malformed
      heartbeatIntervalMillis @1 :UInt64;
                                      # milliseconds between two Heartbeats; 0 =
                                      # malformed
    }
    refused @2 :Failure;              # why the trainer must go; unset =
                                      # malformed
  }
}

struct Checkpoint {
  # A state of training in a file of the checkpoint folder.
  file   @0 :Text;    # name inside the folder; empty = the initial state
  bytes  @1 :UInt64;  # size of the file in bytes; 0 = empty file or no file
  digest @2 :UInt64;  # XXH3 of the whole file; 0 = a digest like any other
  device @3 :Text;    # kind of device that made it, where any may go on with
                      # it; empty = one kind makes all
  tableBytes @4 :UInt64;  # size of the table of parts (parts.capnp) at the end
                          # of the file; 0 = the file is the state as it is
  partFiles  @5 :List(PartFile);  # other checkpoints that hold parts of it,
                          # sorted, at most 8; empty = it is on its own
}

struct PartFile {
  # A checkpoint of the same folder.
  file   @0 :Text;    # name inside the folder; empty = malformed
  bytes  @1 :UInt64;  # size of the file in bytes; 0 = malformed
  digest @2 :UInt64;  # XXH3 of the whole file; 0 = a digest like any other
}

struct Stage {
  node   @0 :UInt64;                  # node of the plan; 0 = the plan's root
  begin  @1 :UInt64;                  # step, inclusive; 0 = the initial state
  end    @2 :UInt64;                  # step, exclusive; equal to `begin` when
                                      # there is only to evaluate; 0 likewise
  config @3 :Sequence.Configuration;  # unset = no hyper-parameters
  identity @4 :UInt64;                # of the node: see search_plan.hpp; 0 =
                                      # the lease is of no plan
}

struct StopPoint {
  at       @0 :UInt64;  # step; 0 = the initial state
  evaluate @1 :Bool;    # whether to measure and report the metrics
  save     @2 :Bool;    # whether to leave a checkpoint
  last     @3 :Bool;    # whether the lease ends there, whatever comes after
}

struct Gang {
  # The trainers that train one path together, and the place of one of them.
  lead    @0 :UInt64;      # number of the first member's lease, which alone has
                           # stops to report; 0 = malformed
  members @1 :List(Text);  # their addresses (Hello.gang), by rank: a power of
                           # two of them, from 2 to 64, or where a trial has
                           # ranks, a number from 2 on that divides these;
                           # others = malformed
  rank    @2 :UInt32;      # of this trainer; 0 = it is the first
  secret  @3 :Text;        # known to members alone; empty = malformed
}

struct Lease {
  # Pool to trainer: train this path.
  number   @0 :UInt64;                 # unique in a service; 0 = malformed
  workload @1 :Workload.WorkloadSpec;  # unset = malformed
  folder   @2 :Text;                   # of checkpoints; empty = the working
                                       # folder
  start    @3 :Checkpoint;             # state at the first stage's begin;
                                       # unset = the initial state
  stages   @4 :List(Stage);            # each begins where the one before ends;
                                       # empty = malformed
  stops    @5 :List(StopPoint);        # sorted by step, strictly, within the
                                       # stages, the last at their end; empty =
                                       # malformed
  token    @6 :Text;                   # lies in the folder above `folder`: who
                                       # finds it there sees what the service
                                       # sees; empty = everybody does
  depot    @7 :UInt16;                 # port of the service for those who do
                                       # not (service.capnp, Entrance.depot); 0
                                       # = there is none
  code     @8 :Checkpoint;             # what the study has brought to be run, a
                                       # file beside the checkpoints; unset =
                                       # nothing
  lane     @9 :UInt32;                 # of the trainer's lanes (Hello.atOnce)
                                       # the one that trains it; 0 = the first
  base     @10 :Checkpoint;            # has parts that states saved by it may
                                       # share; unset = nothing
  gang     @11 :Gang;                  # unset = the trainer trains it alone
}

struct Stop {
  # Pool to trainer: stop there as well. If the lease is to end there and that
  # is passed, after the present step.
  lease @0 :UInt64;     # number of the lease; 0 = malformed
  point @1 :StopPoint;  # unset = malformed: it must evaluate or save
}

struct Cancel {
  # Pool to trainer: end the lease after the present step.
  lease @0 :UInt64;  # number of the lease; 0 = malformed
}

struct Metric $Cxx.name("StopMetric") {
  # service.capnp has a Metric as well.
  name  @0 :Text;     # unique in its report; empty = malformed
  value @1 :Float64;  # in the metric's own unit; may be NaN or infinite; 0 =
                      # the value 0
}

struct StopReport {
  # Trainer to pool: a stop point has been passed.
  lease         @0 :UInt64;        # number of the lease; 0 = malformed
  at            @1 :UInt64;        # step of the stop; 0 = the initial state
  values        @2 :List(Metric);  # sorted by name, strictly; empty = it did
                                   # not evaluate
  saved         @3 :Checkpoint;    # unset = it left no checkpoint
  device        @4 :Text;          # kind of device; empty = malformed
  loadNanos     @5 :UInt64;        # nanoseconds to load; 0 = did not
  trainNanos    @6 :UInt64;        # nanoseconds to train; 0 = did not
  evaluateNanos @7 :UInt64;        # nanoseconds to evaluate; 0 = did not
  saveNanos     @8 :UInt64;        # nanoseconds to save; 0 = did not
  trainedSteps  @9 :UInt64;        # steps since the stop before; 0 = none
  node          @10 :UInt64;       # of the stage that led here; 0 = unknown
  identity      @11 :UInt64;       # the stage's; 0 = unknown
  output        @12 :Text;         # that the workload has printed since the
                                   # stop before; empty = none
  size          @13 :Workload.WorkloadSize;  # of the workload; unset = unknown
  waitNanos     @14 :UInt64;       # of trainNanos, those in which it waited for
                                   # data; 0 = did not, or unknown
}

struct Ack {
  # Pool to trainer: that report is durable, or will never be needed.
  lease @0 :UInt64;  # number of the lease; 0 = malformed
  at    @1 :UInt64;  # step of the stop; 0 = the initial state
}

struct Resent {
  # Trainer to pool: a report that was never acknowledged, of a lease that may
  # be known no longer. Sent after Welcome and before the first Heartbeat.
  workload @0 :Text;        # workload key of the lease; empty = malformed
  report   @1 :StopReport;  # unset or without a node = malformed
}

struct Goodbye {
  # Trainer to pool, when it is asked to end: grant me to nobody any more; and
  # once more when it has ended its last lease.
  trainer @0 :UInt64;  # number of the trainer; 0 = malformed
}

struct LeaseEnd {
  # Trainer to pool: the last message on a lease.
  lease   @0 :UInt64;   # number of the lease; 0 = malformed
  at      @1 :UInt64;   # last state that was reached, or the one that could not
                        # be measured or saved; 0 = the initial state
  failure @2 :Failure;  # unset = every stop was passed
  log     @3 :Text;     # last lines of the trainer's log; empty = none
  during  @4 :Part;     # what failed; unknown ones count as training

  enum Part {
    training  @0;  # from that state to the next, or what comes before training
    measuring @1;  # that state
    saving    @2;  # that state, or telling of it
  }
}

struct Heartbeat {
  # Trainer to pool, once in a while: alive, and this far. One for each lease
  # that it works on.
  trainer @0 :UInt64;  # number of the trainer; 0 = malformed
  lease   @1 :UInt64;  # number of the lease it works on; 0 = idle
  at      @2 :UInt64;  # step it has reached; 0 = the initial state, or idle
  count   @3 :UInt64;  # grows by 1 with each of a trainer; 0 = the first
  overdueMillis @4 :UInt64;  # milliseconds since the lease was cancelled, and
                             # its call of training has not returned; 0 = it
                             # was not, or is between two calls
}
