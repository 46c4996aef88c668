#include <memory>

#include "follow.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct watch_arguments {
  study_argument of;
  bool quiet = false;
};

int watch(const watch_arguments& x) {
  return with_study(x.of, [&](client& service, const study_handle& study) {
    return follow(service, {study}, x.quiet);
  });
}

} // namespace

void add_watch(verb_table& verbs) {
  const auto x = std::make_shared<watch_arguments>();
  auto* verb = x->of.add_to(verbs.add(
    service_group, "watch", "Show how a study goes until it has ended",
    "hippo watch lr-schedules", [x] { return watch(*x); }));
  verb->add_flag("--quiet", x->quiet, "Show only how it ends");
}

} // namespace hippo
