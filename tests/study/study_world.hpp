#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/report/report.hpp"
#include "hippo/search/registry.hpp"
#include "hippo/service/study/study_core.hpp"
#include "space/fixtures.hpp"

namespace hippo::test {

inline study_options options_of(
  const std::string& more,
  const std::string& space
  = "  lr: {choice: [0.1, 0.2, {multistep: {initial: 0.1, milestones: [4],"
    " gamma: 0.1}}]}\n"
    "  momentum: {choice: [0.8, 0.9]}\n") {
  const auto text = with_space(space + more);
  auto read = test::read(text);
  EXPECT_TRUE(read.study) << texts(read.errors).front();
  study_options result;
  result.spec = std::move(*read.study);
  result.workload = workloads().front();
  result.stored.id = study_id{7};
  result.stored.name = result.spec.name;
  result.stored.text = text;
  return result;
}

/// A study that has failed by a fault of the service, before it was done.
inline study_options given_up(study_options options) {
  options.stored.state = study_phase::failed;
  options.stored.reason = "a fault of the service itself";
  return options;
}

/// Reads the algorithm once the study is as a test wants it.
inline study_options with_search(study_options options) {
  options.search = read_search(options.spec);
  return options;
}

/// A study with a journal that commits what it is given when it is told to, and
/// a merger that trains what it is asked for.
class world {
public:
  explicit world(study_options options)
    : options_(with_search(std::move(options))),
      core_(std::make_unique<study_core>(options_, now_)) {
    core_->catch_up();
    tell(study_core_event::registered{});
  }

  study_core& core() { return *core_; }

  /// Tells the study what happens, and takes up what it does about it.
  void tell(any_study_event event) {
    for (auto& x : core_->apply(std::move(event), now_)) {
      if (auto* y = std::get_if<study_effect::answer>(&x))
        answers_.push_back(std::move(*y));
      else if (auto* z = std::get_if<study_effect::commit>(&x))
        journal_.push_back(std::move(*z));
      else if (auto* orders = std::get_if<study_effect::send_orders>(&x))
        obey(orders->orders);
      else if (auto* paused = std::get_if<study_effect::set_paused>(&x))
        paused_.push_back(paused->paused);
      else if (auto* raise = std::get_if<study_effect::raise_budget>(&x))
        raises_.push_back(*raise);
      else if (auto* wake = std::get_if<study_effect::wake_after>(&x))
        wake_ = now_ + wake->span;
      else if (auto* trial = std::get_if<study_effect::notify_trial>(&x))
        shown_.push_back(std::move(trial->what));
    }
  }

  /// Commits the oldest entry. @returns whether there was one
  bool commit_one() {
    if (journal_.empty())
      return false;
    auto x = std::move(journal_.front());
    journal_.pop_front();
    for (auto& y : x.records) {
      ++records_;
      if (auto* event = std::get_if<event_added>(&y))
        history_.push_back({history_.size() + 1, study_id{7}, 0,
                            event->what});
      if (auto* row = std::get_if<study_saved>(&y))
        row_ = row->study;
      if (auto* saved = std::get_if<front_saved>(&y))
        front_ = saved->front;
      if (auto* trial = std::get_if<trial_saved>(&y))
        rows_.insert_or_assign(trial->trial.trial, trial->trial);
      if (auto* removed = std::get_if<trial_removed>(&y))
        rows_.erase(removed->trial);
    }
    if (x.end)
      end_ = x.end;
    for (auto& y : x.answers)
      answers_.push_back(std::move(y));
    for (const auto& y : x.news) {
      if (const auto* measured = std::get_if<trial_measured>(&y))
        begun_.insert(measured->trial);
      if (const auto* failed = std::get_if<trial_failed>(&y))
        begun_.insert(failed->trial);
    }
    if (!x.news.empty())
      tell(study_core_event::received{std::move(x.news)});
    return true;
  }

  void commit_all() {
    while (commit_one()) {
    }
  }

  /// Trials that wait for something.
  std::vector<trial_no> waiting() const {
    std::vector<trial_no> result;
    for (const auto& [no, x] : wanted_)
      if (x.to > x.at)
        result.push_back(no);
    return result;
  }

