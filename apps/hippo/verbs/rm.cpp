#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "outcome.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct removal_arguments {
  study_argument of;
  std::vector<std::uint64_t> trials;
  bool undo = false;
};

int remove(const removal_arguments& x) {
  return with_study(x.of, [&](client&, study_handle& study) {
    if (const auto why =
          x.undo ? study.restore(x.trials) : study.remove(x.trials))
      return refuse(*why);
    const auto count = x.trials.size();
    std::cerr << "study " << x.of.study;
    if (count > 0)
      std::cerr << ": " << count << (count == 1 ? " trial is" : " trials are");
    else
      std::cerr << " is";
    if (x.undo)
      std::cerr << " shown again\n";
    else
      std::cerr << " hidden (--undo shows " << (count > 1 ? "them" : "it")
                << " again)\n";
    return exit_done;
  });
}

} // namespace

void add_rm(verb_table& verbs) {
  const auto x = std::make_shared<removal_arguments>();
  auto* verb = x->of.add_to(
    verbs.add(service_group, "rm", "Hide a study, or trials of it",
              "hippo rm lr-schedules 7 8", [x] { return remove(*x); }));
  verb->add_option("trials", x->trials,
                   "Numbers of trials, which have ended; none: the study");
  verb->add_flag("--undo", x->undo, "Show again what was hidden");
}

} // namespace hippo
