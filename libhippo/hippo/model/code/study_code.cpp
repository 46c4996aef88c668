#include "hippo/model/code/study_code.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include <nlohmann/json.hpp>

#include "hippo/base/file_descriptor.hpp"
#include "hippo/base/utf8.hpp"
#include "hippo/model/code/sha256.hpp"

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

/// Writes a file that is not there yet.
/// @returns 0 or the `errno` of what failed
int write_file(const fs::path& path, const code_file& x) {
  const file_descriptor file{
    ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
           x.executable ? 0700 : 0600)};
  if (!file)
    return errno;
  for (std::string_view left = x.bytes; !left.empty();) {
    const auto n = ::write(file.number(), left.data(), left.size());
    if (n > 0)
      left.remove_prefix(static_cast<std::size_t>(n));
    else if (errno != EINTR)
      return errno;
  }
  return 0;
}

std::optional<error> write_files(const study_code& code,
                                 const fs::path& folder) {
  for (const auto& [name, file] : code.files) {
    const auto path = folder / name;
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    const auto why = failed ? failed.value() : write_file(path, file);
    if (why == EEXIST)
      return error{errc::io_failed,
                   "cannot write " + path.string()
                     + ": another of the code's files has the same name here"};
    if (why != 0)
      return error{errc::io_failed, "cannot write " + path.string() + ": "
                                      + std::strerror(why)};
  }
  return std::nullopt;
}

/// Says why a file's name is none.
std::optional<std::string> find_fault(std::string_view path) {
  if (!is_code_path(path))
    return "leads out of its folder";
  if (path.size() > code_path_bytes_max)
    return "has a path of more than " + std::to_string(code_path_bytes_max)
           + " bytes";
  const bool has_controls = std::any_of(path.begin(), path.end(), [](char c) {
    return (c >= 0 && c < ' ') || c == 0x7f;
  });
  if (has_controls || to_utf8(path) != path)
    return "has characters in its name that are no text";
  for (std::size_t begin = 0, end = 0; end != path.npos; begin = end + 1) {
    end = path.find('/', begin);
    if (std::min(end, path.size()) - begin > code_name_bytes_max)
      return "has a name of more than " + std::to_string(code_name_bytes_max)
             + " bytes";
  }
  return std::nullopt;
}

/// Returns the file in whose place a path needs a folder.
template <class File>
std::optional<std::string>
file_in_the_way(const std::map<std::string, File>& files,
                const std::string& path) {
  for (auto at = path.find('/'); at != path.npos; at = path.find('/', at + 1))
    if (auto folder = path.substr(0, at); files.contains(folder))
      return folder;
  return std::nullopt;
}

error refused(const std::string& whose, const std::string& why) {
  return {errc::invalid_study, whose + ": " + why};
}

/// Whether files of these names can lie beside each other.
template <class File>
std::optional<error> check_names(const std::map<std::string, File>& files,
                                 std::size_t files_max,
                                 const std::string& whose) {
  if (files.size() > files_max)
    return refused(whose, "there are " + std::to_string(files.size())
                            + " files; at most " + std::to_string(files_max)
                            + " travel with a study");
  std::size_t path_bytes = 0;
  for (const auto& [path, file] : files) {
    const auto named = "the file '" + to_utf8(path) + "' ";
    if (const auto fault = find_fault(path))
      return refused(whose, named + *fault);
    if (const auto other = file_in_the_way(files, path))
      return refused(whose, named + "needs a folder '" + *other
                              + "', which is a file as well");
    path_bytes += path.size();
  }
  if (path_bytes > code_paths_bytes_max)
    return refused(whose, "the names of its files have more than "
                            + std::to_string(code_paths_bytes_max)
                            + " bytes together");
  return std::nullopt;
}

json to_json(const initial_state& state) {
  json files = json::object();
  for (const auto& [path, file] : state.files)
    files[path] = {{"sha256", file.sha256}, {"bytes", file.bytes}};
  json result{{"files", std::move(files)}, {"folder", state.is_folder}};
  if (!state.path.empty())
    result["path"] = state.path;
  return result;
}

