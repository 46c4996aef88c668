#include "log.hpp"

#include <cstddef>
#include <memory>

#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include "hippo/net/wire/codec.hpp"
#include "log_format.hpp"

namespace hippo {

namespace {

/// Lines of the log that are sent along with a failure.
constexpr std::size_t log_tail_lines = 10;

} // namespace

std::function<std::string()> start_log(const trainer_options& opts) {
  const auto tail
    = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(log_tail_lines);
  const auto sinks = std::make_shared<spdlog::sinks::dist_sink_mt>();
  sinks->add_sink(std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  sinks->add_sink(tail);
  log_to(sinks, "hippo-trainer", opts.log);
  return [tail] {
    std::string result;
    for (const auto& line : tail->last_formatted())
      result += line;
    if (result.size() > max_log_bytes)
      result.erase(0, result.size() - max_log_bytes);
    return result;
  };
}

} // namespace hippo
