#include <memory>

#include "common_options.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct update_arguments {
  study_argument of;
  double weight = 1;
};

int update(const update_arguments& x) {
  return with_study(x.of, [&](client&, study_handle& study) {
    return refuse(study.set_weight(x.weight));
  });
}

} // namespace

void add_update(verb_table& verbs) {
  const auto x = std::make_shared<update_arguments>();
  auto* verb = x->of.add_to(verbs.add(
    service_group, "update", "Change a study",
    "hippo update lr-schedules --weight 2", [x] { return update(*x); }));
  verb
    ->add_option("--weight", x->weight,
                 "Its share of the trainers is in proportion to it")
    ->check(above_zero)
    ->required();
}

} // namespace hippo
