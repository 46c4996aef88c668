#include "hippo/train/torch/clicks/click_batch.hpp"

namespace hippo {

click_batch click_batch::on(at::Device device) const {
  const auto there = [&](const at::Tensor& tensor) {
    return tensor.to(device, /*non_blocking=*/true);
  };
  return {there(numbers), there(rows), there(labels), there(shares)};
}

click_batch deal_out(const click_log& log, std::int64_t parts,
                     std::int64_t table_rows, bool is_pinned) {
  const auto size = log.size(), most = (size + parts - 1) / parts;
  auto places = at::zeros({parts, most}, at::kLong);
  auto shares = at::zeros({parts, most}, at::kFloat);
  for (std::int64_t part = 0; part < parts; ++part) {
    const auto begin = size * part / parts,
               count = size * (part + 1) / parts - begin;
    for (std::int64_t i = 0; i < count; ++i) {
      places.mutable_data_ptr<std::int64_t>()[part * most + i] = begin + i;
      shares.mutable_data_ptr<float>()[part * most + i]
        = 1 / static_cast<float>(count);
    }
  }
  const auto dealt = [&](const at::Tensor& tensor) {
    auto shape = tensor.sizes().vec();
    shape.front() = most;
    shape.insert(shape.begin(), parts);
    return tensor.index_select(0, places.flatten()).view(shape);
  };
  const auto tables
    = at::arange(click_log::category_count, at::kLong) * table_rows;
  const click_batch result{dealt(log.numbers),
                           dealt(log.rows).to(at::kLong) + tables,
                           dealt(log.labels), shares};
  if (!is_pinned)
    return result;
  return {result.numbers.pin_memory(), result.rows.pin_memory(),
          result.labels.pin_memory(), result.shares.pin_memory()};
}

} // namespace hippo
