#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "hippo/base/choice.hpp"
#include "hippo/service/study/events.hpp"
#include "hippo/service/study/study_books.hpp"

namespace hippo {

/// The changes of a study that must be stored, and answers that wait for them.
///
/// @invariant an answer and the end go out only with the commit that holds all
///            that they depend on
/// @invariant what a study has chosen is stored before what follows from it
/// @invariant a trial is either to be stored or to be taken back
class study_outbox {
public:
  /// A choice was stored in earlier runs: it need not be stored again if the
  /// study makes it.
  void note_stored_choice(trial_no trial, trial_choice what);
  /// Has a trial stored, with the choice of its values if there is one.
  void add_trial(trial_no trial, const std::optional<trial_choice>& choice);
  /// Has stored how far a trial is.
  void change_trial(trial_no trial) { trials_.insert(trial); }
  /// Has taken back what is stored of a trial.
  void remove_trial(trial_no trial);
  /// Has a trial stored that was taken back.
  void bring_back_trial(trial_no trial);
  /// Has stored where the study stands.
  void change_study() { study_is_saved_ = false; }
  /// Answers with the next commit.
  void answer(study_effect::answer reply) {
    answers_.push_back(std::move(reply));
  }
  /// The end of the study is to be announced, also if it was before.
  void reopen() { end_is_announced_ = false; }

  /// All of earlier runs was done again: only later answers and times count.
  /// @param is_saved whether the study stands where it stands in the store
  /// @param active_seconds for which it had been worked on by then
  void begin(bool is_saved, double active_seconds);

  /// Whether choices were stored, but of a trial none or another one.
  [[nodiscard]] bool lacks_choice(trial_no trial) const {
    return has_stored_choices_ && chosen_.contains(trial);
  }

  /// Returns all that has come since the last commit; nothing: nothing has.
  /// @param active_seconds for which the study has been worked on by now
  std::optional<study_effect::commit> next_commit(const study_books& books,
                                                  double active_seconds);

private:
  void save_study(std::vector<journal_record>& out, const study_books& books,
                  double active_seconds);
  /// Saves the front if it has changed since, where there is more to save than
  /// trials have.
  void save_front(std::vector<journal_record>& out, const study_books& books);

  std::set<trial_no> trials_; ///< that have changed
  std::set<trial_no> added_;  ///< of these, those that are new
  std::set<trial_no> removed_;
  std::set<trial_no> chosen_; ///< likewise, those with values that were learned
  /// Stored choices that the study is yet to make again.
  std::map<trial_no, trial_choice> stored_choices_;
  bool has_stored_choices_ = false; ///< whether there were any
  bool study_is_saved_ = true;
  double saved_active_seconds_ = 0; ///< when the study was saved last
  /// The front as it was saved last: how often it had changed, and its volume.
  std::optional<std::pair<std::uint64_t, std::optional<double>>> saved_front_;
  std::vector<study_effect::answer> answers_;
  bool end_is_announced_ = false;
};

} // namespace hippo
