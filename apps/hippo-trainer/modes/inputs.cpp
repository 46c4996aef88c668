#include "modes/inputs.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "devices.hpp"
#include "hippo/model/parts.hpp"
#include "hippo/net/wire/codec.hpp"
#include "hippo/search/accepted_study.hpp"

namespace hippo {

namespace {

/// What can be trained here, and what other builds of this program can.
std::vector<workload_descriptor>
known_workloads(const workload_registry& registry) {
  auto result = registry.descriptors();
  for (const auto& x : built_in_workloads())
    if (!x.open
        && std::ranges::find(result, x.name, &workload_descriptor::name)
             == result.end())
      result.push_back(x);
  return result;
}

} // namespace

expected<study_spec> read_checked(const std::string& path,
                                  const workload_registry& registry) {
  const auto text = read_study_text(path);
  if (!text)
    return text.failure();
  auto read = read_study(*text, path, known_workloads(registry));
  if (!read.study)
    return {errc::invalid_study, to_text(read.errors.front())};
  const auto& name = read.study->workload.name;
  const auto here = registry.descriptors();
  if (std::ranges::find(here, name, &workload_descriptor::name) == here.end())
    return {errc::unknown_workload,
            name + " is a built-in workload and needs LibTorch, which "
                   "hippo-trainer-plain is built without: pip install "
                   "'hippo-hpo[builtin]', or name a hippo-trainer by "
                   "--trainer-program"};
  return std::move(*read.study);
}

std::optional<error> check_members_of(const workload_spec& workload,
                                      const std::vector<unsigned>& members) {
  const auto most = parts_of_batch(workload);
  for (const auto x : members)
    if (x > most)
      return error{errc::invalid_argument,
                   "--members " + std::to_string(x) + ": at most "
                     + std::to_string(most) + " can train '" + workload.name
                     + "' of this study together; workloads of images or BERT "
                       "with parts: "
                     + std::to_string(x) + " have work for so many"};
  return std::nullopt;
}

expected<made_workload>
make_for_members(trainer_options opts, const study_spec& study,
                 const std::vector<std::string>& devices, unsigned threads) {
  workload_registry registry;
  opts.members = static_cast<unsigned>(devices.size());
  if (auto why = add_workloads(opts, devices.front(), threads, registry,
                               devices.size() > 1 ? devices
                                                  : std::vector<std::string>{}))
    return *why;
  return make_workload(registry, study.workload, study.code,
                       {study.initial_path});
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
