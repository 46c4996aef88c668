#include "hippo/checkpoint/recent_checkpoints.hpp"

#include <algorithm>
#include <utility>

namespace hippo {

namespace {

using outcome = std::optional<error>;

} // namespace

class recent_checkpoints::store final : public checkpoint_store {
public:
  store(recent_checkpoints& recent, std::string folder,
        std::unique_ptr<checkpoint_store> behind)
    : recent_(recent), folder_(std::move(folder)), behind_(std::move(behind)) {}

  outcome read(const checkpoint& checkpoint, const byte_taker& take) override {
    if (const auto bytes = recent_.find(folder_, checkpoint))
      return take(bytes->data(), bytes->size());
    auto kept = recent_.may_keep(checkpoint.bytes)
                  ? std::make_shared<std::string>()
                  : nullptr;
    auto why =
      behind_->read(checkpoint, [&](const char* data, std::size_t size) {
        if (kept)
          kept->append(data, size);
        return take(data, size);
      });
    if (!why && kept)
      recent_.keep(folder_, checkpoint, std::move(kept));
    return why;
  }

  outcome read_range(const checkpoint& checkpoint, std::uint64_t offset,
                     std::uint64_t size, const byte_taker& take) override {
    if (const auto bytes = recent_.find(folder_, checkpoint))
      return take(bytes->data() + offset, static_cast<std::size_t>(size));
    return behind_->read_range(checkpoint, offset, size, take);
  }

  expected<checkpoint> write(const std::string& name,
                             const content_source& bytes,
                             durability how) override {
    auto result = behind_->write(name, bytes, how);
    if (!result || !recent_.may_keep(result->bytes))
      return result;
    auto kept = std::make_shared<std::string>(result->bytes, '\0');
    if (!bytes.read(0, kept->data(), kept->size()))
      recent_.keep(folder_, *result, std::move(kept));
    return result;
  }

  expected<std::string> find_initial(const initial_file& file) override {
    return behind_->find_initial(file);
  }

private:
  recent_checkpoints& recent_;
  const std::string folder_;
  const std::unique_ptr<checkpoint_store> behind_;
};

recent_checkpoints::recent_checkpoints(std::uint64_t bytes_max)
  : bytes_max_(bytes_max) {}

std::unique_ptr<checkpoint_store>
recent_checkpoints::over(std::string folder,
                         std::unique_ptr<checkpoint_store> behind) {
  return std::make_unique<store>(*this, std::move(folder), std::move(behind));
}

std::shared_ptr<const std::string>
recent_checkpoints::find(const std::string& folder,
                         const checkpoint& checkpoint) {
  const std::lock_guard guard{mutex_};
  const auto i = std::ranges::find_if(entries_, [&](const entry& y) {
    return y.folder == folder && y.name.file == checkpoint.file
           && y.name.digest == checkpoint.digest;
  });
  if (i == entries_.end())
    return nullptr;
  entries_.splice(entries_.begin(), entries_, i);
  return i->bytes;
}

bool recent_checkpoints::may_keep(std::uint64_t bytes) const {
  return bytes <= bytes_max_;
}

void recent_checkpoints::keep(const std::string& folder,
                              const checkpoint& checkpoint,
                              std::shared_ptr<const std::string> bytes) {
  const std::lock_guard guard{mutex_};
  const auto same = std::ranges::find_if(entries_, [&](const entry& y) {
    return y.folder == folder && y.name.file == checkpoint.file;
  });
  if (same != entries_.end())
    drop(same);
  while (bytes_ + bytes->size() > bytes_max_)
    drop(std::prev(entries_.end()));
  bytes_ += bytes->size();
  entries_.push_front({folder, checkpoint, std::move(bytes)});
}

/// REQUIRES: the mutex is held.
void recent_checkpoints::drop(std::list<entry>::iterator position) {
  bytes_ -= position->bytes->size();
  entries_.erase(position);
}

} // namespace hippo
