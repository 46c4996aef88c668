#pragma once

#include <memory>
#include <string>
#include <utility>

#include "hippo/service/coordinator/events.hpp"
#include "hippo/service/merge/events.hpp"
#include "hippo/service/merge/moment.hpp"
#include "hippo/service/merge/options.hpp"
#include "hippo/service/pool/events.hpp"
#include "hippo/service/pool/options.hpp"
#include "hippo/service/study/events.hpp"
#include "hippo/service/study/options.hpp"
#include "hippo/service/trace/trace_log.hpp"
#include "hippo/service/trainer/events.hpp"

namespace hippo {

namespace trace {

/// An event as two fields of a line: its name and its own fields.
std::string text_of(const any_pool_event& event);
std::string text_of(const any_study_event& event);
std::string text_of(const any_merge_event& event);
std::string text_of(const any_trainer_event& event);
std::string text_of(const any_coordinator_event& event);

/// Effects as JSON.
std::string text_of(const std::vector<any_pool_effect>& xs);
std::string text_of(const std::vector<any_study_effect>& xs);
std::string text_of(const std::vector<any_merge_effect>& xs);
std::string text_of(const std::vector<any_trainer_effect>& xs);
std::string text_of(const std::vector<any_coordinator_effect>& xs);

} // namespace trace

/// Writes down the events of a core, each with a digest of its effects, so that
/// all of it can be done again (`replay_trace`). A line for each event, in
/// JSON.
class core_trace {
public:
  core_trace() = default; ///< writes nothing
  /// @param log null: writes nothing
  /// @param core its name; of several with one name, the log tells them apart
  core_trace(std::shared_ptr<trace_log> log, const std::string& core)
    : log_(std::move(log)), name_(log_ ? log_->name_of(core) : core) {}

  /// A core begins with these options.
  void begin(const pool_options& options, moment now);
  void begin(const study_options& options, moment now);
  void begin(const merger_options& chosen, moment now);
  /// @param trainer the description of itself
  void begin(const hello& trainer, moment now);
  void begin(const coordinator_begin& known, moment now);

  /// Tells the core what happens.
  /// @param event as the core takes it: a variant
  template <class Core, class Event>
  typename Core::effects apply(Core& core, Event event, moment now) {
    if (!log_)
      return core.apply(std::move(event), now);
    const auto what = trace::text_of(event);
    try {
      auto effects = core.apply(std::move(event), now);
      write(what, trace::text_of(effects), now);
      return effects;
    } catch (...) {
      write(what, {}, now);
      throw;
    }
  }

private:
  void begin(const char* kind, const std::string& options, moment now);
  /// @param effects empty: the core has thrown an exception
  void write(const std::string& event, const std::string& effects, moment now);

  std::shared_ptr<trace_log> log_;
  std::string name_; ///< in the log
};

} // namespace hippo
