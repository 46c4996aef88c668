#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "child_process.hpp"
#include "client_listings.hpp"
#include "hippo/base/text.hpp"
#include "hippo/base/whole_file.hpp"
#include "hippo/report/report.hpp"
#include "hippo/report/tensorboard.hpp"
#include "outcome.hpp"
#include "stored_weights.hpp"
#include "verbs/client_options.hpp"
#include "verbs/verbs.hpp"

namespace hippo {

namespace {

struct export_arguments {
  study_argument of;
  weights_options how;
  std::optional<std::uint64_t> trial; ///< whose weights are wanted
  std::optional<step_t> step;         ///< unless given, the last measured one
  std::string weights;                ///< file for them; empty: not wanted
  std::string tensorboard; ///< folder for event files; empty: not wanted
  std::string optuna;      ///< journal file; empty: not wanted
  bool csv = false;
  bool json = false;
  std::string file;
};

/// Writes the weights of one trial.
int export_weights_of(const export_arguments& x, study_handle& study) {
  const auto trials = study.trials(*x.trial);
  if (!trials)
    return refuse(trials.failure());
  if (trials->empty() || trials->front().trial != *x.trial)
    return fail({errc::invalid_argument,
                 "study " + x.of.study + " has no trial "
                   + std::to_string(*x.trial)},
                exit_bad_input);
  const auto step = x.step.value_or(trials->front().delivered_steps);
  if (const auto why
      = export_weights(study, {*x.trial, step, x.weights}, x.how))
    return refuse(*why);
  std::cerr << "weights of trial " << *x.trial << " at step " << step << ": "
            << x.weights << '\n';
  return exit_done;
}

/// Returns the trials as the CSV of a report.
expected<std::string> export_csv(study_handle& study) {
  const auto known = study.describe();
  if (!known)
    return known.failure();
  const auto trials = study.trials();
  if (!trials)
    return trials.failure();
  run_record result;
  auto& out = result.studies.emplace_back();
  out.name = known->view.name;
  out.metric = known->view.metric;
  out.direction = known->view.direction;
  for (const auto& x : *trials) {
    auto& trial = out.trials.emplace_back();
    trial.id = x.trial;
    trial.state = x.state;
    trial.params = read_json(x.params);
    trial.steps = x.delivered_steps;
    trial.shared_steps = x.shared_steps;
    if (x.best)
      trial.results = {{x.best->step, {{out.metric, x.best->value}}}};
  }
  return trials_csv(result);
}

/// Returns the trials of `study_handle::export_json`.
expected<std::vector<trial_record>> read_trials(const std::string& text) {
  const auto all = nlohmann::ordered_json::parse(text, nullptr, false);
  std::vector<trial_record> result;
  try {
    for (const auto& x : all.at("trials")) {
      auto& trial = result.emplace_back();
      trial.id = x.at("id");
      trial.params = x.at("params");
      for (auto i = trial_state::pending; i <= trial_state::cancelled;
           i = static_cast<trial_state>(static_cast<int>(i) + 1))
        if (x.at("state") == to_string(i))
          trial.state = i;
      for (const auto& y : x.at("results")) {
        auto& measured = trial.results.emplace_back();
        measured.step = y.at("step");
        for (const auto& [name, value] : y.at("metrics").items())
          measured.values[name] = value.is_number()
                                    ? value.get<double>()
                                    : std::nan(""); // JSON has no word for it
      }
    }
  } catch (const nlohmann::json::exception& why) {
    return {errc::malformed_message,
            std::string{"what the service says of the study: "} + why.what()};
  }
  return result;
}

/// Takes a folder for a study, so that no trials of another get among its own:
/// beside what is of the first one stands whose it is.
/// @returns `errc::invalid_argument` if it is another's, or `errc::io_failed`
std::optional<error> claim(const std::filesystem::path& folder,
                           const std::string& uid) {
  const auto path = folder / "trial-00000" / "hippo-study";
  std::string known;
  if (std::ifstream in{path}; in >> known && known != uid)
    return error{errc::invalid_argument,
                 folder.string()
                   + " has the trials of another study: give another folder"};
  std::error_code reason;
  std::filesystem::create_directories(path.parent_path(), reason);
  return write_whole(path, uid + '\n');
}

/// Writes the trials for TensorBoard, a folder each.
int export_to_tensorboard(const export_arguments& x, study_handle& study) {
  namespace fs = std::filesystem;
  const auto text = study.export_json();
  if (!text)
    return refuse(text.failure());
  const auto trials = read_trials(*text);
  if (!trials)
    return refuse(trials.failure());
  const auto known = study.describe();
  if (!known)
    return refuse(known.failure());
  if (!trials->empty())
    if (auto why = claim(x.tensorboard, known->view.uid))
      return fail(*why, why->code == errc::invalid_argument ? exit_bad_input
                                                            : exit_failed);
  const auto now = std::chrono::duration<double>(
    std::chrono::system_clock::now().time_since_epoch());
  for (const auto& trial : *trials) {
    auto name = std::to_string(trial.id);
    name.insert(0, 5 - std::min<std::size_t>(5, name.size()), '0');
    const auto folder = fs::path{x.tensorboard} / ("trial-" + name);
    std::error_code reason;
    fs::create_directories(folder, reason);
    whole_file_options how;
    how.synced = false; // there may be thousands
    if (const auto why = write_whole(folder / "events.out.tfevents.hippo",
                                     tensorboard_events(trial, now.count()),
                                     how))
      return fail(*why, exit_failed);
  }
  std::cerr << counted(trials->size(), "trial") << ": tensorboard --logdir "
            << x.tensorboard << '\n';
  return exit_done;
}

/// Has the Python package write the trials for Optuna, which has a format of
/// its own for each of its versions.
int export_to_optuna(const export_arguments& x) {
  const auto service = connect(x.of.server);
  if (!service)
    return refuse(service.failure());
  const auto& folder = service->folder;
  std::vector<std::string> command{
    "python3", "-m", "hippo_hpo.export_optuna", "--server",
    folder ? folder->address() : x.of.server.text};
  if (!folder && !x.of.server.keys.empty())
    command.insert(command.end(), {"--keys", x.of.server.keys});
  command.insert(command.end(), {"--", x.of.study, x.optuna});
  const auto said = run_program(command);
  if (said && said->exit_code == 0) {
    std::cerr << said->out;
    return exit_done;
  }
  auto why = said ? said->err : said.failure().message;
  while (!why.empty() && why.back() == '\n')
    why.pop_back();
  why.erase(0, why.rfind('\n') + 1);
  if (why.find("No module named") != std::string::npos)
    why = "python3 has no Optuna, or not Hippo's Python package (" + why
          + "): pip install 'hippo-hpo[optuna]'";
  return fail({errc::io_failed, why}, exit_failed);
}

int export_study(const export_arguments& x, study_handle& study) {
  if (!x.tensorboard.empty())
    return export_to_tensorboard(x, study);
  const auto text = x.csv ? export_csv(study) : study.export_json();
  if (!text)
    return refuse(text.failure());
  if (x.file.empty()) {
    std::cout << *text;
    return exit_done;
  }
  if (const auto why = write_whole(x.file, *text))
    return fail(*why, exit_failed);
  return exit_done;
}

int export_study(export_arguments& x) {
  if (x.trial.has_value() == x.weights.empty())
    return fail({errc::invalid_argument,
                 "--weights goes with the number of a trial"},
                exit_bad_input);
  if (x.csv + x.json + !x.weights.empty() + !x.tensorboard.empty()
        + !x.optuna.empty()
      != 1)
    return fail({errc::invalid_argument, "give one of --csv, --json, --optuna, "
                                         "--tensorboard and --weights"},
                exit_bad_input);
  if (auto why = x.of.server.know(x.how.common))
    return fail(*why, exit_bad_input);
  if (!x.optuna.empty())
    return export_to_optuna(x);
  return with_study(x.of, [&](client&, study_handle& study) {
    return x.trial ? export_weights_of(x, study) : export_study(x, study);
  });
}

} // namespace

void add_export(verb_table& verbs) {
  const auto x = std::make_shared<export_arguments>();
  auto* verb = x->of.add_to(
    verbs.add(service_group, "export",
              "Print all that is known of a study, or write a trial's weights",
              "hippo export lr-schedules --csv -o trials.csv",
              [x] { return export_study(*x); }));
  verb->add_option("trial", x->trial, "One of its trials, for --weights");
  x->of.server.add_state_to(*verb);
  auto* weights = verb->add_option(
    "--weights", x->weights,
    "Write the trial's weights here, for Python's torch.load");
  verb
    ->add_option("--step", x->step,
                 "The step at which it had them (default: its last result)")
    ->needs(weights);
  x->how.add_to(*verb);
  verb->add_flag("--csv", x->csv, "Its trials, one a line");
  verb->add_flag("--json", x->json, "Everything");
  verb->add_option("--tensorboard", x->tensorboard,
                   "Write its trials into this folder, for TensorBoard: "
                   "curves, and hyper-parameters");
  verb->add_option("--optuna", x->optuna,
                   "Write its trials into this journal file of Optuna, for "
                   "optuna-dashboard; needs Hippo's Python package and Optuna");
  verb->add_option("-o,--output", x->file, "Write it here");
}

} // namespace hippo
