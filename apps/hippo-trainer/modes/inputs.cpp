#include "modes/inputs.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "hippo/tune/accepted_study.hpp"
#include "hippo/wire/codec.hpp"

namespace hippo {

expected<study_spec> read_checked(const std::string& path,
                                  const workload_registry& registry) {
  const auto text = read_study_text(path);
  if (!text)
    return text.failure();
  auto read = read_study(*text, path, registry.descriptors());
  if (!read.study)
    return {errc::invalid_study, to_text(read.errors.front())};
  return std::move(*read.study);
}

expected<lease> read_recipe(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (!in || bytes.size() % sizeof(capnp::word) != 0)
    return {errc::io_failed, path + " is no recipe of `hippo best`"};
  auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
  std::copy(bytes.begin(), bytes.end(), words.asChars().begin());
  return decode(wire<schema::Lease>{kj::mv(words)});
}

} // namespace hippo
