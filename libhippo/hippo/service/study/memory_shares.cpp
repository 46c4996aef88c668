#include "hippo/service/study/memory_shares.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "hippo/base/text.hpp"

namespace hippo {

namespace {

std::string mebibytes(std::uint64_t bytes) {
  return fixed(static_cast<double>(bytes) / (1 << 20), 1) + " MiB";
}

constexpr auto way_out
  = ", or start the service again with a higher limit (hippo serve"
    " --memory-limit)";

} // namespace

void memory_shares::add_study(study_id id, std::string workload_key,
                              std::uint64_t reserved) {
  remove_study(id);
  ++plans_[workload_key].studies;
  studies_[id] = {std::move(workload_key), reserved};
  settled_ = false;
  check_invariants();
}

void memory_shares::remove_study(study_id id) {
  const auto gone = studies_.extract(id);
  if (!gone)
    return;
  const auto plan = plans_.find(gone.mapped().workload_key);
  assert(plan != plans_.end() && plan->second.studies > 0);
  plan->second.segments -= gone.mapped().segments;
  if (--plan->second.studies == 0 && plan->second.bytes == 0)
    plans_.erase(plan);
  settled_ = false;
  check_invariants();
}

void memory_shares::remove_plan(const std::string& workload_key) {
  note_plan(workload_key, 0, {});
}

void memory_shares::note_study(study_id id, std::uint64_t bytes) {
  const auto i = studies_.find(id);
  if (i == studies_.end())
    return;
  i->second.bytes = bytes;
  settled_ = false;
}

void memory_shares::note_plan(
  const std::string& workload_key, std::uint64_t bytes,
  const std::map<study_id, std::uint64_t>& segments) {
  const auto i = plans_.try_emplace(workload_key).first;
  i->second.bytes = bytes;
  i->second.segments = 0;
  for (auto& [id, x] : studies_) {
    if (x.workload_key != workload_key)
      continue;
    const auto known = segments.find(id);
    x.segments = known == segments.end() ? 0 : known->second;
    i->second.segments += x.segments;
  }
  if (bytes == 0 && i->second.studies == 0)
    plans_.erase(i);
  settled_ = false;
  check_invariants();
}

void memory_shares::settle() const {
  if (std::exchange(settled_, true))
    return;
  total_ = 0;
  for (auto& [id, x] : studies_) {
    const auto& plan = plans_.at(x.workload_key);
    const auto part
      = plan.segments == 0
          ? static_cast<double>(plan.bytes) / static_cast<double>(plan.studies)
          : static_cast<double>(plan.bytes) * static_cast<double>(x.segments)
              / static_cast<double>(plan.segments);
    x.share
      = std::max(x.reserved, x.bytes + static_cast<std::uint64_t>(part));
    total_ += x.share;
  }
  for (const auto& [key, x] : plans_)
    if (x.studies == 0)
      total_ += x.bytes;
}

std::uint64_t memory_shares::total() const {
  settle();
  return total_;
}

std::uint64_t memory_shares::share_of(study_id study) const {
  settle();
  const auto i = studies_.find(study);
  return i == studies_.end() ? 0 : i->second.share;
}

std::optional<std::uint64_t> memory_shares::first_bytes_max() const {
  // A quarter: what is trained takes memory, too, and there may be others.
  if (!limit_)
    return std::nullopt;
  return half() / 2;
}

std::optional<error>
memory_shares::refusal_of_study(std::uint64_t reserved) const {
  if (!limit_)
    return std::nullopt;
  if (reserved > half())
    return error{errc::resource_exhausted,
                 "the study would take " + mebibytes(reserved)
                   + " of memory before anything of it is trained, and one"
                     " study may take "
                   + mebibytes(half())
                   + ", half of what the service may: give its trials fewer"
                     " pieces, or fewer hyper-parameters"
                   + way_out};
  // Plans without a study go when that is needed.
  auto taken = total();
  for (const auto& [key, x] : plans_)
    if (x.studies == 0)
      taken -= x.bytes;
  if (taken < *limit_ && taken + reserved <= *limit_)
    return std::nullopt;
  return error{errc::resource_exhausted,
               "the studies in work take " + mebibytes(taken)
                 + " of memory of " + mebibytes(*limit_)
                 + ", and this one would take " + mebibytes(reserved)
                 + " more: try again when some have ended, cancel some"
                 + way_out};
}

error memory_shares::above_half(study_id study,
                                const std::string& refused) const {
  return {errc::resource_exhausted,
          refused + "the study takes " + mebibytes(share_of(study))
            + " of memory, and one study may take " + mebibytes(half())
            + ", half of what the service may: go on in a new study"
            + way_out};
}

std::optional<error>
memory_shares::refusal_of_trial(study_id study) const {
  if (!limit_)
    return std::nullopt;
  // Whoever takes no more than an equal part is never refused.
  if (is_full() && share_of(study) * studies_.size() >= *limit_)
    return error{errc::resource_exhausted,
                 "no new trial: the studies in work take "
                   + mebibytes(total()) + " of memory of "
                   + mebibytes(*limit_)
                   + ": try again when some have ended, cancel some"
                   + way_out};
  if (share_of(study) < half())
    return std::nullopt;
  return above_half(study, "no new trial: ");
}

std::optional<error> memory_shares::reason_to_rest(study_id study,
                                                   bool rests) const {
  if (!limit_ || !studies_.contains(study))
    return std::nullopt;
  // Else it would rest and go on in turn for nothing.
  const auto kept = [rests](std::uint64_t x) { return rests ? x - x / 8 : x; };
  const auto share = share_of(study);
  if (share >= kept(half()))
    return above_half(study, "");
  if (total() < kept(*limit_) || share * studies_.size() < kept(*limit_))
    return std::nullopt;
  return error{errc::resource_exhausted,
               "the studies in work take " + mebibytes(total())
                 + " of memory of " + mebibytes(*limit_) + ", and this one "
                 + mebibytes(share)
                 + ", more than an equal part: it goes on when some have ended,"
                   " or cancel some"
                 + way_out};
}

void memory_shares::check_invariants() const {
#ifndef NDEBUG
  std::uint64_t known = 0, segments = 0, all = 0;
  for (const auto& [id, x] : studies_)
    segments += x.segments;
  for (const auto& [key, x] : plans_) {
    all += x.segments;
    known += x.studies;
    assert(x.studies > 0 || x.bytes > 0);
  }
  assert(all == segments);
  assert(known == studies_.size());
#endif
}

} // namespace hippo
