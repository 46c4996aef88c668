#include "store/sample_state.hpp"

#include <limits>

namespace hippo {

std::vector<journal_record> sample_records() {
  constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
  const auto lr = [](double value) {
    return configuration{{"lr", form::constant(value)}};
  };
  stored_study study;
  study.id = study_id{1};
  study.name = "sample";
  study.file = "sample.yaml";
  study.text = "study: sample\n";
  study.metric = "acc";
  study_command widen;
  widen.what = study_command::verb::widen;
  widen.text = "2";
  stored_trial trial;
  trial.state = trial_state::complete;
  trial.params = R"({"lr": 0.1})";
  trial.asked_to = 20;
  trial.steps = 20;
  trial.best = stored_best{10, 0.5};
  return {
    lease_epoch_begun{3},
    node_added{sample_key, {node_id{1}, root_node, 0, 0, lr(0.1)}},
    node_added{sample_key, {node_id{2}, node_id{1}, 10, 0, lr(0.2)}},
    // Strands of studies that share nothing: 64 bits, and a small one.
    node_added{sample_key,
               {node_id{3}, root_node, 0,
                std::numeric_limits<std::uint64_t>::max(), lr(0.1)}},
    node_added{sample_key, {node_id{4}, root_node, 0, 7, lr(0.1)}},
    result_added{sample_key,
                 {node_id{1}, 10, {{"acc", 0.5}, {"loss", 1}}, "cpu"}},
    result_added{sample_key,
                 {node_id{2}, 20, {{"acc", nan}, {"loss", -0.0}}, "cpu"}},
    checkpoint_added{sample_key, {node_id{2}, 20, {"n2-s20.ckpt", 4096, 99}}},
    output_added{sample_key, {node_id{1}, 10, "a line\n"}},
    study_saved{study},
    event_added{study_id{1}, {}, widen},
    event_added{study_id{1}, sample_key, trial_measured{0, node_id{1}, 10, {}}},
    event_added{study_id{1}, sample_key, trial_measured{0, node_id{2}, 20, {}}},
    event_added{
      study_id{1}, {}, trial_failed{1, 5, {errc::io_failed, "no disk"}}},
    trial_saved{study_id{1}, trial},
    steps_trained{sample_key, 20, 1.5},
  };
}

} // namespace hippo
