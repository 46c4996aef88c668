#include "modes/checked_study.hpp"

#include <utility>

#include "hippo/tune/loaded_study.hpp"

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

} // namespace hippo
