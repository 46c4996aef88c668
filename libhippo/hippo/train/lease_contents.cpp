#include "hippo/train/lease_contents.hpp"

#include <algorithm>

namespace hippo {

std::optional<error> read_start(state_store& store, const lease& lease,
                                std::string& to) {
  const auto size = store.size_of(lease.start);
  if (!size)
    return size.failure();
  return store.read(
    lease.start,
    [&](const char* data, std::size_t more) -> std::optional<error> {
      if (to.empty())
        to.reserve(*size); // the store has found so many
      to.append(data, more);
      return std::nullopt;
    });
}

std::optional<error> read_start_to_file(state_store& store, const lease& lease,
                                        const std::string& path) {
  auto file = file_writer::create(path);
  if (!file)
    return file.failure();
  return store.read(lease.start, [&](const char* data, std::size_t size) {
    return file->append(data, size);
  });
}

const stage* stage_of_steps(const lease& lease, step_t from, step_t to) {
  const auto x = std::ranges::find_if(lease.stages, [&](const stage& y) {
    return y.begin <= from && from < to && to <= y.end;
  });
  return x == lease.stages.end() ? nullptr : &*x;
}

} // namespace hippo
