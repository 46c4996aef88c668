@0xc77b3fe271a0ed65;
# Values of hyper-parameters as functions of the step.
#
# Rules for all schemas: field numbers are never reused, every quantity names
# its unit, every field says what zero means. A step counts from 0; the workload
# says what one is.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("hippo::schema");

enum FormKind {
  # The closed forms; `a` is `Form.numbers`, t the step, o the origin.
  unset       @0;  # never sent: malformed
  constant    @1;  # a[0]
  text        @2;  # the word
  exponential @3;  # a[0] * a[1]^(t - o)
  polynomial  @4;  # from a[0] to a[1] over a[2] steps, power a[3]
  cosine      @5;  # half a cosine from a[0] to a[1] over a[2] steps
  line        @6;  # a[0] + a[1] * (t - o) / a[2], a[2] a whole number above 0,
                   # worked out in exact decimals
  rex         @7;  # from a[0] to a[1] over a[2] steps, beta a[3]: with
                   # p = (t - o) / a[2], a[1] + (a[0] - a[1]) * (1 - p)
                   # / (1 - a[3] * p)
  fadingRamp  @8;  # with d = t - o, a[0] + (a[1] - a[0]) * (d - a[3])
                   # / (a[4] - a[3]) * a[2]^d, d between a[3] and a[4]
  squareRoot  @9;  # from a[0] to a[1] over a[2] steps:
                   # a[1] + (a[0] - a[1]) * (1 - sqrt((t - o) / a[2]))
  inverseRoot @10; # a[0] / sqrt(1 + (t - o) / a[1]), a[1] above 0
}

enum ValueType {
  # What code is given of a value, beyond what a number or a word tells.
  plain @0;  # a number with a point (a float), a word
  whole @1;  # a whole number, up to 2^53
  truth @2;  # true or false, by the number 1 or 0
  json  @3;  # the word is the JSON text of something else: null, a list, a map,
             # a larger whole number
}

struct Form {
  kind    @0 :FormKind;       # 0 = unset, malformed
  origin  @1 :UInt64;         # step at which the phase is 0; 0 = the first step
  numbers @2 :List(Float64);  # up to 5, in the order of FormKind, all finite;
                              # those that are left out are 0
  word    @3 :Text;           # the word of a text; empty for all other kinds
  type    @4 :ValueType;      # whole of a constant, or of an exponential, which
                              # is worked out by multiplying whole numbers;
                              # truth of a constant; json of a text; 0 = plain
}

struct HyperParameter {
  name @0 :Text;  # unique in its configuration; empty = malformed
  form @1 :Form;  # unset = malformed
}

struct Configuration {
  parameters @0 :List(HyperParameter);
  # Sorted by name, strictly; empty = the workload has no hyper-parameters.
}
