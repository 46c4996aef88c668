#include "hippo/model/records.hpp"

namespace hippo {

const char* to_string(study_phase phase) noexcept {
  switch (phase) {
    case study_phase::running:
      return "RUNNING";
    case study_phase::paused:
      return "PAUSED";
    case study_phase::stopping:
      return "STOPPING";
    case study_phase::complete:
      return "COMPLETE";
    case study_phase::failed:
      return "FAILED";
    case study_phase::cancelled:
      return "CANCELLED";
  }
  return "UNKNOWN";
}

bool has_ended(study_phase phase) noexcept {
  return phase == study_phase::complete || phase == study_phase::failed
         || phase == study_phase::cancelled;
}

const char* to_string(study_command::verb command) noexcept {
  switch (command) {
    case study_command::verb::ask:
      return "ask";
    case study_command::verb::train:
      return "train";
    case study_command::verb::tell:
      return "tell";
    case study_command::verb::close:
      return "close";
    case study_command::verb::pause:
      return "pause";
    case study_command::verb::resume:
      return "resume";
    case study_command::verb::stop:
      return "stop";
    case study_command::verb::cancel:
      return "cancel";
    case study_command::verb::weight:
      return "weight";
    case study_command::verb::widen:
      return "widen";
    case study_command::verb::retry:
      return "retry";
    case study_command::verb::finish:
      return "finish";
    case study_command::verb::extend:
      return "extend";
    case study_command::verb::enqueue:
      return "enqueue";
    case study_command::verb::tell_past:
      return "tell_past";
    case study_command::verb::note:
      return "note";
    case study_command::verb::remove:
      return "remove";
    case study_command::verb::restore:
      return "restore";
    case study_command::verb::set_space:
      return "set_space";
  }
  return "unknown";
}

bool is_for_ended(study_command::verb command) noexcept {
  switch (command) {
    case study_command::verb::retry:
    case study_command::verb::extend:
    case study_command::verb::enqueue:
    case study_command::verb::note:
    case study_command::verb::remove:
    case study_command::verb::restore:
    case study_command::verb::set_space:
      return true;
    default:
      return false;
  }
}

} // namespace hippo
