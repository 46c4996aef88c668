#include "trial_output.hpp"

#include <chrono>
#include <iostream>
#include <thread>

#include "hippo/store/state_reader.hpp"

namespace hippo {

namespace {

constexpr auto look_interval = std::chrono::seconds(1);

/// Outputs that are read at a time.
constexpr std::size_t outputs_per_read = 100;

} // namespace

std::optional<error>
print_output(bool follow,
             const std::function<expected<trial_output>(step_t)>& read) {
  for (step_t first = 0;;) {
    const auto part = read(first);
    if (!part)
      return part.failure();
    std::cout << part->text << std::flush;
    if (!std::cout)
      return std::nullopt; // whoever reads has enough
    const bool is_all = part->next == first;
    first = part->next;
    if (!is_all)
      continue;
    if (!follow || part->ended)
      return std::nullopt;
    std::this_thread::sleep_for(look_interval);
  }
}

std::optional<error> print_stored_output(const std::string& state,
                                         const std::string& study,
                                         std::uint64_t trial, bool follow) {
  auto folder = state_reader::open(state);
  if (!folder)
    return folder.failure();
  const auto found = (*folder)->load_study(study);
  if (!found)
    return found.failure();
  return print_output(follow, [&](step_t first) {
    return read_output(**folder, found->id, trial, first, outputs_per_read);
  });
}

} // namespace hippo
