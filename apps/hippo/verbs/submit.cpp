#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "follow.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "outcome.hpp"
#include "studies.hpp"
#include "verbs/client_options.hpp"
#include "verbs/initial_states.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct submit_arguments {
  service_address server;
  std::vector<std::string> files;
  weights_options how; ///< how states of trials are written
  bool wait = false;
  bool quiet = false;
};

int submit_to(client& service, const std::vector<study_source>& sources,
              const submit_arguments& x) {
  if (sources.size() > 1) // none starts if another is not valid
    for (const auto& source : sources)
      if (const auto valid = service.preview(source.text, source.name);
          !valid && valid.failure().code != errc::resource_exhausted)
        return refuse(valid.failure());
  std::vector<study_handle> studies;
  for (const auto& source : sources) {
    if (const auto why = send_initial_state(service, source.text))
      return refuse(*why);
    const auto done = service.submit(source.text, source.name);
    if (!done)
      return refuse(done.failure());
    if (const auto read
        = admit_study(source.text, source.name, built_in_workloads(),
                      {true, {}});
        read.study)
      warn_unchecked(read.study->spec());
    for (const auto& note : done->notes)
      std::cerr << "note: " << note << '\n';
    for (const auto& warning : done->warnings)
      std::cerr << "warning: " << warning << '\n';
    std::cout << done->id << std::endl;
    if (!x.wait)
      continue;
    auto study = service.study(std::to_string(done->id));
    if (!study)
      return refuse(study.failure());
    studies.push_back(std::move(*study));
  }
  return x.wait ? follow(service, studies, x.quiet) : exit_done;
}

int submit(const submit_arguments& x) {
  fetched_states states{x.server, x.how};
  const auto sources = read_sources(x.files, states.fetcher());
  if (!sources)
    return fail(sources.failure(), exit_bad_input);
  return with_service(x.server, [&](client& service) {
    return submit_to(service, *sources, x);
  });
}

} // namespace

void add_submit(verb_table& verbs) {
  const auto x = std::make_shared<submit_arguments>();
  auto* verb = verbs.add(service_group, "submit", "Give studies to a service",
                         "hippo submit a.yaml b.yaml --wait",
                         [x] { return submit(*x); });
  verb->add_option("files", x->files, "Study files")->required();
  auto* wait = verb->add_flag("--wait", x->wait,
                              "Show how they go until they have ended");
  verb->add_flag("--quiet", x->quiet, "Show only how they end")->needs(wait);
  x->server.add_to(*verb);
  x->how.add_to(*verb);
}

} // namespace hippo
