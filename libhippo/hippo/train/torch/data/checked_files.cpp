#include "hippo/train/torch/data/checked_files.hpp"

#include <stdexcept>

#include "hippo/base/content_source.hpp"
#include "hippo/base/lower_case.hpp"
#include "hippo/model/code/sha256.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

namespace {

/// Returns the bytes of a file that has at most so many.
std::string read_file(const std::string& path, const std::string& option,
                      std::uint64_t bytes_max) {
  const auto source = file_source::open(path);
  if (!source)
    throw missing_data_error(option + ": " + source.failure().message
                             + ": give the path that it has on the trainers");
  if (source->size() > bytes_max)
    throw std::invalid_argument(
      option + ": " + path + " has " + std::to_string(source->size())
      + " bytes, more than " + std::to_string(bytes_max));
  std::string result(source->size(), '\0');
  if (const auto failure = source->read(0, result.data(), result.size()))
    throw missing_data_error(option + ": " + failure->message);
  return result;
}

} // namespace

std::vector<std::string> read_checked(const std::vector<std::string>& paths,
                                      const std::string& option,
                                      const std::string& sha256,
                                      std::uint64_t bytes_max) {
  std::vector<std::string> result;
  sha256_hasher hasher;
  std::string names;
  for (const auto& path : paths) {
    result.push_back(read_file(path, option, bytes_max));
    bytes_max -= result.back().size();
    hasher.add(result.back().data(), result.back().size());
    names += (names.empty() ? "" : ", ") + path;
  }
  if (const auto digest = hasher.digest(); digest != in_lower_case(sha256))
    throw std::invalid_argument(
      "data.sha256: " + names
      + (paths.size() == 1 ? " has " : " together have ") + digest
      + ", the study says "
      + (sha256.empty() ? "none: its content is a part of the workload key"
                        : sha256));
  return result;
}

} // namespace hippo
