#include "hippo/train/torch/data/image_data.hpp"

#include <algorithm>
#include <cstring>

namespace hippo {

namespace {

/// Pixels of one dimension, `[first, last)`.
struct pixel_range {
  int first, last;
};

/// Returns what of `[first, first + length)` lies within `[0, size)`.
pixel_range within(int first, int length, int size) {
  const auto begin = std::clamp(first, 0, size);
  return {begin, std::clamp(first + length, begin, size)};
}

/// Returns values as a tensor that shares memory with them.
template <class T>
at::Tensor tensor_over(const std::vector<T>& xs, at::ScalarType type) {
  return at::from_blob(const_cast<T*>(xs.data()),
                       {static_cast<std::int64_t>(xs.size())}, type);
}

/// Returns bytes in a device's memory, or in memory of the machine that it
/// reads if its own is too small.
at::Tensor within_reach(const at::Tensor& bytes, at::Device device) {
  try {
    return bytes.to(device);
  } catch (const c10::OutOfMemoryError&) {
    return bytes.pin_memory();
  }
}

} // namespace

normalised_bytes normalised(float mean, float deviation) {
  normalised_bytes result;
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = (static_cast<float>(i) / 255.0F - mean) / deviation;
  return result;
}

void put_image(const hippo_cuda_images& set, std::size_t index,
               const augmentation& how, float* to, std::int64_t stride) {
  const std::ptrdiff_t channels = set.channels;
  const auto height = set.height, width = set.width;
  const auto* image =
    set.pixels + static_cast<std::ptrdiff_t>(index) * height * width * channels;
  const auto pixel_of = [width](int row, int column) {
    return std::ptrdiff_t{row} * width + column;
  };
  const auto fill = [&](int row, pixel_range columns, std::ptrdiff_t channel,
                        float value) {
    auto* out = to + pixel_of(row, columns.first) * stride + channel;
    for (auto i = columns.first; i < columns.last; ++i, out += stride)
      *out = value;
  };
  const auto rows = within(how.down, height, height);
  const auto columns = within(how.right, width, width);
  for (std::ptrdiff_t c = 0; c < channels; ++c) {
    const auto* values = set.values + 256 * c;
    const auto black = values[0];
    for (int row = 0; row < height; ++row) {
      if (row < rows.first || row >= rows.last) {
        fill(row, {0, width}, c, black);
        continue;
      }
      fill(row, {0, columns.first}, c, black);
      fill(row, {columns.last, width}, c, black);
      const auto column = columns.first - how.right;
      const auto* in =
        image
        + pixel_of(row - how.down, how.mirror ? width - 1 - column : column)
            * channels
        + c;
      auto* out = to + pixel_of(row, columns.first) * stride + c;
      for (auto i = columns.first; i < columns.last; ++i, out += stride) {
        *out = values[*in];
        in += how.mirror ? -channels : channels;
      }
    }
    const auto cut_columns =
      within(how.cutout_column - how.cutout / 2, how.cutout, width);
    const auto cut_rows =
      within(how.cutout_row - how.cutout / 2, how.cutout, height);
    for (auto row = cut_rows.first; row < cut_rows.last; ++row)
      fill(row, cut_columns, c, 0);
  }
}

resident_images::resident_images(const image_data& data, const image_set& set,
                                 at::Device device)
  : labels_(tensor_over(set.labels, at::kLong)) {
  arrays_.pixels = set.pixels.data();
  arrays_.values = data.values.front().data();
  if (!device.is_cpu()) {
    pixels_ = within_reach(tensor_over(set.pixels, at::kByte), device);
    values_ = at::from_blob(
                const_cast<float*>(arrays_.values),
                {static_cast<std::int64_t>(data.values.size()) * 256},
                at::kFloat)
                .to(device);
    labels_ = labels_.to(device);
    arrays_.pixels = pixels_.const_data_ptr<std::uint8_t>();
    arrays_.values = values_.const_data_ptr<float>();
  }
  arrays_.labels = labels_.const_data_ptr<std::int64_t>();
  arrays_.size = labels_.size(0);
  const auto narrow = [](std::size_t x) {
    return static_cast<std::int32_t>(x);
  };
  arrays_.channels = narrow(data.form.channels);
  arrays_.height = narrow(data.form.height);
  arrays_.width = narrow(data.form.width);
  arrays_.classes = narrow(data.form.classes);
}

loaded_images::loaded_images(image_data images, at::Device device)
  : data(std::move(images)), training(data, data.training, device),
    validation(data, data.validation, device) {}

image_order::image_order(const resident_images& images, at::Device device)
  : order_(at::zeros({images.arrays().size},
                     at::TensorOptions().dtype(at::kInt).pinned_memory(
                       !device.is_cpu()))),
    published_(order_.to(device)), arrays_(images.arrays()) {
  arrays_.order = reinterpret_cast<const std::uint32_t*>(
    published_.const_data_ptr<std::int32_t>());
}

void image_order::set(const std::vector<std::uint32_t>& order) {
  std::memcpy(order_.mutable_data_ptr(), order.data(),
              order.size() * sizeof(std::uint32_t));
  if (!published_.is_alias_of(order_))
    published_.copy_(order_, /*non_blocking=*/true);
}

} // namespace hippo
