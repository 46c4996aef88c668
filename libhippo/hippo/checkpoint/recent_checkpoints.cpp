#include "hippo/checkpoint/recent_checkpoints.hpp"

#include <algorithm>
#include <utility>

namespace hippo {

class recent_checkpoints::store final : public checkpoint_store {
public:
  store(recent_checkpoints& recent, std::string folder,
        std::unique_ptr<checkpoint_store> behind)
    : recent_(recent), folder_(std::move(folder)), behind_(std::move(behind)) {}

  expected<std::string> read(const checkpoint& checkpoint) override {
    if (auto bytes = recent_.find(folder_, checkpoint))
      return std::move(*bytes);
    auto result = behind_->read(checkpoint);
    if (result)
      recent_.keep(folder_, checkpoint, *result);
    return result;
  }

  expected<checkpoint> write(const std::string& name, const std::string& bytes,
                             durability how) override {
    auto result = behind_->write(name, bytes, how);
    if (result)
      recent_.keep(folder_, *result, bytes);
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

std::optional<std::string>
recent_checkpoints::find(const std::string& folder,
                         const checkpoint& checkpoint) {
  const std::lock_guard guard{mutex_};
  const auto i = std::ranges::find_if(entries_, [&](const entry& y) {
    return y.folder == folder && y.name == checkpoint;
  });
  if (i == entries_.end())
    return std::nullopt;
  entries_.splice(entries_.begin(), entries_, i);
  return i->bytes;
}

void recent_checkpoints::keep(const std::string& folder,
                              const checkpoint& checkpoint,
                              const std::string& bytes) {
  const std::lock_guard guard{mutex_};
  const auto same = std::ranges::find_if(entries_, [&](const entry& y) {
    return y.folder == folder && y.name.file == checkpoint.file;
  });
  if (same != entries_.end())
    drop(same);
  if (bytes.size() > bytes_max_)
    return;
  while (bytes_ + bytes.size() > bytes_max_)
    drop(std::prev(entries_.end()));
  entries_.push_front({folder, checkpoint, bytes});
  bytes_ += bytes.size();
}

/// REQUIRES: the mutex is held.
void recent_checkpoints::drop(std::list<entry>::iterator position) {
  bytes_ -= position->bytes.size();
  entries_.erase(position);
}

} // namespace hippo
