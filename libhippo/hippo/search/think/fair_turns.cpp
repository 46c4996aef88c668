#include "hippo/search/think/fair_turns.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace hippo {

fair_turns::fair_turns(std::size_t threads) : threads_(threads) {
  assert(threads >= job_kinds);
}

party_no fair_turns::join(job_kind kind) {
  const party_no result{++last_party_};
  parties_[result].kind = kind;
  return result;
}

job_no fair_turns::add(party_no no) {
  auto& x = parties_.at(no);
  assert(!x.has_left);
  const job_no result{++last_job_};
  x.waiting.push_back(result);
  if (x.waiting.size() == 1 && !x.running)
    turns_of(x.kind).next.push_back(no);
  check_invariants();
  return result;
}

/// Whether one more job of a kind leaves a thread for each of the others of
/// which nothing runs.
bool fair_turns::may_begin(const kind_turns& turns) const {
  const auto idle = static_cast<std::size_t>(std::ranges::count_if(
    kinds_, [&](const auto& y) { return &y != &turns && y.running == 0; }));
  return threads_ - jobs_.size() > idle;
}

std::optional<fair_turns::turn> fair_turns::take() {
  for (std::size_t i = 0; i < job_kinds; ++i) {
    auto& kind = kinds_[(next_kind_ + i) % job_kinds];
    if (kind.next.empty() || !may_begin(kind))
      continue;
    next_kind_ = (next_kind_ + i + 1) % job_kinds;
    const auto no = kind.next.front();
    kind.next.pop_front();
    auto& x = parties_.at(no);
    const auto job = x.waiting.front();
    x.waiting.pop_front();
    x.running = job;
    jobs_.emplace(job, no);
    ++kind.running;
    check_invariants();
    return turn{job, no};
  }
  return std::nullopt;
}

void fair_turns::end(job_no job) {
  const auto found = jobs_.extract(job);
  assert(found);
  const auto i = parties_.find(found.mapped());
  auto& x = i->second;
  auto& kind = turns_of(x.kind);
  --kind.running;
  x.running.reset();
  if (x.has_left)
    parties_.erase(i);
  else if (!x.waiting.empty())
    kind.next.push_back(found.mapped());
  check_invariants();
}

fair_turns::departure fair_turns::leave(party_no no) {
  const auto i = parties_.find(no);
  if (i == parties_.end() || i->second.has_left)
    return {};
  auto& x = i->second;
  departure result;
  result.dropped.assign(x.waiting.begin(), x.waiting.end());
  result.running = x.running;
  x.waiting.clear();
  std::erase(turns_of(x.kind).next, no);
  x.has_left = true;
  if (!x.running)
    parties_.erase(i);
  check_invariants();
  return result;
}

std::size_t fair_turns::waiting(party_no no) const {
  const auto i = parties_.find(no);
  return i == parties_.end() ? 0 : i->second.waiting.size();
}

bool fair_turns::has_waiting() const {
  return std::ranges::any_of(kinds_,
                             [](const auto& x) { return !x.next.empty(); });
}

void fair_turns::check_invariants() const {
#ifndef NDEBUG
  std::size_t idle = 0, running = 0;
  for (const auto& kind : kinds_) {
    idle += kind.running == 0;
    running += kind.running;
    for (const auto no : kind.next) {
      const auto& x = parties_.at(no);
      assert(!x.has_left && !x.running && !x.waiting.empty());
    }
  }
  assert(running == jobs_.size());
  assert(threads_ - running >= idle);
  for (const auto& [job, no] : jobs_)
    assert(parties_.at(no).running == job);
#endif
}

} // namespace hippo
