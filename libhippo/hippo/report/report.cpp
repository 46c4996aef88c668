#include "hippo/report/report.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

namespace hippo {

namespace fs = std::filesystem;

namespace {

error io_error(const fs::path& path, const std::string& reason) {
  return {errc::io_failed, "cannot write '" + path.string() + "': " + reason};
}

/// Writes `text` under another name first, so that `path` is never half there.
expected<std::monostate> replace_file(const fs::path& path,
                                      const std::string& text) {
  const auto temporary = fs::path{path}.concat(".tmp");
  std::error_code ignored;
  errno = 0;
  std::ofstream out{temporary, std::ios::binary | std::ios::trunc};
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) {
    const std::string reason = errno != 0 ? std::strerror(errno) : "unknown";
    fs::remove(temporary, ignored);
    return io_error(path, reason);
  }
  std::error_code failed;
  fs::rename(temporary, path, failed);
  if (failed) {
    fs::remove(temporary, ignored);
    return io_error(path, failed.message());
  }
  return std::monostate{};
}

} // namespace

expected<std::monostate> write_report(const run_record& x,
                                      const std::string& folder) {
  const std::vector<std::pair<const char*, std::string>> files{
    {"report.json", report_json(x)},
    {"trials.csv", trials_csv(x)},
    {"stage-tree.svg", stage_tree_svg(x)},
    {"timeline.svg", timeline_svg(x)},
  };
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed)
    return io_error(folder, failed.message());
  for (const auto& [name, text] : files) {
    auto done = replace_file(fs::path{folder} / name, text);
    if (!done)
      return done;
  }
  return std::monostate{};
}

} // namespace hippo
