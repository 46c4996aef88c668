#include <iostream>
#include <memory>
#include <string>

#include "client_listings.hpp"
#include "common_options.hpp"
#include "hippo/report/text.hpp"
#include "outcome.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct ask_arguments {
  study_argument of;
  std::string params;
  std::string format = "table";
};

int ask(const ask_arguments& x, study_handle& study) {
  const auto trial = study.ask(x.params);
  if (!trial)
    return refuse(trial.failure());
  const auto params = read_json(trial->params);
  if (x.format == "json") {
    std::cout << to_pretty_json({{"trial", trial->trial}, {"params", params}});
  } else {
    std::cout << trial->trial << '\n';
    std::cerr << "trial " << trial->trial << ": " << printable(brief(params))
              << '\n';
  }
  return exit_done;
}

} // namespace

void add_ask(verb_table& verbs) {
  const auto x = std::make_shared<ask_arguments>();
  auto* verb = x->of.add_to(verbs.add(
    service_group, "ask", "Get one more trial of a study that you drive",
    "hippo ask mine --params '{\"lr\": 0.1}'", [x] {
      return with_study(x->of, [&](client&, study_handle& study) {
        return ask(*x, study);
      });
    }));
  verb->add_option("--params", x->params,
                   "Its values, in JSON or YAML, if the study is not to draw "
                   "them");
  add_format(*verb, x->format);
}

} // namespace hippo
