#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/service/merge/merge_core.hpp"
#include "plan/workload_model.hpp"

namespace hippo::test {

/// What is around a `merge_core`: trainers, a pool that has them, a store that
/// commits when it is told to, and studies that remember what they are sent.
/// Training is the hash model, so that a wrong order or checkpoint shows.
///
/// Checks after each event that nothing that depends on a commit comes before
/// it, that trainers are used only while they are granted, and that a lease
/// begins where its checkpoint is.
class merge_world {
public:
  /// @param lanes leases that each trainer trains at once
  explicit merge_world(merger_options options = {}, std::uint32_t lanes = 1)
    : lanes_(lanes),
      ranks_(ranks_of(options.workload)),
      core{with_defaults(std::move(options)), moment{}} {}

  struct trainer {
    struct job {
      lease work;
      model_state state;
      checkpoint written{}; ///< last; no file: nothing yet
      step_t at = 0;
      std::size_t next_stop = 0;
      std::string kind = "model"; ///< of the trainer
    };
    std::map<lease_id, job> jobs;
    std::string kind = "model";
    bool granted = false;
    bool silent = false; ///< it trains nothing and says nothing
    bool is_reached = true; ///< by others of a gang
    std::uint32_t ranks = 1; ///< of a trial, that it holds
  };

  struct study {
    std::map<trial_no, model_trial> trials;
    std::set<trial_no> dropped;
    std::map<trial_no, trial_failed> failed;
    std::uint64_t received = 0; ///< news and offers
    std::uint64_t offered = 0;  ///< trials, since last asked
    std::uint64_t quiesced = 0; ///< how often
    std::uint64_t spent = 0;    ///< likewise, its budget
    bool wants_capacity = false;
  };

private:
  std::uint32_t lanes_;
  std::uint32_t ranks_;

public:
  merge_core core;
  std::function<void()> before_each_event;
  moment now{};
  std::map<trainer_id, trainer> trainers; ///< those that have not died
  std::vector<study> studies; ///< by `study_no`
  std::deque<commit_request> commits; ///< under way, oldest first
  std::map<std::string, model_state> files;
  std::map<std::string, checkpoint> saved; ///< by file
  std::set<std::string> deleted;
  std::set<std::string> damaged; ///< files that a lease could not start from
  std::vector<journal_record> stored;
  std::map<reply_address, ack> unanswered; ///< reports that were sent
  std::vector<merge_effect::announce_demand> demands; ///< not yet answered
  std::uint64_t wanted = 0; ///< trainers more, as last announced
  std::set<std::string> wanted_kinds; ///< of their devices; empty: any
  helper_demand wanted_helpers;       ///< likewise
  std::uint64_t grants_made = 0;
  std::vector<merge_effect::cool_down_trainer> cool_downs;
  moment rests_until{}; ///< from trainers that hold some ranks
  std::set<trainer_id> blamed;
  std::map<trainer_id, std::uint64_t> failures; ///< of leases
  std::vector<merge_effect::give_back_stalled> stalled;
  std::vector<merge_effect::log_line> log;
  std::vector<std::uint64_t> retired;
  std::uint64_t trained = 0; ///< steps that trainers have taken
  std::vector<std::pair<trainer_id, lease>> sent_leases;
  std::vector<merge_effect::send_stop> sent_stops;
  std::uint64_t acks = 0;
  std::uint64_t code_restored = 0; ///< how often it was to be looked at

  // -- time and events --------------------------------------------------------

  void pass(double seconds) {
    now += std::chrono::duration_cast<moment::duration>(
      std::chrono::duration<double>(seconds));
  }

  void apply(any_merge_event event) {
    if (before_each_event)
      before_each_event();
    const bool is_commit
      = std::holds_alternative<merge_event::committed>(event);
    for (auto& x : core.apply(std::move(event), now)) {
      EXPECT_TRUE(is_commit
                  || !std::holds_alternative<merge_effect::send_ack>(x))
        << "acknowledged before the commit";
      std::visit([this](auto& y) { take(y); }, x);
    }
    core.check_invariants();
  }

