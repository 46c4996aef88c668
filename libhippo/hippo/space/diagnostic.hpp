#pragma once

#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hippo/space/document.hpp"
#include "hippo/space/study.hpp"

namespace hippo {

/// What is found while a study file is read; the same thing is told only once.
class diagnostics {
public:
  diagnostics(std::string file, study_file& out)
    : file_(std::move(file)), out_(&out) {}

  void error(const mark& at, const std::string& path, std::string message);
  void warn(const mark& at, const std::string& path, std::string message);

  void error(const document& at, std::string message) {
    error(at.where, at.path, std::move(message));
  }
  void warn(const document& at, std::string message) {
    warn(at.where, at.path, std::move(message));
  }

  /// Tells of a key that is not among `known`.
  void unknown_key(const document::entry& x, const std::string& what,
                   const std::vector<std::string>& known);

  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] std::size_t errors() const noexcept {
    return out_->errors.size();
  }

private:
  void tell(std::vector<diagnostic>& list, const mark& at,
            const std::string& path, std::string message);

  std::string file_;
  study_file* out_;
  std::set<std::tuple<int, int, std::string, std::string>> told_;
};

} // namespace hippo
