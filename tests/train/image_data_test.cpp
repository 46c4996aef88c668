#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <functional>

#include "hippo/train/torch/data/image_files.hpp"
#include "hippo/train/workload.hpp"
#include "train/message_of.hpp"
#include "train/temporary_folder.hpp"
#include "train/training_process.hpp"

namespace hippo {

namespace {

const std::string fashion_folder = "/usr/share/datasets/fashion-mnist";

void write_gzipped(const std::string& path, const std::string& bytes) {
  auto* file = gzopen(path.c_str(), "wb1");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
            static_cast<int>(bytes.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
}

/// What byte `at` of image `image` is in the files below.
std::uint8_t pixel(std::size_t image, std::size_t at) {
  return static_cast<std::uint8_t>(image * 31 + at * 7 + at / 1024 * 50);
}

/// Records of CIFAR, `first` being the number of the first image.
std::string cifar_records(std::size_t first, std::size_t count,
                          std::size_t labels, std::size_t classes) {
  // There are only so many different images.
  std::vector<std::string> images(256);
  for (std::size_t i = 0; i < images.size(); ++i)
    for (std::size_t at = 0; at < 3072; ++at)
      images[i] += static_cast<char>(pixel(i, at));
  std::string result;
  for (auto i = first; i < first + count; ++i) {
    if (labels == 2)
      result += static_cast<char>(i % 20);
    result += static_cast<char>(i % classes);
    result += images[i % images.size()];
  }
  return result;
}

void write_cifar10(const std::string& folder) {
  for (std::size_t i = 0; i < 5; ++i) {
    const auto name = folder + "/data_batch_" + std::to_string(i + 1) + ".bin";
    const auto bytes = cifar_records(i * 10000, 10000, 1, 10);
    if (i % 2 == 0)
      write_file(name, bytes);
    else
      write_gzipped(name + ".gz", bytes);
  }
}

/// Expects image `index` of `set` to be number `number` of the files above.
void expect_cifar(const image_set& set, std::size_t index, std::size_t number,
                  std::size_t classes) {
  EXPECT_EQ(set.labels.at(index), static_cast<std::int64_t>(number % classes));
  for (std::size_t i = 0; i < 1024; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      ASSERT_EQ(set.pixels.at(index * 3072 + i * 3 + c),
                pixel(number, c * 1024 + i))
        << number << ' ' << i << ' ' << c;
}

void expect_words(const std::string& text,
                  const std::vector<std::string>& words) {
  for (const auto& word : words)
    EXPECT_NE(text.find(word), std::string::npos) << word << " in " << text;
}

std::string idx(const std::string& head, const std::string& rest) {
  return std::string{"\0\0\x08", 3} + head + rest;
}

/// The value of a pixel after augmentation, looked up backwards from where it
/// ends up.
float naive(const image_data& data, const image_set& set, std::size_t index,
            const augmentation& how, int row, int column, std::size_t channel) {
  const auto height = static_cast<int>(data.form.height);
  const auto width = static_cast<int>(data.form.width);
  const auto top = how.cutout_row - how.cutout / 2;
  const auto left = how.cutout_column - how.cutout / 2;
  if (row >= top && row < top + how.cutout && column >= left
      && column < left + how.cutout)
    return 0;
  const auto from_row = row - how.down;
  auto from_column = column - how.right;
  std::uint8_t byte = 0;
  if (from_row >= 0 && from_row < height && from_column >= 0
      && from_column < width) {
    if (how.mirror)
      from_column = width - 1 - from_column;
    byte = set.pixels[index * data.form.size()
                      + static_cast<std::size_t>(from_row * width + from_column)
                          * data.form.channels
                      + channel];
  }
  return data.values[channel][byte];
}

} // namespace

TEST(ReadIdx, ReadsShapesAndBytes) {
  const temporary_folder folder;
  const auto path = folder.path + "/x";
  write_file(path, idx({"\x02\0\0\0\x02\0\0\0\x03", 9}, "abcdef"));
  const auto x = read_idx(path);
  EXPECT_EQ(x.shape, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(x.bytes, (std::vector<std::uint8_t>{'a', 'b', 'c', 'd', 'e', 'f'}));
  write_gzipped(path + ".gz", read_file(path));
  EXPECT_EQ(read_idx(path + ".gz").bytes, x.bytes);
}

TEST(ReadIdx, RefusesWhatIsDamaged) {
  const temporary_folder folder;
  const auto path = folder.path + "/x";
  const auto good = idx({"\x01\0\0\x01\0", 5}, std::string(256, 'x'));
  const auto refusal = [&](const std::string& bytes) {
    write_file(path, bytes);
    const auto text = message_of<std::runtime_error>([&] { read_idx(path); });
    expect_words(text, {path, "is damaged"});
    return text;
  };
  write_file(path, good);
  EXPECT_EQ(read_idx(path).bytes.size(), 256);
  for (std::size_t size : {0, 3, 4, 7, 8, 263})
    expect_words(refusal(good.substr(0, size)),
                 {"ends after " + std::to_string(size) + " bytes"});
  expect_words(refusal(good + "x"), {"goes on after the 264 bytes"});
  auto wrong = good;
  wrong[2] = 9; // signed bytes
  expect_words(refusal(wrong), {"does not begin"});
  wrong = good;
  wrong[3] = 0;
  expect_words(refusal(wrong), {"does not begin"});
  // More than any memory.
  expect_words(refusal(idx("\x02\xff\xff\xff\xff\xff\xff\xff\xff", "")),
               {"would hold 4294967295"});
}

TEST(ReadIdx, RefusesDamagedArchives) {
  const temporary_folder folder;
  const auto path = folder.path + "/x.gz";
  std::string noise;
  random_numbers numbers{1, purpose::images, {}};
  for (int i = 0; i < 65536; ++i)
    noise += static_cast<char>(numbers.below(256));
  write_gzipped(path, idx({"\x01\0\x01\0\0", 5}, noise));
  EXPECT_EQ(read_idx(path).bytes.size(), 65536);
  const auto bytes = read_file(path);
  const auto refusal = [&](const std::string& damaged) {
    write_file(path, damaged);
    return message_of<std::runtime_error>([&] { read_idx(path); });
  };
  expect_words(refusal(bytes.substr(0, bytes.size() / 2)), {path, "damaged"});
  auto flipped = bytes;
  flipped[flipped.size() / 2] ^= 1;
  expect_words(refusal(flipped), {path, "damaged"});
}

TEST(ReadFashion, ValuesAreWhatTheyWere) {
  const auto data = read_fashion(fashion_folder, {100, 50});
  EXPECT_EQ(data.form.size(), 784);
  EXPECT_EQ(data.training.labels.size(), 100);
  EXPECT_EQ(data.validation.pixels.size(), 50 * 784);
  // The first labels of the file, and its last.
  EXPECT_EQ(data.training.labels[0], 9);
  EXPECT_EQ(data.training.labels[1], 0);
  EXPECT_EQ(data.validation.labels.back(), 5);
  // The formula of results that exist; every bit of it counts.
  std::vector<float> pixels(784);
  const resident_images source{data, data.training, at::kCPU};
  put_image(source.arrays(), 7, {}, pixels.data(), 1);
  for (std::size_t i = 0; i < 784; ++i)
    ASSERT_EQ(
      pixels[i],
      (static_cast<float>(data.training.pixels[7 * 784 + i]) / 255.0F - 0.2860F)
        / 0.3530F);
}

TEST(ReadFashion, SaysWhatIsWrong) {
  const temporary_folder folder;
  const auto read = [&] { read_fashion(folder.path, {1, 1}); };
  expect_words(message_of<missing_data_error>(read),
               {folder.path, "train-images-idx3-ubyte", "dataset-fashion-mnist",
                "data.folder"});
  const auto images = folder.path + "/train-images-idx3-ubyte";
  const auto labels = folder.path + "/train-labels-idx1-ubyte";
  write_file(images, idx({"\x03\0\0\0\x01\0\0\0\x1c\0\0\0\x1c", 13},
                         std::string(784, 'x')));
  expect_words(message_of<missing_data_error>(read),
               {"train-labels-idx1-ubyte"});
  write_file(labels, idx({"\x01\0\0\0\x01", 5}, "\x01"));
  expect_words(message_of<std::runtime_error>(read),
               {images, "1 x 28 x 28, not 60000 x 28 x 28"});
  expect_words(
    message_of<std::invalid_argument>([&] {
      read_fashion(folder.path, {59000, 1001});
    }),
    {"data.train 59000", "data.validation 1001", "together at most 60000"});
}

TEST(ReadCifar, FilesOfCifar10) {
  const temporary_folder folder;
  write_cifar10(folder.path);
  const auto data = read_cifar10(folder.path, {20001, 9});
  EXPECT_EQ(data.form.channels, 3);
  EXPECT_EQ(data.form.height, 32);
  EXPECT_EQ(data.form.width, 32);
  EXPECT_EQ(data.form.classes, 10);
  EXPECT_EQ(data.training.labels.size(), 20001);
  EXPECT_EQ(data.training.pixels.size(), 20001 * 3072);
  EXPECT_EQ(data.validation.labels.size(), 9);
  expect_cifar(data.training, 0, 0, 10);
  expect_cifar(data.training, 9999, 9999, 10);
  expect_cifar(data.training, 10000, 10000, 10);
  expect_cifar(data.training, 20000, 20000, 10);
  expect_cifar(data.validation, 0, 49991, 10);
  expect_cifar(data.validation, 8, 49999, 10);
  EXPECT_EQ(data.values[2][51], (0.2F - 0.4465F) / 0.2616F);
  // As the archive unpacks.
  std::filesystem::create_directory(folder.path + "/cifar-10-batches-bin");
  for (const auto* name :
       {"data_batch_1.bin", "data_batch_2.bin.gz", "data_batch_3.bin",
        "data_batch_4.bin.gz", "data_batch_5.bin"})
    std::filesystem::rename(folder.path + "/" + name,
                            folder.path + "/cifar-10-batches-bin/" + name);
  EXPECT_EQ(read_cifar10(folder.path, {3, 9}).validation.pixels,
            data.validation.pixels);
}

TEST(ReadCifar, FilesOfCifar100) {
  const temporary_folder folder;
  std::filesystem::create_directory(folder.path + "/cifar-100-binary");
  write_file(folder.path + "/cifar-100-binary/train.bin",
             cifar_records(0, 50000, 2, 100));
  const auto data = read_cifar100(folder.path, {200, 49800});
  EXPECT_EQ(data.form.classes, 100);
  EXPECT_EQ(data.training.labels.size(), 200);
  expect_cifar(data.training, 0, 0, 100);
  expect_cifar(data.training, 199, 199, 100);
  expect_cifar(data.validation, 0, 200, 100);
  expect_cifar(data.validation, 49799, 49999, 100);
}

TEST(ReadCifar, SaysWhatIsMissing) {
  const temporary_folder folder;
  expect_words(message_of<missing_data_error>([&] {
                 read_cifar10(folder.path, {1, 1});
               }),
               {"CIFAR-10 is not in", folder.path, "data_batch_1.bin",
                "cifar-10-binary.tar.gz", "data.folder",
                "data.set: synthetic"});
  for (const auto* name : {"1", "2", "3", "5"})
    write_file(folder.path + "/data_batch_" + name + ".bin", "");
  expect_words(message_of<missing_data_error>([&] {
                 read_cifar10(folder.path, {1, 1});
               }),
               {"no data_batch_4.bin"});
  expect_words(message_of<missing_data_error>([&] {
                 read_cifar100(folder.path, {1, 1});
               }),
               {"CIFAR-100 is not in", "train.bin"});
  expect_words(message_of<std::invalid_argument>([&] {
                 read_cifar100(folder.path, {45000, 5001});
               }),
               {"data.train 45000", "together at most 50000"});
}

TEST(ReadCifar, SaysWhatIsDamaged) {
  const temporary_folder folder;
  const auto path = folder.path + "/train.bin";
  auto bytes = cifar_records(0, 50000, 2, 100);
  const auto refusal = [&] {
    write_file(path, bytes);
    return message_of<std::runtime_error>([&] {
      read_cifar100(folder.path, {1, 1});
    });
  };
  bytes += 'x';
  expect_words(refusal(), {path, "is damaged", "goes on after the 153700000"});
  bytes.resize(bytes.size() - 2);
  expect_words(refusal(), {path, "is damaged", "ends after 153699999 bytes"});
  bytes += 'x';
  bytes[3074 * 7 + 1] = 100;
  expect_words(refusal(), {path, "is damaged", "a label is 100, above 99"});
}

TEST(MakeImages, AreTheSameEverywhere) {
  const auto data = make_images({3, 32, 32, 10}, 1, {50, 20});
  EXPECT_EQ(data.training.labels.size(), 50);
  EXPECT_EQ(data.training.pixels.size(), 50 * 3072);
  EXPECT_EQ(data.validation.pixels.size(), 20 * 3072);
  EXPECT_EQ(data.values.size(), 3);
  for (const auto label : data.training.labels) {
    EXPECT_GE(label, 0);
    EXPECT_LT(label, 10);
  }
  // Recorded: a change of them changes results.
  const auto sum = [](const image_set& x) {
    return crc32(0, x.pixels.data(), static_cast<uInt>(x.pixels.size()));
  };
  EXPECT_EQ(sum(data.training), 2371331582U);
  EXPECT_EQ(sum(data.validation), 3869428553U);
}

TEST(MakeImages, DependOnSeedAndNumberAlone) {
  const image_form form{3, 32, 32, 10};
  const auto more = make_images(form, 1, {50, 20});
  const auto fewer = make_images(form, 1, {3, 2});
  const auto other = make_images(form, 2, {50, 20});
  const auto begins_with = [](const image_set& x, const image_set& y) {
    return std::equal(y.pixels.begin(), y.pixels.end(), x.pixels.begin());
  };
  EXPECT_TRUE(begins_with(more.training, fewer.training));
  EXPECT_TRUE(begins_with(more.validation, fewer.validation));
  EXPECT_FALSE(begins_with(more.training, more.validation));
  EXPECT_FALSE(begins_with(more.training, other.training));
}

TEST(MakeImages, OfOtherForms) {
  const auto data = make_images({1, 28, 30, 100}, 1, {300, 1});
  EXPECT_EQ(data.training.pixels.size(), 300 * 28 * 30);
  EXPECT_EQ(data.values.size(), 1);
  EXPECT_GT(
    *std::max_element(data.training.labels.begin(), data.training.labels.end()),
    90);
}

TEST(PutImage, AgreesWithANaiveModel) {
  for (const image_form& form :
       {image_form{1, 28, 28, 10}, image_form{3, 12, 9, 10}}) {
    const auto data = make_images(form, 3, {5, 2});
    const resident_images source{data, data.training, at::kCPU};
    std::vector<float> pixels(form.size());
    for (std::uint64_t i = 0; i < 200; ++i) {
      // Those at first change nothing, and one thing each.
      const augmentation_strength strength{
        i % 5 == 1 || i > 20 ? 6 : 0, i % 5 == 2 || i > 20 ? 0.5 : 0,
        i % 5 == 3 || i > 20 ? static_cast<int>(i % 17) : 0};
      const auto how =
        draw_augmentation(1, 2, i, strength, static_cast<int>(form.height),
                          static_cast<int>(form.width));
      put_image(source.arrays(), i % 5, how, pixels.data(),
                static_cast<std::int64_t>(form.channels));
      const auto* value = pixels.data();
      for (int y = 0; y < static_cast<int>(form.height); ++y)
        for (int x = 0; x < static_cast<int>(form.width); ++x)
          for (std::size_t c = 0; c < form.channels; ++c)
            ASSERT_EQ(*value++, naive(data, data.training, i % 5, how, y, x, c))
              << i << ": " << y << ' ' << x << ' ' << c;
    }
  }
}

TEST(DrawAugmentation, OrderOfTheDraws) {
  // Shifts, mirror, then the centre of the cutout: what is drawn first must
  // stay where it is when something is added.
  bool mirrored = false, not_mirrored = false;
  for (std::uint64_t i = 0; i < 50; ++i) {
    random_numbers numbers{9, purpose::augment, {2, i}};
    const auto x = draw_augmentation(9, 2, i, {4, 0.5, 8}, 32, 30);
    EXPECT_EQ(x.down, static_cast<int>(numbers.below(9)) - 4);
    EXPECT_EQ(x.right, static_cast<int>(numbers.below(9)) - 4);
    EXPECT_EQ(x.mirror, numbers.uniform() < 0.5);
    EXPECT_EQ(x.cutout_row, static_cast<int>(numbers.below(32)));
    EXPECT_EQ(x.cutout_column, static_cast<int>(numbers.below(30)));
    EXPECT_EQ(x.cutout, 8);
    (x.mirror ? mirrored : not_mirrored) = true;
  }
  EXPECT_TRUE(mirrored && not_mirrored);
}

} // namespace hippo