  // -- studies ----------------------------------------------------------------

  std::size_t add_study(measuring when, double weight = 1, bool paused = false,
                        settings_table::settings settings = {},
                        std::optional<double> device_seconds = {},
                        std::optional<double> cost = {}) {
    study_registration x;
    x.device_seconds = device_seconds;
    x.cost = cost;
    x.id = study_id{studies.size() + 1};
    x.when = std::move(when);
    x.weight = weight;
    x.paused = paused;
    x.settings = std::move(settings);
    studies.emplace_back();
    apply(merge_event::study_added{std::move(x)});
    return studies.size() - 1;
  }

  /// Orders that acknowledge what the study was sent.
  study_orders orders_of(std::size_t no) const {
    study_orders result;
    result.acked = studies[no].received;
    result.wants_capacity = studies[no].wants_capacity;
    return result;
  }

  void give(std::size_t no, study_orders orders) {
    auto& st = studies[no];
    for (const auto& y : orders.added) {
      auto& trial = st.trials[y.no];
      trial.study = static_cast<study_no>(no);
      trial.segments = y.segments;
    }
    for (auto y : orders.dropped)
      st.dropped.insert(y);
    for (const auto& y : orders.asked) {
      auto& to = st.trials.at(y.no).asked_to;
      to = std::max(to, y.to);
    }
    apply(
      merge_event::orders_given{static_cast<study_no>(no), std::move(orders)});
  }

  /// Adds trials and has each trained up to `to`.
  void train(std::size_t no, const std::vector<std::vector<segment>>& trials,
             step_t to) {
    auto x = orders_of(no);
    for (const auto& segments : trials) {
      const auto number = studies[no].trials.size() + x.added.size();
      x.added.push_back({number, segments, std::nullopt, false});
      x.asked.push_back({number, to, 0, false});
    }
    give(no, std::move(x));
  }

  /// One configuration throughout.
  static std::vector<segment> constant(double rate, double batch = 64) {
    return {{0,
             {{"lr", form::constant(rate)},
              {"batch_size", form::constant(batch)}}}};
  }

  /// `constant(rate)` up to a step, then another rate.
  static std::vector<segment> change(double rate, step_t at, double then) {
    auto result = constant(rate);
    result.push_back({at, constant(then).front().config});
    return result;
  }

  // -- the store --------------------------------------------------------------

  /// Commits the oldest that is under way.
  void commit_one() {
    auto x = std::move(commits.front());
    commits.pop_front();
    stored.insert(stored.end(), x.records.begin(), x.records.end());
    for (const auto& [no, news] : x.news)
      receive(no, news);
    for (const auto& file : x.files)
      deleted.insert(file);
    apply(merge_event::committed{x.number});
  }

  void commit_all() {
    while (!commits.empty())
      commit_one();
  }

  // -- the pool ---------------------------------------------------------------

  /// The pool has granted what it has.
  void answer_demands() {
    while (!demands.empty())
      answer_demand();
  }

  void answer_demand() {
    demands.erase(demands.begin());
    apply(merge_event::demand_answered{});
  }

  /// Grants a trainer, a new one unless its number is given.
  /// @param price of an hour of it
  /// @param seconds_left until it leaves; nothing: it has no time limit
  trainer_id grant(std::optional<trainer_id> which = {}, double price = 0,
                   std::optional<double> seconds_left = {}) {
    const auto id = which.value_or(trainer_id{++last_trainer_});
    trainers[id].granted = true;
    ++grants_made;
    apply(merge_event::granted{id,
                               trainers[id].kind,
                               0,
                               price,
                               {},
                               lanes_,
                               1,
                               seconds_left,
                               address_of(id),
                               trainers[id].ranks});
    return id;
  }

  /// Where others of a gang reach a trainer.
  std::string address_of(trainer_id id) const {
    return trainers.at(id).is_reached ? "t" + to_string(id) + ":1"
                                      : std::string{};
  }

