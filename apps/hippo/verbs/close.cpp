#include <memory>

#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

void add_close(verb_table& verbs) {
  const auto x = std::make_shared<study_argument>();
  x->add_to(verbs.add(
    service_group, "close", "Let a study that you drive end with its trials",
    "hippo close mine", [x] {
      return with_study(*x, [](client&, study_handle& study) {
        return refuse(study.close());
      });
    }));
}

} // namespace hippo
