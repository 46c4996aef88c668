#include <iostream>
#include <memory>
#include <string>

#include "hippo/base/text.hpp"
#include "hippo/space/study.hpp"
#include "outcome.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct set_space_arguments {
  study_argument of;
  std::string file;
  bool dry_run = false;
};

void print(const space_change_view& what) {
  for (const auto& [name, before, after] : what.changes) {
    std::cout << "  " << name << ": ";
    if (before.empty())
      std::cout << "added, " << after << '\n';
    else if (after.empty())
      std::cout << "dropped, it was " << before << '\n';
    else
      std::cout << before << " -> " << after << '\n';
  }
  if (what.changes.empty())
    std::cout << "  the hyper-parameters have the values that they had\n";
  std::cout << "  " << counted(what.replaced, "trial")
            << " not begun: drawn anew, from this space\n"
            << "  " << counted(what.learned, "trial")
            << " begun inside of it: samplers that learn use them\n"
            << "  " << counted(what.outside, "trial")
            << " begun outside of it: kept, and not learned from\n";
  if (what.imported > 0)
    std::cout << "  " << counted(what.imported, "imported result")
              << " inside of it\n";
}

int set_space(const set_space_arguments& x) {
  const auto text = read_study_text(x.file);
  if (!text)
    return fail(text.failure(), exit_bad_input);
  return with_study(x.of, [&](client&, study_handle& study) {
    const auto done = study.set_space(*text, x.dry_run);
    if (!done) {
      auto why = done.failure();
      why.message = x.file + ": " + why.message;
      return refuse(why);
    }
    std::cout << "study " << x.of.study
              << (x.dry_run ? " would have a new space:\n"
                            : " has a new space:\n");
    print(*done);
    std::cout << (x.dry_run ? "and then " : "and ")
              << counted(done->trials, "trial") << " in all"
              << (x.dry_run ? "; nothing was changed (--dry-run)\n" : "\n");
    return exit_done;
  });
}

} // namespace

void add_set_space(verb_table& verbs) {
  const auto x = std::make_shared<set_space_arguments>();
  auto* verb = x->of.add_to(
    verbs.add(service_group, "set-space",
              "Give a study another space for trials that have not begun",
              "hippo set-space lr-schedules new.yaml --dry-run",
              [x] { return set_space(*x); }));
  verb
    ->add_option("file", x->file,
                 "A file with `space`, and perhaps `prior`: the study's own "
                 "file with another space, or these keys alone")
    ->required();
  verb->add_flag("--dry-run", x->dry_run,
                 "Say which hyper-parameters and trials change, and change "
                 "nothing");
}

} // namespace hippo