  /// A trainer of a kind of device, not yet granted.
  trainer_id join(const std::string& kind, std::uint32_t ranks = 1) {
    const trainer_id id{++last_trainer_};
    trainers[id].kind = kind;
    trainers[id].ranks = ranks;
    return id;
  }

  /// @param why nothing: it has left in good order
  void lose(trainer_id id, const std::string& why = {}) {
    const bool was_granted = trainers.at(id).granted;
    trainers.erase(id);
    if (was_granted)
      apply(merge_event::lost{id, why});
  }

  // -- trainers ---------------------------------------------------------------

  /// The only lease that a trainer has.
  lease_id lease_of(trainer_id id) const {
    const auto& jobs = trainers.at(id).jobs;
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.empty() ? lease_id{} : jobs.begin()->first;
  }

  /// The leads of the gangs that are in training, by trainer.
  std::vector<std::pair<trainer_id, lease_id>> leads() const {
    std::vector<std::pair<trainer_id, lease_id>> result;
    for (const auto& [id, x] : trainers)
      for (const auto& [number, y] : x.jobs)
        if (y.work.gang && y.work.gang->rank == 0)
          result.emplace_back(id, number);
    return result;
  }

  /// The members of a lead's gang that are there, by rank.
  std::map<std::uint32_t, std::pair<trainer_id, lease_id>>
  members_of(lease_id lead) const {
    std::map<std::uint32_t, std::pair<trainer_id, lease_id>> result;
    for (const auto& [id, x] : trainers)
      for (const auto& [number, y] : x.jobs)
        if (y.work.gang && y.work.gang->lead == lead)
          result[y.work.gang->rank] = {id, number};
    return result;
  }

  /// Whether all members of a lease are there.
  bool is_whole(const lease& work) const {
    return !work.gang
           || members_of(work.gang->lead).size() == work.gang->members.size();
  }

  /// Trains a lease up to its next stop and reports that; ends it after the
  /// last one. @returns the report
  stop_report step(trainer_id id, lease_id number,
                   double step_seconds = 1) {
    auto& job = trainers.at(id).jobs.at(number);
    const auto stop = job.work.stops.at(job.next_stop++);
    auto x = train_to(job, stop, step_seconds);
    const bool ends = stop.last || job.next_stop == job.work.stops.size();
    report(x);
    if (ends)
      end(id, number);
    return x;
  }

  /// Sends a report, as that of a running lease or not.
  void report(const stop_report& report, bool resent = false) {
    const reply_address to{++last_reply_};
    unanswered[to] = ack{report.lease, report.at};
    if (resent)
      apply(merge_event::resent{report, to});
    else
      apply(merge_event::reported{report, to});
  }

  void end(trainer_id id, lease_id number, std::optional<error> failure = {},
           lease_part during = lease_part::training) {
    auto entry = trainers.at(id).jobs.extract(number);
    lease_end x;
    x.lease = number;
    x.at = entry.mapped().at;
    if (failure && failure->code == errc::bad_checkpoint)
      note_damaged(entry.mapped().work.start);
    x.failure = std::move(failure);
    x.during = during;
    apply(merge_event::lease_ended{std::move(x)});
  }

  /// Notes what may be given up since a checkpoint cannot be read: all that has
  /// a file in common with it.
  void note_damaged(const checkpoint& lost) {
    std::set<std::string> all{lost.file};
    for (const auto& y : lost.part_files)
      all.insert(y.file);
    for (std::size_t before = 0; before < all.size();) {
      before = all.size();
      for (const auto& [file, y] : saved)
        if (std::ranges::any_of(y.part_files, [&](const part_file& z) {
              return all.contains(z.file);
            }))
          all.insert(file);
    }
    for (const auto& file : all)
      damaged.insert("folder/" + file);
  }

