#pragma once

#include "verb_table.hpp"

namespace hippo {

/// Adds every verb of `hippo`, in the order of the help. Each is in the file of
/// its name: its options, how they are read, and what it does.
void add_verbs(verb_table& verbs);

// -- on this machine ----------------------------------------------------------

void add_run(verb_table& verbs);
void add_serve(verb_table& verbs);
void add_open(verb_table& verbs);
void add_gc(verb_table& verbs);
void add_backup(verb_table& verbs);
void add_restore(verb_table& verbs); // in backup.cpp: the same, back
void add_simulate(verb_table& verbs);
void add_preview(verb_table& verbs);
void add_profile(verb_table& verbs);
void add_check(verb_table& verbs);
void add_ask_tell(verb_table& verbs);
void add_sequence(verb_table& verbs);
void add_algorithms(verb_table& verbs);
void add_keys(verb_table& verbs);
void add_token(verb_table& verbs);
void add_deploy(verb_table& verbs);
void add_completion(verb_table& verbs);

// -- with a service -----------------------------------------------------------

void add_submit(verb_table& verbs);
void add_ls(verb_table& verbs);
void add_show(verb_table& verbs);
void add_trials(verb_table& verbs);
void add_best(verb_table& verbs);
void add_importance(verb_table& verbs);
void add_watch(verb_table& verbs);
void add_top(verb_table& verbs);
void add_scale(verb_table& verbs);
void add_logs(verb_table& verbs);
void add_pause(verb_table& verbs);
void add_resume(verb_table& verbs);
void add_retry(verb_table& verbs);
void add_stop(verb_table& verbs);
void add_cancel(verb_table& verbs);
void add_set_weight(verb_table& verbs);
void add_extend(verb_table& verbs);
void add_enqueue(verb_table& verbs);
void add_fork(verb_table& verbs);
void add_set_space(verb_table& verbs);
void add_tell_past(verb_table& verbs);
void add_note(verb_table& verbs);
void add_rm(verb_table& verbs);
void add_export(verb_table& verbs);
void add_ask(verb_table& verbs);
void add_train(verb_table& verbs);
void add_tell(verb_table& verbs);
void add_close(verb_table& verbs);

} // namespace hippo
