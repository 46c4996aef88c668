// The workload graph-sage.

#include "hippo/train/torch/graph/graph_workload.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "hippo/train/torch/weights_file.hpp"
#include "train/compute_threads.hpp"
#include "train/message_of.hpp"
#include "train/temporary_folder.hpp"
#include "train/training_process.hpp"

namespace hippo {
namespace {

constexpr auto name = "graph-sage";

std::unique_ptr<workload> made(const workload_spec& spec,
                               unsigned prepare_threads = 1) {
  workload_registry registry;
  add_built_in_workloads(registry, test_device(), {prepare_threads});
  auto result = registry.make(spec);
  if (!result)
    throw std::runtime_error(result.failure().message);
  return std::move(*result);
}

/// The accuracy after some epochs of the defaults.
double accuracy(const workload_spec& spec, const std::string& fanouts,
                step_t epochs) {
  const auto work = made(spec);
  work->init();
  auto config = default_configuration(name);
  config["fanouts"] = form::text(fanouts);
  work->train(config, 0, epochs);
  return work->evaluate().at("val_accuracy");
}

workload_spec default_spec() {
  auto spec = small_spec(name, 1000);
  spec.options["data.validation"] = 1000.;
  return spec;
}

TEST(GraphWorkload, NeighboursTellClassesApartAlsoIfFewAreDrawn) {
  const auto all = accuracy(default_spec(), "all", 20),
             some = accuracy(default_spec(), "10,5", 20);
  EXPECT_GE(all, 0.95);
  EXPECT_NEAR(some, all, 0.01);
  auto alone = default_spec();
  alone.options["data.within"] = alone.options["data.between"] = 0.;
  EXPECT_LT(accuracy(alone, "all", 20), 0.8) << "features alone suffice";
}

TEST(GraphWorkload, LearnsImagesAndTheirNeighbours) {
  auto spec = small_spec(name, 1000);
  spec.options["data.set"] = "fashion-neighbours";
  EXPECT_GT(accuracy(spec, "5,5", 5), 0.7);
}

TEST(GraphWorkload, ThreadsThatPrepareChangeNothing) {
  std::string expected;
  for (const unsigned threads : {0, 1, 2, 8}) {
    const auto work = made(small_spec(name), threads);
    work->init();
    train_changing(*work, name, 0, 3);
    if (threads == 0)
      expected = work->save();
    EXPECT_TRUE(work->save() == expected) << threads;
  }
}

TEST(GraphWorkload, AnyNumberOfThreadsThatComputeGivesTheSameBits) {
  const auto trained = [&](int count) {
    const compute_threads threads{count};
    const auto work = made(small_spec(name));
    work->init();
    train_changing(*work, name, 0, 3);
    return std::pair{work->save(), work->evaluate()};
  };
  const auto one = trained(1), four = trained(4);
  EXPECT_TRUE(one.first == four.first);
  EXPECT_EQ(one.second, four.second);
}

TEST(GraphWorkload, InferenceMayDrawNeighbours) {
  auto spec = default_spec();
  const auto all = made(spec);
  spec.options["inference"] = "8,8";
  const auto some = made(spec);
  all->init();
  all->train(default_configuration(name), 0, 5);
  some->load(all->save());
  const auto exact = all->evaluate(), drawn = some->evaluate();
  EXPECT_NE(exact.at("val_loss"), drawn.at("val_loss"));
  EXPECT_NEAR(exact.at("val_accuracy"), drawn.at("val_accuracy"), 0.1);
  EXPECT_EQ(some->evaluate(), drawn);
  // Fanouts above all degrees draw nothing: layer by layer is the same.
  spec.options["inference"] = "1000,1000";
  const auto whole = made(spec);
  whole->load(all->save());
  const auto same = whole->evaluate();
  EXPECT_EQ(same.at("val_accuracy"), exact.at("val_accuracy"));
  EXPECT_NEAR(same.at("val_loss"), exact.at("val_loss"), 1e-9);
}

TEST(GraphWorkload, EveryHyperParameterAndOptionMatters) {
  const auto trained = [](const workload_spec& spec,
                          const configuration& config) {
    const auto work = made(spec);
    work->init();
    work->train(config, 0, 1);
    return work->save();
  };
  const auto spec = small_spec(name);
  const auto config = default_configuration(name);
  const auto plain = trained(spec, config);
  const std::map<std::string, form> values{
    {"lr", form::constant(0.03)},     {"batch_size", form::constant(50)},
    {"optimizer", form::text("sgd")}, {"momentum", form::constant(0.5)},
    {"beta2", form::constant(0.9)},   {"weight_decay", form::constant(0.1)},
    {"dropout", form::constant(0)},   {"fanouts", form::text("2,2")}};
  for (const auto& [parameter, unused] : config) {
    auto other = config;
    other[parameter] = values.at(parameter);
    EXPECT_FALSE(trained(spec, other) == plain) << parameter;
  }
  const std::map<std::string, scalar> options{
    {"data.classes", 5.},  {"data.between", 0.01},
    {"data.nodes", 1000.}, {"data.noise", 2.},
    {"data.train", 150.},  {"data.within", 0.05},
    {"hidden", 32.},       {"seed", 2.}};
  for (const auto& [option, value] : options) {
    auto other = spec;
    other.options[option] = value;
    EXPECT_FALSE(trained(other, config) == plain) << option;
  }
}

TEST(GraphWorkload, ExportsWeightsWithTheNamesOfPyTorchGeometric) {
  const temporary_folder folder;
  const auto work = made(small_spec(name));
  work->init();
  EXPECT_NEAR(work->evaluate().at("train_loss"), std::log(4), 1e-9);
  work->export_weights(folder.path + "/w.pt");
  const auto weights = read_weights(folder.path + "/w.pt");
  EXPECT_EQ(weights.size(), 6);
  EXPECT_EQ(weights.at("convs.0.lin_l.weight").sizes(),
            (at::IntArrayRef{64, 4}));
  EXPECT_EQ(weights.at("convs.1.lin_l.bias").sizes(), (at::IntArrayRef{4}));
  EXPECT_EQ(weights.at("convs.1.lin_r.weight").sizes(),
            (at::IntArrayRef{4, 64}));
}

TEST(GraphWorkload, WrongInputSaysWhatIsWrong) {
  const auto refusal = [](const char* option, const scalar& value) {
    auto spec = small_spec(name);
    spec.options[option] = value;
    return message_of<std::exception>([&] { made(spec); });
  };
  EXPECT_NE(refusal("data.train", 1800.)
              .find("data.train 1800 and data.validation 300 are more than the "
                    "2000 of data.nodes"),
            std::string::npos);
  EXPECT_NE(refusal("data.nodes", 1000000.)
              .find("data.nodes 1000000, data.within 0.02 and data.between "
                    "0.002 make about "),
            std::string::npos);
  EXPECT_NE(refusal("inference", "3")
              .find("inference '3' is for 1 layers, and the workload has 2"),
            std::string::npos);
  auto config = default_configuration(name);
  config["fanouts"] = form::text("10,5,5");
  const auto work = made(small_spec(name));
  EXPECT_NE(message_of<std::exception>([&] {
              work->train(config, 0, 1);
            }).find("fanouts '10,5,5' is for 3 layers"),
            std::string::npos);
  config = default_configuration(name);
  config["batch_size"] = form::constant(129);
  EXPECT_NE(message_of<std::exception>([&] {
              work->train(config, 0, 1);
            }).find("batch_size 129 is above data.train 128"),
            std::string::npos);
}

} // namespace
} // namespace hippo
