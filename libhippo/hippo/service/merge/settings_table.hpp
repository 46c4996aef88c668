#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hippo/base/types.hpp"
#include "hippo/plan/search_plan.hpp"

namespace hippo {

/// With which settings (`workload_spec::settings`) a lease is run, where
/// studies of one workload have several.
///
/// Those of the oldest study that waits for it. Settings under which training
/// has failed last come after those under which it has not: what one study says
/// of how the workload is run must not make the trials of another one fail.
///
/// @invariant no two entries have equal settings; each is that of a study
class settings_table {
public:
  using settings = std::map<std::string, scalar>;

  /// Takes in the settings of the next study.
  void add(const settings& chosen);

  /// Whether all studies have the same.
  [[nodiscard]] bool is_uniform() const { return distinct_.size() < 2; }

  /// The settings of a study. REQUIRES: it was added.
  [[nodiscard]] const settings& of(study_no study) const {
    return distinct_[by_study_[study]].values;
  }

  /// Returns the settings for a lease that these studies wait for, in any
  /// order. REQUIRES: there is one, and all were added.
  /// @param is_spent whether training under some settings need not be tried any
  ///                 more: they come last
  [[nodiscard]] const settings&
  choose(const std::vector<study_no>& waiting,
         const std::function<bool(const settings&)>& is_spent = {}) const;

  /// Whether one of these studies has such settings.
  [[nodiscard]] bool is_of_any(const settings& chosen,
                               const std::vector<study_no>& studies) const;

  /// Training has failed under these settings. REQUIRES: a study has them.
  void note_failure(const settings& chosen);
  /// A lease under these settings has ended well. REQUIRES: likewise.
  void note_success(const settings& chosen);

  void check_invariants() const;

private:
  struct entry {
    settings values;
    std::uint64_t failed = 0; ///< number of the last failure; 0: none since a
                              ///< success
  };

  [[nodiscard]] std::size_t index_of(const settings& chosen) const;

  std::vector<entry> distinct_; ///< in the order of their first studies
  by_id<study_no, std::size_t> by_study_; ///< into `distinct_`
  std::uint64_t failures_ = 0;
};

} // namespace hippo
