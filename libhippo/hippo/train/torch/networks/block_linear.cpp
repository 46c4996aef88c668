#include "hippo/train/torch/networks/block_linear.hpp"

#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>
#include <vector>

#include "hippo/train/torch/networks/dropout.hpp"
#include "hippo/train/torch/subnetworks.hpp"

namespace hippo {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Where activations were dropped.
struct dropped_place {
  const step_values* values;
  std::uint64_t layer;
};

/// The examples that keep a block of features.
struct kept_examples {
  /// First ones and counts of ranges, in order.
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  at::Tensor indices;

  [[nodiscard]] at::Tensor of(const at::Tensor& rows) const {
    return rows.index_select(0, indices);
  }

  /// Calls `put(there, here)` for the rows of `all` that are kept, and those of
  /// `kept` that have their values.
  template <class Put>
  void each_range(const at::Tensor& all, const at::Tensor& kept,
                  const Put& put) const {
    std::int64_t at = 0;
    for (const auto& [first, count] : ranges) {
      put(all.narrow(0, first, count), kept.narrow(0, at, count));
      at += count;
    }
  }
};

/// Returns those of each block of a layer.
std::vector<kept_examples> kept_of(const dropped_place& where,
                                   std::int64_t examples,
                                   std::int64_t features) {
  const auto& values = **where.values;
  std::vector<kept_examples> result(
    static_cast<std::size_t>(features / values.dropout_block));
  const auto keep = [&](std::int64_t first, std::int64_t count,
                        const random_numbers& numbers) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (static_cast<std::uint32_t>(numbers.at(i)) < values.dropout_limit)
        continue;
      auto& ranges = result[i].ranges;
      if (!ranges.empty()
          && ranges.back().first + ranges.back().second == first)
        ranges.back().second += count;
      else
        ranges.emplace_back(first, count);
    }
  };
  each_slot(values, where.layer, examples, keep);
  for (auto& x : result) {
    std::vector<at::Tensor> parts{at::empty({0}, at::kLong)};
    for (const auto& [first, count] : x.ranges)
      parts.push_back(at::arange(first, first + count, at::kLong));
    x.indices = at::cat(parts);
  }
  return result;
}

class block_linear : public torch::autograd::Function<block_linear> {
public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const dropped_place& where) {
    context->save_for_backward({x, weight});
    context->saved_data["place"] =
      at::from_blob(const_cast<dropped_place*>(&where), {sizeof where},
                    at::kByte)
        .clone();
    const auto kept = kept_of(where, x.size(0), x.size(1));
    const std::int64_t width = (**where.values).dropout_block;
    auto y = bias.expand({x.size(0), bias.size(0)}).contiguous();
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i].ranges.empty())
        continue;
      const auto block = [&](const at::Tensor& all) {
        return all.narrow(1, static_cast<std::int64_t>(i) * width, width);
      };
      kept[i].each_range(
        y, kept[i].of(block(x)).mm(block(weight).t()),
        [](const at::Tensor& to, const at::Tensor& from) { to.add_(from); });
    }
    return y;
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto& x = saved[0];
    const auto& weight = saved[1];
    const auto bytes = context->saved_data["place"].toTensor();
    const auto& where =
      *static_cast<const dropped_place*>(bytes.const_data_ptr());
    const auto dy = gradients[0].contiguous();
    const auto kept = kept_of(where, x.size(0), x.size(1));
    const std::int64_t width = (**where.values).dropout_block;
    auto dx = at::zeros_like(x);
    auto dweight = at::empty_like(weight);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const auto block = [&](const at::Tensor& all) {
        return all.narrow(1, static_cast<std::int64_t>(i) * width, width);
      };
      if (kept[i].ranges.empty()) {
        block(dweight).zero_();
        continue;
      }
      const auto rows = kept[i].of(dy);
      kept[i].each_range(
        block(dx), rows.mm(block(weight)),
        [](const at::Tensor& to, const at::Tensor& from) { to.copy_(from); });
      block(dweight).addmm_(rows.t(), kept[i].of(block(x)), /*beta=*/0);
    }
    return {dx, dweight, dy.sum(0), {}};
  }
};

} // namespace

bool skips_blocks(const step_values& values, std::int64_t examples,
                  std::int64_t out) {
  const std::int64_t block = values->dropout_block;
  return values->dropout_slots != 0 && block >= skipped_block_min
         && block * examples >= skipped_size_min && out >= skipped_out_min
         && values->dropout_limit
              >= static_cast<std::uint32_t>(skipped_share_min * 0x1p32);
}

at::Tensor linear_after_dropout(const at::Tensor& tensor,
                                const step_values* values, std::uint64_t layer,
                                const at::Tensor& weight,
                                const at::Tensor& bias) {
  const auto x = dropped(tensor, values, layer);
  if (values == nullptr || !x.is_cpu() || x.scalar_type() != at::kFloat
      || at::autocast::is_autocast_enabled(at::kCPU)
      || !skips_blocks(*values, x.size(0), weight.size(0)))
    return at::linear(x, weight, bias);
  return linear_by_blocks(x, *values, layer, weight, bias);
}

at::Tensor linear_by_blocks(const at::Tensor& tensor, const step_values& values,
                            std::uint64_t layer, const at::Tensor& weight,
                            const at::Tensor& bias) {
  return block_linear::apply(tensor, weight, bias,
                             dropped_place{&values, layer});
}

} // namespace hippo
