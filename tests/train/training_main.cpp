// The test program, and what it does in its own child processes.

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "hippo/train/torch/training.hpp"
#include "train/training_process.hpp"

extern char** environ;

namespace hippo {

namespace {

/// Whether an image takes a network milliseconds.
bool is_large(const std::string& name) {
  return name.starts_with("cifar-") || name.starts_with("fashion-resnet");
}

/// Returns the name of a workload without a word on parts behind it.
std::string without_sync(const std::string& name) {
  return name.substr(0, name.find('/'));
}

const workload_descriptor& descriptor_of(const std::string& full) {
  const auto name = without_sync(full);
  for (const auto& x : built_in_workloads())
    if (x.name == name)
      return x;
  throw std::invalid_argument("no workload is named " + name);
}

form constant_form(const scalar& x) {
  if (const auto* number = std::get_if<double>(&x))
    return form::constant(*number);
  return form::text(std::get<std::string>(x));
}

/// `--go-on WORKLOAD FOLDER STEPS FROM...`: loads each of the states
/// FOLDER/FROM, trains it so many steps, and saves it as FOLDER/afterFROM.
int go_on(const std::vector<std::string>& arguments) {
  const auto& name = arguments.at(1);
  const auto length = std::stoul(arguments.at(3));
  for (auto i = 4U; i < arguments.size(); ++i) {
    const auto folder = arguments.at(2) + '/';
    const auto from = std::stoul(arguments[i]);
    const auto work = make_built_in(small_spec(name));
    work->load(read_file(folder + arguments[i]));
    train_changing(*work, name, from, from + length);
    write_file(folder + "after" + arguments[i], work->save());
  }
  return 0;
}

/// `--export WORKLOAD PATH`: trains a little, exports, tells what is in it.
int export_weights(const std::vector<std::string>& arguments) {
  const auto work = make_built_in(small_spec(arguments.at(1)));
  train_changing(*work, arguments.at(1), 0, 1);
  work->export_weights(arguments.at(2));
  std::cout << describe_model(work->save());
  return 0;
}

/// Fails a case that leaves LibTorch otherwise than it was: other cases run in
/// its process.
class settings_watch final : public testing::EmptyTestEventListener {
  using settings = std::map<std::string, int>;

  static settings present() {
    return {{"threads", at::get_num_threads()},
            {"deterministic", at::globalContext().deterministicAlgorithms()},
            {"gradients", at::GradMode::is_enabled()},
            {"autocast", at::autocast::is_autocast_enabled(at::kCPU)}};
  }

  void OnTestEnd(const testing::TestInfo& /*info*/) override {
    EXPECT_EQ(present(), first_) << "a setting of LibTorch is left changed";
  }