  /// A trainer says how far all its leases are, that one last.
  void heartbeat(trainer_id id, lease_id number) {
    std::vector<lease_id> all;
    for (const auto& kvp : trainers.at(id).jobs)
      if (kvp.first != number)
        all.push_back(kvp.first);
    all.push_back(number);
    for (const auto x : all)
      if (trainers.at(id).jobs.count(x) > 0)
        apply(merge_event::heartbeat{id, x, trainers.at(id).jobs.at(x).at});
  }

  /// Grants a trainer that is not, if the merger could use one.
  bool grant_for_demand() {
    const auto found
      = std::find_if(trainers.begin(), trainers.end(),
                     [this](const auto& kvp) {
                       const auto& [granted, kind] = std::tie(
                         kvp.second.granted, kvp.second.kind);
                       return !granted && holds_ranks(kvp.second)
                              && (wanted_kinds.empty()
                                  || wanted_kinds.count(kind) > 0);
                     });
    if (wanted == 0 || found == trainers.end())
      return false;
    --wanted;
    grant(found->first);
    return true;
  }

  /// The same of one that helps.
  bool grant_helper() {
    const auto found = std::ranges::find_if(trainers, [this](const auto& kvp) {
      const auto& x = kvp.second;
      return !x.granted && x.is_reached
             && wanted_helpers.kinds.contains(x.kind);
    });
    if (wanted > 0 || wanted_helpers.trainers == 0 || found == trainers.end())
      return false;
    --wanted_helpers.trainers;
    grant(found->first);
    return true;
  }

  /// Trains everything that is leased, commits and answers, until nothing
  /// happens any more. Released trainers are granted again while `grants`.
  void run_all(bool grants = true) {
    for (int i = 0; i < 100'000; ++i) {
      if (!commits.empty()) {
        commit_one();
        continue;
      }
      if (grants && (grant_for_demand() || grant_helper()))
        continue;
      if (!demands.empty()) {
        answer_demand();
        continue;
      }
      const auto found =
        std::find_if(trainers.begin(), trainers.end(), [](const auto& kvp) {
          return !kvp.second.silent && first_own(kvp.second);
        });
      if (found == trainers.end())
        return;
      pass(1);
      const auto number = *first_own(found->second);
      if (is_whole(found->second.jobs.at(number).work))
        step(found->first, number);
      else
        end(found->first, number, error{errc::gang_lost, "lost a member"});
    }
    ADD_FAILURE() << "it does not come to an end";
  }

  // -- what must hold in the end ----------------------------------------------

  /// Every trial has all that it was asked for, as it would have alone, or has
  /// failed or was dropped.
  void expect_results_as_alone(std::size_t no, const measuring& when) const {
    for (const auto& [number, x] : studies[no].trials) {
      for (const auto& [at, values] : x.delivered)
        EXPECT_EQ(values, x.alone(at).evaluate())
          << "trial " << number << " at " << at;
      if (studies[no].failed.count(number) > 0
          || studies[no].dropped.count(number) > 0)
        continue;
      for (step_t t = when.next(0); t > 0 && t <= x.asked_to;
           t = when.next(t))
        EXPECT_EQ(x.delivered.count(t), 1u)
          << "trial " << number << " lacks " << t;
    }
  }

  std::uint64_t distinct() const {
    std::vector<const model_trial*> all;
    for (const auto& st : studies)
      for (const auto& [number, x] : st.trials)
        all.push_back(&x);
    return distinct_steps(all);
  }

  /// Chooses the checkpoints that have parts of a state.
  static std::vector<part_file> parts_of(const trainer::job& job, step_t at) {
    std::set<part_file> result;
    auto chance = number_of(job.work.number) + at;
    for (const auto* x : {&job.work.base, &job.work.start, &job.written}) {
      if (x->table_bytes > 0 && chance % 2 == 0)
        result.insert({x->file, x->bytes, x->digest});
      chance /= 2;
    }
    return {result.begin(), result.end()};
  }

