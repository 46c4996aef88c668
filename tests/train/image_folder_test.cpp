#include "hippo/train/torch/data/image_folder.hpp"

#include <gtest/gtest.h>
#include <turbojpeg.h>

#include <filesystem>
#include <functional>
#include <limits>

#include "hippo/train/torch/training.hpp"
#include "hippo/train/workload.hpp"
#include "train/message_of.hpp"
#include "train/temporary_folder.hpp"
#include "train/training_process.hpp"

namespace hippo {

namespace {

/// In memory however many there are.
constexpr auto all_bytes = std::numeric_limits<std::uint64_t>::max();

/// An image by the colour of each pixel, red, green and blue.
struct canvas {
  int width, height;
  std::function<std::array<int, 3>(int x, int y)> colour;
};

/// Writes a JPEG file of the best quality.
void write_jpeg(const std::string& path, const canvas& what,
                int format = TJPF_RGB, int subsampling = TJSAMP_444) {
  std::filesystem::create_directories(
    std::filesystem::path{path}.parent_path());
  std::string pixels;
  for (int y = 0; y < what.height; ++y)
    for (int x = 0; x < what.width; ++x) {
      const auto c = what.colour(x, y);
      for (const auto value : c)
        pixels += static_cast<char>(value);
      if (format == TJPF_CMYK)
        pixels += static_cast<char>(255);
    }
  auto* handle = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  ASSERT_EQ(tjCompress2(handle,
                        reinterpret_cast<const unsigned char*>(pixels.data()),
                        what.width, 0, what.height, format, &bytes, &size,
                        subsampling, 100, TJFLAG_ACCURATEDCT),
            0)
    << tjGetErrorStr2(handle);
  write_file(path, {reinterpret_cast<const char*>(bytes), size});
  tjFree(bytes);
  tjDestroy(handle);
}

canvas plain(std::array<int, 3> colour, int width = 40, int height = 40) {
  return {width, height, [colour](int, int) { return colour; }};
}

/// Two classes with images of a colour of their own.
void write_two_classes(const std::string& root, int count) {
  for (const auto* part : {"train", "val"})
    for (int i = 0; i < count; ++i) {
      const auto name = "/" + std::to_string(i);
      write_jpeg(root + '/' + part + "/apple" + name + ".jpg",
                 plain({200, 10, 20}, 40 + i, 50));
      write_jpeg(root + '/' + part + "/sky" + name + ".JPEG",
                 plain({20, 30, 220}, 70, 40 + i));
    }
}

/// The bytes of one pixel.
std::array<int, 3> pixel(const image_data& data, const image_set& set,
                         std::size_t image, std::size_t row,
                         std::size_t column) {
  std::array<int, 3> result{};
  for (std::size_t c = 0; c < 3; ++c)
    result[c] = set.pixels.at(image * data.form.size()
                              + (row * data.form.width + column) * 3 + c);
  return result;
}

void expect_near(const std::array<int, 3>& x, const std::array<int, 3>& y,
                 int most = 3) {
  for (std::size_t c = 0; c < 3; ++c)
    EXPECT_NEAR(x[c], y[c], most) << c;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

} // namespace

TEST(ImageFolder, ClassesAreTheFoldersOfTrain) {
  const temporary_folder folder;
  write_two_classes(folder.path, 5);
  std::filesystem::remove_all(folder.path + "/val/sky");
  write_file(folder.path + "/train/notes.txt", "no class");
  write_file(folder.path + "/train/sky/notes.txt", "no image");
  const auto data = read_image_folder(folder.path, 32, {10, 5}, all_bytes);
  EXPECT_EQ(data.form.classes, 2);
  EXPECT_EQ(data.form.size(), 3 * 32 * 32);
  EXPECT_EQ(data.values.size(), 3);
  EXPECT_EQ(data.validation.labels, (std::vector<std::int64_t>(5, 0)));
  std::size_t skies = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    const auto label = data.training.labels.at(i);
    skies += label == 1;
    expect_near(pixel(data, data.training, i, 7, 9),
                label == 1 ? std::array{20, 30, 220} : std::array{200, 10, 20});
  }
  EXPECT_EQ(skies, 5);
}

TEST(ImageFolder, FewerImagesAreTheFirstOnes) {
  const temporary_folder folder;
  write_two_classes(folder.path, 20);
  const auto all = read_image_folder(folder.path, 32, {40, 40}, all_bytes),
             some = read_image_folder(folder.path, 32, {11, 3}, all_bytes);
  EXPECT_TRUE(std::equal(some.training.labels.begin(),
                         some.training.labels.end(),
                         all.training.labels.begin()));
  EXPECT_TRUE(std::equal(some.training.pixels.begin(),
                         some.training.pixels.end(),
                         all.training.pixels.begin()));
  // Neither class comes first.
  for (const std::int64_t label : {0, 1})
    EXPECT_GT(std::ranges::count(some.training.labels, label), 1);
}

TEST(ImageFolder, TakesTheSquareInTheMiddle) {
  const temporary_folder folder;
  // A bright square of 100 between dark stripes; half of it is green.
  write_jpeg(folder.path + "/train/a/wide.jpg",
             {200, 100, [](int x, int y) {
                return x < 50 || x >= 150 ? std::array{0, 0, 0}
                       : y < 50           ? std::array{240, 240, 240}
                                          : std::array{0, 240, 0};
              }});
  write_jpeg(folder.path + "/val/a/high.jpg",
             {100, 300, [](int, int y) {
                return y < 100 || y >= 200 ? std::array{0, 0, 0}
                                           : std::array{240, 240, 240};
              }});
  const auto data = read_image_folder(folder.path, 40, {1, 1}, all_bytes);
  for (const std::size_t column : {1, 20, 38}) {
    expect_near(pixel(data, data.training, 0, 1, column), {240, 240, 240}, 8);
    expect_near(pixel(data, data.training, 0, 38, column), {0, 240, 0}, 8);
  }
  for (const std::size_t row : {1, 20, 38})
    expect_near(pixel(data, data.validation, 0, row, 20), {240, 240, 240}, 8);
}

TEST(ImageFolder, ScalesByTheMean) {
  const temporary_folder folder;
  // Stripes of one pixel: what is shrunk is grey, what is as large is striped.
  const canvas stripes{96, 96, [](int x, int) {
                         return std::array{x % 2 * 200, x % 2 * 200,
                                           x % 2 * 200};
                       }};
  for (const auto* part : {"/train/a/x.jpg", "/val/a/x.jpg"})
    write_jpeg(folder.path + part, stripes);
  const auto shrunk = read_image_folder(folder.path, 48, {1, 1}, all_bytes),
             same = read_image_folder(folder.path, 96, {1, 1}, all_bytes),
             grown = read_image_folder(folder.path, 192, {1, 1}, all_bytes),
             uneven = read_image_folder(folder.path, 72, {1, 1}, all_bytes);
  for (std::size_t i = 10; i < 20; ++i) {
    const auto value = static_cast<int>(i % 2 * 200);
    expect_near(pixel(shrunk, shrunk.training, 0, i, i), {100, 100, 100}, 6);
    expect_near(pixel(same, same.training, 0, 5, i), {value, value, value}, 6);
    for (const std::size_t half : {0, 1})
      expect_near(pixel(grown, grown.training, 0, 5, 2 * i + half),
                  {value, value, value}, 6);
  }
  // Pixel 0 covers 0 to 4/3, pixel 1 from there to 8/3.
  expect_near(pixel(uneven, uneven.training, 0, 5, 0), {50, 50, 50}, 6);
  expect_near(pixel(uneven, uneven.training, 0, 5, 1), {100, 100, 100}, 6);
}

TEST(ImageFolder, OtherKindsOfColours) {
  const temporary_folder folder;
  write_jpeg(folder.path + "/train/a/grey.jpg", plain({90, 90, 90}), TJPF_RGB,
             TJSAMP_GRAY);
  write_jpeg(folder.path + "/val/a/ink.jpg", plain({250, 120, 10}), TJPF_CMYK);
  const auto data = read_image_folder(folder.path, 32, {1, 1}, all_bytes);
  expect_near(pixel(data, data.training, 0, 5, 5), {90, 90, 90});
  expect_near(pixel(data, data.validation, 0, 5, 5), {250, 120, 10});
}

TEST(ImageFolder, SaysWhatIsWrong) {
  const temporary_folder folder;
  const auto read = [&] {
    read_image_folder(folder.path, 32, {4, 2}, all_bytes);
  };
  auto said = message_of<missing_data_error>(read);
  EXPECT_TRUE(has(said, "no folder " + folder.path + "/train")) << said;
  EXPECT_TRUE(has(said, "data.folder")) << said;
  std::filesystem::create_directories(folder.path + "/train/apple");
  said = message_of<missing_data_error>(read);
  EXPECT_TRUE(has(said, "no JPEG files in the folders of " + folder.path))
    << said;
  write_two_classes(folder.path, 1);
  EXPECT_EQ(message_of<std::invalid_argument>(read),
            "data.train is 4, but there are 2 JPEG files in " + folder.path
              + "/train");
  write_two_classes(folder.path, 2);
  const auto broken = folder.path + "/train/sky/1.JPEG";
  write_file(broken, "JFIF");
  said = message_of<std::runtime_error>(read);
  EXPECT_TRUE(has(said, broken + " is damaged, or no JPEG file: ")) << said;
  write_two_classes(folder.path, 2);
  write_jpeg(folder.path + "/val/pear/1.jpg", plain({1, 2, 3}));
  EXPECT_EQ(message_of<std::runtime_error>(read),
            folder.path + "/val/pear is a class that is not in train");
}

TEST(ImageFolder, ReadersGiveThePixelsThatWouldBeInMemory) {
  const temporary_folder folder;
  write_two_classes(folder.path, 6);
  const auto here = read_image_folder(folder.path, 32, {12, 3}, 12 * 3072),
             there = read_image_folder(folder.path, 32, {12, 3}, 12 * 3072 - 1);
  EXPECT_FALSE(here.make_reader);
  ASSERT_TRUE(there.make_reader);
  EXPECT_TRUE(there.training.pixels.empty());
  EXPECT_EQ(there.training.labels, here.training.labels);
  EXPECT_EQ(there.validation.pixels, here.validation.pixels);
  const auto read = there.make_reader();
  std::vector<std::uint8_t> bytes(3072);
  for (const std::size_t image : {7, 0, 11, 7}) {
    read(image, bytes.data());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(),
                           here.training.pixels.data() + image * 3072));
  }
}

