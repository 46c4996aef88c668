#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hippo/core/error.hpp"
#include "hippo/core/name.hpp"
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

  /// Gives it the algorithm that it had when it was admitted first: what is
  /// stored of it came of that, however one would choose today.
  /// @param chosen what `chosen` said then
  /// @returns nothing, or why that cannot be
  std::optional<error> restore(const std::string& chosen);

private:
  friend study_admission admit_study(const std::string&, const std::string&,
                                     const std::vector<workload_descriptor>&,
                                     admission);

  accepted_study(study_spec spec, std::string text)
    : spec_(std::move(spec)), text_(std::move(text)) {}

  study_spec spec_;
  std::string text_;
  std::string chosen_;
};

/// What came of asking for a study's admission: it is there unless there is an
/// error.
struct study_admission {
  std::optional<accepted_study> study;
  std::vector<diagnostic> errors;
  std::vector<diagnostic> warnings; ///< odd but harmless
  std::vector<diagnostic> notes;    ///< what was decided for it, and why
};

/// Reads and checks the text of a study file, its algorithm included: the one
/// door through which studies come in, whoever brings them.
/// @param name stands for the file in messages
/// A new one that names no algorithm, or `auto`, gets one (`choose_algorithm`).
study_admission admit_study(const std::string& text, const std::string& name,
                            const std::vector<workload_descriptor>& workloads,
                            admission how = {});

/// Says where in its file a finding about `path` stands: there, or at the
/// nearest place above that the file mentions.
diagnostic locate(const study_spec& spec, const std::string& path,
                  const std::string& message);

/// Returns constants for all hyper-parameters of a workload.
std::map<std::string, sequence> defaults_of(const workload_descriptor& x);

} // namespace hippo
