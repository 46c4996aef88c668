#include <iostream>
#include <memory>
#include <set>
#include <string>

#include "hippo/base/text.hpp"
#include "outcome.hpp"
#include "trial_table.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct tell_past_arguments {
  study_argument of;
  std::string file;
};

/// Returns the names of all metrics that a study is about.
std::set<std::string> metrics_of(const study_view& study) {
  std::set<std::string> result{study.metric};
  if (!study.front)
    return result;
  for (const auto& goal : study.front->goals)
    result.insert(goal.metric);
  for (const auto& constraint : study.front->constraints)
    result.insert(constraint.substr(0, constraint.find(' ')));
  return result;
}

int tell_past(const tell_past_arguments& x, study_handle& study) {
  const auto known = study.describe();
  if (!known)
    return refuse(known.failure());
  const auto table = read_past_table(x.file, metrics_of(known->view));
  if (!table)
    return fail(table.failure(), exit_bad_input);
  for (std::size_t i = 0; i < table->parts.size(); ++i) {
    const auto told = study.tell_past(table->parts[i]);
    if (told)
      continue;
    auto why = told.failure();
    if (i > 0)
      why.message = "part " + std::to_string(i + 1) + " of "
                    + std::to_string(table->parts.size())
                    + " (1000 results each): " + why.message
                    + "; the parts before it are known now: leave them out";
    return refuse(why);
  }
  std::cerr << "study " << x.of.study << " learns from "
            << (table->results == 0 ? "the results"
                                    : counted(table->results, "result"))
            << " of " << x.file;
  if (table->left_out > 0)
    std::cerr << "; " << counted(table->left_out, "line")
              << " without all its metrics "
              << (table->left_out == 1 ? "is" : "are") << " left out";
  std::cerr << '\n';
  return exit_done;
}

} // namespace

void add_tell_past(verb_table& verbs) {
  const auto x = std::make_shared<tell_past_arguments>();
  auto* verb = x->of.add_to(verbs.add(
    service_group, "tell-past", "Let a sampler learn from results of elsewhere",
    "hippo tell-past lr-schedules --file results.csv", [x] {
      return with_study(x->of, [&](client&, study_handle& study) {
        return tell_past(*x, study);
      });
    }));
  verb
    ->add_option("--file,--csv", x->file,
                 "A table of results (.csv) with the columns step, "
                 "params.NAME and the metrics, as hippo-import writes it, or "
                 "`results: [...]` in JSON or YAML")
    ->required();
}

} // namespace hippo
