#include "hippo/tune/accepted_study.hpp"

#include "hippo/tune/algorithm.hpp"

namespace hippo {

diagnostic locate(const study_spec& spec, const std::string& path,
                  const std::string& message) {
  diagnostic result;
  result.file = spec.file;
  for (auto at = path; !at.empty();) {
    if (auto i = spec.marks.find(at); i != spec.marks.end()) {
      result.line = i->second.line;
      result.column = i->second.column;
      break;
    }
    const auto dot = at.rfind('.');
    at = dot == std::string::npos ? std::string{} : at.substr(0, dot);
  }
  result.path = path;
  result.message = message;
  return result;
}

study_admission admit_study(const std::string& text, const std::string& name,
                         const std::vector<workload_descriptor>& workloads,
                         bool has_clients) {
  auto read = read_study(text, name, workloads);
  study_admission result{std::nullopt, std::move(read.errors),
                       std::move(read.warnings)};
  if (read.draft) {
    // Of the rest an algorithm's options follow; its size, say, does not.
    for (const auto& x : check_algorithm(*read.draft, has_clients).errors)
      if (x.path.starts_with("algorithm."))
        result.errors.push_back(locate(*read.draft, x.path, x.message));
  }
  if (!read.study)
    return result;
  const auto found = check_algorithm(*read.study, has_clients);
  for (const auto& x : found.errors)
    result.errors.push_back(locate(*read.study, x.path, x.message));
  for (const auto& x : found.warnings)
    result.warnings.push_back(locate(*read.study, x.path, x.message));
  if (result.errors.empty())
    result.study = accepted_study{std::move(*read.study), text};
  return result;
}

std::map<std::string, sequence> defaults_of(const workload_descriptor& x) {
  std::map<std::string, sequence> result;
  for (const auto& p : x.hyper_parameters) {
    auto* number = std::get_if<double>(&p.fallback);
    result.emplace(p.name,
                   sequence{number != nullptr
                              ? form::constant(*number)
                              : form::text(std::get<std::string>(p.fallback))});
  }
  return result;
}

} // namespace hippo
