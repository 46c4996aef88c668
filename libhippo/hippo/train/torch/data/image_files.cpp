#include "hippo/train/torch/data/image_files.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>

#include "hippo/train/workload.hpp"

namespace hippo {

namespace {

constexpr std::size_t idx_bytes_max = std::size_t{1} << 30;

/// A file, plain or gzipped: zlib reads plain ones as they are.
class byte_file {
public:
  explicit byte_file(std::string path)
    : path_(std::move(path)), file_(gzopen(path_.c_str(), "rb"), gzclose) {
    if (!file_)
      throw std::runtime_error("cannot open " + path_);
  }

  [[noreturn]] void damaged(const std::string& why) const {
    throw std::runtime_error(path_ + " is damaged: " + why);
  }

  /// Returns the next `size` bytes.
  std::vector<std::uint8_t> read(std::size_t size) {
    std::vector<std::uint8_t> bytes(size);
    const auto got = get(bytes);
    if (got < size)
      damaged("it ends after " + std::to_string(read_ + got)
              + " bytes, where at least " + std::to_string(read_ + size)
              + " were expected");
    read_ += size;
    return bytes;
  }

  /// Throws unless everything has been read.
  void expect_end() {
    std::array<std::uint8_t, 1> more{};
    if (get(more) != 0)
      damaged("it goes on after the " + std::to_string(read_)
              + " bytes that were expected");
  }

private:
  /// Fills `to` as far as the file goes, and returns how far.
  std::size_t get(std::span<std::uint8_t> to) {
    const auto got =
      gzread(file_.get(), to.data(), static_cast<unsigned>(to.size()));
    if (got < 0) {
      int code = 0;
      damaged(gzerror(file_.get(), &code));
    }
    return static_cast<std::size_t>(got);
  }

  std::string path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
  std::size_t read_ = 0; ///< bytes
};

/// Returns the path of file `name` or of its gzipped form, from the first of
/// the folders that has one.
/// @param help what to do if none has
std::string find_file(const std::vector<std::filesystem::path>& folders,
                      const std::string& name, const std::string& set,
                      const std::string& help) {
  for (const auto& folder : folders)
    for (const auto* ending : {"", ".gz"})
      if (const auto path = folder / (name + ending);
          std::filesystem::exists(path))
        return path.string();
  throw missing_data_error(set + " is not in " + folders.front().string()
                           + " (no " + name + "): " + help);
}

void check(const image_split& split, std::size_t count) {
  if (split.training + split.validation > count)
    throw std::invalid_argument(
      "data.train " + std::to_string(split.training) + " and data.validation "
      + std::to_string(split.validation) + " would overlap: there are "
      + std::to_string(count) + " images, so together at most "
      + std::to_string(count));
}

/// Returns the first and the last images of all.
image_data divided(const image_form& form, const image_set& all,
                   const image_split& split,
                   std::vector<normalised_bytes> values) {
  const auto slice = [&](std::size_t first, std::size_t count) {
    const auto pixels =
      std::span{all.pixels}.subspan(first * form.size(), count * form.size());
    const auto labels = std::span{all.labels}.subspan(first, count);
    return image_set{{pixels.begin(), pixels.end()},
                     {labels.begin(), labels.end()}};
  };
  return {form, slice(0, split.training),
          slice(all.labels.size() - split.validation, split.validation),
          std::move(values)};
}

std::string text_of(const std::vector<std::size_t>& shape) {
  std::string result;
  for (auto x : shape)
    result += (result.empty() ? "" : " x ") + std::to_string(x);
  return result;
}

/// Reads the bytes of an IDX file that must have this shape.
std::vector<std::uint8_t> read_shaped(const std::string& path,
                                      const std::vector<std::size_t>& shape) {
  auto x = read_idx(path);
  if (x.shape != shape)
    throw std::runtime_error(path + " is damaged or of another data set: it is "
                             + text_of(x.shape) + ", not " + text_of(shape));
  return std::move(x.bytes);
}

/// How a form of CIFAR is stored: records of labels and then the image, its
/// channels one after the other.
struct cifar_format {
  std::string name;    ///< of the data set
  std::string folder;  ///< that its archive makes
  std::string archive; ///< what it is distributed as
  std::vector<std::string> files;
  std::size_t records; ///< in each file
  std::size_t labels;  ///< bytes before the image, the last of which counts
  image_form form;
  std::vector<normalised_bytes> values;
};

image_data read_cifar(const std::string& folder, const image_split& split,
                      const cifar_format& format) {
  check(split, format.files.size() * format.records);
  const std::filesystem::path path{folder};
  const auto help = "unpack " + format.archive
                    + " there, give the right data.folder, or use data.set: "
                      "synthetic, which needs no files";
  // Found first, all of them: what is missing is told before much is read.
  std::vector<std::string> paths;
  for (const auto& name : format.files)
    paths.push_back(
      find_file({path, path / format.folder}, name, format.name, help));
  const auto& form = format.form;
  const auto plane = form.height * form.width;
  const auto record = format.labels + form.size();
  image_set all;
  all.pixels.resize(paths.size() * format.records * form.size());
  auto* to = all.pixels.data();
  for (const auto& x : paths) {
    byte_file file{x};
    const auto bytes = file.read(format.records * record);
    file.expect_end();
    for (const auto *at = bytes.data(), *end = at + bytes.size(); at != end;
         at += record) {
      const auto label = at[format.labels - 1];
      if (label >= form.classes)
        file.damaged("a label is " + std::to_string(label) + ", above "
                     + std::to_string(form.classes - 1));
      all.labels.push_back(label);
      const auto* image = at + format.labels;
      for (std::size_t i = 0; i < plane; ++i)
        for (std::size_t c = 0; c < form.channels; ++c)
          *to++ = image[c * plane + i];
    }
  }
  return divided(form, all, split, format.values);
}

/// Smooth patterns on a torus: one of bytes for every class and channel, drawn
/// for a coarse grid and interpolated, in integers so that every machine makes
/// the same.
class class_patterns {
public:
  class_patterns(const image_form& form, std::uint64_t seed) : form_(form) {
    for (std::size_t label = 0; label < form.classes; ++label) {
      random_numbers numbers{seed, purpose::images, {0, label}};
      for (std::size_t i = 0; i < grid * grid * form.channels; ++i)
        knots_.push_back(static_cast<std::uint32_t>(numbers.below(256)));
      for (std::size_t row = 0; row < form.height; ++row)
        for (std::size_t column = 0; column < form.width; ++column)
          for (std::size_t c = 0; c < form.channels; ++c)
            pixels_.push_back(interpolated(row, column, c));
      knots_.clear();
    }
  }

