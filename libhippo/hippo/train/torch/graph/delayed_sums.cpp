#include "hippo/train/torch/graph/delayed_sums.hpp"

#include <cassert>

namespace hippo {

namespace {

/// The rows of a tensor.
class row_access {
public:
  explicit row_access(const at::Tensor& tensor)
    : at_(tensor.mutable_data_ptr<float>()), width_(tensor.size(1)) {}

  [[nodiscard]] std::int64_t width() const { return width_; }
  [[nodiscard]] float* operator[](std::int64_t row) const {
    return at_ + row * width_;
  }

private:
  float* at_;
  std::int64_t width_;
};

/// Calls `use(first, end)` for the places of the clones of each split node.
template <class F>
void each_split(const edge_rows& split, const F& use) {
  for (std::size_t i = 0; i + 1 < split.offsets.size(); ++i)
    use(split.offsets[i], split.offsets[i + 1]);
}

} // namespace

void part_messages::clear() const {
  for (const auto& x : {remote, up, down})
    x.zero_();
}

void add_clones(const graph_parts& parts, const at::Tensor& rows) {
  const row_access all{rows};
  const auto split = parts.split();
  const auto row_of = [&](std::int64_t place) {
    return all[split.list[static_cast<std::size_t>(place)]];
  };
  each_split(split, [&](std::int64_t first, std::int64_t end) {
    auto* root = row_of(first);
    for (auto leaf = first + 1; leaf < end; ++leaf)
      for (std::int64_t i = 0; i < all.width(); ++i)
        root[i] += row_of(leaf)[i];
    for (auto leaf = first + 1; leaf < end; ++leaf)
      std::copy(root, root + all.width(), row_of(leaf));
  });
}

void add_delayed(const graph_parts& parts, step_t epoch, step_t delay,
                 const part_messages& messages, const at::Tensor& rows) {
  assert(delay > 1);
  const row_access all{rows}, remote{messages.remote}, up{messages.up},
    down{messages.down};
  const auto split = parts.split();
  const auto row_of = [&](std::int64_t place) {
    return all[split.list[static_cast<std::size_t>(place)]];
  };
  each_split(split, [&](std::int64_t first, std::int64_t end) {
    const auto root = split.list[static_cast<std::size_t>(first)];
    const bool exchanges = parts.nodes()[root] % delay == epoch % delay;
    for (std::int64_t i = 0; exchanges && i < all.width(); ++i) {
      float arrived = 0;
      for (auto leaf = first + 1; leaf < end; ++leaf) {
        arrived += up[leaf][i];
        remote[leaf][i] = down[leaf][i];
      }
      remote[first][i] = arrived;
      for (auto leaf = first + 1; leaf < end; ++leaf) {
        down[leaf][i] = row_of(first)[i] + (arrived - up[leaf][i]);
        up[leaf][i] = row_of(leaf)[i];
      }
    }
    for (auto place = first; place < end; ++place)
      for (std::int64_t i = 0; i < all.width(); ++i)
        row_of(place)[i] += remote[place][i];
  });
}

} // namespace hippo
