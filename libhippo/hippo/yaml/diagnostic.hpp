#pragma once

#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hippo/base/utf8.hpp"
#include "hippo/yaml/document.hpp"
#include "hippo/yaml/mark.hpp"

namespace hippo {

/// Something worth telling about a file.
struct diagnostic {
  std::string file;
  int line = 0;   ///< from 1; 0: the file as a whole
  int column = 0; ///< from 1
  std::string path;    ///< `space.lr.choice[2].warmup.steps`
  std::string message; ///< what was found, and what would be right
};

/// Renders `file:line:column: path: message`.
std::string to_text(const diagnostic& diagnostic);

/// Renders what is wrong with a text that is no file: `path: message`, with
/// semicolons between several.
std::string joined_text(const std::vector<diagnostic>& errors);

/// Errors and warnings of one file.
struct findings {
  std::vector<diagnostic> errors;
  std::vector<diagnostic> warnings; ///< odd but harmless
};

/// How many things are told of one file.
inline constexpr std::size_t told_max = 100;

/// The findings of reading a file; the same thing is told only once,
/// and no more than `told_max` errors and warnings each.
class diagnostics {
public:
  diagnostics(const std::string& file, findings& out)
    : file_(to_utf8(file)), out_(&out) {}

  void error(const mark& at, const std::string& path, std::string message);
  void warn(const mark& at, const std::string& path, std::string message);

  void error(const document& at, std::string message) {
    error(at.where, at.path, std::move(message));
  }
  void warn(const document& at, std::string message) {
    warn(at.where, at.path, std::move(message));
  }

  /// Tells of a key that is not among `known`.
  void unknown_key(const document::entry& entry, const std::string& what,
                   const std::vector<std::string>& known);

  [[nodiscard]] const std::string& file() const noexcept { return file_; }

  /// The number of errors found, told or not.
  [[nodiscard]] std::size_t errors() const noexcept { return errors_; }

private:
  void tell(std::vector<diagnostic>& list, const mark& at,
            const std::string& path, std::string message);

  std::string file_;
  findings* out_;
  std::size_t errors_ = 0;
  std::set<std::tuple<int, int, std::string, std::string>> told_;
};

} // namespace hippo
