#pragma once

#include <string>
#include <vector>

#include "hippo/model/workload_descriptor.hpp"
#include "hippo/search/accepted_study.hpp"
#include "hippo/space/study.hpp"
#include "packing.hpp"

namespace hippo {

/// The workloads that studies may name, and how to run a trainer that has them.
struct workload_catalogue {
  std::string trainer_program;
  std::vector<std::string> libraries; ///< of further workloads
  std::vector<workload_descriptor> workloads;

  [[nodiscard]] const workload_descriptor& at(const std::string& name) const;

  /// Returns the arguments that make a trainer know all of these workloads.
  [[nodiscard]] std::vector<std::string> trainer_command() const;
};

/// Lists the built-in workloads and, if there are libraries, asks the trainer
/// program for theirs.
/// @returns the catalogue, or why a library cannot be used
expected<workload_catalogue>
make_catalogue(std::string trainer_program,
               std::vector<std::string> libraries);

/// Text of a study file, and what to call it in messages.
struct study_source {
  std::string name;
  std::string text;
};

/// Reads files, and the code that they bring.
/// @param fetch as of `pack_study`
/// @returns the sources, or which file cannot be read
expected<std::vector<study_source>>
read_sources(const std::vector<std::string>& files,
             const state_fetcher& fetch = nullptr);

/// How studies come in that begin now, on one trainer.
admission new_study();

/// Checks studies that are to run together, algorithm and names included, and
/// prints every error, warning and, if they are wanted, note on stderr.
/// @returns nothing if there was an error
std::optional<std::vector<accepted_study>>
load_studies(const std::vector<study_source>& sources,
             const workload_catalogue& catalogue,
             const admission& how = new_study(), bool with_notes = true);

/// Prints findings on stderr. @param kind what they are: `error`, say
void print(const std::vector<diagnostic>& xs, const char* kind);

/// Says on stderr if a study's trials will share training though nobody has
/// tried whether they may.
void warn_unchecked(const study_spec& study);

/// Says on stderr what is odd about what the trials of studies have in common:
/// see `sharing_notes`.
void warn_of_sharing(const std::vector<accepted_study>& studies,
                     const workload_catalogue& catalogue);

/// Says on stderr which studies leave their precision to the default: see
/// `precision_note`.
void warn_of_precision(const std::vector<accepted_study>& studies);

/// Tries, in a process of its own, whether each workload can be trained, and
/// prints on stderr why not. @returns whether all can
/// @param devices to try it on the first of these that can be used
/// @param initial_files folder that has files of initial states
bool check_workloads(const std::vector<accepted_study>& studies,
                     const workload_catalogue& catalogue,
                     const std::vector<std::string>& devices,
                     const std::string& initial_files);

} // namespace hippo