  /// The measurement of `train_one`.
  static double value_at(trial_no no, step_t at) {
    return static_cast<double>((no * 7919 + at * 104'729) % 1000) / 1000;
  }

  /// Trains one to its next measurement, and stores that.
  void train_one(trial_no no) {
    auto& x = wanted_.at(no);
    x.at = core_->registration().when.next(x.at);
    study_effect::commit entry;
    trial_measured what{
      no, node_id{1}, x.at, {{"accuracy", value_at(no, x.at)}}};
    if (!options_.spec.objective.further.empty())
      what.values["ms"] = static_cast<double>((no * 31 + x.at * 17) % 23);
    entry.records.emplace_back(event_added{study_id{7}, "key", what});
    entry.news.emplace_back(std::move(what));
    journal_.push_back(std::move(entry));
  }

  /// Trains one to its next measurement, which is this.
  void measure_one(trial_no no, metrics values) {
    auto& x = wanted_.at(no);
    x.at = core_->registration().when.next(x.at);
    study_effect::commit entry;
    trial_measured what{no, node_id{1}, x.at, std::move(values)};
    entry.records.emplace_back(event_added{study_id{7}, "key", what});
    entry.news.emplace_back(std::move(what));
    journal_.push_back(std::move(entry));
  }

  void fail_one(trial_no no, error why = {errc::training_failed, "broken"}) {
    auto& x = wanted_.at(no);
    study_effect::commit entry;
    trial_failed what{no, x.at + 1, std::move(why)};
    x.to = x.at;
    x.has_failed = true;
    entry.records.emplace_back(event_added{study_id{7}, "", what});
    entry.news.emplace_back(std::move(what));
    journal_.push_back(std::move(entry));
  }

  study_token command(study_command::verb what, trial_no trial = 0,
                      step_t at = 0, std::string text = {}) {
    const study_token token{++tokens_};
    tell(study_core_event::commanded{{what, trial, at, std::move(text), 0},
                                     token});
    return token;
  }

  /// Asks for the effects of a command alone.
  study_token preview(study_command::verb what, std::string text) {
    const study_token token{++tokens_};
    study_command wanted{what, 0, 0, std::move(text), 0};
    wanted.dry_run = true;
    tell(study_core_event::commanded{std::move(wanted), token});
    return token;
  }

  study_token train(trial_no trial, step_t to) {
    const study_token token{++tokens_};
    tell(study_core_event::train_wanted{trial, to, token});
    return token;
  }

  /// The answer to a token, which is taken; null: none yet.
  std::optional<study_effect::answer> answer(study_token to) {
    const auto i = std::ranges::find(answers_, to, &study_effect::answer::to);
    if (i == answers_.end())
      return std::nullopt;
    auto result = std::move(*i);
    answers_.erase(i);
    return result;
  }

  std::string refusal(study_token to) {
    const auto x = answer(to);
    const auto* why = x ? std::get_if<error>(&x->what) : nullptr;
    return why ? why->message : std::string{};
  }

  void pass(std::chrono::milliseconds span) { now_ += span; }

  /// Whether a trial is stored.
  bool has_row(trial_no trial) const { return rows_.contains(trial); }

  /// Takes the events and rows of an earlier world as those of before.
  void begin_after(const world& before) {
    history_ = before.history_;
    rows_ = before.rows_;
    begun_ = before.begun_;
    commit_all();
  }

  /// What a study is restored from.
  study_options stored_options() const {
    auto result = options_;
    result.stored = row_.value_or(result.stored);
    result.stored.name = options_.stored.name;
    result.history = history_;
    return result;
  }

  /// Whether a study that is restored from what is stored is this one.
  void expect_replayed() {
    if (journal_.empty())
      expect_counted();
    study_core again{stored_options(), now_};
    int asked = 0; // it pauses now and then
    while (!again.catch_up([&] { return ++asked % 3 == 0; }))
      EXPECT_LE(again.caught_up(), 1);
    EXPECT_EQ(again.caught_up(), 1);
    EXPECT_EQ(study_json(again.record()), study_json(core_->record()));
    EXPECT_EQ(again.stored().state, core_->stored().state);
    EXPECT_EQ(again.stored().reason, core_->stored().reason);
    EXPECT_EQ(again.stored().note, core_->stored().note);
    EXPECT_EQ(again.stored().tags, core_->stored().tags);
    EXPECT_EQ(again.stored().removed, core_->stored().removed);
    // One that has ended refuses another weight, but ends later in a replay.
    if (!has_ended(core_->stored().state)) {
      EXPECT_EQ(again.stored().weight, core_->stored().weight);
    }
    EXPECT_EQ(again.status(now_).view.finished,
              core_->status(now_).view.finished);
  }

  /// Whether all that the study says of its trials is what is stored of them,
  /// counted by hand, and whether those of one that has ended are those that
  /// were begun. REQUIRES: all is committed.
  void expect_counted() {
    const auto view = core_->status(now_).view;
    const auto record = core_->record();
    std::uint64_t finished = 0, asked = 0, delivered = 0;
    std::set<trial_no> stored, shown;
    for (const auto& [no, x] : rows_) {
      stored.insert(no);
      finished += hippo::has_ended(x.state);
      asked += x.asked_to * options_.spec.repeats.seeds;
      delivered += x.steps * options_.spec.repeats.seeds;
    }
    for (const auto& x : record.trials)
      shown.insert(x.id);
    EXPECT_EQ(shown, stored);
    EXPECT_EQ(view.finished, finished);
    EXPECT_EQ(view.asked_steps, asked);
    EXPECT_EQ(record.asked_steps, asked);
    EXPECT_EQ(record.delivered_steps, delivered);
    if (!hippo::has_ended(core_->stored().state))
      return;
    EXPECT_EQ(view.trials, stored.size());
    EXPECT_EQ(finished, stored.size());
    for (trial_no no = 0; no < core_->trials().size(); ++no)
      if (core_->trials()[no].removed)
        stored.insert(no);
    if (options_.spec.algorithm.name != "client") {
      EXPECT_EQ(stored, begun_);
    }
  }

  std::deque<study_effect::commit> journal_;
  std::vector<stored_event> history_;
  std::vector<bool> paused_;
  std::vector<trial_no> dropped_;
  std::vector<study_effect::raise_budget> raises_;
  std::optional<measuring> when_; ///< that it was told of last
  std::map<trial_no, std::vector<segment>> segments_; ///< as they were added
  std::map<trial_no, std::vector<segment>> rerouted_;
  std::optional<study_end> end_;
  std::string front_; ///< as it was saved last
  std::size_t records_ = 0;
  std::optional<moment> wake_;
  std::vector<trial_event> shown_; ///< ends of trials
  moment now_{};

private:
  void obey(const study_orders& orders) {
    if (orders.when)
      when_ = orders.when;
    for (const auto& y : orders.added)
      segments_[y.no] = y.segments;
    for (const auto& y : orders.rerouted)
      rerouted_[y.no] = y.segments;
    dropped_.insert(dropped_.end(), orders.dropped.begin(),
                    orders.dropped.end());
    for (const auto no : orders.dropped)
      if (const auto i = wanted_.find(no); i != wanted_.end())
        i->second.to = i->second.at;
    for (const auto& y : orders.asked) {
      auto& wanted = wanted_[y.no];
      wanted.has_failed = wanted.has_failed && !y.again;
      if (wanted.has_failed) // as the study is yet to hear
        continue;
      wanted.at = std::max(wanted.at, y.known_to);
      wanted.to = y.is_over ? wanted.at : y.to;
    }
  }

  struct way {
    step_t at = 0;
    step_t to = 0;
    bool has_failed = false;
  };
  study_options options_;
  std::unique_ptr<study_core> core_;
  std::vector<study_effect::answer> answers_;
  std::map<trial_no, way> wanted_;
  std::optional<stored_study> row_;
  std::map<trial_no, stored_trial> rows_;
  std::set<trial_no> begun_; ///< that something was heard of
  std::uint64_t tokens_ = 0;
};

} // namespace hippo::test
