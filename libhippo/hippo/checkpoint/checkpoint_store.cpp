#include "hippo/checkpoint/checkpoint_store.hpp"

#include <utility>

namespace hippo {

folder_store::folder_store(std::string folder) : folder_(std::move(folder)) {}

expected<std::string> folder_store::read(const checkpoint& checkpoint) {
  return read_checkpoint(folder_, checkpoint);
}

expected<checkpoint> folder_store::write(const std::string& name,
                                         const std::string& bytes,
                                         durability how) {
  return write_checkpoint(folder_, name, bytes, how);
}

expected<std::string> folder_store::find_initial(const initial_file& file) {
  return initial_folder_of(folder_) + '/' + file.sha256;
}

std::unique_ptr<checkpoint_store> folder_of(const lease& lease) {
  return std::make_unique<folder_store>(lease.folder);
}

} // namespace hippo
