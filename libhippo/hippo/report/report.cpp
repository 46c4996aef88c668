#include "hippo/report/report.hpp"

#include <array>
#include <ctime>
#include <filesystem>
#include <utility>
#include <vector>

#include "hippo/base/whole_file.hpp"

namespace hippo {

namespace fs = std::filesystem;

namespace {

error io_error(const fs::path& path, const std::string& reason) {
  return {errc::io_failed, "cannot write '" + path.string() + "': " + reason};
}

} // namespace

expected<std::string> write_report(const run_record& record,
                                   const std::string& folder) {
  const std::vector<std::pair<const char*, std::string>> files{
    {"report.json", report_json(record)},
    {"trials.csv", trials_csv(record)},
    {"stage-tree.svg", stage_tree_svg(record)},
    {"timeline.svg", timeline_svg(record)},
  };
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed)
    return io_error(folder, failed.message());
  for (const auto& [name, text] : files) {
    if (auto why = write_whole((fs::path{folder} / name).string(), text))
      return *why;
  }
  return folder;
}

expected<std::string> write_dated_report(const run_record& record,
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
  auto folder = write_report(record, (fs::path{root} / name).string());
  if (!folder) { // there is no half a report
    fs::remove_all(fs::path{root} / name, failed);
    return folder;
  }
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
