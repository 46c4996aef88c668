#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "hippo/store/state_writer.hpp"

namespace hippo {

/// A test with a folder of its own, removed afterwards.
class folder_test : public testing::Test {
protected:
  folder_test();
  ~folder_test() override;

  [[nodiscard]] std::string path(const std::string& name = "state") const {
    return root_ / name;
  }

  /// Opens `path()`, which must work.
  std::unique_ptr<state_writer> open();

  /// Writes a small file.
  void write_file(const std::string& name, const std::string& bytes);

  /// Runs SQL on the database of `path()`, behind the service's back.
  void run_sql(const std::string& sql);

private:
  std::filesystem::path root_;
};

/// A node with a configuration of its own.
stored_node node(std::uint64_t id, std::uint64_t parent = 0);

} // namespace hippo
