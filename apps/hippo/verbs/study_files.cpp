#include "verbs/study_files.hpp"

#include <utility>

#include "outcome.hpp"

namespace hippo {

expected<std::vector<study_source>>
study_files::read(const state_fetcher& fetch) const {
  return read_sources(files, fetch);
}

CLI::Option* study_files::add_to(CLI::App& verb) {
  return verb.add_option("files", files, "Study files");
}

std::optional<known_workloads>
load_workloads(const common_options& common,
               const std::vector<std::string>& profile_files,
               const std::string& machines_file) {
  auto catalogue = make_catalogue(common.program(), common.libraries);
  if (!catalogue) {
    fail(catalogue.failure(), exit_bad_input);
    return std::nullopt;
  }
  auto profiles = load_profiles(profile_files, *catalogue);
  if (!profiles)
    return std::nullopt;
  std::optional<known_machines> machines;
  if (!machines_file.empty()
      && !(machines = load_machines(machines_file, *catalogue)))
    return std::nullopt;
  return known_workloads{std::move(*catalogue), std::move(*profiles),
                         std::move(machines)};
}

bool simulated_files::load(simulation& out) const {
  const auto refuse = [](const error& why) {
    fail(why, exit_bad_input);
    return false;
  };
  const auto sources = studies.read();
  if (!sources)
    return refuse(sources.failure());
  auto known = load_workloads(common, profiles, machines);
  if (!known)
    return false;
  out.catalogue = std::move(known->catalogue);
  out.profiles = std::move(known->profiles);
  auto how = new_study();
  how.trainers = out.trainers;
  std::vector<machine_group> groups;
  if (known->machines) {
    auto read = read_use(known->machines->all, used);
    if (!read)
      return refuse({read.failure().code, "--use: " + read.failure().message});
    groups = std::move(*read);
    how.trainers = trainers_on(known->machines->all, groups);
  } else if (!is_preview) {
    how.no_prices = "what trainers cost is not known here: say so with "
                    "--machines and --use";
  }
  auto read = load_studies(*sources, out.catalogue, how, !quiet);
  if (!read)
    return false;
  out.studies = std::move(*read);
  if (!known->machines)
    return profiles.empty() || check_profiles(out.studies, out.profiles);
  auto found = find_machines(*known->machines, groups, out.studies,
                             {out.profiles, out.catalogue.workloads});
  if (found)
    out.machines = std::move(*found);
  return found.has_value();
}

} // namespace hippo
