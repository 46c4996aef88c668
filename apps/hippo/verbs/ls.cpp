#include <memory>

#include "client_listings.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct list_arguments {
  service_address server;
  listing_options listing;
};

int list(list_arguments& x) {
  return with_service(x.server, [&](client& service) {
    const auto studies = service.studies();
    return studies ? x.listing.print(list_studies(*studies))
                   : refuse(studies.failure());
  });
}

} // namespace

void add_ls(verb_table& verbs) {
  const auto x = std::make_shared<list_arguments>();
  auto* verb
    = verbs.add(service_group, "ls", "List the studies of a service",
                "hippo ls --filter state=RUNNING --sort best:desc",
                [x] { return list(*x); });
  x->listing.add_to(*verb);
  x->server.add_to(*verb);
  x->server.add_state_to(*verb);
}

} // namespace hippo
