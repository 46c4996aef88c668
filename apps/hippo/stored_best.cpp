#include "stored_best.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "child_process.hpp"
#include "hippo/core/hash.hpp"
#include "hippo/core/number.hpp"
#include "hippo/store/state_reader.hpp"
#include "hippo/train/checkpoint_file.hpp"
#include "hippo/train/study_code.hpp"
#include "hippo/wire/codec.hpp"
#include "outcome.hpp"
#include "studies.hpp"
#include "temporary_file.hpp"

namespace hippo {

namespace {

/// Adds which studies there are.
error with_studies(error why, state_reader& state) {
  const auto studies = state.load_studies();
  if (why.code != errc::unknown_study || !studies)
    return why;
  why.message += studies->empty() ? "; there is none" : "; there are:";
  for (const auto& x : *studies)
    why.message += ' ' + x.name;
  return why;
}

/// Returns the nodes that lead to state `step` of a node, root's child first.
std::vector<const stored_node*> way_to(const stored_plan& plan,
                                       std::uint64_t last, step_t step) {
  std::unordered_map<std::uint64_t, const stored_node*> by_id;
  for (const auto& x : plan.nodes)
    by_id.emplace(x.id, &x);
  std::vector<const stored_node*> result;
  for (auto i = by_id.find(last); i != by_id.end();
       i = by_id.find(i->second->parent))
    if (i->second->begin < step)
      result.push_back(i->second);
  std::reverse(result.begin(), result.end());
  return result;
}

/// Describes training from the last state at or before `step` that can still be
/// read up to it.
lease make_recipe(const stored_plan& plan, std::uint64_t last, step_t step,
                  std::string folder) {
  lease result;
  result.number = 1;
  result.folder = std::move(folder);
  const auto way = way_to(plan, last, step);
  for (std::size_t i = 0; i < way.size(); ++i) {
    const auto& node = *way[i];
    const auto end = i + 1 < way.size() ? way[i + 1]->begin : step;
    result.stages.push_back({node.id, node.begin, end, node.config});
    for (const auto& x : plan.checkpoints)
      if (x.node == node.id && x.step <= end
          && read_checkpoint(result.folder, x.file)) {
        // It makes all that was to come before it needless.
        result.start = x.file;
        result.stages = {{node.id, x.step, end, node.config}};
      }
  }
  result.stops = {{step, false, false}};
  return result;
}

std::optional<error> export_best(const best_options& options,
                                 state_reader& state, const stored_study& x,
                                 std::uint64_t last, step_t step) {
  auto catalogue = make_catalogue(options.trainer_program, options.libraries);
  if (!catalogue)
    return catalogue.failure();
  const auto loaded = load_studies({{x.file, x.text}}, *catalogue);
  if (!loaded)
    return error{errc::invalid_study,
                 "the study needs workloads that are unknown here: give the "
                 "same --workload as to `hippo run`"};
  const auto& spec = loaded->front().spec();
  const auto key = key_of(spec.workload);
  const auto plan = state.load_plan(key);
  if (!plan)
    return plan.failure();
  auto recipe = make_recipe(
    *plan, last, step,
    std::filesystem::absolute(state.checkpoints()).string() + '/'
      + hash_text(key));
  recipe.workload = spec.workload;
  if (!spec.code.empty()) {
    recipe.code = {code_file_name, spec.code.size(),
                   hash_bytes(spec.code.data(), spec.code.size())};
    if (!read_checkpoint(recipe.folder, recipe.code))
      if (auto left
          = write_checkpoint(recipe.folder, code_file_name, spec.code);
          !left)
        return left.failure();
  }
  const temporary_file file{"hippo-recipe"};
  const auto message = encode(recipe);
  const auto bytes = message.words().asChars();
  if (!file.write({bytes.begin(), bytes.size()}))
    return error{errc::io_failed, "cannot write " + file.path()};
  auto command = catalogue->trainer_command();
  command.insert(command.end(), {"--export", options.weights, "--recipe",
                                 file.path()});
  auto said = run_program(command);
  if (!said)
    return said.failure();
  if (said->exit_code != 0)
    return error{errc::training_failed, "the export failed: " + said->err};
  return std::nullopt;
}

} // namespace

void print_best(const best_trial& x, bool json) {
  const auto params = nlohmann::ordered_json::parse(x.params);
  if (json) {
    const nlohmann::ordered_json shown{{"study", x.study},
                                       {"trial", x.trial},
                                       {"step", x.step},
                                       {"metric", x.metric},
                                       {"value", x.value},
                                       {"params", params}};
    std::cout << shown.dump(2) << '\n';
    return;
  }
  std::cout << "study " << x.study << ": trial " << x.trial << " at step "
            << x.step << ", " << x.metric << ' ' << to_text(x.value) << '\n';
  for (const auto& [name, value] : params.items())
    std::cout << "  " << name << ": " << value.dump() << '\n';
}

int best_in_folder(const best_options& options) {
  auto state = state_reader::open(options.state);
  if (!state)
    return fail(state.failure(), exit_bad_input);
  auto study = (*state)->load_study(options.study);
  if (!study)
    return fail(with_studies(study.failure(), **state), exit_bad_input);
  auto best = (*state)->load_best(*study);
  if (!best)
    return fail(best.failure(), exit_failed);
  if (!*best)
    return fail({errc::invalid_argument,
                 "study '" + options.study + "' has no result yet"},
                exit_failed);
  const auto& [trial, node] = **best;
  const auto [step, value] = *trial.best;
  print_best({study->name, trial.trial, step, study->metric, value,
              trial.params},
             options.json);
  if (options.weights.empty())
    return exit_done;
  if (!node)
    return fail({errc::invalid_argument,
                 "a client has measured trial " + std::to_string(trial.trial)
                   + ": its weights are not here"},
                exit_failed);
  if (auto why = export_best(options, **state, *study, *node, step))
    return fail(*why, exit_failed);
  std::cerr << "weights: " << options.weights << '\n';
  return exit_done;
}

} // namespace hippo
