#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include "common_options.hpp"
#include "outcome.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

struct train_arguments {
  study_argument of;
  std::uint64_t trial = 0;
  step_t until = 0;
  std::string format = "table";
};

int train(const train_arguments& x, study_handle& study) {
  const auto done = study.train(x.trial, x.until);
  if (!done)
    return refuse(done.failure());
  if (x.format == "json") {
    auto metrics = json::object();
    for (const auto& [name, value] : done->metrics)
      metrics[name] = value;
    std::cout << to_pretty_json({{"trial", done->trial},
                                 {"state", to_string(done->state)},
                                 {"step", done->step},
                                 {"metrics", metrics},
                                 {"failure", done->failure}});
  } else {
    listing shown;
    shown.columns = {{"metric"}, {"value"}};
    for (const auto& [name, value] : done->metrics)
      shown.rows.push_back({name, value});
    listing_options options;
    options.print(shown);
  }
  if (done->step >= x.until)
    return exit_done;
  return fail({errc::training_failed,
               "trial " + std::to_string(done->trial) + " has ended at step "
                 + std::to_string(done->step) + ": " + to_string(done->state)
                 + (done->failure.empty() ? "" : ", " + done->failure)},
              exit_failed);
}

} // namespace

void add_train(verb_table& verbs) {
  const auto x = std::make_shared<train_arguments>();
  auto* verb = x->of.add_to(verbs.add(
    service_group, "train", "Train a trial of a study that you drive",
    "hippo train mine 0 --until 3", [x] {
      return with_study(x->of, [&](client&, study_handle& study) {
        return train(*x, study);
      });
    }));
  verb->add_option("trial", x->trial, "Its number, from ask")->required();
  verb->add_option("--until", x->until, "The step to train it to")
    ->required();
  add_format(*verb, x->format);
}

} // namespace hippo
