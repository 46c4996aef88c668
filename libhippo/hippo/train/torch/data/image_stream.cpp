#include "hippo/train/torch/data/image_stream.hpp"

#include <memory>

namespace hippo {

image_stream::image_stream(const image_data& data, unsigned threads,
                           at::Device device)
  : data_(data), threads_(threads), device_(device) {}

void image_stream::begin(const std::vector<std::uint32_t>& order,
                         const epoch_parts& parts) {
  batches_.reset(); // of an epoch that has failed, before others begin
  const auto all = std::make_shared<const std::vector<std::uint32_t>>(order);
  const auto make_preparer = [this, all, parts] {
    return [all, parts, size = data_.form.size(), is_pinned = !device_.is_cpu(),
            read = data_.make_reader()](std::uint64_t number) {
      const auto part = parts.at(static_cast<std::int64_t>(number));
      auto result = at::empty(
        {part.size, static_cast<std::int64_t>(size)},
        at::TensorOptions().dtype(at::kByte).pinned_memory(is_pinned));
      auto* to = result.mutable_data_ptr<std::uint8_t>();
      for (std::int64_t i = 0; i < part.size; ++i, to += size)
        read((*all)[static_cast<std::size_t>(part.first + i)], to);
      return result;
    };
  };
  batches_.emplace(static_cast<std::uint64_t>(parts.size()), threads_,
                   make_preparer);
}

void image_stream::put(const at::Tensor& part) {
  if (device_.is_cpu()) {
    present_ = part;
    return;
  }
  auto& place = places_[part.size(0)];
  if (!place.defined())
    place = at::empty(part.sizes(),
                      part.options().device(device_).pinned_memory(false));
  place.copy_(part, /*non_blocking=*/true);
  present_ = place;
}

hippo_cuda_images image_stream::arrays(hippo_cuda_images all) const {
  all.pixels = present_.const_data_ptr<std::uint8_t>();
  all.of_batch = 1;
  return all;
}

} // namespace hippo
