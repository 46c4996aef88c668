#include "verbs/study_files.hpp"

#include <utility>

#include "hippo/space/lanes_override.hpp"
#include "outcome.hpp"

namespace hippo {

expected<std::vector<study_source>> study_files::read() const {
  auto result = read_sources(files);
  if (result && lanes > 0)
    for (auto& x : *result)
      x.text = with_lanes(x.text, lanes);
  return result;
}

CLI::Option* study_files::add_to(CLI::App& verb) {
  verb
    .add_option("--lanes", lanes,
                "Copies of the model that a trainer trains in one launch, "
                "whatever the studies say; 1: none together")
    ->check(CLI::Range(1u, lanes_max));
  return verb.add_option("files", files, "Study files");
}

std::optional<loaded_input>
load_input(const common_options& common,
           const expected<std::vector<study_source>>& sources,
           const std::vector<std::string>& profile_files,
           const std::string& machines_file, const std::string& no_prices,
           bool are_new) {
  const auto refuse = [](const error& why) {
    fail(why, exit_bad_input);
    return std::nullopt;
  };
  if (!sources)
    return refuse(sources.failure());
  auto catalogue = make_catalogue(common.program(), common.libraries);
  if (!catalogue)
    return refuse(catalogue.failure());
  auto profiles = load_profiles(profile_files, *catalogue);
  if (!profiles)
    return std::nullopt;
  std::optional<known_machines> machines;
  if (!machines_file.empty()
      && !(machines = load_machines(machines_file, *catalogue)))
    return std::nullopt;
  auto studies = load_studies(*sources, *catalogue, no_prices, are_new);
  if (!studies)
    return std::nullopt;
  return loaded_input{std::move(*catalogue), std::move(*profiles),
                      std::move(machines), std::move(*studies)};
}

bool simulated_files::load(simulation& out) const {
  auto input = load_input(common, studies.read(), profiles, machines,
                          machines.empty() && !is_preview
                            ? "what trainers cost is not known here: say so "
                              "with --machines and --use"
                            : "");
  if (!input)
    return false;
  out.catalogue = std::move(input->catalogue);
  out.profiles = std::move(input->profiles);
  out.studies = std::move(input->studies);
  if (input->machines)
    return use_machines(*input->machines, out);
  return profiles.empty() || check_profiles(out.studies, out.profiles);
}

bool simulated_files::use_machines(const known_machines& known,
                                   simulation& out) const {
  const auto groups = read_use(known.all, used);
  if (!groups) {
    fail({groups.failure().code, "--use: " + groups.failure().message},
         exit_bad_input);
    return false;
  }
  auto found = find_machines(known, *groups, out.studies,
                             {out.profiles, out.catalogue.workloads});
  if (found)
    out.machines = std::move(*found);
  return found.has_value();
}

} // namespace hippo