  /// Trains up to a stop. Leaves the checkpoint if the stop says so.
  stop_report train_to(trainer::job& job, const stop_point& stop,
                       double step_seconds = 1) {
    stop_report x;
    x.lease = job.work.number;
    for (const auto& stage : job.work.stages)
      if (stage.end > job.at && stage.begin < stop.at) {
        const auto to = std::min(stage.end, stop.at);
        job.state.train(stage.config, job.at, to, job.kind);
        x.trained_steps += to - job.at;
        job.at = to;
      }
    const auto* where = stage_reaching(job.work, stop.at);
    const auto& last = where ? *where : job.work.stages.front();
    x.at = stop.at;
    x.node = last.node;
    x.identity = last.identity;
    x.device = kind_made(job.work, job.kind);
    trained += x.trained_steps;
    x.train_ns = static_cast<std::uint64_t>(
      static_cast<double>(x.trained_steps) * step_seconds * 1e9);
    if (stop.evaluate)
      x.values = job.state.evaluate();
    if (stop.save) {
      const auto name = checkpoint_name(x.node, x.at, x.lease);
      files[name] = job.state;
      x.saved = checkpoint{name, 1000, 1, {}, 100, parts_of(job, stop.at)};
      job.written = saved[name] = *x.saved;
      if (job.work.workload.any_device)
        x.saved->device = x.device;
      x.save_ns = 1'000'000;
    }
    return x;
  }

private:
  /// Whether a trainer holds the ranks of a trial, alone or with others that
  /// are there, and is to be granted now.
  [[nodiscard]] bool holds_ranks(const trainer& which) const {
    if (which.ranks >= ranks_)
      return which.ranks == ranks_;
    const auto like = std::ranges::count_if(trainers, [&](const auto& kvp) {
      const auto& y = kvp.second;
      return y.ranks == which.ranks && y.kind == which.kind && y.is_reached;
    });
    return ranks_ % which.ranks == 0 && now >= rests_until && which.is_reached
           && std::cmp_greater_equal(like, ranks_ / which.ranks);
  }

  /// The first lease of a trainer that is not another one's follower.
  static std::optional<lease_id> first_own(const trainer& which) {
    for (const auto& [number, y] : which.jobs)
      if (!y.work.gang || y.work.gang->rank == 0)
        return number;
    return std::nullopt;
  }

  /// The properties of the lease of a member of a gang.
  void check_gang(trainer_id id, const lease& work) const {
    const auto& gang = *work.gang;
    EXPECT_EQ(trainers.at(id).jobs.size(), 0u) << "a member has other leases";
    EXPECT_LT(gang.rank, gang.members.size());
    EXPECT_EQ(gang.members.at(gang.rank), address_of(id));
    EXPECT_EQ(std::set(gang.members.begin(), gang.members.end()).size(),
              gang.members.size());
    EXPECT_TRUE(ranks_ > 1 || std::has_single_bit(gang.members.size()));
    EXPECT_FALSE(gang.secret.empty());
    if (gang.rank == 0) {
      EXPECT_EQ(gang.lead, work.number);
      return;
    }
    const auto others = members_of(gang.lead);
    ASSERT_TRUE(others.contains(0)) << "a follower comes before its lead";
    const auto& [lead_trainer, number] = others.at(0);
    const auto& lead = trainers.at(lead_trainer).jobs.at(number).work;
    auto expected = *lead.gang;
    expected.rank = gang.rank;
    EXPECT_EQ(gang, expected);
    EXPECT_EQ(trainers.at(id).kind, trainers.at(lead_trainer).kind);
    EXPECT_EQ(work.start.file, lead.start.file);
    EXPECT_EQ(work.workload, lead.workload);
    ASSERT_EQ(work.stages.size(), lead.stages.size());
    for (std::size_t i = 0; i < work.stages.size(); ++i)
      EXPECT_EQ(work.stages[i].node, lead.stages[i].node);
    ASSERT_EQ(work.stops.size(), 1u);
  }

