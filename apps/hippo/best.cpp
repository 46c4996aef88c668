#include "best.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include <unistd.h>

#include "child_process.hpp"
#include "hippo/core/hash.hpp"
#include "hippo/core/number.hpp"
#include "hippo/store/state_folder.hpp"
#include "hippo/train/checkpoint_file.hpp"
#include "hippo/tune/algorithm.hpp"
#include "hippo/wire/codec.hpp"
#include "outcome.hpp"
#include "study_note.hpp"

namespace hippo {

namespace {

/// Adds which studies there are.
error with_studies(error why, state_folder& state) {
  const auto names = state.study_names();
  if (why.code != errc::unknown_study || !names)
    return why;
  why.message += names->empty() ? "; there is none" : "; there are:";
  for (const auto& name : *names)
    why.message += ' ' + name;
  return why;
}

/// The stored node that continues `parent` with a segment, if there is one.
const stored_node* find_node(const stored_plan& plan, std::uint64_t parent,
                             const segment& x, std::uint64_t lane) {
  for (const auto& node : plan.nodes)
    if (node.parent == parent && node.begin == x.begin && node.root_tag == lane
        && node.config == x.config)
      return &node;
  return nullptr;
}

/// Describes training from the last state at or before `step` that can still be
/// read up to it.
lease make_recipe(const stored_plan& plan, const std::vector<segment>& segments,
                  std::uint64_t lane, step_t step, std::string folder) {
  lease result;
  result.number = 1;
  result.folder = std::move(folder);
  std::uint64_t parent = 0;
  for (std::size_t i = 0; i < segments.size() && segments[i].begin < step;
       ++i) {
    const auto end = i + 1 < segments.size()
                       ? std::min(segments[i + 1].begin, step)
                       : step;
    const auto* node = find_node(plan, parent, segments[i], lane);
    parent = node == nullptr ? UINT64_MAX : node->id;
    result.stages.push_back({node == nullptr ? 0 : node->id, segments[i].begin,
                             end, segments[i].config});
    for (const auto& x : plan.checkpoints)
      if (node != nullptr && x.node == node->id && x.step <= end
          && read_checkpoint(result.folder, x.file)) {
        // It makes all that was to come before it needless.
        result.start = x.file;
        result.stages = {{node->id, x.step, end, segments[i].config}};
      }
  }
  result.stops = {{step, false, false}};
  return result;
}

/// A file that is gone when its user is done.
class temporary_file {
public:
  explicit temporary_file(const std::string& name)
    : path_((std::filesystem::temp_directory_path()
             / (name + '-' + std::to_string(::getpid())))
              .string()) {}
  ~temporary_file() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
  std::string path_;
};

std::optional<error> export_best(const best_options& options,
                                 state_folder& state, const stored_study& x,
                                 const study_note& note) {
  auto catalogue = make_catalogue(options.trainer_program, options.libraries);
  if (!catalogue)
    return catalogue.failure();
  const auto loaded = load_studies({{note.file, x.text}}, *catalogue);
  if (!loaded)
    return error{errc::invalid_study,
                 "the study needs workloads that are unknown here: give the "
                 "same --workload as to `hippo run`"};
  const auto& spec = loaded->front().spec;
  auto sequences = sampler{spec}.parameters(note.best->trial).sequences;
  const auto defaults = defaults_of(catalogue->at(spec.workload.name));
  sequences.insert(defaults.begin(), defaults.end());
  const auto key = key_of(spec.workload);
  const auto plan = state.load_plan(key);
  if (!plan)
    return plan.failure();
  auto recipe = make_recipe(
    *plan, join(sequences, spec.max_steps),
    note.first_lane ? *note.first_lane + note.best->trial : 0, note.best->step,
    std::filesystem::absolute(state.checkpoints()).string() + '/'
      + hash_text(key));
  recipe.workload = spec.workload;
  const temporary_file file{"hippo-recipe"};
  {
    const auto message = encode(recipe);
    const auto bytes = message.words().asChars();
    std::ofstream out(file.path(), std::ios::binary);
    out.write(bytes.begin(), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush())
      return error{errc::io_failed, "cannot write " + file.path()};
  }
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

int best(const best_options& options) {
  auto state = state_folder::open_read_only(options.state);
  if (!state)
    return fail(state.failure(), 2);
  auto study = (*state)->load_study(options.study);
  if (!study)
    return fail(with_studies(study.failure(), **state), 2);
  auto note = read_note(*study);
  if (!note)
    return fail(note.failure(), 1);
  if (!note->best)
    return fail({errc::invalid_argument,
                 "study '" + options.study + "' has no result yet"},
                1);
  const auto& x = *note->best;
  if (options.json) {
    const nlohmann::ordered_json shown{{"study", options.study},
                                       {"trial", x.trial},
                                       {"step", x.step},
                                       {"metric", note->metric},
                                       {"value", x.value},
                                       {"params", x.params}};
    std::cout << shown.dump(2) << '\n';
  } else {
    std::cout << "study " << options.study << ": trial " << x.trial
              << " at step " << x.step << ", " << note->metric << ' '
              << to_text(x.value) << '\n';
    for (const auto& [name, value] : x.params.items())
      std::cout << "  " << name << ": " << value.dump() << '\n';
  }
  if (options.weights.empty())
    return 0;
  if (auto why = export_best(options, **state, *study, *note))
    return fail(*why, 1);
  std::cerr << "weights: " << options.weights << '\n';
  return 0;
}

} // namespace hippo
