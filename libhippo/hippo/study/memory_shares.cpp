#include "hippo/study/memory_shares.hpp"

#include <cassert>
#include <utility>

#include "hippo/report/text.hpp"

namespace hippo {

namespace {

std::string mebibytes(std::uint64_t bytes) {
  return fixed(static_cast<double>(bytes) / (1 << 20), 1) + " MiB";
}

} // namespace

void memory_shares::add_study(study_id id, std::string workload_key,
                              std::uint64_t bytes) {
  remove_study(id);
  ++plans_[workload_key].studies;
  studies_[id] = {std::move(workload_key), bytes};
  total_ += bytes;
  check_invariants();
}

void memory_shares::remove_study(study_id id) {
  const auto gone = studies_.extract(id);
  if (!gone)
    return;
  total_ -= gone.mapped().bytes;
  const auto plan = plans_.find(gone.mapped().workload_key);
  assert(plan != plans_.end() && plan->second.studies > 0);
  if (--plan->second.studies == 0 && plan->second.bytes == 0)
    plans_.erase(plan);
  check_invariants();
}

void memory_shares::remove_plan(const std::string& workload_key) {
  note_plan(workload_key, 0);
}

void memory_shares::note_study(study_id id, std::uint64_t bytes) {
  const auto i = studies_.find(id);
  if (i == studies_.end())
    return;
  total_ = total_ - i->second.bytes + bytes;
  i->second.bytes = bytes;
  check_invariants();
}

void memory_shares::note_plan(const std::string& workload_key,
                              std::uint64_t bytes) {
  const auto i = plans_.try_emplace(workload_key).first;
  total_ = total_ - i->second.bytes + bytes;
  i->second.bytes = bytes;
  if (bytes == 0 && i->second.studies == 0)
    plans_.erase(i);
  check_invariants();
}

std::uint64_t memory_shares::share_of(study_id study) const {
  const auto i = studies_.find(study);
  if (i == studies_.end())
    return 0;
  const auto& plan = plans_.at(i->second.workload_key);
  return i->second.bytes + plan.bytes / plan.studies;
}

std::optional<error> memory_shares::refusal_of_study() const {
  if (!is_full())
    return std::nullopt;
  return error{errc::resource_exhausted,
               "the studies in work take " + mebibytes(total_)
                 + " of memory, and no new one is taken from "
                 + mebibytes(*limit_)
                 + " on (hippo serve --memory-limit): try again when some have"
                   " ended, cancel some, or start the service again with a"
                   " higher limit"};
}

std::optional<error>
memory_shares::refusal_of_trial(study_id study) const {
  if (auto why = refusal_of_study())
    return error{why->code, "no new trial: " + why->message};
  const auto share = share_of(study);
  if (!limit_ || share < *limit_ / study_divisor)
    return std::nullopt;
  return error{errc::resource_exhausted,
               "no new trial: the study takes " + mebibytes(share)
                 + " of memory, and one study may take "
                 + mebibytes(*limit_ / study_divisor)
                 + ", half of what the service may (hippo serve"
                   " --memory-limit): go on in a new study, or start the"
                   " service again with a higher limit"};
}

void memory_shares::check_invariants() const {
#ifndef NDEBUG
  std::uint64_t sum = 0, known = 0;
  for (const auto& [id, x] : studies_)
    sum += x.bytes;
  for (const auto& [key, x] : plans_) {
    sum += x.bytes;
    known += x.studies;
    assert(x.studies > 0 || x.bytes > 0);
  }
  assert(sum == total_);
  assert(known == studies_.size());
#endif
}

} // namespace hippo
