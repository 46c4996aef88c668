#include "hippo/train/study_code.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "hippo/core/hash.hpp"
#include "hippo/core/utf8.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Stands between a study file and its code. A study file is one document, so
/// it cannot hold this.
constexpr std::string_view divider = "\n--- # code\n";

/// Whether JSON holds the bytes without much ado.
bool is_text(const std::string& bytes) {
  const bool has_controls
    = std::any_of(bytes.begin(), bytes.end(), [](char c) {
        return c >= 0 && c < ' ' && c != '\n' && c != '\t' && c != '\r';
      });
  return !has_controls && to_utf8(bytes) == bytes;
}

std::string to_hex(const std::string& bytes) {
  constexpr auto digits = "0123456789abcdef";
  std::string result;
  for (const auto c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    result += digits[byte >> 4];
    result += digits[byte & 15];
  }
  return result;
}

std::string from_hex(const std::string& text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9')
      return c - '0';
    if (c >= 'a' && c <= 'f')
      return c - 'a' + 10;
    throw std::invalid_argument("not a hexadecimal digit");
  };
  if (text.size() % 2 != 0)
    throw std::invalid_argument("half a byte");
  std::string result;
  for (std::size_t i = 0; i < text.size(); i += 2)
    result += static_cast<char>(digit(text[i]) * 16 + digit(text[i + 1]));
  return result;
}

json to_json(const code_file& x) {
  json result;
  if (is_text(x.bytes))
    result["text"] = x.bytes;
  else
    result["hex"] = to_hex(x.bytes);
  if (x.executable)
    result["executable"] = true;
  return result;
}

code_file file_of(const json& x) {
  code_file result;
  result.bytes = x.contains("hex") ? from_hex(x.at("hex"))
                                   : x.at("text").get<std::string>();
  result.executable = x.value("executable", false);
  return result;
}

expected<std::monostate> write_files(const study_code& code,
                                     const fs::path& folder) {
  for (const auto& [name, file] : code.files) {
    const auto path = folder / name;
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    std::ofstream out{path, std::ios::binary};
    out << file.bytes;
    out.close();
    if (file.executable && out)
      fs::permissions(path, fs::perms::owner_exec, fs::perm_options::add,
                      failed);
    if (!out || failed)
      return {errc::io_failed, "cannot write " + path.string()};
  }
  return std::monostate{};
}

} // namespace

bool is_code_path(std::string_view path) noexcept {
  for (;;) {
    const auto slash = path.find('/');
    const auto part = path.substr(0, slash);
    if (part.empty() || part == "." || part == ".."
        || part.find('\0') != part.npos)
      return false;
    if (slash == path.npos)
      return true;
    path.remove_prefix(slash + 1);
  }
}

std::string digest_of(const code_file& x) {
  return hash_text((x.executable ? "x" : "-") + x.bytes);
}

std::string to_json(const study_code& x) {
  json files = json::object();
  for (const auto& [name, file] : x.files)
    files[name] = to_json(file);
  json result{{"files", std::move(files)}, {"versions", x.versions}};
  if (!x.python.empty())
    result["python"] = x.python;
  return result.dump();
}

expected<study_code> study_code_from_json(std::string_view text) {
  study_code result;
  try {
    const auto read = json::parse(text);
    if (!read.at("files").is_object())
      return {errc::malformed_message, "malformed code: 'files' is no map"};
    for (const auto& [name, file] : read.at("files").items()) {
      if (!is_code_path(name))
        return {errc::malformed_message,
                "malformed code: '" + name + "' leads out of its folder"};
      result.files.emplace(name, file_of(file));
    }
    read.at("versions").get_to(result.versions);
    result.python = read.value("python", "");
    return result;
  } catch (const std::exception& why) {
    return {errc::malformed_message,
            std::string{"malformed code: "} + why.what()};
  }
}

study_text split(const std::string& text) {
  const auto at = text.find(divider);
  if (at == text.npos)
    return {text, {}};
  return {text.substr(0, at + 1), text.substr(at + divider.size())};
}

std::string join(const study_text& x) {
  if (x.code.empty())
    return x.study;
  auto result = x.study;
  if (result.ends_with('\n'))
    result.pop_back();
  return result.append(divider) + x.code;
}

// -- folders ------------------------------------------------------------------

expected<unpacked_code> unpacked_code::make(std::string_view json) {
  const auto code = study_code_from_json(json);
  if (!code)
    return code.failure();
  std::error_code failed;
  auto path = (fs::temp_directory_path(failed) / "hippo-code-XXXXXX").string();
  if (failed || ::mkdtemp(path.data()) == nullptr)
    return {errc::io_failed, "cannot make the folder " + path};
  unpacked_code result{path};
  if (auto written = write_files(*code, path); !written)
    return written.failure();
  return result;
}

unpacked_code::unpacked_code(unpacked_code&& other) noexcept
  : path_(std::exchange(other.path_, {})) {}

unpacked_code& unpacked_code::operator=(unpacked_code&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

unpacked_code::~unpacked_code() {
  std::error_code ignored;
  if (!path_.empty())
    fs::remove_all(path_, ignored);
}

} // namespace hippo
