#include "verbs/study_verb.hpp"

namespace hippo {

void add_pause(verb_table& verbs) {
  add_study_verb(
    verbs,
    {"pause", "Start nothing new for studies", "paused; what runs goes on",
     [](study_handle& x, const std::string&) { return x.pause(); }},
    std::make_shared<study_verb_arguments>());
}

} // namespace hippo
