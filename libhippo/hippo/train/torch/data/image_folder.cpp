#include "hippo/train/torch/data/image_folder.hpp"

#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

#include "hippo/base/hash.hpp"
#include "hippo/base/lower_case.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t channels = 3;

/// An image, rows of pixels of red, green and blue.
struct picture {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;
};

/// Decodes JPEG files. Not thread-safe.
class jpeg_decoder {
public:
  jpeg_decoder() : handle_(tjInitDecompress(), tjDestroy) {}

  /// Returns an image, at most as much larger than `side` as the format can
  /// shrink it cheaply.
  picture decode(const std::string& path, int side) {
    std::ifstream file{path, std::ios::binary};
    std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>{file}, {}};
    if (!file)
      throw std::runtime_error("cannot read " + path);
    int width = 0, height = 0, subsampling = 0, colours = 0;
    const auto size = static_cast<unsigned long>(bytes.size());
    expect(path, tjDecompressHeader3(handle_.get(), bytes.data(), size, &width,
                                     &height, &subsampling, &colours));
    const auto factor = factor_for(std::min(width, height), side);
    picture x{TJSCALED(width, factor), TJSCALED(height, factor), {}};
    const bool has_ink = colours == TJCS_CMYK || colours == TJCS_YCCK;
    const auto format = has_ink ? TJPF_CMYK : TJPF_RGB;
    const auto pixels = static_cast<std::size_t>(x.width)
                        * static_cast<std::size_t>(x.height);
    x.pixels.resize(pixels * (has_ink ? 4 : channels));
    expect(path,
           tjDecompress2(handle_.get(), bytes.data(), size, x.pixels.data(),
                         x.width, 0, x.height, format, TJFLAG_ACCURATEDCT));
    if (has_ink)
      x.pixels = without_ink(x.pixels);
    return x;
  }

private:
  /// Halves, quarters and eighths are means of pixels, more or less.
  static tjscalingfactor factor_for(int from, int side) {
    int count = 0;
    const auto* all = tjGetScalingFactors(&count);
    tjscalingfactor best{1, 1};
    for (int i = 0; i < count; ++i)
      if (all[i].num == 1 && TJSCALED(from, all[i]) >= side
          && TJSCALED(from, all[i]) < TJSCALED(from, best))
        best = all[i];
    return best;
  }

  /// Files with cyan, magenta, yellow and black hold how much of each is left
  /// out, as Adobe writes them.
  static std::vector<std::uint8_t>
  without_ink(const std::vector<std::uint8_t>& from) {
    std::vector<std::uint8_t> result;
    for (std::size_t i = 0; i < from.size(); i += 4)
      for (std::size_t c = 0; c < channels; ++c)
        result.push_back(
          static_cast<std::uint8_t>(from[i + c] * from[i + 3] / 255));
    return result;
  }

  void expect(const std::string& path, int result) {
    // A warning is for instance something behind the end.
    if (result != 0 && tjGetErrorCode(handle_.get()) == TJERR_FATAL)
      throw std::runtime_error(path + " is damaged, or no JPEG file: "
                               + tjGetErrorStr2(handle_.get()));
  }

  std::unique_ptr<void, int (*)(tjhandle)> handle_;
};

/// The pixels that one pixel is the mean of, along one dimension.
struct weighted_pixels {
  std::ptrdiff_t first;
  std::vector<double> weights; ///< their sum is 1
};

/// Returns what each of `side` pixels covers of `length` pixels, the same part
/// each, that begin at `from`.
std::vector<weighted_pixels> covered(double from, int length, int side) {
  const auto step = static_cast<double>(length) / side;
  std::vector<weighted_pixels> result;
  for (int i = 0; i < side; ++i) {
    const auto begin = from + i * step, end = begin + step;
    weighted_pixels x{static_cast<std::ptrdiff_t>(std::floor(begin)), {}};
    for (auto at = static_cast<double>(x.first); at < end - 1e-9; ++at)
      x.weights.push_back(
        (std::min(at + 1, end) - std::max(at, begin)) / step);
    result.push_back(std::move(x));
  }
  return result;
}

/// Writes the square in the middle of an image, scaled.
void put_square(const picture& x, int side, std::uint8_t* to) {
  const auto length = std::min(x.width, x.height);
  const auto columns = covered((x.width - length) / 2.0, length, side),
             rows = covered((x.height - length) / 2.0, length, side);
  for (const auto& row : rows)
    for (const auto& column : columns) {
      std::array<double, channels> sum{};
      for (std::size_t i = 0; i < row.weights.size(); ++i)
        for (std::size_t j = 0; j < column.weights.size(); ++j) {
          const auto at = (row.first + static_cast<std::ptrdiff_t>(i)) * x.width
                          + column.first + static_cast<std::ptrdiff_t>(j);
          const auto* pixel =
            x.pixels.data() + at * static_cast<std::ptrdiff_t>(channels);
          for (std::size_t c = 0; c < channels; ++c)
            sum[c] += row.weights[i] * column.weights[j] * pixel[c];
        }
      for (const auto value : sum)
        *to++ = static_cast<std::uint8_t>(std::lround(value));
    }
}

