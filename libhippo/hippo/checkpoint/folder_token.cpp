#include "hippo/checkpoint/folder_token.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <random>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "hippo/base/whole_file.hpp"
#include "hippo/checkpoint/foreign_file.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view name_beginning = ".hippo-";

/// A token is so many hexadecimal digits; the first half names the file, all
/// of them are in it.
constexpr std::size_t token_digits = 32;

bool is_token(const std::string& x) {
  return x.size() == token_digits
         && x.find_first_not_of("0123456789abcdef") == std::string::npos;
}

fs::path file_of(const std::string& folder, const std::string& token) {
  return fs::path{folder}
         / (std::string{name_beginning} + token.substr(0, token_digits / 2));
}

/// Removes the tokens of services before. One that stays does no harm.
void remove_tokens(const std::string& folder) {
  std::error_code failed;
  std::vector<fs::path> old;
  for (fs::directory_iterator i{folder, failed}, end; !failed && i != end;
       i.increment(failed))
    if (i->path().filename().string().starts_with(name_beginning))
      old.push_back(i->path());
  for (const auto& x : old)
    fs::remove(x, failed);
}

} // namespace

std::string random_token() {
  std::random_device source;
  std::string result;
  while (result.size() < token_digits) {
    std::array<char, 9> digits{};
    std::snprintf(digits.data(), digits.size(), "%08x",
                  static_cast<unsigned>(source()));
    result += digits.data();
  }
  return result;
}

expected<std::string> leave_folder_token(const std::string& folder) {
  remove_tokens(folder);
  auto token = random_token();
  whole_file_options how;
  how.synced = false; // it is of this service alone
  if (auto why = write_whole(file_of(folder, token), token, how))
    return *why;
  return token;
}

bool sees_folder(const std::string& folder, const std::string& token) {
  if (!is_token(token))
    return false;
  const auto x = open_foreign_file(file_of(folder, token));
  if (!x || x.bytes != token.size())
    return false;
  std::array<char, token_digits> found{};
  const auto size = ::read(x.file.number(), found.data(), found.size());
  return size > 0
         && std::string_view{found.data(), static_cast<std::size_t>(size)}
              == token;
}

} // namespace hippo