/// A workload of a folder's images, 16 of each part.
workload_spec folder_spec(const std::string& folder) {
  workload_spec spec{"folder-resnet20", {}};
  for (const auto& x : built_in_workloads())
    if (x.name == spec.name)
      for (const auto& option : x.options)
        spec.options[option.name] = option.fallback;
  spec.options["data.folder"] = folder;
  spec.options["numerics"] = to_text(test_numerics());
  spec.options["data.side"] = 32.0;
  spec.options["data.train"] = spec.options["data.validation"] = 16.0;
  return spec;
}

/// Returns a folder's workload with so much memory for data.
std::unique_ptr<workload> make_with(const workload_spec& spec,
                                    const data_options& data) {
  workload_registry registry;
  add_built_in_workloads(registry, test_device(), data);
  auto made = registry.make(spec);
  if (!made)
    throw std::runtime_error(made.failure().message);
  return std::move(*made);
}

TEST(ImageFolder, TrainingIsTheSameWhereImagesAreReadMeanwhile) {
  ASSERT_TRUE(prepare_device(test_device()));
  const auto train = [](workload& work) {
    auto config = default_configuration("folder-resnet20");
    config["lr"] = form::constant(0.02);
    work.init();
    for (const step_t step : {0, 1}) { // the batches of one have another size
      config["batch_size"] = form::constant(step == 0 ? 5 : 3);
      work.train(config, step, step + 1);
    }
    return std::pair{work.save(), work.evaluate()};
  };
  // Folders of their own: workloads of one folder share its images.
  std::optional<std::pair<std::string, metrics>> in_memory;
  for (const unsigned threads : {0, 1, 3})
    for (const auto memory : {all_bytes, std::uint64_t{0}}) {
      const temporary_folder folder;
      write_two_classes(folder.path, 8);
      const auto work = make_with(folder_spec(folder.path), {threads, memory});
      const auto result = train(*work);
      if (!in_memory)
        in_memory = result;
      EXPECT_TRUE(result.first == in_memory->first) << threads;
      EXPECT_EQ(result.second, in_memory->second) << threads;
    }
}

