#include "studies.hpp"

#include <algorithm>
#include <iostream>
#include <set>

#include "child_process.hpp"
#include "hippo/forecast/preview/precision_note.hpp"
#include "hippo/forecast/preview/sharing_notes.hpp"
#include "hippo/net/keys/certificate.hpp"
#include "hippo/space/own_workload.hpp"
#include "packing.hpp"
#include "temporary_file.hpp"

namespace hippo {

namespace {

/// What a trainer program said, without its name and the end of the line.
std::string complaint_in(const program_output& said) {
  if (said.exit_code < 0)
    return "the trainer program crashed: " + said.err;
  const std::string name = "hippo-trainer: ";
  // Its log comes before.
  const auto last = said.err.rfind('\n' + name);
  const auto at = last == std::string::npos ? 0 : last + 1;
  auto result = said.err.compare(at, name.size(), name) == 0
                  ? said.err.substr(at + name.size())
                  : said.err;
  while (!result.empty() && result.back() == '\n')
    result.pop_back();
  return result;
}

} // namespace

void print(const std::vector<diagnostic>& xs, const char* kind) {
  for (const auto& x : xs)
    std::cerr << kind << ": " << to_text(x) << '\n';
}

const workload_descriptor&
workload_catalogue::at(const std::string& name) const {
  return *std::find_if(workloads.begin(), workloads.end(),
                       [&](const auto& x) { return x.name == name; });
}

std::vector<std::string> workload_catalogue::trainer_command() const {
  std::vector<std::string> result{trainer_program};
  for (const auto& x : libraries) {
    result.emplace_back("--workload");
    result.push_back(x);
  }
  return result;
}

expected<workload_catalogue>
make_catalogue(std::string trainer_program,
               std::vector<std::string> libraries) {
  workload_catalogue result;
  result.trainer_program = std::move(trainer_program);
  result.libraries = std::move(libraries);
  if (result.libraries.empty()) {
    result.workloads = built_in_workloads();
    return result;
  }
  auto command = result.trainer_command();
  command.emplace_back("--describe");
  auto said = run_program(command);
  if (!said)
    return said.failure();
  if (said->exit_code != 0)
    return {errc::invalid_argument, complaint_in(*said)};
  auto workloads = descriptors_from_json(said->out);
  if (!workloads)
    return workloads.failure();
  result.workloads = std::move(*workloads);
  return result;
}

expected<std::vector<study_source>>
read_sources(const std::vector<std::string>& files,
             const state_fetcher& fetch) {
  std::vector<study_source> result;
  for (const auto& file : files) {
    auto text = read_study_text(file);
    if (!text)
      return text.failure();
    text = pack_study(std::move(*text), file, fetch);
    if (!text)
      return text.failure();
    result.push_back({file, std::move(*text)});
  }
  return result;
}

admission new_study() {
  admission result;
  result.now = static_cast<double>(now_seconds());
  return result;
}

std::optional<std::vector<accepted_study>>
load_studies(const std::vector<study_source>& sources,
             const workload_catalogue& catalogue, const admission& how,
             bool with_notes) {
  std::vector<accepted_study> result;
  std::map<std::string, std::string> file_of; // by study name
  bool good = true;
  for (const auto& source : sources) {
    auto read = admit_study(source.text, source.name, catalogue.workloads,
                            how);
    if (read.study) {
      const auto& spec = read.study->spec();
      const auto [first, added] = file_of.emplace(spec.name, source.name);
      if (!added)
        read.errors.push_back(
          locate(spec, "study",
                 "the name '" + spec.name + "' is that of the study in "
                   + first->second + "; give each study a name of its own"));
    }
    if (with_notes)
      print(read.notes, "note");
    print(read.warnings, "warning");
    print(read.errors, "error");
    good = good && read.errors.empty();
    if (read.study)
      result.push_back(std::move(*read.study));
  }
  if (!good)
    return std::nullopt;
  return result;
}

void warn_unchecked(const study_spec& study) {
  if (is_exact(study.workload) && !is_known_exact(study))
    print({locate(study, "workload",
                  "nobody has tried yet whether trials of this code may share "
                  "training; hippo check " + study.file + " does")},
          "warning");
}

void warn_of_sharing(const std::vector<accepted_study>& studies,
                     const workload_catalogue& catalogue) {
  for (const auto& x : studies)
    print(sharing_notes(x, catalogue.at(x.spec().workload.name)), "warning");
}

void warn_of_precision(const std::vector<accepted_study>& studies) {
  for (const auto& x : studies)
    if (const auto note = precision_note(x.spec()))
      print({*note}, "warning");
}

bool check_workloads(const std::vector<accepted_study>& studies,
                     const workload_catalogue& catalogue,
                     const std::vector<std::string>& devices,
                     const std::string& initial_files) {
  std::set<std::string> seen;
  std::vector<diagnostic> errors;
  for (const auto& x : studies) {
    const auto& workload = x.spec().workload;
    if (!seen.insert(key_of(workload)).second)
      continue;
    const temporary_file study{"hippo-study"};
    auto command = catalogue.trainer_command();
    command.insert(command.end(), {"--prepare", study.path(), "--initial-files",
                                   initial_files});
    for (const auto& device : std::set<std::string>(devices.begin(),
                                                    devices.end()))
      command.insert(command.end(), {"--device", device});
    const auto said
      = study.write(x.text())
          ? run_program(command)
          : error{errc::io_failed, "cannot write " + study.path()};
    if (!said)
      errors.push_back(locate(x.spec(), "workload", said.failure().message));
    else if (said->exit_code != 0)
      errors.push_back(locate(x.spec(), "workload", complaint_in(*said)));
  }
  print(errors, "error");
  return errors.empty();
}

} // namespace hippo
