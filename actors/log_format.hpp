#pragma once

#include <memory>
#include <string>

#include <spdlog/spdlog.h>

namespace hippo {

/// Returns the first line of a text: the log has one for each event.
std::string first_line(const std::string& text);

/// How log lines look.
enum class log_format {
  text, ///< `2026-01-31 12:00:00.000 info pool: trainer 1 is ...`
  json, ///< `{"time":"2026-01-31T12:00:00.000Z","level":"info","message":...}`
};

/// Makes `sink` take all of the program's log from now on, in that form.
void log_to(spdlog::sink_ptr sink, const std::string& name, log_format format);

} // namespace hippo
