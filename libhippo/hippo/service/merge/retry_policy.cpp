#include "hippo/service/merge/retry_policy.hpp"

#include <algorithm>
#include <cassert>
#include <string>

#include "hippo/base/first_line.hpp"

namespace hippo {

namespace {

/// The node that the state which a lease started from belongs to: the first
/// stage's, or the one that it leaves.
node_id start_node(const lease& x, const search_plan& plan) {
  const auto& first = x.stages.front();
  const auto& node = plan.node(first.node);
  return first.begin > node.begin ? first.node : node.parent;
}

/// What an operating system says at the end of a reason.
std::string cause_of(const std::string& text) {
  const auto at = text.rfind(": ");
  return at == std::string::npos ? text : text.substr(at);
}

} // namespace

/// What a lease was to record next.
struct retry_policy::goal {
  const stage* where = nullptr; ///< that leads there
  step_t from = 0; ///< what is there already; one less if that is all there is
  stop_point stop; ///< of the lease
  bool is_there = false; ///< whether it is kept, and to be measured alone
};

retry_policy::goal retry_policy::goal_of(const running_lease& lease) {
  const auto& stages = lease.work.stages;
  goal result;
  const auto* next = lease.next_stop();
  result.stop = next ? *next : stop_point{stages.back().end, false, true};
  result.where = stage_reaching(lease.work, result.stop.at);
  if (result.where == nullptr)
    result.where = &stages.back();
  const auto& where = *result.where;
  result.from = std::max(lease.progress.saved, where.begin);
  if (result.from >= result.stop.at && result.from > 0) {
    result.from = result.stop.at - 1;
    result.is_there = true;
  }
  return result;
}

void retry_policy::failed_state::add(trainer_id trainer, attempt other,
                                     bool is_lost) {
  const auto rank = [](const attempt& z) {
    return std::tuple{z.at, z.during != lease_part::training};
  };
  if (is_lost ? trainers.empty()
              : trainers.empty() || rank(other) >= rank(farthest))
    farthest = other;
  passed_at = std::max(passed_at, other.at);
  auto& known = is_lost ? lost : trainers;
  if (const auto i = known.find(trainer); i != known.end()) {
    other.may_return = other.may_return && i->second.may_return;
    other.times += i->second.times;
  }
  known.insert_or_assign(trainer, std::move(other));
  ++attempts;
}

std::size_t retry_policy::failed_state::different() const {
  std::set<std::string> names;
  for (const auto& kvp : trainers)
    names.insert(kvp.second.name);
  for (const auto& kvp : lost)
    names.insert(kvp.second.name);
  return names.size();
}

bool retry_policy::failed_state::agree() const {
  std::map<std::pair<step_t, std::string>, std::set<std::string>> names;
  return std::any_of(trainers.begin(), trainers.end(), [&](const auto& kvp) {
    const auto& x = kvp.second;
    auto& those = names[{x.at, first_line(x.why.message)}];
    those.insert(x.name);
    return those.size() >= agreeing_trainers;
  });
}

retry_policy::retry_policy(unsigned attempts_max)
  : attempts_max_(attempts_max) {
  assert(attempts_max > 0);
}

verdict retry_policy::judge(const running_lease& lease, const lease_end& end,
                            const search_plan& plan,
                            const trainer_filter& others,
                            const settings_source& waiting) {
  assert(end.failure);
  const auto& stages = lease.work.stages;
  switch (end.failure->code) {
    case errc::cancelled:
      return retry{end.at == stages.front().begin};
    case errc::cannot_start:
    case errc::missing_data:
    case errc::io_failed: {
      auto& known = hindered_[lease.trainer];
      known.name = lease.trainer_name;
      const auto why = first_line(end.failure->message);
      if (cause_of(why) != cause_of(known.why))
        known.why = why; // else only the name of a file differs
      return cool_down{known.span.next(), end.failure->code == errc::io_failed
                                            ? std::string{}
                                            : end.failure->message};
    }
    case errc::diverged:
      return judge_divergence(lease, end, others);
    case errc::bad_checkpoint:
      if (!lease.work.start.file.empty())
        return judge_checkpoint(lease, end, plan, others, waiting);
      [[fallthrough]];
    default:
      return judge_training(lease, end, others, waiting);
  }
}

verdict retry_policy::judge_divergence(const running_lease& lease,
                                       const lease_end& end,
                                       const trainer_filter& others) {
  const auto& stages = lease.work.stages;
  const auto& by = lease.work.workload.settings;
  const auto at = std::clamp(end.at, stages.front().begin, stages.back().end);
  const auto& where = stages[stage_index(lease.work, at)];
  const mark_diverged result{where.node, at};
  if (auto& known = trust_[lease.trainer];
      known.confirmed >= confirmed_for_trust
      && ++known.believed % trusted_asked_every != 0)
    return result;
  attempt fresh;
  fresh.name =
    lease.trainer_name.empty() ? to_string(lease.trainer) : lease.trainer_name;
  fresh.node = where.node;
  // The state that a path begins with is there: what cannot be had is the next.
  const auto failed_at
    = where.begin < where.end ? std::max(at, stages.front().begin + 1) : at;
  fresh.at = failed_at;
  fresh.during = lease_part::measuring;
  fresh.why = *end.failure;
  auto from = std::max(lease.progress.saved, where.begin);
  if (from >= failed_at && from > 0)
    from = failed_at - 1; // it is there, and to be measured
  auto& failed = failures_[{where.node, from, false, by}];
  failed.add(lease.trainer, std::move(fresh), false);
  check_invariants();
  // Wherever they started from.
  std::map<std::string, trainer_id> those;
  const auto first = failures_.lower_bound({where.node, 0, false, {}});
  const auto is_here = [&](const auto& i) {
    return i != failures_.end() && std::get<node_id>(i->first) == where.node;
  };
  const auto says_so = [&](const attempt& y) {
    return y.why.code == errc::diverged && y.at == failed_at;
  };
  for (auto i = first; is_here(i); ++i)
    if (std::get<settings>(i->first) == by)
      for (const auto& [trainer, y] : i->second.trainers)
        if (says_so(y))
          those.emplace(y.name, trainer);
  const bool is_confirmed = those.size() >= divergence_words;
  if (!is_confirmed
      && is_anyone_able_but(failed_up_to(stages, by, failed.passed_at),
                            others))
    return retry{};
  if (is_confirmed)
    for (const auto& kvp : those)
      ++trust_[kvp.second].confirmed;
  for (auto i = failures_.lower_bound({where.node, 0, false, {}}); is_here(i);)
    if (std::get<settings>(i->first) == by
        && std::ranges::any_of(i->second.trainers, [&](const auto& kvp) {
             return says_so(kvp.second);
           }))
      i = failures_.erase(i); // who comes again begins anew
    else
      ++i;
  return result;
}

bool retry_policy::is_start_doubted(const running_lease& lease) const {
  if (lease.work.start.file.empty() || lease.progress.has_recorded)
    return false;
  const auto wanted = goal_of(lease);
  return failures_.count({wanted.where->node, wanted.from, true, {}}) > 0;
}

verdict retry_policy::judge_checkpoint(const running_lease& lease,
                                       const lease_end& end,
                                       const search_plan& plan,
                                       const trainer_filter& others,
                                       const settings_source& waiting) {
  const auto node = start_node(lease.work, plan);
  const auto at = lease.work.stages.front().begin;
  const auto& known = plan.node(node).checkpoints;
  const auto i = known.find(at);
  if (i == known.end() || i->second.file != lease.work.start.file)
    return retry{}; // it has been given up since
  // It is the trainer's fault as long as others have not found it bad, too.
  if (std::holds_alternative<retry>(
        judge_training(lease, end, others, waiting)))
    return retry{};
  return forget_checkpoint{node, at};
}

verdict retry_policy::judge_training(const running_lease& lease,
                                     const lease_end& end,
                                     const trainer_filter& others,
                                     const settings_source& waiting) {
  const auto wanted = goal_of(lease);
  // A state that it has, and says it could not measure or save; else the next.
  const bool is_there = wanted.is_there || end.during != lease_part::training;
  attempt failed;
  failed.at = std::clamp(is_there ? end.at : end.at + 1, wanted.from + 1,
                         std::max(wanted.stop.at, wanted.from + 1));
  failed.during = wanted.is_there ? lease_part::measuring : end.during;
  failed.why = *end.failure;
  if (!end.log.empty())
    failed.why.message +=
      "\nlog of trainer " + to_string(lease.trainer) + ":\n" + end.log;
  return take_attempt(lease, wanted, std::move(failed), false, others, waiting);
}

verdict retry_policy::judge_lost(const running_lease& lease,
                                 const std::string& why,
                                 const trainer_filter& others,
                                 const settings_source& waiting, loss how) {
  const auto wanted = goal_of(lease);
  // Nobody knows how far it came. Trials that do not measure the goal are not
  // known to die of it.
  attempt failed;
  failed.at = std::max(wanted.stop.at, wanted.from + 1);
  if (how == loss::untaken) {
    auto& known = failures_[{wanted.where->node, wanted.from, false,
                             lease.work.workload.settings}];
    known.passed_at = std::max(known.passed_at, failed.at);
    if (may_excuse(known)) {
      ++known.excused;
      return retry{};
    }
  }
  failed.may_return = how == loss::gone;
  failed.during = wanted.stop.evaluate ? lease_part::measuring
                                       : lease_part::saving;
  failed.why = error{errc::training_failed, why};
  return take_attempt(lease, wanted, std::move(failed), true, others, waiting);
}

verdict retry_policy::take_attempt(const running_lease& lease,
                                   const goal& wanted, attempt fresh,
                                   bool is_lost, const trainer_filter& others,
                                   const settings_source& waiting) {
  const auto& stages = lease.work.stages;
  const auto& where = *wanted.where;
  const auto& by = lease.work.workload.settings;
  const auto* reached = stage_reaching(lease.work, fresh.at);
  fresh.node = reached ? reached->node : where.node;
  fresh.name =
    lease.trainer_name.empty() ? to_string(lease.trainer) : lease.trainer_name;
  // That a state cannot be read says nothing of what comes after it; it is
  // forgotten then, and what was counted of the rest must last.
  const bool is_unread =
    fresh.why.code == errc::bad_checkpoint && !lease.work.start.file.empty();
  const auto place_under = [&](const settings& y) {
    return place{where.node, wanted.from, is_unread,
                 is_unread ? settings{} : y};
  };
  auto& failed = failures_[place_under(by)];
  failed.add(lease.trainer, std::move(fresh), is_lost);
  check_invariants();
  failed.is_spent
    = failed.is_spent || failed.different() >= attempts_max_
      || (failed.attempts >= attempts_max_
          && !is_anyone_able_but(failed_up_to(stages, by, failed.passed_at),
                                 others));
  if (!failed.is_spent)
    return retry{};
  std::set<settings> under{by};
  for (auto& y : waiting && !is_unread
                   ? waiting(where, std::max(wanted.from, where.begin))
                   : std::vector<settings>{}) {
    const auto known = failures_.find(place_under(y));
    if (known == failures_.end() || !known->second.is_spent)
      return retry{}; // with these it may go well
    under.insert(std::move(y));
  }
  const auto& last = is_lost ? failed.lost : failed.trainers;
  const auto what = failed.farthest.at <= wanted.stop.at
                      ? failed.farthest
                      : last.at(lease.trainer);
  auto reason = what.why;
  if (failed.trainers.empty())
    reason.message =
      std::to_string(failed.attempts) + " trainers died on the way from step "
      + std::to_string(wanted.from) + " to step " + std::to_string(what.at)
      + ": " + reason.message + "\nthe last one was "
      + failed.lost.at(lease.trainer).name;
  if (failed.agree())
    reason.code = errc::fails_everywhere;
  // Whoever tries again begins anew.
  for (const auto& y : under)
    failures_.erase(place_under(y));
  if (what.during == lease_part::measuring)
    return fail_measuring{what.node, what.at, std::move(reason),
                          std::move(under)};
  return fail_from{what.node, what.at, std::move(reason), std::move(under)};
}

void retry_policy::note_back(const std::string& name) {
  for (auto& [where, x] : failures_) {
    std::erase_if(x.lost, [&](const auto& kvp) {
      const auto& y = kvp.second;
      const bool is_back = y.name == name && y.may_return && may_excuse(x);
      if (is_back) {
        x.attempts -= y.times;
        x.excused = std::min(x.excused + y.times, excused_max * attempts_max_);
      }
      return is_back;
    });
    x.is_spent = x.is_spent && x.attempts >= attempts_max_;
  }
  check_invariants();
}

bool retry_policy::is_anyone_able_but(const std::set<trainer_id>& xs,
                                      const trainer_filter& others) const {
  return std::any_of(able_.begin(), able_.end(), [&](trainer_id y) {
    return xs.count(y) == 0 && (!others || others(y));
  });
}

template <class F>
void retry_policy::for_each_failed(const std::vector<stage>& stages,
                                   const settings& by, F function) const {
  const auto from = stages.front().begin;
  for (const auto& s : stages)
    for (auto i = failures_.lower_bound({s.node, 0, false, {}});
         i != failures_.end() && std::get<node_id>(i->first) == s.node; ++i)
      if (counts(i->first, by)
          && (s.begin == s.end
              || (std::get<step_t>(i->first) < s.end
                  && i->second.passed_at > from)))
        function(i->second);
}

std::set<trainer_id>
retry_policy::failed_up_to(const std::vector<stage>& stages,
                           const settings& by, step_t at) const {
  std::set<trainer_id> result;
  for_each_failed(stages, by, [&](const failed_state& x) {
    if (x.passed_at <= at)
      for (const auto* those : {&x.trainers, &x.lost})
        for (const auto& kvp : *those)
          result.insert(kvp.first);
  });
  return result;
}

bool retry_policy::is_suspect(const std::vector<stage>& stages) const {
  if (failures_.empty())
    return false;
  const auto from = stages.front().begin;
  for (const auto& s : stages)
    for (auto i = failures_.lower_bound({s.node, 0, false, {}});
         i != failures_.end() && std::get<node_id>(i->first) == s.node; ++i)
      if (!i->second.lost.empty()
          && (s.begin == s.end
              || (std::get<step_t>(i->first) < s.end
                  && i->second.passed_at > from)))
        return true;
  return false;
}

bool retry_policy::is_spent(const stage& stage, const settings& by) const {
  bool result = false;
  for_each_failed(
    {stage}, by, [&](const failed_state& y) { result = result || y.is_spent; });
  return result;
}

std::set<trainer_id> retry_policy::note_recorded(const running_lease& lease,
                                                 step_t at) {
  std::set<trainer_id> result;
  if (failures_.empty())
    return result;
  const auto from = lease.work.stages.front().begin;
  for (const auto& stage : lease.work.stages) {
    if (stage.begin > at)
      break;
    for (auto i = failures_.lower_bound({stage.node, 0, false, {}});
         i != failures_.end() && std::get<node_id>(i->first) == stage.node;) {
      const auto& failed = i->second;
      const auto passed = failed.passed_at;
      if (passed > std::min(at, stage.end)
          || (passed <= from && stage.begin < stage.end)) {
        ++i;
        continue;
      }
      // Where it has failed itself, this comes and goes; under other settings
      // it may be these.
      if (counts(i->first, lease.work.workload.settings)
          && !failed.has_tried(lease.trainer))
        for (const auto& [trainer, why] : failed.trainers) {
          result.insert(trainer);
          if (why.why.code == errc::diverged)
            trust_.erase(trainer);
        }
      i = failures_.erase(i);
    }
  }
  return result;
}

void retry_policy::note_recorded(node_id node, step_t at) {
  for (auto i = failures_.lower_bound({node, 0, false, {}});
       i != failures_.end() && std::get<node_id>(i->first) == node;)
    i = i->second.passed_at <= at ? failures_.erase(i) : std::next(i);
}

bool retry_policy::is_left_to_others(trainer_id trainer, const path& what,
                                     const settings& by,
                                     const trainer_filter& others) const {
  bool result = false;
  for_each_failed(what.stages, by, [&](const failed_state& y) {
    result = result
             || (y.has_tried(trainer)
                 && is_anyone_able_but(
                   failed_up_to(what.stages, by, y.passed_at), others));
  });
  return result;
}

std::string retry_policy::hindrance() const {
  std::string result;
  std::size_t others = 0;
  for (const auto& [number, x] : hindered_) {
    if (x.why.empty())
      continue;
    if (!result.empty()) {
      ++others;
      continue;
    }
    result = "trainer " + to_string(number)
             + (x.name.empty() ? x.name : " (" + x.name + ')')
             + " says: " + x.why;
  }
  if (others > 0)
    result += "; " + std::to_string(others) + " more "
              + (others == 1 ? "does" : "do") + " not get on either";
  if (!result.empty())
    result += "; it is tried again at least once a minute";
  return result;
}

void retry_policy::check_invariants() const {
#ifndef NDEBUG
  for (const auto& [where, failed] : failures_) {
    assert(failed.attempts + failed.excused > 0);
    assert((failed.attempts > 0)
           == (failed.trainers.size() + failed.lost.size() > 0));
    assert(failed.excused <= excused_max * attempts_max_);
    assert(!std::get<bool>(where) || std::get<settings>(where).empty());
    assert(failed.trainers.size() + failed.lost.size() <= failed.attempts);
  }
#endif
}

} // namespace hippo