  /// The pixel at a place that may lie up to the size beyond the edges.
  [[nodiscard]] int at(std::size_t label, std::size_t row, std::size_t column,
                       std::size_t channel) const {
    return pixels_[label * form_.size()
                   + ((row % form_.height) * form_.width + column % form_.width)
                       * form_.channels
                   + channel];
  }

private:
  static constexpr std::size_t grid = 4;

  [[nodiscard]] std::uint8_t interpolated(std::size_t row, std::size_t column,
                                          std::size_t channel) const {
    const auto height = form_.height, width = form_.width;
    // Where the pixel lies among the knots, in parts of a knot's distance.
    const auto y = row * grid / height, dy = row * grid % height;
    const auto x = column * grid / width, dx = column * grid % width;
    const auto knot = [&](std::size_t i, std::size_t j) -> std::size_t {
      return knots_[((i % grid) * grid + j % grid) * form_.channels + channel];
    };
    const auto sum =
      (height - dy) * ((width - dx) * knot(y, x) + dx * knot(y, x + 1))
      + dy * ((width - dx) * knot(y + 1, x) + dx * knot(y + 1, x + 1));
    return static_cast<std::uint8_t>(sum / (height * width));
  }

  image_form form_;
  std::vector<std::uint32_t> knots_; ///< of the class that is being made
  std::vector<std::uint8_t> pixels_;
};

/// Draws an image of a random class and appends it.
void make_image(const class_patterns& patterns, const image_form& form,
                random_numbers numbers, image_set& to) {
  const auto label = numbers.below(form.classes);
  const auto other = numbers.below(form.classes);
  // Anywhere on the torus.
  const auto down = numbers.below(form.height);
  const auto right = numbers.below(form.width);
  const auto other_down = numbers.below(form.height);
  const auto other_right = numbers.below(form.width);
  // What the class's own pattern counts for, in parts of 256: mostly more than
  // half. Where it is not, nobody can be sure of the class.
  const auto own = 104 + static_cast<int>(numbers.below(128));
  const auto contrast = 64 + static_cast<int>(numbers.below(192));
  constexpr int noise = 64;
  for (std::size_t row = 0; row < form.height; ++row)
    for (std::size_t column = 0; column < form.width; ++column)
      for (std::size_t c = 0; c < form.channels; ++c) {
        const auto pixel =
          own * patterns.at(label, row + down, column + right, c)
          + (256 - own)
              * patterns.at(other, row + other_down, column + other_right, c);
        const auto value = 128 + (pixel / 256 - 128) * contrast / 256
                           + static_cast<int>(numbers.below(2 * noise + 1))
                           - noise;
        to.pixels.push_back(
          static_cast<std::uint8_t>(std::clamp(value, 0, 255)));
      }
  to.labels.push_back(static_cast<std::int64_t>(label));
}

} // namespace

byte_array read_idx(const std::string& path) {
  byte_file file{path};
  // 0, 0, the type (8: bytes), and the number of dimensions; then each of those
  // as an integer of 32 bits, the highest first.
  const auto head = file.read(4);
  if (head[0] != 0 || head[1] != 0 || head[2] != 8 || head[3] == 0)
    file.damaged("it does not begin as an IDX file of bytes does");
  byte_array result;
  std::size_t size = 1;
  for (int i = 0; i < head[3]; ++i) {
    std::size_t length = 0;
    for (auto byte : file.read(4))
      length = length << 8 | byte;
    result.shape.push_back(length);
    if (length == 0 || length > idx_bytes_max / size)
      file.damaged("it would hold " + text_of(result.shape) + " bytes");
    size *= length;
  }
  result.bytes = file.read(size);
  file.expect_end();
  return result;
}

image_data read_fashion(const std::string& folder, const image_split& split) {
  constexpr std::size_t count = 60000;
  const image_form form{1, 28, 28, 10};
  check(split, count);
  const auto find = [&](const std::string& name) {
    return find_file({folder}, name, "Fashion-MNIST",
                     "install Debian's package dataset-fashion-mnist or give "
                     "data.folder");
  };
  const auto image_file = find("train-images-idx3-ubyte");
  const auto label_file = find("train-labels-idx1-ubyte");
  image_set all;
  all.pixels = read_shaped(image_file, {count, form.height, form.width});
  for (auto label : read_shaped(label_file, {count})) {
    if (label >= form.classes)
      throw std::runtime_error(label_file + " is damaged: a label is "
                               + std::to_string(label) + ", above 9");
    all.labels.push_back(label);
  }
  // Mean and standard deviation of the training images' pixels.
  return divided(form, all, split, {normalised(0.2860F, 0.3530F)});
}

image_data read_cifar10(const std::string& folder, const image_split& split) {
  return read_cifar(
    folder, split,
    {"CIFAR-10",
     "cifar-10-batches-bin",
     "cifar-10-binary.tar.gz",
     {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
      "data_batch_4.bin", "data_batch_5.bin"},
     10000,
     1,
     {3, 32, 32, 10},
     {normalised(0.4914F, 0.2470F), normalised(0.4822F, 0.2435F),
      normalised(0.4465F, 0.2616F)}});
}

image_data read_cifar100(const std::string& folder, const image_split& split) {
  return read_cifar(
    folder, split,
    {"CIFAR-100",
     "cifar-100-binary",
     "cifar-100-binary.tar.gz",
     {"train.bin"},
     50000,
     2,
     {3, 32, 32, 100},
     {normalised(0.5071F, 0.2673F), normalised(0.4865F, 0.2564F),
      normalised(0.4409F, 0.2762F)}});
}

image_data make_images(const image_form& form, std::uint64_t seed,
                       const image_split& split) {
  const class_patterns patterns{form, seed};
  const auto make = [&](std::uint64_t part, std::size_t count) {
    image_set result;
    for (std::uint64_t i = 0; i < count; ++i)
      make_image(patterns, form, {seed, purpose::images, {1, part, i}}, result);
    return result;
  };
  return {form, make(0, split.training), make(1, split.validation),
          std::vector(form.channels, normalised(0.5F, 0.25F))};
}

} // namespace hippo
