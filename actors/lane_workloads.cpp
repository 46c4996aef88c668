#include "lane_workloads.hpp"

#include <algorithm>
#include <utility>

#include "hippo/model/workload_seed.hpp"

namespace hippo {

namespace {

/// How often a lease that waits for a seat looks whether it was cancelled.
constexpr std::chrono::milliseconds cancel_interval{100};

/// A store that lanes share.
class locked_store final : public checkpoint_store {
public:
  locked_store(std::mutex& reads, std::mutex& writes,
               std::unique_ptr<checkpoint_store> store)
    : reads_(reads), writes_(writes), store_(std::move(store)) {}

  std::optional<error> read(const checkpoint& checkpoint,
                            const byte_taker& take) override {
    const std::lock_guard guard{reads_};
    return store_->read(checkpoint, take);
  }

  std::optional<error> read_range(const checkpoint& checkpoint,
                                  std::uint64_t offset, std::uint64_t size,
                                  const byte_taker& take) override {
    const std::lock_guard guard{reads_};
    return store_->read_range(checkpoint, offset, size, take);
  }

  expected<checkpoint> write(const std::string& name,
                             const content_source& bytes,
                             durability how) override {
    const std::lock_guard guard{writes_};
    return store_->write(name, bytes, how);
  }

  expected<std::string> find_initial(const initial_file& file) override {
    const std::lock_guard guard{reads_};
    return store_->find_initial(file);
  }

private:
  std::mutex& reads_;
  std::mutex& writes_;
  std::unique_ptr<checkpoint_store> store_;
};

} // namespace

lane_workloads::lane_workloads(workload_registry registry,
                               checkpoint_store_factory stores,
                               std::uint64_t kept_bytes_max)
  : registry_(std::move(registry)), stores_(std::move(stores)),
    kept_(kept_bytes_max) {}

std::unique_ptr<checkpoint_store> lane_workloads::store_of(const lease& lease) {
  const std::lock_guard guard{choice_};
  return std::make_unique<locked_store>(reads_, writes_, stores_(lease));
}

expected<lane_workloads::entry*>
lane_workloads::entry_of(const lease& lease, checkpoint_store& store) {
  entry* result = nullptr;
  auto spec = spec_of(lease);
  {
    const std::lock_guard guard{mutex_};
    auto common = without_seed(spec);
    if (common != spec_) {
      kept_.clear();
      entries_.clear(); // two workloads at a time may not fit
      at_once_max_ = no_maximum;
      spec_ = std::move(common);
    }
    result = &entries_[lease.lane];
  }
  if (result->work && result->spec == spec)
    return result;
  if (result->work)
    kept_.clear(); // the states that it has saved go with it
  *result = {};    // before another one takes its memory
  result->spec = std::move(spec);
  auto made = make_workload(registry_, lease, store);
  if (!made)
    return made.failure();
  static_cast<made_workload&>(*result) = std::move(*made);
  return result;
}

lane_workloads::seat::seat(lane_workloads& where, std::uint32_t lane,
                           const lease_control& control)
  : where_(where), lane_(lane) {
  std::unique_lock guard{where_.mutex_};
  while (where_.busy_.size() >= where_.at_once_max_ && !control.cancelled())
    where_.left_.wait_for(guard, cancel_interval);
  where_.busy_.insert(lane_);
}

lane_workloads::seat::~seat() {
  const std::lock_guard guard{where_.mutex_};
  where_.busy_.erase(lane_);
  where_.left_.notify_all();
}

bool lane_workloads::make_room(std::uint32_t lane) {
  const std::lock_guard guard{mutex_};
  kept_.clear();
  entries_.erase(lane);
  if (std::erase_if(entries_,
                    [this](const auto& x) {
                      return busy_.count(x.first) == 0 && x.second.work;
                    })
      > 0)
    return false;
  if (busy_.size() <= 1)
    return true;
  at_once_max_ = std::min(at_once_max_, busy_.size() - 1);
  return false;
}

} // namespace hippo
