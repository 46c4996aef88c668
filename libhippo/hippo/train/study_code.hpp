#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "hippo/core/error.hpp"

namespace hippo {

/// A file that a workload needs.
struct code_file {
  std::string bytes;
  bool executable = false;
  friend bool operator==(const code_file&, const code_file&) = default;
};

/// The training code that a study brings, and what it was written for. It
/// travels with the study's text, as one line of JSON, and from a service to its
/// trainers as a file.
struct study_code {
  /// By path: relative, '/' between folders, within the study's folder.
  std::map<std::string, code_file> files;
  /// Of the interpreter and of packages, as the client had them, by name.
  std::map<std::string, std::string> versions;
  /// The interpreter as the client found it, or empty: any.
  std::string python;
  friend bool operator==(const study_code&, const study_code&) = default;
};

/// The name of the file in which a service leaves code for its trainers, beside
/// the checkpoints of the workload.
inline constexpr const char* code_file_name = "code.json";

/// Whether a path stays within its folder: relative, no part of it empty, "."
/// or "..".
bool is_code_path(std::string_view path) noexcept;

/// Returns the digest of a file's bytes and of whether it can be run.
std::string digest_of(const code_file& x);

/// Writes code as JSON. Equal code gives equal bytes.
std::string to_json(const study_code& x);

/// @returns the code, or `errc::malformed_message` with what is wrong
expected<study_code> study_code_from_json(std::string_view text);

/// A study's text in its two parts.
struct study_text {
  std::string study; ///< the study file as it is
  std::string code;  ///< JSON; empty: it brings none
};

/// Takes apart what `join` put together. A study file alone is one too.
study_text split(const std::string& text);
std::string join(const study_text& x);

/// A temporary folder that holds code; removed, with all that is in it by then,
/// when this is destroyed.
class unpacked_code {
public:
  /// @returns the folder, `errc::malformed_message` if `json` is no code, or
  ///          `errc::io_failed`
  static expected<unpacked_code> make(std::string_view json);

  unpacked_code(unpacked_code&& other) noexcept;
  unpacked_code& operator=(unpacked_code&& other) noexcept;
  ~unpacked_code();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
  explicit unpacked_code(std::string path) : path_(std::move(path)) {}

  std::string path_; ///< empty: moved from
};

} // namespace hippo
