#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "hippo/checkpoint/parts/parted_store.hpp"
#include "hippo/train/run.hpp"
#include "hippo/train/torch/training.hpp"
#include "train/temporary_folder.hpp"
#include "train/training_process.hpp"

namespace hippo {

namespace {

/// Returns how making `spec` fails.
error failure_of(const workload_spec& spec) {
  workload_registry registry;
  add_built_in_workloads(registry, "cpu");
  const auto made = registry.make(spec);
  return made ? error{} : made.failure();
}

} // namespace

TEST(Fashion, MlpLearns) {
  const auto work = make_built_in(small_spec("fashion-mlp", 2000));
  const auto before = work->evaluate();
  EXPECT_EQ(before.at("train_loss"), std::log(10.0));
  work->train(default_configuration("fashion-mlp"), 0, 3);
  const auto after = work->evaluate();
  EXPECT_GT(after.at("val_accuracy"), 0.7);
  EXPECT_LT(after.at("val_loss"), before.at("val_loss"));
  EXPECT_LT(after.at("train_loss"), 1);
}

TEST(Fashion, CnnLearns) {
  const auto work = make_built_in(small_spec("fashion-cnn", 2000));
  work->train(default_configuration("fashion-cnn"), 0, 3);
  EXPECT_GT(work->evaluate().at("val_accuracy"), 0.65);
}

TEST(Fashion, ResnetLearns) {
  const auto work = make_built_in(small_spec("fashion-resnet", 256));
  auto config = default_configuration("fashion-resnet");
  config["batch_size"] = form::constant(32);
  work->train(config, 0, 3);
  EXPECT_LT(work->evaluate().at("train_loss"), 1.8);
}

TEST(Fashion, AdamwLearns) {
  const auto work = make_built_in(small_spec("fashion-mlp", 2000));
  auto config = default_configuration("fashion-mlp");
  config["optimizer"] = form::text("adamw");
  config["lr"] = form::constant(0.001);
  config["batch_size"] = form::constant(16);
  work->train(config, 0, 3);
  EXPECT_GT(work->evaluate().at("val_accuracy"), 0.7);
}

TEST(Fashion, EveryHyperParameterMatters) {
  for (const auto& workload : built_in_workloads()) {
    // Other networks have the same ones and are larger.
    if (!workload.name.starts_with("fashion-")
        && workload.name != "cifar-resnet20")
      continue;
    if (workload.name == "fashion-resnet"
        || workload.name == "fashion-mlp-wide")
      continue;
    const auto images = workload.name == "cifar-resnet20" ? 16.0 : 64.0;
    const auto work = make_built_in(small_spec(workload.name, images));
    // Exchanges are of parts that train copies.
    const auto parts = make_built_in(
      small_spec(workload.name + (workload.averages ? "/bmuf" : ""), images));
    const auto result = [&](const configuration& config, bool exchanges) {
      auto& x = exchanges ? *parts : *work;
      x.init();
      x.train(config, 0, 1);
      return x.save();
    };
    std::map<std::array<bool, 4>, std::string> plain;
    auto sgd = default_configuration(workload.name);
    auto adamw = sgd;
    adamw["optimizer"] = form::text("adamw");
    const std::map<std::string, form> others{
      {"lr", form::constant(0.03)},
      {"batch_size", form::constant(5)},
      {"optimizer", form::text("adamw")},
      {"momentum", form::constant(0.5)},
      {"nesterov", form::constant(1)},
      {"beta2", form::constant(0.9)},
      {"weight_decay", form::constant(0.1)},
      {"dropout", form::constant(0.4)},
      {"label_smoothing", form::constant(0.2)},
      {"crop", form::constant(0)},
      {"flip", form::constant(0)},
      {"cutout", form::constant(8)},
      {"subnetworks", form::constant(8)},
      {"subnetworks_at_once", form::constant(2)},
      {"subnetwork_period", form::constant(0.5)},
      {"dropout_block", form::constant(2)},
      {"subnetwork_draw", form::text("replace")},
      {"updates", form::text("synchronous")},
      {"predictor", form::text("mc")},
      {"sync_every", form::constant(3)},
      {"sync_lag", form::constant(1)},
      {"sync_alpha", form::constant(1)},
      {"sync_momentum", form::constant(0.5)},
      {"sync_lr", form::constant(0.5)},
    };
    sgd["batch_size"] = adamw["batch_size"] = form::constant(8);
    for (const auto& x : workload.hyper_parameters) {
      // beta2 is AdamW's alone, others those of gyro dropout.
      auto config = x.name == "beta2" ? adamw : sgd;
      const bool exchanges = !x.only_option.empty();
      if (exchanges) { // several of them, of few images too
        config["sync_every"] = form::constant(2);
        config["batch_size"] = form::constant(4);
      } else if (x.left_out) {
        config["dropout"] = form::constant(0.5);
        config["subnetworks_at_once"] = form::constant(4);
        if (x.only_with == "subnetworks")
          config["subnetworks"] = form::constant(4);
      }
      auto& before = plain[{x.name == "beta2", exchanges, x.left_out,
                            x.only_with == "subnetworks"}];
      if (before.empty())
        before = result(config, exchanges);
      config[x.name] = others.at(x.name);
      EXPECT_FALSE(result(config, exchanges) == before)
        << workload.name << ' ' << x.name;
    }
  }
}

TEST(Fashion, BatchesThatAreNotFullCount) {
  // One image in the last batch, which normalisation must bear.
  const auto work = make_built_in(small_spec("fashion-cnn", 65));
  work->train(default_configuration("fashion-cnn"), 0, 1);
  for (const auto& [name, value] : work->evaluate())
    EXPECT_TRUE(std::isfinite(value)) << name;
}

TEST(Fashion, BatchesAboveTheDataAreRefused) {
  const auto work = make_built_in(small_spec("fashion-mlp", 100));
  auto config = default_configuration("fashion-mlp");
  config["batch_size"] = form::constant(101);
  EXPECT_THROW(work->train(config, 0, 1), std::invalid_argument);
  config["batch_size"] = form::constant(100);
  EXPECT_NO_THROW(work->train(config, 0, 1));
}

TEST(Fashion, DivergenceIsReported) {
  const auto work = make_built_in(small_spec("fashion-mlp"));
  lease x;
  x.number = lease_id{1};
  x.stages = {{node_id{1}, 0, 3, default_configuration("fashion-mlp")}};
  x.stages[0].config["lr"] = form::constant(1e6);
  x.stops = {{3, true, true}};
  lease_control control{x.stops};
  lease_progress progress;
  std::vector<stop_report> reports;
  std::optional<checkpoint> present;
  recent_states kept{0};
  folder_store store{"no-such-folder"};
  part_tables tables;
  parted_store states{x, store, tables};
  const auto end = run(
    *work, present, kept, x, states, "cpu", control, progress, [] { return 0; },
    [&](const stop_report& report) { reports.push_back(report); });
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->code, errc::diverged) << end.failure->message;
  ASSERT_EQ(reports.size(), 1);
  EXPECT_FALSE(reports[0].saved);
}

