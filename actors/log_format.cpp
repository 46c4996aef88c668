#include "log_format.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>

#include "hippo/report/text.hpp"

namespace hippo {

namespace {

/// The message as a JSON string.
class quoted_message final : public spdlog::custom_flag_formatter {
public:
  void format(const spdlog::details::log_msg& x, const std::tm&,
              spdlog::memory_buf_t& out) override {
    // Messages hold what others have said, which may be no UTF-8.
    const auto text
      = nlohmann::json(std::string{x.payload.data(), x.payload.size()})
          .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    out.append(text.data(), text.data() + text.size());
  }

  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<quoted_message>();
  }
};

/// The message on one line. It may hold what others have said, who must not
/// write lines of their own, nor control the terminal of who reads it.
class printable_message final : public spdlog::custom_flag_formatter {
public:
  void format(const spdlog::details::log_msg& x, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string_view text{x.payload.data(), x.payload.size()};
    const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f; };
    if (std::ranges::all_of(text, is_plain)) {
      out.append(text.data(), text.data() + text.size());
      return;
    }
    const auto line = printable(text);
    out.append(line.data(), line.data() + line.size());
  }

  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<printable_message>();
  }
};

std::unique_ptr<spdlog::formatter> make_formatter(const std::string& format) {
  auto result = std::make_unique<spdlog::pattern_formatter>(
    format == "json" ? spdlog::pattern_time_type::utc
                     : spdlog::pattern_time_type::local);
  if (format == "json") {
    result->add_flag<quoted_message>('Q');
    result->set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",)"
                        R"("message":%Q})");
  } else {
    result->add_flag<printable_message>('P');
    result->set_pattern("%Y-%m-%d %H:%M:%S.%e %l %P");
  }
  return result;
}

} // namespace

std::string old_log_of(const std::string& file) {
  return spdlog::sinks::rotating_file_sink_mt::calc_filename(file, 1);
}

void keep_small(const std::string& file, std::size_t bytes_max) noexcept {
  namespace fs = std::filesystem;
  std::error_code failed;
  const auto bytes = fs::file_size(file, failed);
  if (failed || bytes <= bytes_max)
    return;
  // Not by its name: the other program goes on writing what it has opened.
  fs::copy_file(file, old_log_of(file), fs::copy_options::overwrite_existing,
                failed);
  if (!failed)
    fs::resize_file(file, 0, failed);
}

spdlog::sink_ptr make_log_files(const std::string& file,
                                std::size_t bytes_max) {
  return std::make_shared<spdlog::sinks::rotating_file_sink_mt>(
    file, bytes_max, old_log_files_max);
}

void log_to(spdlog::sink_ptr sink, const std::string& name,
            const log_options& options) {
  auto logger = std::make_shared<spdlog::logger>(name, std::move(sink));
  logger->set_formatter(make_formatter(options.format));
  logger->set_level(spdlog::level::from_str(options.level));
  logger->flush_on(spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

std::string lines_of_lease(std::string_view tail, std::string_view before) {
  while (before.ends_with('\n'))
    before.remove_suffix(1);
  // Nothing at all: the log was empty.
  const auto last = before.substr(before.rfind('\n') + 1);
  if (const auto at = last.empty() ? tail.npos : tail.rfind(last);
      at != tail.npos)
    tail.remove_prefix(std::min(tail.size(), at + last.size() + 1));
  std::string result;
  while (!tail.empty()) {
    const auto line = tail.substr(0, tail.find('\n') + 1);
    const auto whole = line.empty() ? tail : line;
    if (whole.find("trainer: lease ") == whole.npos)
      result += whole;
    tail.remove_prefix(whole.size());
  }
  return result;
}

} // namespace hippo