TEST(ImageFolder, PartsAreTheSameWhereImagesAreReadMeanwhile) {
  ASSERT_TRUE(prepare_device(test_device()));
  std::optional<std::string> expected;
  for (const std::size_t members : {1, 2, 4})
    for (const auto memory : {all_bytes, std::uint64_t{0}}) {
      const temporary_folder folder;
      write_two_classes(folder.path, 8);
      auto spec = folder_spec(folder.path);
      spec.options["parts"] = 4.0;
      const auto work =
        make_with(spec, {1, memory, std::vector(members, test_device())});
      auto config = default_configuration(spec.name);
      config["lr"] = form::constant(0.02);
      // In the last batch two parts have no image.
      config["batch_size"] = form::constant(7);
      work->train(config, 0, 1);
      if (!expected)
        expected = work->save();
      EXPECT_TRUE(work->save() == *expected) << members << ' ' << memory;
    }
}

/// Damages a file of `write_two_classes` after a step of training: the next
/// step is to fail with its name, and training to go on once it is mended.
void expect_damage_is_told(workload& work, const std::string& folder) {
  const auto broken = folder + "/train/sky/1.JPEG";
  auto config = default_configuration("folder-resnet20");
  config["batch_size"] = form::constant(4);
  work.train(config, 0, 1);
  const auto state = work.save();
  const auto saved = read_file(broken);
  write_file(broken, "JFIF");
  const auto said =
    message_of<std::runtime_error>([&] { work.train(config, 1, 2); });
  EXPECT_TRUE(has(said, broken + " is damaged, or no JPEG file: ")) << said;
  write_file(broken, saved);
  work.init();
  work.train(config, 0, 1); // as if nothing had happened
  EXPECT_TRUE(work.save() == state);
}

