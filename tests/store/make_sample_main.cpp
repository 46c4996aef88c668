// Makes a state folder of this program's version that holds the sample:
//
//     store_make_sample FOLDER
//
// tests/data/make_state_sample.sh turns it into text. To be done before the
// version changes: then older databases stay known to the tests.

#include <cstdio>

#include "hippo/store/state_writer.hpp"
#include "store/sample_state.hpp"

int main(int argc, char** argv) {
  if (argc != 2)
    return 2;
  auto folder = hippo::state_writer::open(argv[1]);
  if (!folder) {
    std::fprintf(stderr, "%s\n", folder.failure().message.c_str());
    return 1;
  }
  const auto done = (*folder)->commit(hippo::sample_records());
  if (!done)
    std::fprintf(stderr, "%s\n", done.failure().message.c_str());
  return done ? 0 : 1;
}
