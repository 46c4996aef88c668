#include "hippo/train/checkpoint_store.hpp"

#include <utility>

#include "hippo/train/checkpoint_file.hpp"

namespace hippo {

folder_store::folder_store(std::string folder) : folder_(std::move(folder)) {}

expected<std::string> folder_store::read(const checkpoint& x) {
  return read_checkpoint(folder_, x);
}

expected<checkpoint> folder_store::write(const std::string& name,
                                         const std::string& bytes) {
  return write_checkpoint(folder_, name, bytes);
}

std::unique_ptr<checkpoint_store> folder_of(const lease& x) {
  return std::make_unique<folder_store>(x.folder);
}

} // namespace hippo