  settings first_ = present();
};

} // namespace

workload_spec small_spec(const std::string& full, double images) {
  const auto name = without_sync(full);
  workload_spec spec{name, {}};
  for (const auto& x : descriptor_of(name).options)
    spec.options[x.name] =
      std::ranges::count(x.words, "synthetic") > 0 ? "synthetic" : x.fallback;
  if (spec.options.contains("numerics"))
    spec.options["numerics"] = to_text(test_numerics());
  const bool is_text = name.starts_with("squad-");
  if (images == 0)
    images = is_large(name) ? 16 : is_text ? 32 : 128;
  spec.options["data.train"] = images;
  spec.options["data.validation"] = is_large(name) ? 8.0 : 300.0;
  if (const auto* folder = std::getenv("PLAIN_DATA");
      folder != nullptr && name.starts_with("fashion-"))
    spec.options["data.folder"] = std::string{folder};
  if (is_text) {
    spec.options["data.validation"] = 64.0;
    spec.options["data.length"] = 32.0;
  } else if (name.starts_with("clicks-")) {
    spec.options["data.step"] = images / 2;
    spec.options["data.rows"] = 50.0;
    spec.options["dimension"] = 4.0;
    spec.options["hidden"] = 16.0;
    spec.options["parts"] = 4.0;
  }
  if (full != name) {
    spec.options["parts"] = 4.0;
    spec.options["sync"] = full.substr(name.size() + 1);
  }
  return spec;
}

std::string test_device() {
  const auto* name = std::getenv("HIPPO_TEST_DEVICE");
  return name == nullptr ? "cpu" : name;
}

numerics test_numerics() {
  const auto* word = std::getenv("HIPPO_TEST_NUMERICS");
  return word == nullptr ? default_numerics : numerics_from(word).value();
}

std::unique_ptr<workload> make_built_in(const workload_spec& spec,
                                        std::size_t members) {
  const auto device = prepare_device(test_device(), 1, test_numerics());
  if (!device)
    throw std::runtime_error(device.failure().message);
  workload_registry registry;
  data_options data;
  data.members.assign(members, test_device());
  add_built_in_workloads(registry, test_device(), data);
  auto made = registry.make(spec);
  if (!made)
    throw std::runtime_error(made.failure().message);
  return std::move(*made);
}

configuration default_configuration(const std::string& name) {
  configuration result;
  for (const auto& x : descriptor_of(name).hyper_parameters)
    result[x.name] = constant_form(x.fallback);
  return result;
}

configuration changing_configuration(const std::string& name, step_t step) {
  const std::map<std::string, std::vector<scalar>> values{
    {"lr", {0.05, 0.02, 0.001, 0.002, 0.03, 0.01}},
    {"batch_size", {32., 48., 64., 20., 100., 31.}},
    {"optimizer", {"sgd", "sgd", "adamw", "adamw", "sgd", "sgd"}},
    {"momentum", {0.9, 0.8, 0.9, 0.5, 0., 0.95}},
    {"nesterov", {0., 1., 0., 1., 0., 1.}},
    {"beta2", {0.9, 0.99, 0.999, 0.95, 0.9, 0.8}},
    {"weight_decay", {0., 0.001, 0.01, 0.02, 0.0005, 0.1}},
    {"dropout", {0., 0.1, 0.3, 0.2, 0., 0.5}},
    {"label_smoothing", {0., 0.1, 0.05, 0.2, 0., 0.3}},
    {"clip", {1., 0., 0.5, 2., 0.1, 1.}},
    {"crop", {2., 0., 1., 3., 2., 4.}},
    {"flip", {0.5, 0., 1., 0.3, 0.5, 0.1}},
    {"cutout", {0., 8., 5., 16., 1., 0.}},
    {"subnetworks", {0., 16., 8., 0., 12., 6.}},
    {"subnetworks_at_once", {16., 4., 8., 1., 5., 2.}},
    {"subnetwork_period", {1., 2., 0.5, 1., 0.3, 1.25}},
    {"dropout_block", {1., 2., 1., 4., 8., 32.}},
    {"subnetwork_draw",
     {"permute", "permute", "replace", "permute", "replace", "permute"}},
    {"embedding_lr", {1., 0.5, 2., 0.1, 1., 0.}},
    {"sync", {"average", "elastic", "step", "bmuf", "average", "elastic"}},
    {"sync_every", {2., 3., 1., 2., 1., 4.}},
    {"sync_lag", {1., 2., 0., 1., 0., 1.}},
    {"sync_alpha", {1., 0.5, 0.5, 0.75, 0.3, 0.1}},
    {"sync_momentum", {0., 0., 0., 0.5, 0.9, 0.}},
    {"sync_lr", {1., 1., 0.5, 1.5, 1., 1.}},
    {"updates",
     {"asynchronous", "synchronous", "asynchronous", "asynchronous",
      "synchronous", "asynchronous"}},
    {"predictor", {"last", "mm", "mc", "mm", "mc", "mc"}},
    {"delay", {1., 2., 2., 0., 3., 2.}},
    {"fanouts", {"10,5", "all", "3,2", "all,4", "5,5", "1,1"}},
  };
  configuration result;
  for (const auto& x : descriptor_of(name).hyper_parameters)
    result[x.name] = constant_form(values.at(x.name).at(step));
  if (name.ends_with("-linear") || name == "fashion-cyclic")
    result["lr"] = form::constant(step % 2 == 0 ? 0.0005 : 0.001);
  if (name.ends_with("-linear"))
    result["optimizer"] = constant_form(step == 2 ? "sgd" : "saga");
  // The images of `small_spec` make several batches of up to 8 parts.
  if (is_large(name) || name.starts_with("squad-"))
    result["batch_size"] = form::constant(static_cast<double>(8 + step));
  if (name.starts_with("clicks-"))
    result["batch_size"] = form::constant(static_cast<double>(4 + step));
  // Blocks that layers are multiplied by, in batches that are large enough.
  if (name == "fashion-mlp-wide") {
    result["dropout_block"] = form::constant(128);
    result["batch_size"] = form::constant(128);
    result["dropout"] = form::constant(0.5);
  }
  return result;
}

void train_changing(workload& work, const std::string& name, step_t from,
                    step_t to) {
  for (auto step = from; step < to; ++step)
    work.train(changing_configuration(name, step), step, step + 1);
}

bool run_again(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"training_tests"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (auto& x : words)
    pointers.push_back(x.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, pointers.data(),
                  environ)
      != 0)
    return false;
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status)
         && WEXITSTATUS(status) == 0;
}

std::string read_file(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream{path, std::ios::binary}.rdbuf();
  return out.str();
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream{path, std::ios::binary} << bytes;
}

} // namespace hippo

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string mode = arguments.empty() ? "" : arguments.front();
  try {
    if (mode == "--go-on")
      return hippo::go_on(arguments);
    if (mode == "--export")
      return hippo::export_weights(arguments);
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
  if (const auto device = hippo::prepare_device(hippo::test_device(), 1,
                                                hippo::test_numerics());
      !device) {
    std::cout << "skipped: " << device.failure().message << '\n';
    return 77;
  }
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(
    new hippo::settings_watch);
  return RUN_ALL_TESTS();
}
