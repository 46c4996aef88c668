#include "hippo/checkpoint/object_store/object_checkpoints.hpp"

#include <utility>

#include "hippo/base/hash.hpp"
#include "hippo/model/checkpoint_path.hpp"

namespace hippo {

object_checkpoints::object_checkpoints(object_client& reads,
                                       object_client& writes,
                                       std::string folder,
                                       std::unique_ptr<checkpoint_store> behind)
  : reads_(reads), writes_(writes), folder_(std::move(folder)),
    behind_(std::move(behind)) {}

expected<std::string> object_checkpoints::read(const checkpoint& checkpoint) {
  if (!checkpoint.file.ends_with(".ckpt"))
    return behind_->read(checkpoint); // of the service, and no trainer's
  const auto name =
    folder_ + '/' + stored_name(to_text(reads_.where()), checkpoint);
  // What is wrong twice is so in the store; once, on the way.
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto bytes = reads_.get(name, checkpoint.bytes);
    if (!bytes)
      return bytes.failure();
    if (!*bytes)
      return behind_->read(checkpoint);
    auto& found = **bytes;
    if (found.size() == checkpoint.bytes
        && hash_bytes(found.data(), found.size()) == checkpoint.digest)
      return std::move(found);
  }
  return {errc::bad_checkpoint,
          "checkpoint " + name + " in the object store is damaged"};
}

expected<checkpoint> object_checkpoints::write(const std::string& name,
                                               const std::string& bytes,
                                               durability) {
  if (!is_checkpoint_name(name))
    return {errc::invalid_argument, "'" + name + "' is no checkpoint's name"};
  checkpoint result{name, bytes.size(),
                    hash_bytes(bytes.data(), bytes.size())};
  const auto object
    = folder_ + '/' + stored_name(to_text(writes_.where()), result);
  if (auto why = writes_.put(object, bytes))
    return *why;
  return result;
}

expected<std::string>
object_checkpoints::find_initial(const initial_file& file) {
  return behind_->find_initial(file);
}

} // namespace hippo
