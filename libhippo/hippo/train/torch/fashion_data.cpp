#include "hippo/train/torch/fashion_data.hpp"

#include <zlib.h>

#include <filesystem>
#include <memory>
#include <stdexcept>

#include "hippo/train/workload.hpp"

namespace hippo {

namespace {

constexpr std::size_t image_count = 60000;

// Mean and standard deviation of the training images' pixels.
constexpr float pixel_mean = 0.2860F;
constexpr float pixel_deviation = 0.3530F;

float normalised(unsigned char pixel) {
  return (static_cast<float>(pixel) / 255.0F - pixel_mean) / pixel_deviation;
}

/// Returns the file of that name, or its gzipped form.
std::string find_file(const std::string& folder, const std::string& name) {
  const auto plain = std::filesystem::path{folder} / name;
  for (const auto& path : {plain.string(), plain.string() + ".gz"})
    if (std::filesystem::exists(path))
      return path;
  throw missing_data_error("Fashion-MNIST is not in " + folder + " (no " + name
                           + "): install Debian's package "
                             "dataset-fashion-mnist or give data.folder");
}

/// Reads an IDX file of bytes: a header of `header` bytes, then `size` more.
std::vector<unsigned char> read_idx(const std::string& path, std::size_t header,
                                    std::size_t size) {
  const auto total = header + size;
  // zlib reads plain files as they are.
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file{
    gzopen(path.c_str(), "rb"), gzclose};
  std::vector<unsigned char> bytes(total);
  const auto got =
    file ? gzread(file.get(), bytes.data(), static_cast<unsigned>(total)) : -1;
  // The first bytes are 0, 0, the type (8: bytes) and the number of dimensions.
  const bool right = got == static_cast<int>(total) && bytes[0] == 0
                     && bytes[1] == 0 && bytes[2] == 8
                     && std::size_t{bytes[3]} * 4 + 4 == header;
  if (!right)
    throw std::runtime_error(path + " is damaged or not of Fashion-MNIST");
  bytes.erase(bytes.begin(),
              bytes.begin() + static_cast<std::ptrdiff_t>(header));
  return bytes;
}

} // namespace

fashion_data read_fashion_data(const std::string& folder, std::size_t training,
                               std::size_t validation) {
  const auto image_file = find_file(folder, "train-images-idx3-ubyte");
  const auto label_file = find_file(folder, "train-labels-idx1-ubyte");
  const auto pixels = read_idx(image_file, 16, image_count * image_set::pixels);
  const auto labels = read_idx(label_file, 8, image_count);
  const auto slice = [&](std::size_t first, std::size_t count) {
    image_set result;
    result.images.reserve(count * image_set::pixels);
    for (auto i = first * image_set::pixels;
         i < (first + count) * image_set::pixels; ++i)
      result.images.push_back(normalised(pixels[i]));
    for (auto i = first; i < first + count; ++i) {
      if (labels[i] > 9)
        throw std::runtime_error(label_file + " is damaged: a label above 9");
      result.labels.push_back(labels[i]);
    }
    return result;
  };
  return {slice(0, training), slice(image_count - validation, validation),
          normalised(0)};
}

} // namespace hippo
