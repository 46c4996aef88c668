#include "stored_studies.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace hippo {

expected<std::vector<stored_study>>
load_stored_studies(state_reader& folder, continued which) {
  const auto known = folder.load_studies();
  if (!known)
    return known.failure();
  std::map<std::string, study_id> last; // by name
  for (const auto& x : *known)
    last[x.name] = x.id;
  std::vector<stored_study> result;
  for (const auto& x : *known) {
    const bool wanted = which == continued::latest ? last[x.name] == x.id
                                                   : !has_ended(x.state);
    if (!wanted)
      continue;
    auto study = folder.load_study(x.id);
    if (!study)
      return study.failure();
    result.push_back(std::move(*study));
  }
  return result;
}

expected<std::vector<stored_study>>
load_stored_studies(const std::string& folder, continued which) {
  const auto open = state_reader::open(folder);
  if (!open)
    return open.failure();
  return load_stored_studies(**open, which);
}

expected<std::vector<stored_study>>
find_stored_studies(const std::string& folder,
                    const std::vector<std::string>& ids_or_names) {
  const auto open = state_reader::open(folder);
  if (!open)
    return open.failure();
  std::vector<stored_study> result;
  for (const auto& x : ids_or_names) {
    auto study = (*open)->load_study(x);
    if (!study)
      return study.failure();
    result.push_back(std::move(*study));
  }
  return result;
}

expected<std::vector<study_source>>
sources_in(const std::string& state, const std::vector<std::string>& wanted,
           std::vector<std::string>& resumed) {
  const auto studies = wanted.empty()
                         ? load_stored_studies(state, continued::latest)
                         : find_stored_studies(state, wanted);
  if (!studies)
    return studies.failure();
  std::vector<study_source> result;
  for (const auto& x : *studies) {
    result.push_back({x.file, x.text});
    resumed.push_back(to_string(x.id));
  }
  return result;
}

} // namespace hippo