TEST(Fashion, OverlappingDataIsRefused) {
  auto spec = small_spec("fashion-mlp", 59701);
  const auto failure = failure_of(spec);
  EXPECT_EQ(failure.code, errc::training_failed);
  EXPECT_NE(failure.message.find("together at most 60000"), std::string::npos);
  spec.options["data.train"] = 59700.0;
  EXPECT_EQ(failure_of(spec).message, "");
}

TEST(Fashion, MissingDataSaysWhatToDo) {
  auto spec = small_spec("fashion-mlp");
  spec.options["data.folder"] = "/nowhere";
  const auto failure = failure_of(spec);
  EXPECT_EQ(failure.code, errc::missing_data);
  for (const auto* word : {"/nowhere", "dataset-fashion-mnist", "data.folder"})
    EXPECT_NE(failure.message.find(word), std::string::npos) << word;
}

TEST(Fashion, DamagedDataIsRefused) {
  const temporary_folder folder;
  write_file(folder.path + "/train-images-idx3-ubyte", "too short");
  write_file(folder.path + "/train-labels-idx1-ubyte", "too short");
  auto spec = small_spec("fashion-mlp");
  spec.options["data.folder"] = folder.path;
  const auto failure = failure_of(spec);
  EXPECT_EQ(failure.code, errc::training_failed);
  EXPECT_NE(failure.message.find("is damaged"), std::string::npos);
}

TEST(Fashion, StatesOfOthersAreRefused) {
  const auto mlp = make_built_in(small_spec("fashion-mlp"));
  const auto cnn = make_built_in(small_spec("fashion-cnn"));
  EXPECT_THROW(mlp->load(cnn->save()), std::runtime_error);
  const auto state = mlp->save();
  EXPECT_THROW(mlp->load(""), std::runtime_error);
  EXPECT_THROW(mlp->load(state.substr(0, state.size() - 1)),
               std::runtime_error);
  EXPECT_THROW(mlp->load(state + "x"), std::runtime_error);
  EXPECT_NO_THROW(mlp->load(state));
}

TEST(Fashion, WeightsThatCannotBeWritten) {
  const auto work = make_built_in(small_spec("fashion-mlp"));
  EXPECT_ANY_THROW(work->export_weights("/nowhere/weights.pt"));
  if (std::filesystem::exists("/dev/full")) {
    EXPECT_ANY_THROW(work->export_weights("/dev/full"));
  }
}

TEST(Device, TheCpu) {
  const auto x = prepare_device("cpu");
  ASSERT_TRUE(x);
  EXPECT_TRUE(x->kind.starts_with("cpu ")) << x->kind;
  // Portable ones are of one kind, whatever else the CPU has.
  const bool is_portable = x->kind.find(" portable-avx2 ") != x->kind.npos;
  EXPECT_EQ(is_portable, test_numerics() == numerics::portable) << x->kind;
  EXPECT_NE(x->kind.find(" 1-thread torch-"), std::string::npos) << x->kind;
  EXPECT_GT(x->memory_bytes, 0u);
  EXPECT_EQ(x->driver + x->compute_capability, "");
}

TEST(Device, OtherNumericsAreRefused) {
  if (test_device() != "cpu")
    GTEST_SKIP() << "a GPU trains what is of either";
  auto spec = small_spec("fashion-mlp");
  spec.options["numerics"] = to_text(test_numerics() == numerics::portable
                                       ? numerics::native
                                       : numerics::portable);
  const auto failure = failure_of(spec);
  EXPECT_NE(failure.message.find("numerics: "), std::string::npos)
    << failure.message;
}

TEST(Device, UnknownOnesAreRefused) {
  for (const auto* name : {"", "cpux", "gpu", "cuda", "meta", "cuda:99"}) {
    const auto kind = prepare_device(name);
    ASSERT_FALSE(kind) << name;
    EXPECT_EQ(kind.failure().code, errc::invalid_argument) << name;
    EXPECT_FALSE(kind.failure().message.empty());
  }
}

} // namespace hippo
