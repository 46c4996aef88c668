#include "hippo/merge/retry_policy.hpp"

#include <algorithm>
#include <cassert>
#include <string>

namespace hippo {

namespace {

/// The node that the state which a lease started from belongs to: the first
/// stage's, or the one that it leaves.
node_id start_node(const lease& x, const search_plan& plan) {
  const auto& first = x.stages.front();
  const auto& node = plan.node(first.node);
  return first.begin > node.begin ? first.node : node.parent;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// What an operating system says at the end of a reason.
std::string cause_of(const std::string& text) {
  const auto at = text.rfind(": ");
  return at == std::string::npos ? text : text.substr(at);
}

} // namespace

std::size_t retry_policy::failed_state::different() const {
  std::set<std::string> names;
  for (const auto& kvp : trainers)
    names.insert(kvp.second.name);
  return names.size();
}

bool retry_policy::failed_state::agree() const {
  std::map<std::pair<step_t, std::string>, std::set<std::string>> names;
  return std::any_of(trainers.begin(), trainers.end(), [&](const auto& kvp) {
    const auto& [name, at, words] = kvp.second;
    auto& those = names[{at, words}];
    those.insert(name);
    return those.size() >= agreeing_trainers;
  });
}

retry_policy::retry_policy(unsigned attempts_max)
  : attempts_max_(attempts_max) {
  assert(attempts_max > 0);
}

verdict retry_policy::judge(const running_lease& x, const lease_end& end,
                            const search_plan& plan,
                            const trainer_filter& others,
                            const settings_source& waiting) {
  assert(end.failure);
  const auto& stages = x.work.stages;
  switch (end.failure->code) {
    case errc::cancelled:
      return retry{end.at == stages.front().begin};
    case errc::cannot_start:
    case errc::missing_data:
    case errc::io_failed: {
      auto& known = hindered_[x.trainer];
      known.name = x.trainer_name;
      const auto why = first_line(end.failure->message);
      if (cause_of(why) != cause_of(known.why))
        known.why = why; // else only the name of a file differs
      return cool_down{known.span.next(), end.failure->code == errc::io_failed
                                            ? std::string{}
                                            : end.failure->message};
    }
    case errc::diverged:
      return mark_diverged{stages[stage_index(x.work, end.at)].node, end.at};
    case errc::bad_checkpoint:
      if (!x.work.start.file.empty())
        return judge_checkpoint(x, end, plan, others, waiting);
      [[fallthrough]];
    default:
      return judge_training(x, end, others, waiting);
  }
}

verdict retry_policy::judge_checkpoint(const running_lease& x,
                                       const lease_end& end,
                                       const search_plan& plan,
                                       const trainer_filter& others,
                                       const settings_source& waiting) {
  const auto node = start_node(x.work, plan);
  const auto at = x.work.stages.front().begin;
  const auto& known = plan.node(node).checkpoints;
  const auto i = known.find(at);
  if (i == known.end() || i->second.file != x.work.start.file)
    return retry{}; // it has been given up since
  // It is the trainer's fault as long as others have not found it bad, too.
  if (std::holds_alternative<retry>(judge_training(x, end, others, waiting)))
    return retry{};
  return forget_checkpoint{node, at};
}

verdict retry_policy::judge_training(const running_lease& x,
                                     const lease_end& end,
                                     const trainer_filter& others,
                                     const settings_source& waiting) {
  const auto& stages = x.work.stages;
  // The stage that could not be left.
  const auto i = std::find_if(stages.begin(), stages.end(), [&](auto& s) {
    return end.at < s.end;
  });
  const auto& where = i == stages.end() ? stages.back() : *i;
  const auto since = std::max(x.progress.saved, where.begin);
  const auto& by = x.work.workload.settings;
  const auto beyond = std::min(end.at + 1, where.end);
  auto& failed = failures_[{where.node, since, by}];
  failed.trainers.insert_or_assign(
    x.trainer,
    attempt{x.trainer_name.empty() ? to_string(x.trainer) : x.trainer_name,
            end.at, first_line(end.failure->message)});
  failed.passed_at = std::max(failed.passed_at, beyond);
  ++failed.attempts;
  check_invariants();
  failed.is_spent
    = failed.is_spent || failed.different() >= attempts_max_
      || (failed.attempts >= attempts_max_
          && !is_anyone_able_but(failed_up_to(stages, by, failed.passed_at),
                                 others));
  // It says itself how far it came: no evidence against those that did not, but
  // a reason to let them try again.
  if (beyond > 0)
    note_progress(x, beyond - 1);
  if (!failed.is_spent)
    return retry{};
  fail_from result{where.node, beyond, *end.failure, {by}};
  for (auto& y : waiting ? waiting(where, since) : std::vector<settings>{}) {
    const auto known = failures_.find({where.node, since, y});
    if (known == failures_.end() || !known->second.is_spent)
      return retry{}; // with these it may go well
    result.under.insert(std::move(y));
  }
  if (failed.agree())
    result.reason.code = errc::fails_everywhere;
  if (!end.log.empty())
    result.reason.message += "\nlog of trainer "
                             + to_string(x.trainer) + ":\n"
                             + end.log;
  // Whoever tries again begins anew.
  for (const auto& y : result.under)
    failures_.erase({where.node, since, y});
  return result;
}

bool retry_policy::is_anyone_able_but(const std::set<trainer_id>& xs,
                                      const trainer_filter& others) const {
  return std::any_of(able_.begin(), able_.end(), [&](trainer_id y) {
    return xs.count(y) == 0 && (!others || others(y));
  });
}

template <class F>
void retry_policy::for_each_failed(const std::vector<stage>& stages,
                                   const settings& by, F f) const {
  const auto from = stages.front().begin;
  for (const auto& s : stages)
    for (auto i = failures_.lower_bound({s.node, 0, {}});
         i != failures_.end() && std::get<node_id>(i->first) == s.node; ++i)
      if (std::get<settings>(i->first) == by
          && (s.begin == s.end
              || (std::get<step_t>(i->first) < s.end
                  && i->second.passed_at > from)))
        f(i->second);
}

std::set<trainer_id>
retry_policy::failed_up_to(const std::vector<stage>& stages,
                           const settings& by, step_t at) const {
  std::set<trainer_id> result;
  for_each_failed(stages, by, [&](const failed_state& x) {
    if (x.passed_at <= at)
      for (const auto& kvp : x.trainers)
        result.insert(kvp.first);
  });
  return result;
}

bool retry_policy::is_spent(const stage& x, const settings& by) const {
  bool result = false;
  for_each_failed({x}, by, [&](const failed_state& y) {
    result = result || y.is_spent;
  });
  return result;
}

std::set<trainer_id> retry_policy::note_progress(const running_lease& x,
                                                 step_t at) {
  std::set<trainer_id> result;
  if (failures_.empty())
    return result;
  const auto from = x.work.stages.front().begin;
  for (const auto& stage : x.work.stages) {
    if (stage.begin > at)
      break;
    if (stage.begin == stage.end && !x.progress.has_reported)
      continue; // it began with that state, and has not measured it
    for (auto i = failures_.lower_bound({stage.node, 0, {}});
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
      if (std::get<settings>(i->first) == x.work.workload.settings
          && failed.trainers.count(x.trainer) == 0)
        for (const auto& kvp : failed.trainers)
          result.insert(kvp.first);
      i = failures_.erase(i);
    }
  }
  return result;
}

bool retry_policy::is_left_to_others(trainer_id x, const path& what,
                                     const settings& by,
                                     const trainer_filter& others) const {
  bool result = false;
  for_each_failed(what.stages, by, [&](const failed_state& y) {
    result = result
             || (y.trainers.count(x) > 0
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
    assert(failed.attempts > 0);
    assert(!failed.trainers.empty());
    assert(failed.trainers.size() <= failed.attempts);
  }
#endif
}

} // namespace hippo
