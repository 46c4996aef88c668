#pragma once

#include <functional>
#include <optional>
#include <string>

#include "hippo/base/error.hpp"
#include "hippo/base/scratch_folder.hpp"
#include "hippo/model/initial_state.hpp"

namespace hippo {

/// Reads an initial state: the names, sizes and digests of its files.
/// @param path of a file, or of a folder with all that is in it
/// @returns the state, or `errc::invalid_argument` with what is wrong and what
///          to do about it: there is no such file, a file is no regular one or
///          a link that leads out of the folder, it has too many files or too
///          many bytes, or it changed while it was read
/// @complexity O(bytes)
expected<initial_state> read_initial_state(const std::string& path);

/// Whether the file at `path` has that content. One that was found to have it
/// is read again only once its time or its size has changed.
/// @returns nothing, `errc::bad_checkpoint` if it is missing or another one, or
///          `errc::io_failed`
/// @complexity O(bytes)
std::optional<error> check_content(const std::string& path,
                                   const initial_file& file);

/// Takes everybody's permission to write a file of an initial state, against
/// code that changes it by mistake.
void protect_content(const std::string& path) noexcept;

/// Copies the files of an initial state, from where it was read, to a folder of
/// initial states. Those that are there stay as they are.
/// @returns nothing, or `errc::io_failed` or `errc::invalid_argument`: a file
///          has changed since it was read
std::optional<error> place_initial_state(const initial_state& state,
                                         const std::string& folder);

/// Whether all files of an initial state lie in a folder of initial states, as
/// far as their sizes say.
/// @returns nothing, or `errc::invalid_study` naming the one that does not
std::optional<error> check_initial_state(const initial_state& state,
                                         const std::string& folder);

/// Finds a file of the state; its content is checked.
using content_finder = std::function<expected<std::string>(
  const std::string& path, const initial_file& file)>;

/// An initial state as code is given it: a temporary folder of links.
class laid_out_state {
public:
  /// @returns it, or the failure of `find` or `check_content`, or
  ///          `errc::io_failed`
  static expected<laid_out_state> make(const initial_state& state,
                                       const content_finder& find);

  /// The path of the file, or of the folder.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
  laid_out_state(scratch_folder folder, std::string path)
    : folder_(std::move(folder)), path_(std::move(path)) {}

  scratch_folder folder_;
  std::string path_;
};

} // namespace hippo
