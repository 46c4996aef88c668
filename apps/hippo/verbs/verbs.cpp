#include "verbs/verbs.hpp"

namespace hippo {

namespace {

/// All verbs, in the order of the help.
constexpr void (*all_verbs[])(verb_table&) = {
  // on this machine
  add_run, add_serve, add_open, add_gc, add_backup, add_restore, add_simulate,
  add_preview, add_profile, add_check, add_ask_tell, add_sequence,
  add_algorithms, add_keys, add_token, add_deploy, add_completion,
  // with a service
  add_submit, add_ls, add_show, add_trials, add_best, add_importance, add_watch,
  add_top, add_scale, add_logs, add_pause, add_resume, add_retry, add_stop,
  add_cancel, add_set_weight, add_extend, add_enqueue, add_fork, add_set_space,
  add_tell_past, add_note, add_rm, add_export, add_ask, add_train, add_tell,
  add_close};

} // namespace

void add_verbs(verb_table& verbs) {
  for (const auto add : all_verbs)
    add(verbs);
}

} // namespace hippo
