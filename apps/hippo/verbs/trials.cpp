#include <memory>

#include "client_listings.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct trials_arguments {
  study_argument of;
  listing_options listing;
};

int trials(trials_arguments& x) {
  return with_study(x.of, [&](client&, study_handle& study) {
    const auto known = study.describe();
    if (!known)
      return refuse(known.failure());
    const auto all = study.trials();
    if (!all)
      return refuse(all.failure());
    if (!has_several_metrics(known->view))
      return x.listing.print(list_trials(*all));
    const auto measured = study.columns("front");
    if (!measured)
      return refuse(measured.failure());
    return x.listing.print(list_trials(*all, read_json(*measured),
                                       known->view.front->goals));
  });
}

} // namespace

void add_trials(verb_table& verbs) {
  const auto x = std::make_shared<trials_arguments>();
  auto* verb = x->of.add_to(
    verbs.add(service_group, "trials", "List the trials of a study",
              "hippo trials lr-schedules --sort best:desc --limit 5",
              [x] { return trials(*x); }));
  x->of.server.add_state_to(*verb);
  x->listing.add_to(*verb);
}

} // namespace hippo
