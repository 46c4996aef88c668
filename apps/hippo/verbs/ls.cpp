#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "client_listings.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct list_arguments {
  service_address server;
  listing_options listing;
  std::vector<std::string> tags;
  std::string search;
  bool removed = false;
};

/// Whether a study has all of some tags, and a text in what people call it.
bool is_wanted(const study_view& study, const list_arguments& x) {
  const auto has = [&](const std::string& tag) {
    return std::ranges::count(study.tags, tag) > 0;
  };
  const auto contains = [&](const std::string& text) {
    return text.find(x.search) != std::string::npos;
  };
  return std::ranges::all_of(x.tags, has)
         && (contains(study.name) || contains(study.note)
             || std::ranges::any_of(study.tags, contains));
}

int list(list_arguments& x) {
  return with_service(x.server, [&](client& service) {
    auto studies = service.studies(x.removed);
    if (!studies)
      return refuse(studies.failure());
    std::erase_if(*studies, [&](const auto& y) { return !is_wanted(y, x); });
    return x.listing.print(list_studies(*studies));
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
  verb
    ->add_option("--tag", x->tags,
                 "Only studies with this tag; with all of "
                 "several")
    ->type_size(1)
    ->allow_extra_args(false);
  verb->add_option("--search", x->search,
                   "Only studies with this text in their name, note or tags");
  verb->add_flag("--removed", x->removed, "Also studies that are hidden");
  x->server.add_to(*verb);
  x->server.add_state_to(*verb);
}

} // namespace hippo
