#include "hippo/report/report.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
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

expected<std::string> write_report(const run_record& x,
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
      return done.failure();
  }
  return folder;
}

expected<std::string> write_dated_report(const run_record& x,
                                         const std::string& root,
                                         std::time_t now) {
  std::array<char, 32> date{};
  std::tm parts{};
  std::strftime(date.data(), date.size(), "%Y-%m-%dT%H-%M-%S",
                ::localtime_r(&now, &parts));
  std::error_code failed;
  fs::create_directories(root, failed);
  if (failed)
    return io_error(root, failed.message());
  // Two runs may end in one second.
  std::string name{date.data()};
  for (int i = 2; !fs::create_directory(fs::path{root} / name, failed); ++i) {
    if (failed)
      return io_error(fs::path{root} / name, failed.message());
    name = std::string{date.data()} + '-' + std::to_string(i);
  }
  auto folder = write_report(x, (fs::path{root} / name).string());
  if (!folder)
    return folder;
  const auto latest = fs::path{root} / "latest";
  const auto link = fs::path{latest}.concat(".tmp");
  fs::remove(link, failed);
  fs::create_directory_symlink(name, link, failed);
  if (!failed)
    fs::rename(link, latest, failed);
  if (failed)
    return io_error(latest, failed.message());
  return folder;
}

} // namespace hippo
