#include "verbs/study_verb.hpp"

namespace hippo {

void add_stop(verb_table& verbs) {
  add_study_verb(
    verbs,
    {"stop", "Finish what runs, then end studies",
     "stopping; it ends when what runs is finished",
     [](study_handle& x, const std::string&) { return x.stop(); }},
    std::make_shared<study_verb_arguments>());
}

} // namespace hippo
