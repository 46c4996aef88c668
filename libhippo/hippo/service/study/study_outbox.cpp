#include "hippo/service/study/study_outbox.hpp"

#include "hippo/model/front_text.hpp"
#include "hippo/service/study/study_shown.hpp"

namespace hippo {

namespace {

/// Of the time for which a study has been worked on, what may be lost if the
/// service is killed.
constexpr double active_seconds_unsaved_max = 10;

} // namespace

void study_outbox::note_stored_choice(trial_no trial, trial_choice what) {
  stored_choices_.insert_or_assign(trial, std::move(what));
  has_stored_choices_ = true;
}

void study_outbox::add_trial(trial_no trial,
                             const std::optional<trial_choice>& choice) {
  trials_.insert(trial);
  added_.insert(trial);
  if (!choice)
    return;
  const auto stored = stored_choices_.extract(trial);
  if (!stored || stored.mapped() != *choice)
    chosen_.insert(trial);
}

void study_outbox::remove_trial(trial_no trial) {
  trials_.erase(trial);
  added_.erase(trial);
  removed_.insert(trial);
}

void study_outbox::bring_back_trial(trial_no trial) {
  removed_.erase(trial);
  trials_.insert(trial);
  added_.insert(trial);
}

void study_outbox::begin(bool is_saved, double active_seconds) {
  answers_.clear();
  study_is_saved_ = is_saved;
  saved_active_seconds_ = active_seconds;
}

std::optional<study_effect::commit>
study_outbox::next_commit(const study_books& books, double active_seconds) {
  const auto id = books.stored().id;
  study_effect::commit result;
  save_study(result.records, books, active_seconds);
  for (const auto no : std::exchange(chosen_, {}))
    result.records.emplace_back(
      event_added{id, {}, trial_chosen{no, *books.decisions.choice_of(no)}});
  for (const auto no : std::exchange(removed_, {}))
    result.records.emplace_back(trial_removed{id, no});
  for (const auto no : std::exchange(trials_, {}))
    result.records.emplace_back(
      trial_saved{id, stored_of(books, no, added_.erase(no) > 0)});
  save_front(result.records, books);
  result.answers = std::exchange(answers_, {});
  if (books.has_ended() && !std::exchange(end_is_announced_, true))
    result.end = study_end{id, books.stored().name, books.stored().state};
  if (result.records.empty() && result.answers.empty() && !result.end)
    return std::nullopt;
  return result;
}

void study_outbox::save_study(std::vector<journal_record>& out,
                              const study_books& books, double active_seconds) {
  const bool is_time_due =
    !trials_.empty()
    && active_seconds - saved_active_seconds_ >= active_seconds_unsaved_max;
  if (std::exchange(study_is_saved_, true) && !is_time_due)
    return;
  auto row = books.stored();
  row.active_seconds = saved_active_seconds_ = active_seconds;
  row.text.clear(); // has not changed
  out.emplace_back(study_saved{std::move(row)});
}

void study_outbox::save_front(std::vector<journal_record>& out,
                              const study_books& books) {
  const auto& wanted = books.trials.wanted();
  if (wanted.is_one())
    return;
  const auto& known = books.trials.front();
  const auto now = std::pair{known.changes(), known.volume()};
  if (saved_front_ == now)
    return;
  saved_front_ = now;
  auto shown = shown_front(books).value_or(front_record{});
  for (auto& point : shown.points)
    point.params = nullptr; // the trials have them
  out.emplace_back(
    front_saved{books.stored().id, to_json(wanted, shown).dump()});
}

} // namespace hippo
