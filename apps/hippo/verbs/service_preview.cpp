#include "verbs/service_preview.hpp"

#include <iostream>
#include <utility>

#include "client_listings.hpp"
#include "outcome.hpp"
#include "studies.hpp"
#include "verbs/client_options.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

int preview_by_service(client& service,
                       const std::vector<study_source>& sources,
                       bool as_json) {
  listing shown;
  shown.columns = {{"study"},
                   {"trials", cell_look::number},
                   {"asked", cell_look::number},
                   {"unique", cell_look::number},
                   {"known", cell_look::number},
                   {"new", cell_look::number}};
  auto all = json::array();
  for (const auto& source : sources) {
    const auto text = service.preview(source.text, source.name);
    if (!text)
      return refuse(text.failure());
    auto x = read_json(*text);
    std::vector<json> row{source.name};
    for (const auto* name : {"trials", "asked_steps", "unique_steps",
                             "known_steps", "new_steps"})
      row.push_back(x.is_object() ? x.value(name, json()) : json());
    shown.rows.push_back(std::move(row));
    all.push_back(std::move(x));
  }
  if (as_json) {
    std::cout << to_pretty_json(all);
    return exit_done;
  }
  return listing_options{}.print(shown);
}

} // namespace

int preview_by_service(const std::string& address,
                       const std::vector<std::string>& files, bool as_json) {
  const auto sources = read_sources(files);
  if (!sources)
    return fail(sources.failure(), exit_bad_input);
  service_address where;
  where.text = address;
  return with_service(where, [&](client& service) {
    return preview_by_service(service, *sources, as_json);
  });
}

} // namespace hippo
