#include "hippo/train/torch/lane_table.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace hippo {

namespace {

constexpr auto row_bytes = sizeof(hippo_cuda_lane);

} // namespace

lane_table::lane_table(at::Device device, std::size_t lanes) : rows_(lanes) {
  clear();
  if (!device.is_cpu())
    published_ = at::empty({static_cast<std::int64_t>(lanes * row_bytes)},
                           at::TensorOptions(device).dtype(at::kByte));
}

void lane_table::activate(std::size_t lane, const dropout_source& drop) {
  auto& row = rows_[lane];
  row.active = 1;
  row.seed = drop.seed;
  row.step = drop.step;
  row.iteration = drop.iteration;
  row.dropout_limit = static_cast<std::uint32_t>(drop.share * 0x1p32);
  row.dropout_scale = static_cast<float>(1 / (1 - drop.share));
}

void lane_table::clear() {
  hippo_cuda_lane resting{};
  resting.dropout_scale = 1;
  resting.clip = std::numeric_limits<float>::infinity();
  std::ranges::fill(rows_, resting);
}

void lane_table::publish() {
  if (!published_.defined())
    return;
  // A copy that is the allocator's: it stays until the device has read it,
  // while the rows go on.
  const auto staged =
    at::empty(published_.sizes(),
              at::TensorOptions().dtype(at::kByte).pinned_memory(true));
  std::memcpy(staged.mutable_data_ptr(), rows_.data(), staged.nbytes());
  published_.copy_(staged, /*non_blocking=*/true);
}

bool lane_table::drops() const {
  return std::ranges::any_of(
    rows_, [](const auto& x) { return x.dropout_scale != 1; });
}

const hippo_cuda_lane* lane_table::published() const {
  return published_.defined()
           ? static_cast<const hippo_cuda_lane*>(published_.const_data_ptr())
           : rows_.data();
}

at::Tensor lane_table::clip() const {
  auto* first = reinterpret_cast<const float*>(&published()->clip);
  constexpr auto stride = static_cast<std::int64_t>(row_bytes / sizeof(float));
  return at::from_blob(const_cast<float*>(first),
                       {static_cast<std::int64_t>(lanes())}, {stride},
                       published_.defined()
                         ? published_.options().dtype(at::kFloat)
                         : at::TensorOptions().dtype(at::kFloat));
}

} // namespace hippo
