#include "hippo/checkpoint/object_store/object_checkpoints.hpp"

#include <algorithm>
#include <utility>

#include "hippo/base/hash.hpp"
#include "hippo/model/checkpoint_path.hpp"

namespace hippo {

namespace {

/// Checkpoints of up to so many bytes are passed on once they were found right.
constexpr std::uint64_t held_bytes_max = 16 << 20;

} // namespace

object_checkpoints::object_checkpoints(object_client& reads,
                                       object_client& writes,
                                       std::string folder,
                                       std::unique_ptr<checkpoint_store> behind)
  : reads_(reads), writes_(writes), folder_(std::move(folder)),
    behind_(std::move(behind)) {}

std::string object_checkpoints::name_of(const object_client& where,
                                        const checkpoint& checkpoint) const {
  return folder_ + '/' + stored_name(to_text(where.where()), checkpoint);
}

std::optional<error> object_checkpoints::read(const checkpoint& checkpoint,
                                              const byte_taker& take) {
  if (!checkpoint.file.ends_with(".ckpt"))
    return behind_->read(checkpoint, take); // of the service, no trainer's
  const auto name = name_of(reads_, checkpoint);
  const bool is_small = checkpoint.bytes <= held_bytes_max;
  // What is wrong twice is so in the store; once, on the way.
  for (int attempt = 0; attempt < 2; ++attempt) {
    byte_hasher hasher;
    std::string held; // passed on once it was found to be right
    const auto is_there = reads_.read(
      name, 0, checkpoint.bytes,
      [&](const char* data, std::size_t size) -> std::optional<error> {
        hasher.add(data, size);
        if (is_small)
          held.append(data, size);
        return is_small || attempt > 0 ? std::nullopt : take(data, size);
      });
    if (!is_there)
      return is_there.failure();
    if (!*is_there)
      return behind_->read(checkpoint, take);
    if (hasher.digest() != checkpoint.digest)
      continue;
    if (is_small)
      return take(held.data(), held.size());
    if (attempt == 0)
      return std::nullopt;
    return error{errc::io_failed, "checkpoint " + name
                                    + " was damaged on the way from the "
                                      "object store"};
  }
  return error{errc::bad_checkpoint,
               "checkpoint " + name + " in the object store is damaged"};
}

std::optional<error>
object_checkpoints::read_range(const checkpoint& checkpoint,
                               std::uint64_t offset, std::uint64_t size,
                               const byte_taker& take) {
  const auto is_there =
    reads_.read(name_of(reads_, checkpoint), offset, size, take);
  if (!is_there)
    return is_there.failure();
  return *is_there ? std::nullopt
                   : behind_->read_range(checkpoint, offset, size, take);
}

expected<checkpoint> object_checkpoints::write(const std::string& name,
                                               const content_source& bytes,
                                               durability) {
  if (!is_checkpoint_name(name))
    return {errc::invalid_argument, "'" + name + "' is no checkpoint's name"};
  byte_hasher hasher;
  if (auto why = pass_on(bytes, [&](const char* data, std::size_t size) {
        hasher.add(data, size);
        return std::optional<error>{};
      }))
    return *why;
  checkpoint result{name, bytes.size(), hasher.digest()};
  if (auto why = writes_.put(name_of(writes_, result), bytes))
    return *why;
  return result;
}

expected<std::string>
object_checkpoints::find_initial(const initial_file& file) {
  return behind_->find_initial(file);
}

} // namespace hippo
