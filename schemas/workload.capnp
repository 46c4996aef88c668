@0xcbb7d4dc10b110fa;
# What is trained. The rules are those of sequence.capnp.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("hippo::schema");

struct Scalar {
  # A number or a word.
  union {
    number @0 :Float64;  # finite; 0 = the number 0
    word   @1 :Text;     # empty = the empty word
  }
}

struct Option {
  name  @0 :Text;    # nested ones with dots; empty = malformed
  value @1 :Scalar;  # unset = the number 0
  json  @2 :Text;    # the value as JSON, where `value` does not tell all of it:
                     # 12.0, true, "12", null, [64,64]; empty = it does, and a
                     # number without a fraction is a whole one
}

struct WorkloadSize {
  # How much there is to compute; decides no result. What is negative or not
  # finite counts as 0: unknown.
  operations @0 :Float64;  # floating-point, to train on a sample; 0 = unknown
  parameters @1 :Float64;  # that are trained; 0 = unknown
  samples    @2 :Float64;  # in a step; 0 = a step is one iteration
}

struct WorkloadSpec {
  name    @0 :Text;          # as the registry of workloads knows it; empty =
                             # malformed
  options @1 :List(Option);  # sorted by name, strictly; empty = none
  settings @2 :List(Option); # how it is run, likewise: decides no result
  anyDevice @3 :Bool;        # devices of several kinds may train one trial;
                             # false = those of one kind
}
