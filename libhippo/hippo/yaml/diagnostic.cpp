#include "hippo/yaml/diagnostic.hpp"

#include "hippo/base/nearest.hpp"

namespace hippo {

std::string to_text(const diagnostic& diagnostic) {
  std::string result = diagnostic.file;
  if (diagnostic.line > 0)
    result += ':' + std::to_string(diagnostic.line) + ':'
              + std::to_string(diagnostic.column);
  result += ": ";
  if (!diagnostic.path.empty())
    result += diagnostic.path + ": ";
  return result + diagnostic.message;
}

std::string joined_text(const std::vector<diagnostic>& errors) {
  std::string result;
  for (const auto& x : errors)
    result += (result.empty() ? "" : "; ")
              + (x.path.empty() ? "" : x.path + ": ") + x.message;
  return result;
}

void diagnostics::error(const mark& at, const std::string& path,
                        std::string message) {
  ++errors_;
  tell(out_->errors, at, path, std::move(message));
}

void diagnostics::warn(const mark& at, const std::string& path,
                       std::string message) {
  tell(out_->warnings, at, path, std::move(message));
}

void diagnostics::unknown_key(const document::entry& entry,
                              const std::string& what,
                              const std::vector<std::string>& known) {
  error(entry.where, entry.value.path, unknown_text(what, entry.key, known));
}

void diagnostics::tell(std::vector<diagnostic>& list, const mark& at,
                       const std::string& path, std::string message) {
  if (list.size() == told_max)
    return;
  // What others have thrown may quote bytes that are no text.
  message = to_utf8(message);
  if (list.size() + 1 == told_max)
    list.push_back({file_, 0, 0, "", "there is more like this"});
  else if (told_.insert({at.line, at.column, path, message}).second)
    list.push_back({file_, at.line, at.column, path, std::move(message)});
}

} // namespace hippo
