#include "hippo/train/torch/image_data.hpp"

#include <algorithm>

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

} // namespace

normalised_bytes normalised(float mean, float deviation) {
  normalised_bytes result;
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = (static_cast<float>(i) / 255.0F - mean) / deviation;
  return result;
}

augmentation draw_augmentation(random_numbers numbers,
                               const augmentation_strength& strength,
                               const image_form& form) {
  const auto shift = [&] {
    const auto shifts = static_cast<std::uint64_t>(2 * strength.crop + 1);
    return static_cast<int>(numbers.below(shifts)) - strength.crop;
  };
  augmentation x;
  x.down = shift();
  x.right = shift();
  x.mirror = numbers.uniform() < strength.flip;
  // Drawn last: nothing above depends on it.
  x.cutout = strength.cutout;
  x.cutout_row = static_cast<int>(numbers.below(form.height));
  x.cutout_column = static_cast<int>(numbers.below(form.width));
  return x;
}

void put_image(const image_data& data, const image_set& set, std::size_t index,
               const augmentation& how, float* to) {
  const auto channels = data.form.channels;
  const auto height = static_cast<int>(data.form.height);
  const auto width = static_cast<int>(data.form.width);
  const auto* image = set.pixels.data() + index * data.form.size();
  const auto pixel_of = [&](int row, int column) {
    return static_cast<std::size_t>(row) * data.form.width
           + static_cast<std::size_t>(column);
  };
  const auto fill = [&](int row, pixel_range columns, std::size_t channel,
                        float value) {
    auto* out = to + pixel_of(row, columns.first) * channels + channel;
    for (auto i = columns.first; i < columns.last; ++i, out += channels)
      *out = value;
  };
  const auto rows = within(how.down, height, height);
  const auto columns = within(how.right, width, width);
  const auto step = static_cast<std::ptrdiff_t>(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const auto& values = data.values[c];
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
      auto* out = to + pixel_of(row, columns.first) * channels + c;
      for (auto i = columns.first; i < columns.last; ++i, out += channels) {
        *out = values[*in];
        in += how.mirror ? -step : step;
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

} // namespace hippo
