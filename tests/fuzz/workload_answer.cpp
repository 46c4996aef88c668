// What a workload's process answers: code that a study has brought.

#include <algorithm>

#include <capnp/serialize.h>
#include <kj/exception.h>

#include "fuzz/target.hpp"
#include "hippo/process/answer.hpp"

namespace hippo::fuzz {

namespace {

void take_apart(schema::ProcessAnswer::Reader x) {
  switch (x.which()) {
    case schema::ProcessAnswer::DESCRIPTION:
      (void)description_of(x);
      break;
    case schema::ProcessAnswer::METRICS:
      (void)metrics_of(x);
      break;
    case schema::ProcessAnswer::DIFFERENCES:
      (void)differences_of(x);
      break;
    case schema::ProcessAnswer::FAILED:
      (void)problem_of(x);
      break;
    default:
      break;
  }
}

void handle(std::string_view input) {
  auto words = kj::heapArray<capnp::word>(input.size() / sizeof(capnp::word));
  std::copy_n(input.begin(), words.asChars().size(), words.asChars().begin());
  try {
    capnp::FlatArrayMessageReader message{words};
    take_apart(message.getRoot<schema::ProcessAnswer>());
  } catch (const kj::Exception&) {
    // what such an answer is for a trainer: the training has failed
  }
}

} // namespace

const target workload_answer{
  "workload_answer", handle, {std::string(8, '\0')}};

} // namespace hippo::fuzz
