#include "hippo/train/gang/joined_state.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace hippo {

namespace {

/// A tar file ends with two blocks of zeros, and as many further ones as make
/// its size a multiple of a record, as Python's `tarfile` has it.
constexpr std::uint64_t end_bytes_min = 1024;
constexpr std::uint64_t record_bytes = 10240;

class joined_source final : public content_source {
public:
  explicit joined_source(std::shared_ptr<const joined_state::parts> all)
    : all_(std::move(all)) {
    for (const auto& part : *all_)
      size_ += part->size();
    size_ += end_bytes_min;
    size_ = (size_ + record_bytes - 1) / record_bytes * record_bytes;
  }

  [[nodiscard]] std::uint64_t size() const override { return size_; }

  [[nodiscard]] std::optional<error> read(std::uint64_t offset, void* to,
                                          std::size_t size) const override {
    auto* out = static_cast<char*>(to);
    for (const auto& part : *all_) {
      if (offset >= part->size()) {
        offset -= part->size();
        continue;
      }
      const auto here = static_cast<std::size_t>(
        std::min<std::uint64_t>(size, part->size() - offset));
      if (auto why = part->read(offset, out, here))
        return why;
      out += here;
      size -= here;
      offset = 0;
      if (size == 0)
        return std::nullopt;
    }
    std::memset(out, 0, size);
    return std::nullopt;
  }

private:
  const std::shared_ptr<const joined_state::parts> all_;
  std::uint64_t size_ = 0;
};

} // namespace

joined_state::joined_state(parts all)
  : all_(std::make_shared<const parts>(std::move(all))) {}

std::string joined_state::bytes() const {
  const auto source = content();
  std::string result(source->size(), '\0');
  if (const auto why = source->read(0, result.data(), result.size()))
    throw std::runtime_error(why->message);
  return result;
}

std::unique_ptr<content_source> joined_state::content() const {
  return std::make_unique<joined_source>(all_);
}

std::uint64_t joined_state::content_size() const {
  return joined_source{all_}.size();
}

} // namespace hippo
