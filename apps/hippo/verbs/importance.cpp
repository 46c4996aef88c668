#include <iostream>
#include <memory>
#include <string>

#include "client_listings.hpp"
#include "outcome.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct importance_arguments {
  study_argument of;
  step_t at = 0;
  std::string metric;
  listing_options listing;
};

/// A row for each hyper-parameter that varies, the greatest share first.
listing list_importance(const importance_view& x) {
  listing result{{{"parameter"},
                  {"share", cell_look::number},
                  {"importance", cell_look::number, false},
                  {"trials", cell_look::number}},
                 {}};
  for (const auto& y : x.importance)
    result.rows.push_back({y.parameter, y.share, y.importance, y.trials});
  return result;
}

/// Says what the figures answer.
std::string question(const importance_view& x) {
  return "what the best " + std::to_string(x.best) + " of the "
         + std::to_string(x.trials) + " trials with " + x.metric + " at step "
         + std::to_string(x.step) + " have in common:\n";
}

int importance(importance_arguments& x) {
  return with_study(x.of, [&](client&, study_handle& study) {
    const auto found = study.importance(x.at, x.metric);
    if (!found)
      return refuse(found.failure());
    if (x.listing.format == "table")
      std::cerr << question(*found);
    return x.listing.print(list_importance(*found));
  });
}

} // namespace

void add_importance(verb_table& verbs) {
  const auto x = std::make_shared<importance_arguments>();
  auto* verb = x->of.add_to(verbs.add(
    service_group, "importance",
    "Show which hyper-parameters the best trials have in common",
    "hippo importance lr-schedules --at 9", [x] { return importance(*x); }));
  x->of.server.add_state_to(*verb);
  verb
    ->add_option("--at", x->at,
                 "Compare trials as they were measured at this step (default: "
                 "the last one at which nine tenths of them were)")
    ->check(CLI::PositiveNumber);
  verb->add_option("--metric", x->metric,
                   "Which trials are the best by this metric of the study's "
                   "goals (default: the first one)");
  x->listing.add_to(*verb);
}

} // namespace hippo