TEST(ImageFolder, OneMembersFailureIsTheWorkloads) {
  ASSERT_TRUE(prepare_device(test_device()));
  for (const std::size_t members : {2, 4}) {
    const temporary_folder folder;
    write_two_classes(folder.path, 8);
    auto spec = folder_spec(folder.path);
    spec.options["parts"] = 4.0;
    const auto work =
      make_with(spec, {1, 0, std::vector(members, test_device())});
    expect_damage_is_told(*work, folder.path);
  }
}

TEST(ImageFolder, AFileThatIsDamagedLaterEndsTrainingWithItsName) {
  ASSERT_TRUE(prepare_device(test_device()));
  for (const unsigned threads : {0, 2}) {
    const temporary_folder folder;
    write_two_classes(folder.path, 8);
    const auto work = make_with(folder_spec(folder.path), {threads, 0});
    expect_damage_is_told(*work, folder.path);
  }
}

TEST(ImageFolder, IsTrainedOn) {
  ASSERT_TRUE(prepare_device(test_device()));
  const temporary_folder folder;
  write_two_classes(folder.path, 8);
  const auto spec = folder_spec(folder.path);
  const auto work = make_built_in(spec);
  auto config = default_configuration(spec.name);
  config["batch_size"] = form::constant(4);
  config["lr"] = form::constant(0.02);
  EXPECT_NEAR(work->evaluate().at("train_loss"), std::log(2), 1e-6);
  // One epoch, which is so few iterations that rounding makes no difference
  // yet: the first ones of a normalised network multiply it by a lot.
  work->train(config, 0, 1);
  const auto measured = work->evaluate();
  EXPECT_LT(measured.at("train_loss"), 0.65);
  EXPECT_LT(measured.at("val_loss"), 0.6);
  EXPECT_EQ(measured.at("val_accuracy"), 1);
}

} // namespace hippo
