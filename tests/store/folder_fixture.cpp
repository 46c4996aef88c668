#include "store/folder_fixture.hpp"

#include <cstdlib>
#include <fstream>

#include <sqlite3.h>

namespace hippo {

folder_test::folder_test() {
  const auto parent = std::filesystem::temp_directory_path();
  auto name = (parent / "hippo_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    ADD_FAILURE() << "cannot make " << name;
  root_ = name;
}

folder_test::~folder_test() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

std::unique_ptr<state_writer> folder_test::open() {
  auto result = state_writer::open(path());
  if (!result) {
    ADD_FAILURE() << result.failure().message;
    return nullptr;
  }
  return std::move(*result);
}

void folder_test::write_file(const std::string& name,
                             const std::string& bytes) {
  std::ofstream{path(name), std::ios::binary} << bytes;
}

void folder_test::run_sql(const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((path() + "/hippo.db").c_str(), &database),
            SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr),
            SQLITE_OK)
    << sqlite3_errmsg(database);
  sqlite3_close(database);
}

stored_node node(std::uint64_t id, std::uint64_t parent) {
  return {node_id{id}, node_id{parent}, parent == 0 ? 0 : 10 * id, 0,
          {{"batch_size", form::constant(static_cast<double>(id))},
           {"lr", {form_kind::cosine, 0, {0.1, 0.001, 12}, {}}},
           {"optimizer", form::text("sgd")}}};
}

} // namespace hippo
