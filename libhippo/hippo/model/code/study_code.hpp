#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "hippo/base/error.hpp"
#include "hippo/base/scratch_folder.hpp"
#include "hippo/model/initial_state.hpp"
#include "hippo/model/workload_spec.hpp"

namespace hippo {

/// A file that a workload needs.
struct code_file {
  std::string bytes;
  bool executable = false;
  friend bool operator==(const code_file&, const code_file&) = default;
};

/// The training code that a study brings, and what it was written for. It
/// travels with the study's text, as one line of JSON; its files travel from a
/// service to its trainers as a file.
struct study_code {
  /// By path: relative, '/' between folders, within the study's folder.
  std::map<std::string, code_file> files;
  /// Of the interpreter and of packages, as the client had them, by name.
  std::map<std::string, std::string> versions;
  /// The interpreter as the client found it, or empty: any.
  std::string python;
  /// Nothing: training starts from what the code makes itself.
  std::optional<initial_state> initial{};
  friend bool operator==(const study_code&, const study_code&) = default;
};

/// The name of the file in which a service leaves code for its trainers, beside
/// the checkpoints of the workload.
inline constexpr const char* code_file_name = "code.json";

// The limits of code: all of its digests and names are in the workload key,
// which has 64 KiB.
inline constexpr std::size_t code_files_max = 256;
inline constexpr std::size_t code_path_bytes_max = 512;
inline constexpr std::size_t code_paths_bytes_max = 32 << 10; ///< of all files
/// Of a file's or folder's name: what file systems take.
inline constexpr std::size_t code_name_bytes_max = 255;

/// Whether a path stays within its folder: relative, no part of it empty, "."
/// or "..".
bool is_code_path(std::string_view path) noexcept;

/// Whether these files, and those of the initial state, can be unpacked beside
/// each other, and into the key.
/// @returns nothing, or `errc::invalid_study` naming the file that cannot
std::optional<error> check_files(const study_code& code);

/// The option of a workload that holds the digest of a file.
std::string file_option(const std::string& path);

/// Returns the digest of a file's bytes and of whether it can be run: SHA-256,
/// as 64 hexadecimal digits. It stands for the file in the workload key, and
/// who sends code must not be able to make two files of one digest.
std::string digest_of(const code_file& file);

/// Returns the digest of an initial state: SHA-256 of the digests and names of
/// its files. It stands for the state in the workload key.
std::string digest_of(const initial_state& state);

/// Whether a workload's options have the digests of all these files and of the
/// initial state, and of no others, so that its key decides what is unpacked.
/// @returns nothing, or `errc::training_failed` naming the file
std::optional<error> check_key(const study_code& code,
                               const workload_spec& key);

/// Writes code as JSON. Equal code gives equal bytes.
std::string to_json(const study_code& code);

/// Writes what trainers need of code, its files and the digests of the initial
/// state: a function of the workload key alone.
std::string files_to_json(const study_code& code);

/// @returns the code, whose files pass `check_files`; or
///          `errc::malformed_message` or `errc::invalid_study` with what is
///          wrong
expected<study_code> study_code_from_json(std::string_view text);

/// A study's text in its two parts.
struct study_text {
  std::string study; ///< the study file as it is
  std::string code;  ///< JSON; empty: it brings none
};

/// Takes apart what `join` put together. A study file alone is one too.
study_text split(const std::string& text);
std::string join(const study_text& text);

/// A temporary folder that holds code; removed, with all that is in it by then,
/// when this is destroyed.
class unpacked_code {
public:
  /// @returns the folder, or `errc::io_failed`: also where two names are one to
  ///          the file system (`a` and `A`)
  /// REQUIRES: the files pass `check_files`.
  static expected<unpacked_code> make(const study_code& code);

  [[nodiscard]] const std::string& path() const noexcept {
    return folder_.path();
  }

private:
  explicit unpacked_code(scratch_folder folder) : folder_(std::move(folder)) {}

  scratch_folder folder_;
};

} // namespace hippo
