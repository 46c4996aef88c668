#include <algorithm>
#include <exception>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "hippo/train/checkpoint_store.hpp"
#include "hippo/train/made_workload.hpp"
#include "hippo/train/recent_states.hpp"
#include "hippo/train/run.hpp"
#include "hippo/wire/codec.hpp"
#include "modes/modes.hpp"

namespace hippo {

namespace {

expected<lease> read_recipe(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (!in || bytes.size() % sizeof(capnp::word) != 0)
    return {errc::io_failed, path + " is no recipe of `hippo best`"};
  auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
  std::copy(bytes.begin(), bytes.end(), words.asChars().begin());
  return decode(wire<schema::Lease>{kj::mv(words)});
}

} // namespace

int export_weights(const trainer_options& opts,
                   const workload_registry& registry,
                   const std::string& device) {
  const auto recipe = read_recipe(opts.recipe);
  if (!recipe)
    return fail(recipe.failure(), exit_usage);
  folder_store store{recipe->folder};
  auto made = make_workload(registry, *recipe, store);
  if (!made)
    return fail(made.failure(), exit_failed);
  lease_control control{recipe->stops};
  lease_progress progress;
  std::optional<checkpoint> present;
  recent_states none{0};
  const auto end = run(
    *made->work, present, none, *recipe, store, device, control, progress,
    [] { return 0; }, [](const stop_report&) {});
  if (end.failure)
    return fail(*end.failure, exit_failed);
  try {
    made->work->export_weights(opts.weights);
  } catch (const std::exception& e) {
    return fail({errc::io_failed, e.what()}, exit_failed);
  }
  return exit_done;
}

} // namespace hippo
