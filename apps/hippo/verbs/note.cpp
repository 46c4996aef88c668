#include <iostream>
#include <memory>
#include <string>

#include "hippo/base/text.hpp"
#include "outcome.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct note_arguments {
  study_argument of;
  std::string text;
  CLI::Option* has_text = nullptr;
  study_note change;
};

int note(const note_arguments& x) {
  auto change = x.change;
  if (x.has_text->count() > 0)
    change.text = x.text;
  const bool is_change =
    change.text || !change.added_tags.empty() || !change.removed_tags.empty();
  return with_study(x.of, [&](client&, study_handle& study) {
    if (is_change)
      if (const auto why = study.note(change))
        return refuse(*why);
    const auto known = study.describe();
    if (!known)
      return refuse(known.failure());
    const auto& view = known->view;
    for (const auto& tag : view.tags)
      std::cout << '[' << printable(tag) << "] ";
    std::cout << (view.tags.empty() && view.note.empty() ? "no note"
                                                         : printable(view.note))
              << '\n';
    return exit_done;
  });
}

} // namespace

void add_note(verb_table& verbs) {
  const auto x = std::make_shared<note_arguments>();
  auto* verb = x->of.add_to(verbs.add(
    service_group, "note", "Show or change the note and the tags of a study",
    "hippo note lr-schedules 'baseline of the paper' --tag paper",
    [x] { return note(*x); }));
  x->has_text = verb->add_option(
    "text", x->text, "The new note; an empty one takes the note away");
  verb->add_option("--tag", x->change.added_tags, "Adds a tag")
    ->type_size(1)
    ->allow_extra_args(false);
  verb->add_option("--untag", x->change.removed_tags, "Takes a tag away")
    ->type_size(1)
    ->allow_extra_args(false);
}

} // namespace hippo
