#include "hippo/service/trace/replay.hpp"

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "hippo/base/hash.hpp"
#include "hippo/search/accepted_study.hpp"
#include "hippo/service/coordinator/coordinator_core.hpp"
#include "hippo/service/merge/merge_core.hpp"
#include "hippo/service/pool/pool_core.hpp"
#include "hippo/service/study/study_core.hpp"
#include "hippo/service/trace/core_trace.hpp"
#include "hippo/service/trace/trace_lines.hpp"
#include "hippo/service/trainer/trainer_core.hpp"

namespace hippo {

namespace {

using nlohmann::json;

/// A core that is told again what it was told.
class replayed_core {
public:
  virtual ~replayed_core() = default;
  /// Throws as `trace::reader` does. @returns the effects as text
  virtual std::string apply(const std::string& event, const json& what,
                            moment now) = 0;
};

template <class Core, class Event>
class core_of final : public replayed_core {
public:
  explicit core_of(std::unique_ptr<Core> core) : core_(std::move(core)) {}

  std::string apply(const std::string& event, const json& what,
                    moment now) override {
    return trace::text_of(
      core_->apply(trace::read_event<Event>(event, what), now));
  }

private:
  std::unique_ptr<Core> core_;
};

template <class T>
T read(const json& from) {
  T result;
  trace::reader{from}.get(result);
  return result;
}

/// The study that a text and what was decided for it are.
accepted_study study_of(const stored_study& x,
                        const std::vector<workload_descriptor>& workloads) {
  auto read =
    admit_study(x.text, x.file, workloads, as_before(x.algorithm, x.typed));
  if (!read.study)
    throw trace::malformed{
      "its study cannot be read: "
      + (read.errors.empty() ? std::string{} : read.errors.front().message)};
  if (const auto why = read.study->restore(x.algorithm, x.trials_ahead))
    throw trace::malformed{why->message};
  return std::move(*read.study);
}

std::unique_ptr<replayed_core> begin_study(const json& options, moment now) {
  auto begun = read<trace::study_begin>(options);
  const auto workloads = descriptors_from_json(begun.workload);
  if (!workloads)
    throw trace::malformed{workloads.failure().message};
  if (workloads->empty())
    throw trace::malformed{"its workload is missing"};
  const auto study = study_of(begun.stored, *workloads);
  study_options made{study.spec(),
                     study.search(),
                     workloads->front(),
                     std::move(begun.stored),
                     std::move(begun.history),
                     begun.deadline_left};
  auto core = std::make_unique<study_core>(std::move(made), now);
  core->catch_up();
  if (core->damage())
    return nullptr; // it was told nothing, then
  return std::make_unique<core_of<study_core, any_study_event>>(
    std::move(core));
}

std::unique_ptr<replayed_core> begin_merger(const json& options, moment now) {
  auto begun = read<trace::merger_begin>(options);
  if (begun.has_plan)
    return nullptr;
  return std::make_unique<core_of<merge_core, any_merge_event>>(
    std::make_unique<merge_core>(std::move(begun.options), now));
}

/// @returns null if the core cannot begin again
std::unique_ptr<replayed_core> begin_core(const std::string& kind,
                                          const json& options, moment now) {
  if (kind == "pool")
    return std::make_unique<core_of<pool_core, any_pool_event>>(
      std::make_unique<pool_core>(read<pool_options>(options), now));
  if (kind == "study")
    return begin_study(options, now);
  if (kind == "merger")
    return begin_merger(options, now);
  if (kind == "trainer")
    return std::make_unique<core_of<trainer_core, any_trainer_event>>(
      std::make_unique<trainer_core>(read<hello>(options), now));
  if (kind == "coordinator")
    return std::make_unique<core_of<coordinator_core, any_coordinator_event>>(
      std::make_unique<coordinator_core>(read<coordinator_begin>(options),
                                         now));
  throw trace::malformed{"there is no core of kind '" + kind + "'"};
}

class replay {
public:
  /// Throws as `trace::reader` does.
  void take(const json& line) {
    const auto name = line.at("core").get<std::string>();
    const moment now{moment::duration{line.at("at").get<moment::rep>()}};
    if (line.contains("begin")) {
      cores_[name] = begin_core(line.at("begin").get<std::string>(),
                                line.at("options"), now);
      ++result.cores;
      return;
    }
    const auto i = cores_.find(name);
    if (i == cores_.end())
      throw trace::malformed{"'" + name + "' has not begun"};
    const auto& digest = line.at("effects");
    if (digest.is_null()) // it has thrown: nobody knows how it would go on
      i->second = nullptr;
    if (!i->second) {
      ++result.left_out;
      return;
    }
    const auto event = line.at("event").get<std::string>();
    const auto effects = i->second->apply(event, line.at("what"), now);
    if (const auto now_is = hash_text(effects), was = digest.get<std::string>();
        now_is == was)
      ++result.events;
    else
      result.difference = name + ", " + event + ": the effects were " + was
                          + " and are " + now_is + ": " + effects;
  }

  trace_replay result;

private:
  std::map<std::string, std::unique_ptr<replayed_core>> cores_; ///< by name
};

} // namespace

expected<trace_replay> replay_trace(std::istream& from) {
  replay all;
  std::string text;
  while (all.result.difference.empty() && std::getline(from, text)) {
    const bool is_cut = from.eof();
    ++all.result.lines;
    const auto where = "line " + std::to_string(all.result.lines) + ", ";
    const auto line = json::parse(text, nullptr, false);
    if (line.is_discarded() && is_cut)
      break;
    if (line.is_discarded())
      return {errc::malformed_message, where + "is no JSON"};
    try {
      all.take(line);
    } catch (const std::exception& x) {
      return {errc::malformed_message, where + x.what()};
    }
    if (auto& found = all.result.difference; !found.empty())
      found = where + found;
  }
  return std::move(all.result);
}

} // namespace hippo
