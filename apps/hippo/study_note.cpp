#include "study_note.hpp"

#include <nlohmann/json.hpp>

namespace hippo {

stored_study note_study(const loaded_study& x, std::uint64_t seq,
                        const study_record* record,
                        std::uint64_t best_leaf) {
  nlohmann::ordered_json note;
  note["file"] = x.spec.file;
  note["metric"] = x.spec.objective.metric;
  if (record != nullptr && record->best) {
    const auto& best = *record->best;
    note["best"] = {{"trial", best.trial},
                    {"step", best.step},
                    {"value", best.value},
                    {"params", best.params},
                    {"leaf", best_leaf}};
  }
  return {x.spec.name, x.text, seq, note.dump()};
}

expected<study_note> read_note(const stored_study& x) {
  try {
    const auto note = nlohmann::ordered_json::parse(x.record);
    study_note result;
    result.file = note.at("file");
    result.metric = note.at("metric");
    if (note.contains("best")) {
      const auto& best = note["best"];
      result.best = best_record{best.at("trial"), best.at("step"),
                                best.at("value"), best.at("params")};
      result.best_leaf = best.at("leaf");
    }
    return result;
  } catch (const nlohmann::json::exception& e) {
    return {errc::io_failed, "the state of study '" + x.name
                               + "' is damaged: " + e.what()};
  }
}

} // namespace hippo
