#include "hippo/model/initial_state.hpp"

namespace hippo {

std::string source_path(const initial_state& state, const std::string& file) {
  return state.is_folder ? state.path + '/' + file : state.path;
}

std::string initial_folder_of(const std::string& checkpoint_folder) {
  const auto slash = checkpoint_folder.rfind('/');
  const auto parent = slash == std::string::npos
                        ? std::string{"."}
                        : checkpoint_folder.substr(0, slash);
  return parent + '/' + initial_folder_name;
}

} // namespace hippo