  static merger_options with_defaults(merger_options chosen) {
    if (chosen.workload.name.empty())
      chosen.workload.name = "model";
    chosen.folder = "folder";
    chosen.speed_names = {"batch_size"};
    if (chosen.unpacked_nodes_max == merger_options{}.unpacked_nodes_max)
      chosen.unpacked_nodes_max = 0; // as many come as are looked at
    return chosen;
  }

  void receive(study_no no, const study_news& news) {
    auto& st = studies[number_of(no)];
    for (const auto& x : news) {
      ++st.received;
      if (const auto* y = std::get_if<trial_measured>(&x)) {
        auto& delivered = st.trials.at(y->trial).delivered;
        EXPECT_TRUE(delivered.emplace(y->at, y->values).second)
          << "trial " << y->trial << " was told of " << y->at << " twice";
      } else {
        const auto& failure = std::get<trial_failed>(x);
        st.failed.emplace(failure.trial, failure);
      }
    }
  }

  trainer& granted(trainer_id id) {
    EXPECT_TRUE(trainers.count(id) > 0 && trainers.at(id).granted)
      << "trainer " << number_of(id) << " is not the merger's";
    return trainers[id];
  }

  void take(merge_effect::send_lease& order) {
    auto& jobs = granted(order.trainer).jobs;
    EXPECT_LT(jobs.size(), lanes_);
    for (const auto& [number, job] : jobs)
      EXPECT_FALSE(job.work.gang) << "a member of a gang gets another lease";
    const auto members = order.work.gang ? order.work.gang->members.size() : 1;
    EXPECT_TRUE(ranks_ == 1
                || trainers.at(order.trainer).ranks * members == ranks_);
    if (order.work.gang)
      check_gang(order.trainer, order.work);
    for (const auto& [number, job] : jobs)
      EXPECT_NE(job.work.lane, order.work.lane);
    trainer::job job;
    job.kind = trainers.at(order.trainer).kind;
    job.at = order.work.stages.front().begin;
    if (!order.work.start.file.empty()) {
      EXPECT_EQ(files.count(order.work.start.file), 1u);
      EXPECT_EQ(deleted.count("folder/" + order.work.start.file), 0u)
        << "a lease starts from what is deleted";
      for (const auto& x : order.work.start.part_files)
        EXPECT_EQ(deleted.count("folder/" + x.file), 0u)
          << "parts of what a lease starts from are deleted";
      job.state = files[order.work.start.file];
    } else {
      EXPECT_EQ(job.at, 0u);
    }
    EXPECT_EQ(order.work.stops.back().at, order.work.stages.back().end);
    sent_leases.emplace_back(order.trainer, order.work);
    job.work = std::move(order.work);
    const auto number = job.work.number;
    EXPECT_TRUE(jobs.emplace(number, std::move(job)).second);
  }

  void take(merge_effect::send_stop& order) {
    sent_stops.push_back(order);
    auto& jobs = granted(order.trainer).jobs;
    const auto i = jobs.find(order.stop.lease);
    if (i == jobs.end())
      return; // it ends
    auto& job = i->second;
    if (order.stop.point.at <= job.at && !order.stop.point.last)
      return; // passed
    auto point = order.stop.point;
    point.at = std::max(point.at, job.at + 1);
    auto& stops = job.work.stops;
    const auto where
      = std::find_if(stops.begin(), stops.end(),
                     [&](const stop_point& y) { return y.at >= point.at; });
    if (where != stops.end() && where->at == point.at) {
      where->evaluate |= point.evaluate;
      where->save |= point.save;
      where->last |= point.last;
    } else {
      stops.insert(where, point);
    }
  }

  void take(merge_effect::send_cancel& order) {
    auto& jobs = granted(order.trainer).jobs;
    const auto found = jobs.find(order.lease);
    if (found == jobs.end())
      return;
    if (const auto& gang = found->second.work.gang;
        gang && gang->rank > 0 && !members_of(gang->lead).contains(0))
      jobs.erase(found); // it ends with its lead, and nobody need be told
    else
      cancelled.emplace_back(order.trainer, order.lease);
  }