/// A file, and what it shows.
struct labelled_file {
  std::string path;
  std::int64_t label;
  std::uint64_t place; ///< looks like chance
};

/// Returns the names of the folders in one, in order.
std::vector<std::string> folders_in(const fs::path& folder) {
  if (!fs::is_directory(folder))
    throw missing_data_error(
      "there is no folder " + folder.string()
      + ": give a data.folder with train/CLASS/*.jpg and val/CLASS/*.jpg");
  std::vector<std::string> result;
  for (const auto& x : fs::directory_iterator{folder})
    if (x.is_directory())
      result.push_back(x.path().filename().string());
  std::ranges::sort(result);
  return result;
}

bool is_jpeg(const fs::path& x) {
  const auto end = in_lower_case(x.extension().string());
  return end == ".jpg" || end == ".jpeg";
}

/// Returns the first `count` files of a folder with classes.
/// @param option what wants so many
std::vector<labelled_file> files_in(const fs::path& folder,
                                    const std::vector<std::string>& classes,
                                    std::size_t count, const char* option) {
  std::vector<labelled_file> result;
  for (const auto& name : folders_in(folder)) {
    const auto i = std::ranges::find(classes, name);
    if (i == classes.end())
      throw std::runtime_error((folder / name).string()
                               + " is a class that is not in train");
    for (const auto& x : fs::directory_iterator{folder / name})
      if (is_jpeg(x.path())) {
        const auto file = name + '/' + x.path().filename().string();
        result.push_back({x.path().string(), i - classes.begin(),
                          hash_bytes(file.data(), file.size())});
      }
  }
  if (result.empty())
    throw missing_data_error("there are no JPEG files in the folders of "
                             + folder.string());
  if (result.size() < count)
    throw std::invalid_argument(
      std::string{option} + " is " + std::to_string(count) + ", but there are "
      + std::to_string(result.size()) + " JPEG files in " + folder.string());
  std::ranges::sort(result, [](const auto& x, const auto& y) {
    return std::tie(x.place, x.path) < std::tie(y.place, y.path);
  });
  result.resize(count);
  return result;
}

std::vector<std::int64_t> labels_of(const std::vector<labelled_file>& files) {
  std::vector<std::int64_t> result;
  for (const auto& x : files)
    result.push_back(x.label);
  return result;
}

/// Returns a reader of the images in files.
image_reader reader_of(std::shared_ptr<const std::vector<labelled_file>> files,
                       std::size_t side) {
  return [files = std::move(files), size = static_cast<int>(side),
          decoder = std::make_shared<jpeg_decoder>()](std::size_t image,
                                                      std::uint8_t* to) {
    put_square(decoder->decode((*files)[image].path, size), size, to);
  };
}

/// Decodes files, several at a time.
image_set
decoded(const std::shared_ptr<const std::vector<labelled_file>>& files,
        std::size_t side) {
  const auto bytes = side * side * channels, count = files->size();
  image_set result{{}, labels_of(*files)};
  result.pixels.resize(count * bytes);
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure; // guarded by `mutex`
  const auto work = [&] {
    try {
      const auto read = reader_of(files, side);
      for (auto i = next++; i < count; i = next++)
        read(i, result.pixels.data() + i * bytes);
    } catch (...) {
      next = count;
      const std::lock_guard guard{mutex};
      failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    const auto workers = std::max(std::thread::hardware_concurrency(), 1U);
    for (unsigned i = 0; i < workers; ++i)
      threads.emplace_back(work);
  }
  if (failure)
    std::rethrow_exception(failure);
  return result;
}

} // namespace

image_data read_image_folder(const std::string& folder, std::size_t side,
                             const image_split& split,
                             std::uint64_t bytes_max) {
  const fs::path root{folder};
  const auto classes = folders_in(root / "train");
  const auto files = [&](const char* part, std::size_t count,
                         const char* option) {
    return std::make_shared<const std::vector<labelled_file>>(
      files_in(root / part, classes, count, option));
  };
  const auto training = files("train", split.training, "data.train"),
             validation = files("val", split.validation, "data.validation");
  // The means and deviations of ImageNet, as torchvision has them.
  image_data result{{channels, side, side, classes.size()},
                    {},
                    decoded(validation, side),
                    {normalised(0.485F, 0.229F), normalised(0.456F, 0.224F),
                     normalised(0.406F, 0.225F)}};
  if (training->size() * result.form.size() <= bytes_max) {
    result.training = decoded(training, side);
  } else {
    result.training.labels = labels_of(*training);
    result.make_reader = [training, side] { return reader_of(training, side); };
  }
  return result;
}

} // namespace hippo
