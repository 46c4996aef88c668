#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"
#include "hippo/base/name.hpp"
#include "hippo/search/search_settings.hpp"
#include "hippo/search/trial_cost.hpp"
#include "hippo/sequence/sequence.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

struct study_admission;

/// How a study is let in.
struct admission {
  bool has_clients = false; ///< whether clients can decide for it
  /// Of one that was let in before: what `accepted_study::chosen` said then.
  std::optional<std::string> chosen{};
  /// By which names are judged.
  name_rules names = name_rules::today;
  /// In seconds since 1970; a deadline that is over by then is refused.
  /// Nothing: none is.
  std::optional<double> now{};
  /// Why a budget of costs cannot be kept to where it is to run: it is refused.
  /// Empty: it can be, or that is of no matter.
  std::string no_prices{};
  /// Of one that was let in before: what `study_spec::typed` said then.
  bool typed = true;
  /// Trainers that are there for it, as far as is known; at least 1.
  std::size_t trainers = 1;
};

/// How a study is let in again that was let in before.
/// @param chosen,typed what was stored of it
admission as_before(std::string chosen, bool typed);

/// A study that can be run: `admit_study` has let it in, and nothing else makes
/// one. What it holds can be encoded for trainers, stored, and shown, whatever
/// trial comes of it.
class accepted_study {
public:
  [[nodiscard]] const study_spec& spec() const noexcept { return spec_; }

  /// The text that it was read from.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  /// The algorithm that was chosen for it, in JSON; empty: the text says which.
  [[nodiscard]] const std::string& chosen() const noexcept { return chosen_; }

  /// Its algorithm and its sampler, with their options read.
  [[nodiscard]] const search_settings& search() const noexcept {
    return search_;
  }

  /// The cost of one of its trials.
  [[nodiscard]] const trial_cost& cost() const noexcept { return cost_; }

  /// About how much it takes in memory before anything of it is trained, in
  /// bytes: its text with its code, and the trials that are open then. A client
  /// asks for trials one by one.
  [[nodiscard]] std::uint64_t first_bytes() const;

  /// Lets so many of a new study's trials be open that they take no more than
  /// so many bytes; at least one.
  void keep_to(std::uint64_t bytes) {
    spec_.trials_ahead = trials_ahead_of(cost_, bytes);
  }

  /// Gives it what was decided when it was admitted first: what is stored of it
  /// came of that, however one would choose today.
  /// @param chosen what `chosen` said then
  /// @param trials_ahead what the study said then
  /// @returns nothing, or why that cannot be
  std::optional<error> restore(const std::string& chosen,
                               std::uint64_t trials_ahead);

private:
  friend study_admission admit_study(const std::string&, const std::string&,
                                     const std::vector<workload_descriptor>&,
                                     admission);

  accepted_study(study_spec spec, std::string text, trial_cost cost)
    : spec_(std::move(spec)), text_(std::move(text)), cost_(cost) {}

  /// The part of `restore` that is of the algorithm.
  std::optional<error> restore_algorithm(const std::string& chosen);

  study_spec spec_;
  std::string text_;
  std::string chosen_;
  search_settings search_;
  trial_cost cost_;
};

/// The result of a study's admission: it is there unless there is an
/// error.
struct study_admission {
  std::optional<accepted_study> study;
  std::vector<diagnostic> errors;
  std::vector<diagnostic> warnings; ///< odd but harmless
  std::vector<diagnostic> notes;    ///< what was decided for it, and why
};

/// Reads and checks the text of a study file, its algorithm included: the only
/// path by which studies are admitted.
/// @param name stands for the file in messages
/// A new one that names no algorithm, or `auto`, gets one (`choose_algorithm`).
study_admission admit_study(const std::string& text, const std::string& name,
                            const std::vector<workload_descriptor>& workloads,
                            admission how = {});

/// Says why the sampler of a study would think too long for each trial, if so.
std::optional<error> refusal_of_draws(const study_spec& study,
                                      const search_settings& search);

/// Says where in its file a finding about `path` stands: there, or at the
/// nearest place above that the file mentions.
diagnostic locate(const study_spec& spec, const std::string& path,
                  const std::string& message);

} // namespace hippo