  void take(merge_effect::send_ack& order) {
    ++acks;
    const auto i = unanswered.find(order.to);
    ASSERT_NE(i, unanswered.end()) << "acknowledged twice, or never sent";
    EXPECT_EQ(i->second, order.report);
    unanswered.erase(i);
  }

  void take(merge_effect::release_trainer& order) {
    auto& y = granted(order.trainer);
    EXPECT_TRUE(y.jobs.empty()) << "released with a lease";
    y.granted = false;
  }

  void take(merge_effect::cool_down_trainer& order) {
    if (order.joined)
      rests_until = now + order.span;
    cool_downs.push_back(order);
  }

  void take(merge_effect::blame_trainer& order) {
    blamed.insert(order.trainer);
  }
  void take(merge_effect::note_failure& order) { ++failures[order.trainer]; }

  void take(merge_effect::give_back_stalled& order) {
    stalled.push_back(order);
    auto& y = granted(order.trainer);
    y.granted = false;
    y.jobs.clear();
  }

  void take(merge_effect::note_alive& order) { granted(order.trainer); }

  void take(merge_effect::announce_demand& order) {
    wanted = order.trainers;
    wanted_kinds = order.kinds;
    wanted_helpers = order.helpers;
    demands.push_back(order);
  }

  void take(merge_effect::commit& order) {
    for (const auto& file : order.what.files)
      for (const auto& [id, y] : trainers)
        for (const auto& [number, job] : y.jobs)
          EXPECT_TRUE(job.at > job.work.stages.front().begin
                      || damaged.count(file) > 0
                      || "folder/" + job.work.start.file != file)
            << "what a lease starts from is deleted";
    commits.push_back(std::move(order.what));
  }

  void take(merge_effect::offer_capacity& order) {
    auto& st = studies[number_of(order.study)];
    ++st.received;
    st.offered += order.trials;
  }

  void take(merge_effect::notify_spent& order) {
    ++studies[number_of(order.study)].spent;
  }

  void take(merge_effect::notify_quiesced& order) {
    ++studies[number_of(order.study)].quiesced;
  }
  void take(merge_effect::retired& order) {
    retired.push_back(order.trained_steps);
  }
  void take(merge_effect::restore_code&) { ++code_restored; }
  void take(merge_effect::log_line& order) { log.push_back(std::move(order)); }

public:
  /// Leases that trainers were asked to cancel while they had them.
  std::vector<std::pair<trainer_id, lease_id>> cancelled;

  /// Ends what was cancelled, as trainers do.
  void obey_cancels() {
    for (const auto& [id, number] : std::exchange(cancelled, {}))
      if (trainers.count(id) > 0 && trainers.at(id).jobs.count(number) > 0)
        end(id, number, error{errc::cancelled, "cancelled"});
  }

private:
  std::uint64_t last_trainer_ = 0;
  std::uint64_t last_reply_ = 0;
};

/// A merger and trainers with disturbances that a seed decides.
struct random_world : merge_world {
  random_world(std::uint32_t seed, merger_options options, unsigned lanes)
    : merge_world(std::move(options), lanes), rng{seed} {}

  std::size_t pick(std::size_t count) { return rng() % count; }

  /// A lease that a trainer works on; nothing: there is none.
  std::optional<std::pair<trainer_id, lease_id>> any_lease() {
    std::vector<std::pair<trainer_id, lease_id>> all;
    for (const auto& [id, x] : trainers)
      for (const auto& [number, job] : x.jobs)
        all.emplace_back(id, number);
    if (all.empty())
      return std::nullopt;
    return all[pick(all.size())];
  }

  /// The trainer of a lease gives signs of life and makes no step.
  void hang(trainer_id id, lease_id number) {
    for (int i = 0; i < 8 && trainers.at(id).jobs.contains(number); ++i) {
      pass(9);
      heartbeat(id, number);
    }
  }

  std::mt19937 rng;
};

} // namespace hippo::test
