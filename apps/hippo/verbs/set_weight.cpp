#include <memory>

#include "common_options.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct set_weight_arguments {
  study_argument of;
  double weight = 1;
};

int set_weight(const set_weight_arguments& x) {
  return with_study(x.of, [&](client&, study_handle& study) {
    return refuse(study.set_weight(x.weight));
  });
}

} // namespace

void add_set_weight(verb_table& verbs) {
  const auto x = std::make_shared<set_weight_arguments>();
  auto* verb = x->of.add_to(verbs.add(
    service_group, "set-weight", "Change a study's share of the trainers",
    "hippo set-weight lr-schedules 2", [x] { return set_weight(*x); }));
  verbs.rename("update", "set-weight");
  verb
    ->add_option("weight,--weight", x->weight,
                 "The share of the trainers is in proportion to it")
    ->check(above_zero)
    ->required();
}

} // namespace hippo
