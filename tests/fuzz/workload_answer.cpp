// What comes from a workload's process, code that a study has brought: bytes in
// portions, of which the first byte says how large they are.

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <capnp/serialize.h>
#include <kj/exception.h>

#include "fuzz/target.hpp"
#include "hippo/train/process/answer_buffer.hpp"
#include "process.capnp.h"

namespace hippo::fuzz {

namespace {

/// As large as the largest answer of a process may be.
constexpr std::size_t words_max = (64 << 20) / sizeof(capnp::word);

void take_apart(kj::ArrayPtr<const capnp::word> words) {
  try {
    capnp::FlatArrayMessageReader message{words};
    const auto x = message.getRoot<schema::ProcessAnswer>();
    if (x.isMetrics())
      for (auto metric : x.getMetrics())
        (void)metric.getName().size();
    else if (x.isFailed())
      (void)x.getFailed().getMessage().size();
  } catch (const kj::Exception&) {
    // what such an answer is for a trainer: the training has failed
  }
}

void handle(std::string_view input) {
  if (input.empty())
    return;
  const std::size_t portion = 1u + static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  answer_buffer buffer{words_max};
  try {
    while (!input.empty()) {
      const auto room = buffer.room();
      require(!room.empty(), "there is no room");
      const auto n = std::min({portion, room.size(), input.size()});
      std::memcpy(room.data(), input.data(), n);
      input.remove_prefix(n);
      buffer.add(n);
      while (const auto words = buffer.take())
        take_apart(*words);
    }
  } catch (const std::runtime_error&) {
    // too large, or says so
  }
}

} // namespace

const target workload_answer{
  "workload_answer", handle, {std::string(8, '\0')}, 8 << 20};

} // namespace hippo::fuzz
