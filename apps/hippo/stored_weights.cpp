#include "stored_weights.hpp"

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
#include "hippo/code/study_code.hpp"
#include "hippo/core/hash.hpp"
#include "hippo/core/number.hpp"
#include "hippo/store/state_reader.hpp"
#include "hippo/train/checkpoint_file.hpp"
#include "hippo/wire/codec.hpp"
#include "outcome.hpp"
#include "studies.hpp"
#include "temporary_file.hpp"

namespace hippo {

namespace {

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

} // namespace

std::optional<error> export_weights(const weights_request& x) {
  auto folder = state_reader::open(x.state);
  if (!folder)
    return folder.failure();
  auto& state = **folder;
  const auto study = state.load_study(std::to_string(x.study));
  if (!study)
    return study.failure();
  const auto last = state.load_node(x.study, x.trial, x.step);
  if (!last)
    return last.failure();
  if (!*last)
    return error{errc::invalid_argument,
                 "trial " + std::to_string(x.trial)
                   + " was not trained to step " + std::to_string(x.step)
                   + " here: there are no weights of it"};
  auto catalogue = make_catalogue(x.trainer_program, x.libraries);
  if (!catalogue)
    return catalogue.failure();
  const auto loaded = load_studies({{study->file, study->text}}, *catalogue);
  if (!loaded)
    return error{errc::invalid_study,
                 "the study needs workloads that are unknown here: give the "
                 "same --workload as to `hippo run`"};
  const auto& spec = loaded->front().spec;
  const auto key = key_of(spec.workload);
  const auto plan = state.load_plan(key);
  if (!plan)
    return plan.failure();
  auto recipe = make_recipe(
    *plan, **last, x.step,
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
  command.insert(command.end(), {"--export", x.file, "--recipe",
                                 file.path()});
  auto said = run_program(command);
  if (!said)
    return said.failure();
  if (said->exit_code != 0)
    return error{errc::training_failed, "the export failed: " + said->err};
  return std::nullopt;
}

} // namespace hippo
