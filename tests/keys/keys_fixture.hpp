#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hippo/net/keys/key_folder.hpp"

namespace hippo {

/// A test with a folder of its own for keys.
class keys_test : public testing::Test {
public:
  keys_test() {
    auto name = (std::filesystem::temp_directory_path() / "hippo_keys_XXXXXX")
                  .string();
    if (::mkdtemp(name.data()) == nullptr)
      ADD_FAILURE() << "cannot make " << name;
    root_ = name;
  }

  ~keys_test() override {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return root_ + "/" + name;
  }

  /// Makes or, if it is there, opens the key folder of that name.
  [[nodiscard]] key_folder folder(const std::string& name,
                                  unix_seconds at = now_seconds()) const {
    auto result = std::filesystem::exists(path(name))
                    ? key_folder::open(path(name))
                    : key_folder::init(path(name), {}, false, at);
    if (!result)
      throw std::runtime_error(result.failure().message);
    return *result;
  }

  /// What a service with that folder shows, at a time at which it is valid.
  [[nodiscard]] credentials
  service(const std::string& name, const std::vector<key_role>& admitted,
          unix_seconds at = now_seconds()) const {
    auto result = folder(name, at).serving(admitted, at);
    if (!result)
      throw std::runtime_error(result.failure().message);
    return *result;
  }

  /// What someone shows whom that folder has let in at a time, for a day.
  [[nodiscard]] credentials peer(const std::string& name,
                                 const key_holder& holder,
                                 unix_seconds at = now_seconds()) const {
    auto file = folder(name, at).add(holder, 1, true, at);
    if (!file)
      throw std::runtime_error(file.failure().message);
    auto result = load_credentials(*file, holder.role, at);
    if (!result)
      throw std::runtime_error(result.failure().message);
    return *result;
  }

  static std::string read(const std::string& file) {
    std::ostringstream out;
    out << std::ifstream{file, std::ios::binary}.rdbuf();
    return out.str();
  }

  static void write(const std::string& file, const std::string& bytes) {
    std::ofstream{file, std::ios::binary} << bytes;
  }

private:
  std::string root_;
};

inline const key_holder gpu1{key_role::trainer, "gpu1"};
inline const key_holder ada{key_role::client, "ada"};
inline const std::vector<key_role> all_peers{key_role::trainer,
                                             key_role::client};

} // namespace hippo
