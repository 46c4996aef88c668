@0xb4f0c2a91d7e63a5;
# How a trainer that does not see the checkpoint folder reads and writes
# checkpoints: over a connection of its own, so that a large one delays nothing
# else. The rules are those of sequence.capnp.
#
# A checkpoint travels in chunks of at most 1 MiB, in their order, with nothing
# between them; at most 8 are on their way unanswered. Whoever sends waits for
# answers, so neither side holds more than these 8. A transfer of which less
# than 960 KiB have been heard for a minute ends. A call that finds too many
# transfers under way fails as `overloaded`: try again later. Who has more of
# them than others, or moves nothing, makes room for these: its transfer ends.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("hippo::schema");
using Trainer = import "trainer.capnp";

interface Depot {
  # Served to trainers. Folders and files are named as they are in the
  # checkpoint folder of the service: 1 to 240 bytes, no '/', no '.' in front.

  fetch @0 (
    folder     :Text,                # of the workload; empty = refused
    checkpoint :Trainer.Checkpoint,  # what is expected; unset = refused
    into       :Chunks               # who takes its bytes; unset = refused
  ) -> (
    failure    :Trainer.Failure      # unset = all of it has been taken
  );
  # Sends a checkpoint. Its size is checked before the first chunk, its digest
  # before the last one. Failures: `bad_checkpoint` if it is missing or damaged,
  # `io_failed`, `invalid_argument`, or the failure of `into`.

  store @1 (
    folder  :Text,   # of the workload; empty = refused
    file    :Text,   # name of the checkpoint; empty = refused
    bytes   :UInt64  # its size, at most 64 GiB; 0 = an empty checkpoint
  ) -> (
    upload  :Upload,          # takes its bytes; unset = there is a failure
    failure :Trainer.Failure  # unset = go on with `upload`
  );
  # Begins to write a checkpoint, which is named as leases name theirs:
  # n3-s40-l7.ckpt. Nothing has its name until it is committed.
  # Failures: `io_failed`, `invalid_argument`.

  ping @2 () -> ();
  # Answers at once: whoever waits for a slow disk learns that the depot lives.

  fetchInitial @3 (
    sha256  :Text,           # of a file of an initial state, 64 hexadecimal
                             # digits; empty = refused
    bytes   :UInt64,         # its size; 0 = an empty file
    into    :Chunks          # who takes its bytes; unset = refused
  ) -> (
    failure :Trainer.Failure # unset = all of it has been taken
  );
  # Sends a file of an initial state. Its size is checked before the first
  # chunk; whoever takes it checks the digest. Failures as of `fetch`.

  fetchRange @4 (
    folder     :Text,                # of the workload; empty = refused
    checkpoint :Trainer.Checkpoint,  # that has the part; unset = refused
    offset     :UInt64,              # where the part begins; 0 = at its begin
    bytes      :UInt64,              # its size, within the checkpoint; 0 = an
                                     # empty part
    into       :Chunks               # who takes its bytes; unset = refused
  ) -> (
    failure    :Trainer.Failure      # unset = all of it has been taken
  );
  # Sends a part of a checkpoint. The size of the checkpoint is checked before
  # the first chunk; whoever takes the part checks its digest. Failures as of
  # `fetch`.
}

interface Chunks {
  # Takes the bytes of one checkpoint.

  put @0 (
    chunk   :Data             # the next 1 byte to 1 MiB; empty = refused
  ) -> (
    failure :Trainer.Failure  # unset = taken
  );
  # After a failure, no further chunk is taken. Failures: `io_failed`,
  # `invalid_argument` for more bytes than were announced.
}

interface Upload extends(Chunks) {
  # A checkpoint that is being written. Dropping it, or losing the connection,
  # removes what has been written.

  commit @0 (
    digest  :UInt64           # XXH3 of all bytes; 0 = a digest like any other.
                              # Of a file of an initial state, which was
                              # announced by its SHA-256: not looked at
  ) -> (
    failure :Trainer.Failure  # unset = it is on the disk, under its name
  );
  # Ends the upload: checks size and digest, waits for the disk, gives the file
  # its name. What is there already is not replaced; the same again is fine.
  # Failures: `io_failed`, also if the bytes are not those that were sent;
  # `invalid_argument`.
}
