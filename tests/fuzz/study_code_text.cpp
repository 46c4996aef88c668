// The code that a study brings, as it travels, and the folder that it is
// unpacked into. What is read as code can be unpacked, all of it.

#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/target.hpp"
#include "hippo/base/error.hpp"
#include "hippo/model/code/study_code.hpp"

namespace hippo::fuzz {

namespace {

namespace fs = std::filesystem;

/// What a case-insensitive file system takes for one name is refused by the
/// file system; nothing else may be.
void require_unpacks(const study_code& code) {
  const auto made = unpacked_code::make(code);
  require(static_cast<bool>(made),
          "cannot be unpacked: " + (made ? "" : made.failure().message));
  std::size_t found = 0;
  for (const auto& x : fs::recursive_directory_iterator{made->path()}) {
    if (x.is_directory())
      continue;
    const auto name = x.path().lexically_relative(made->path()).string();
    const auto file = code.files.find(name);
    require(file != code.files.end(), "a file that nobody sent: " + name);
    std::ifstream in{x.path(), std::ios::binary};
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    require(bytes == file->second.bytes, "a file is another one: " + name);
    const bool runs = (x.status().permissions() & fs::perms::owner_exec)
                      != fs::perms::none;
    require(runs == file->second.executable, "can be run, or not: " + name);
    ++found;
  }
  require(found == code.files.size(), "not all files are there");
}

void handle(std::string_view input) {
  const auto parts = split(std::string{input});
  if (!parts.code.empty())
    require(join(parts) == input, "taken apart and put together is another");
  const auto code = study_code_from_json(input);
  if (!code)
    return;
  const auto again = study_code_from_json(to_json(*code));
  require(again && *again == *code, "read again it is another one");
  require_unpacks(*code);
}

} // namespace

const target study_code_text{
  "study_code_text",
  handle,
  {"{\"files\":{", "\"x\":{\"text\":\"", "\"x/y\":{\"hex\":\"",
   "\"executable\":true", "\"versions\":{", "\"python\":\"", "}", "\"", ",",
   "../", "/", "\\u0000", "\\u00e9", "\n--- # code\n", ".", "A", "a"}};

} // namespace hippo::fuzz
