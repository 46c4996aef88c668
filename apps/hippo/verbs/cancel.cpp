#include "verbs/study_verb.hpp"

namespace hippo {

void add_cancel(verb_table& verbs) {
  const auto x = std::make_shared<study_verb_arguments>();
  add_study_verb(verbs,
                    {"cancel", "End studies now", "cancelled",
                     [](study_handle& study, const std::string& reason) {
                       return study.cancel(reason);
                     }},
                    x)
    ->add_option("--reason", x->reason, "Why, for who asks later");
}

} // namespace hippo
