@0xd3a7c5e1902b4f68;
# The table of parts at the end of the file of a checkpoint. No message: files
# hold it. The rules are those of sequence.capnp.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("hippo::schema");

struct PartTable {
  # A state is its parts one after the other. Each part lies in the checkpoint's
  # own file, before the table, or in that of another checkpoint.
  bytes  @0 :UInt64;      # of the state; 0 = malformed
  digest @1 :UInt64;      # XXH3 of the state; 0 = a digest like any other
  parts  @2 :List(Part);  # in the order of the state; empty = malformed
  files  @3 :List(Text);  # names of the other files, in the order of the
                          # checkpoint's `partFiles`; empty = there are none
}

struct Part {
  file   @0 :UInt8;   # 0 = the checkpoint's own file; else `files[file - 1]`
  bytes  @1 :UInt32;  # its size; 0 = malformed
  offset @2 :UInt64;  # where it begins in its file; 0 = at its begin
  high   @3 :UInt64;  # XXH3 of its bytes, 128 bits: the higher half; 0 = like
                      # any other
  low    @4 :UInt64;  # the lower half; 0 = like any other
}
