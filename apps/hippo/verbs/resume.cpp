#include "verbs/study_verb.hpp"

namespace hippo {

void add_resume(verb_table& verbs) {
  add_study_verb(
    verbs,
    {"resume", "Go on with paused studies", "resumed",
     [](study_handle& x, const std::string&) { return x.resume(); }},
    std::make_shared<study_verb_arguments>());
}

} // namespace hippo