initial_state initial_state_of(const json& read) {
  initial_state result;
  for (const auto& [path, file] : read.at("files").items())
    result.files[path] = {file.at("sha256").get<std::string>(),
                          file.at("bytes").get<std::uint64_t>()};
  read.at("folder").get_to(result.is_folder);
  result.path = read.value("path", "");
  return result;
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

std::optional<error> check_files(const study_code& code) {
  if (auto why = check_names(code.files, code_files_max, "the study's code"))
    return why;
  if (!code.initial)
    return std::nullopt;
  constexpr auto whose = "the initial state";
  const auto& state = *code.initial;
  if (auto why = check_names(state.files, initial_files_max, whose))
    return why;
  std::uint64_t bytes = 0;
  for (const auto& [path, file] : state.files) {
    if (!is_sha256(file.sha256))
      return refused(whose, "the digest of '" + path + "' is none");
    if (file.bytes > initial_bytes_max - bytes)
      return refused(whose, "its files have more than "
                              + std::to_string(initial_bytes_max)
                              + " bytes together");
    bytes += file.bytes;
  }
  if (state.files.empty() || (!state.is_folder && state.files.size() > 1))
    return refused(whose, "a file is one file, and a folder has some");
  return std::nullopt;
}

std::string file_option(const std::string& path) { return "file." + path; }

std::string digest_of(const code_file& file) {
  return sha256_of((file.executable ? "x" : "-") + file.bytes);
}

std::string digest_of(const initial_state& state) {
  // No name holds the end of a line.
  std::string text = state.is_folder ? "folder\n" : "file\n";
  for (const auto& [path, file] : state.files)
    text += file.sha256 + ' ' + path + '\n';
  return sha256_of(text);
}

std::optional<error> check_key(const study_code& code,
                               const workload_spec& key) {
  const auto refused = [](const std::string& path, const std::string& why) {
    return error{errc::training_failed,
                 "the study's code is not what its key says: the file '"
                   + to_utf8(path) + "' " + why};
  };
  const auto named = key.options.find(initial_option);
  const auto digest = code.initial ? digest_of(*code.initial) : std::string{};
  if (named == key.options.end() ? code.initial.has_value()
                                 : named->second != scalar{digest})
    return error{errc::training_failed,
                 "the initial state is not the one that the study's key names"};
  for (const auto& [path, file] : code.files) {
    const auto i = key.options.find(file_option(path));
    if (i == key.options.end())
      return refused(path, "is not in the key");
    if (i->second != scalar{digest_of(file)})
      return refused(path, "has another digest");
  }
  const auto prefix = file_option("");
  for (auto i = key.options.lower_bound(prefix);
       i != key.options.end() && i->first.starts_with(prefix); ++i)
    if (const auto path = i->first.substr(prefix.size());
        !code.files.contains(path))
      return refused(path, "is missing");
  return std::nullopt;
}

std::string to_json(const study_code& code) {
  json files = json::object();
  for (const auto& [name, file] : code.files)
    files[name] = to_json(file);
  json result{{"files", std::move(files)}, {"versions", code.versions}};
  if (!code.python.empty())
    result["python"] = code.python;
  if (code.initial)
    result["initial"] = to_json(*code.initial);
  return result.dump();
}

std::string files_to_json(const study_code& code) {
  study_code result{code.files, {}, {}, code.initial};
  if (result.initial)
    result.initial->path.clear();
  return to_json(result);
}

expected<study_code> study_code_from_json(std::string_view text) {
  study_code result;
  try {
    const auto read = json::parse(text);
    if (!read.at("files").is_object())
      return {errc::malformed_message, "malformed code: 'files' is no map"};
    for (const auto& [name, file] : read.at("files").items())
      result.files.emplace(name, file_of(file));
    read.at("versions").get_to(result.versions);
    result.python = read.value("python", "");
    if (const auto initial = read.find("initial"); initial != read.end())
      result.initial = initial_state_of(*initial);
    if (auto why = check_files(result))
      return *why;
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

std::string join(const study_text& text) {
  if (text.code.empty())
    return text.study;
  auto result = text.study;
  if (result.ends_with('\n'))
    result.pop_back();
  return result.append(divider) + text.code;
}

// -- folders ------------------------------------------------------------------

expected<unpacked_code> unpacked_code::make(const study_code& code) {
  auto folder = scratch_folder::make("hippo-code");
  if (!folder)
    return folder.failure();
  if (auto why = write_files(code, folder->path()))
    return *why;
  return unpacked_code{std::move(*folder)};
}

} // namespace hippo
