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
  const auto message = wire<schema::Lease>::of_bytes(bytes);
  if (!in || message.empty())
    return {errc::io_failed, path + " is no recipe of `hippo best`"};
  return decode(message);
}

} // namespace hippo
