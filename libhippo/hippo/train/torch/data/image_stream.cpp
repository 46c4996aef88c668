#include "hippo/train/torch/data/image_stream.hpp"

#include <algorithm>
#include <memory>

namespace hippo {

image_stream::image_stream(const image_data& data, unsigned threads,
                           at::Device device)
  : data_(data), threads_(threads), device_(device) {}

void image_stream::begin(const std::vector<std::uint32_t>& order,
                         std::size_t batch_size) {
  batches_.reset(); // of an epoch that has failed, before others begin
  const auto all = std::make_shared<const std::vector<std::uint32_t>>(order);
  const auto make_preparer = [this, all, batch_size] {
    return
      [all, batch_size, size = data_.form.size(), is_pinned = !device_.is_cpu(),
       read = data_.make_reader()](std::uint64_t number) {
        const auto first = number * batch_size,
                   count = std::min(batch_size, all->size() - first);
        auto result = at::empty(
          {static_cast<std::int64_t>(count), static_cast<std::int64_t>(size)},
          at::TensorOptions().dtype(at::kByte).pinned_memory(is_pinned));
        auto* to = result.mutable_data_ptr<std::uint8_t>();
        for (std::size_t i = 0; i < count; ++i, to += size)
          read((*all)[first + i], to);
        return result;
      };
  };
  batches_.emplace((order.size() + batch_size - 1) / batch_size, threads_,
                   make_preparer);
}

void image_stream::put(const at::Tensor& batch) {
  if (device_.is_cpu()) {
    present_ = batch;
    return;
  }
  auto& place = places_[batch.size(0)];
  if (!place.defined())
    place = at::empty(batch.sizes(),
                      batch.options().device(device_).pinned_memory(false));
  place.copy_(batch, /*non_blocking=*/true);
  present_ = place;
}

hippo_cuda_images image_stream::arrays(hippo_cuda_images all) const {
  all.pixels = present_.const_data_ptr<std::uint8_t>();
  all.of_batch = 1;
  return all;
}

} // namespace hippo
