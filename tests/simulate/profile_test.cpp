#include "hippo/forecast/simulate/profile.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "simulate/profiles.hpp"

namespace hippo {
namespace {

using namespace test;

/// Returns the sample profile with the first `from` replaced.
std::string changed(const std::string& from, const std::string& to) {
  std::string result = sample_profile;
  const auto at = result.find(from);
  if (at == std::string::npos)
    ADD_FAILURE() << "no '" << from << "' in the sample";
  else
    result.replace(at, from.size(), to);
  return result;
}

std::vector<std::string> errors_of(const std::string& text) {
  std::vector<std::string> result;
  const auto read = read_profile(text, "p.yaml");
  EXPECT_EQ(read.profile.has_value(), read.errors.empty());
  for (const auto& x : read.errors)
    result.push_back(to_text(x));
  return result;
}

/// Expects one error, whose text after the position is `message`.
void expect_error(const std::string& from, const std::string& to,
                  const std::string& message) {
  const auto errors = errors_of(changed(from, to));
  ASSERT_EQ(errors.size(), 1u)
    << from << " -> " << to << ": " << testing::PrintToString(errors);
  static const std::regex position{"p.yaml:[0-9]+:[0-9]+: "};
  EXPECT_EQ(std::regex_replace(errors[0], position, ""), message);
}

/// The sample with batches in parts, and more.
std::string of_parts(const std::string& members) {
  return changed("  metrics: {acc",
                 "  options: {parts: {default: 1, min: 1, integer: true}}\n"
                 "  metrics: {acc")
         + members;
}

TEST(ProfileTest, MembersAreAsFastAsItSays) {
  const auto x = read_good_profile(of_parts("members: {2: 1.5, 8: 4}\n"));
  EXPECT_EQ(x.speedup(1), 1);
  EXPECT_EQ(x.speedup(2), 1.5);
  EXPECT_EQ(x.speedup(4), 1.5 * 1.8) << "twice as many as were measured";
  EXPECT_EQ(x.speedup(8), 4);
  EXPECT_EQ(x.speedup(16), 4 * 1.8);
  EXPECT_EQ(read_good_profile(of_parts("")).speedup(4), 1.8 * 1.8);
}

TEST(ProfileTest, TellsWhatIsWrongWithMembers) {
  for (const std::string number : {"1", "3", "128", "two", "-2", "2.0"})
    EXPECT_EQ(errors_of(of_parts("members: {" + number + ": 1.5}\n")),
              (std::vector<std::string>{
                "p.yaml:35:11: members." + number
                + ": must be a number of trainers, a power of two from 2 to "
                  "64, found '"
                + number + "'"}));
  for (const std::string gain : {"0", "-1", "4.1", "nan", "fast"}) {
    const auto errors = errors_of(of_parts("members: {2: " + gain + "}\n"));
    ASSERT_EQ(errors.size(), 1u) << gain;
    EXPECT_TRUE(errors[0].starts_with("p.yaml:35:14: members.2: must be "))
      << errors[0];
  }
  EXPECT_EQ(errors_of(of_parts("members: 1.8\n")),
            std::vector<std::string>{
              "p.yaml:35:10: members: must be a map of numbers of trainers and "
              "how many times as fast they are, found '1.8'"});
  EXPECT_EQ(errors_of(std::string{sample_profile} + "members: {2: 1.5}\n"),
            std::vector<std::string>{
              "p.yaml:34:10: members: 'net' has no option 'parts', which "
              "divides batches among trainers"});
}

TEST(ProfileTest, ReadsEverything) {
  const auto x = read_good_profile(changed("step_seconds: 10",
                                           "step_seconds: 10\nspread: 0.1\n"
                                           "failure_rate: 0.02\n"
                                           "at_once_gain: 2.5"));
  EXPECT_EQ(x.device, "sample");
  EXPECT_EQ(x.workload.name, "net");
  EXPECT_EQ(x.workload.unit, "epoch");
  ASSERT_EQ(x.workload.hyper_parameters.size(), 5u);
  const auto& momentum = x.workload.hyper_parameters[1];
  EXPECT_EQ(momentum.name, "momentum");
  EXPECT_EQ(momentum.fallback, scalar{0.9});
  EXPECT_EQ(momentum.min, 0);
  EXPECT_EQ(momentum.max, 1);
  EXPECT_TRUE(momentum.max_excluded);
  EXPECT_FALSE(momentum.min_excluded);
  EXPECT_FALSE(momentum.affects_speed);
  const auto& batch = x.workload.hyper_parameters[2];
  EXPECT_TRUE(batch.integer);
  EXPECT_TRUE(batch.affects_speed);
  const auto& optimizer = x.workload.hyper_parameters[4];
  EXPECT_EQ(optimizer.fallback, scalar{std::string{"sgd"}});
  EXPECT_EQ(optimizer.words, (std::vector<std::string>{"sgd", "adamw"}));
  ASSERT_EQ(x.workload.metrics.size(), 3u);
  EXPECT_EQ(x.workload.metrics[0].better, direction::maximize);
  EXPECT_EQ(x.workload.metrics[1].better, direction::minimize);
  EXPECT_EQ(x.spread, 0.1);
  EXPECT_EQ(x.failure_rate, 0.02);
  EXPECT_EQ(x.at_once_gain, 2.5);
  EXPECT_EQ(x.dispatch_seconds, 1);
  EXPECT_EQ(x.load_seconds, 2);
  EXPECT_EQ(x.save_seconds, 3);
  EXPECT_EQ(x.evaluate_seconds, 4);
  EXPECT_EQ(x.checkpoint_bytes, 5000u);
  EXPECT_EQ(x.curve.learning_rate.name, "lr");
  EXPECT_EQ(x.curve.momentum.name, "momentum");
  EXPECT_EQ(x.curve.batch_size.name, "batch_size");
  EXPECT_EQ(x.curve.learning_rate_factors.at("optimizer").at("adamw"), 50);
  EXPECT_EQ(x.curve.regularisers.at("weight_decay"), 0.0005);
  EXPECT_EQ(x.curve.samples_per_step, 40000);
  EXPECT_EQ(x.curve.sharpness, 0.15);
  EXPECT_EQ(x.curve.flatness, 1e-4);
  EXPECT_EQ(x.curve.early_sharpness, 4);
  EXPECT_EQ(x.curve.gradient_noise, 25);
  EXPECT_EQ(x.curve.overfitting, 0.15);
  EXPECT_EQ(x.curve.overfitting_steps, 40);
  EXPECT_EQ(x.curve.slowdown, 0.3);
  EXPECT_EQ(x.curve.evaluation_noise, 0.003);
  ASSERT_EQ(x.curve.metrics.size(), 3u);
  EXPECT_EQ(x.curve.metrics[1].name, "loss");
  EXPECT_EQ(x.curve.metrics[1].start, 2.3);
  EXPECT_EQ(x.curve.metrics[1].best, 0.2);
  EXPECT_EQ(x.curve.metrics[1].power, 1.5);
  EXPECT_TRUE(x.curve.metrics[1].overfits);
  EXPECT_FALSE(x.curve.metrics[2].overfits);
}

TEST(ProfileTest, HasDefaults) {
  const auto x = read_good_profile(R"(
device: some
workload:
  name: net
  unit: half an epoch
  options: {seed: {default: 1, integer: true}}
  hyper_parameters: {rate: {default: 1}}
  metrics: {loss: minimize}
step_seconds: 1
curve:
  learning_rate: rate
  batch_size: 32
  samples_per_step: 1
  sharpness: 1
  flatness: 1
  gradient_noise: 0
  metrics: {loss: {start: 1, best: 0}}
)");
  EXPECT_EQ(x.workload.unit, "half an epoch");
  ASSERT_EQ(x.workload.options.size(), 1u);
  EXPECT_EQ(x.workload.options[0].name, "seed");
  EXPECT_EQ(x.spread, 0);
  EXPECT_EQ(x.dispatch_seconds + x.load_seconds + x.save_seconds
              + x.evaluate_seconds + x.failure_rate,
            0);
  EXPECT_EQ(x.checkpoint_bytes, 0u);
  EXPECT_EQ(x.at_once_gain, 1);
  EXPECT_EQ(x.curve.learning_rate.name, "rate");
  EXPECT_EQ(x.curve.momentum.name, ""); // there is none
  EXPECT_EQ(x.curve.momentum.fixed, 0);
  EXPECT_EQ(x.curve.batch_size.name, "");
  EXPECT_EQ(x.curve.batch_size.fixed, 32);
  EXPECT_EQ(x.curve.early_sharpness, 1);
  EXPECT_EQ(x.curve.overfitting, 0);
  EXPECT_EQ(x.curve.overfitting_steps, 1);
  EXPECT_EQ(x.curve.slowdown, 0);
  EXPECT_EQ(x.curve.evaluation_noise, 0);
  EXPECT_EQ(x.curve.metrics[0].power, 1);
}

TEST(ProfileTest, MayNameAWorkloadThatComesWithHippo) {
  const std::string text = R"(
device: some
workload: fashion-mlp
step_seconds: {by: optimizer, values: {sgd: 1, adamw: 2}}
curve:
  samples_per_step: 20000
  sharpness: 1
  flatness: 0.001
  gradient_noise: 1
  metrics:
    val_accuracy: {start: 0.1, best: 0.9}
    val_loss: {start: 2.3, best: 0.3}
    train_loss: {start: 2.3, best: 0.1, overfits: false}
)";
  const auto x = read_good_profile(text);
  EXPECT_EQ(x.workload.name, "fashion-mlp");
  EXPECT_FALSE(x.workload.options.empty());
  auto wrong = text;
  wrong.replace(wrong.find("fashion-mlp"), 11, "fashion-mlq");
  EXPECT_EQ(errors_of(wrong),
            (std::vector<std::string>{
              "p.yaml:3:11: workload: unknown workload 'fashion-mlq', did you "
              "mean 'fashion-mlp'? Allowed: fashion-mlp, fashion-mlp-wide, "
              "fashion-cnn, "
              "fashion-resnet, cifar-resnet20, cifar-resnet32, "
              "cifar-resnet44, "
              "cifar-resnet56, cifar-resnet110, cifar-wrn16-4, "
              "cifar-mobilenetv2, folder-resnet20, folder-resnet56, "
              "folder-wrn16-4, folder-mobilenetv2, squad-bert-tiny, "
              "squad-bert-base, fashion-linear, fashion-cyclic, csv-linear, "
              "graph-sage, graph-sage-full, clicks-dlrm"}));
}

// -- step times ---------------------------------------------------------------

double time_of(const std::string& step_seconds, double batch,
               const std::string& optimizer = "sgd") {
  const auto x = read_good_profile(changed("step_seconds: 10", step_seconds));
  const auto segments =
    segments_of(x,
                {{"batch_size", constant(batch)},
                 {"optimizer", sequence{form::text(optimizer)}}},
                1);
  return x.step_time(segments[0].config, 0);
}

TEST(ProfileTest, StepTimesLieOnLinesBetweenThoseGiven) {
  const auto* by_batch =
    "step_seconds: {by: batch_size, values: {256: 11, 64: 20, 128: 14}}";
  EXPECT_EQ(time_of("step_seconds: 3", 64), 3);
  EXPECT_EQ(time_of(by_batch, 1), 20);
  EXPECT_EQ(time_of(by_batch, 64), 20);
  EXPECT_EQ(time_of(by_batch, 96), 17);
  EXPECT_EQ(time_of(by_batch, 128), 14);
  EXPECT_EQ(time_of(by_batch, 192), 12.5);
  EXPECT_EQ(time_of(by_batch, 256), 11);
  EXPECT_EQ(time_of(by_batch, 4096), 11);
}

TEST(ProfileTest, StepTimesMultiply) {
  const auto* both = "step_seconds:\n"
                     "  - {by: batch_size, values: {64: 20, 128: 14}}\n"
                     "  - {by: optimizer, values: {sgd: 1, adamw: 1.5}}\n"
                     "  - 2";
  EXPECT_EQ(time_of(both, 128), 28);
  EXPECT_EQ(time_of(both, 64, "adamw"), 60);
}

// -- errors -------------------------------------------------------------------

TEST(ProfileTest, SaysWhereAnErrorIs) {
  EXPECT_EQ(errors_of(changed("load_seconds: 2", "load_secnods: 2"))[0],
            "p.yaml:14:1: load_secnods: unknown key 'load_secnods', did you "
            "mean 'load_seconds'? Allowed: device, workload, step_seconds, "
            "spread, dispatch_seconds, load_seconds, save_seconds, "
            "evaluate_seconds, checkpoint_bytes, at_once_gain, members, "
            "failure_rate, size, curve");
  EXPECT_EQ(errors_of(changed("min: 0, max: 1,", "min: 0, max: one,"))[0],
            "p.yaml:7:43: workload.hyper_parameters.momentum.max: must be a "
            "number, found 'one'");
}

TEST(ProfileTest, TellsEveryError) {
  const auto errors = errors_of(R"(
workload: {name: net, hyper_parameters: [], metrics: {loss: down}}
step_seconds: -1
failure_rate: 2
spread: wide
checkpoint_bytes: 1.5
curve: {sharpness: 0, flatness: 1, metrics: {loss: {start: 1}}}
)");
  EXPECT_EQ(errors,
            (std::vector<std::string>{
              "p.yaml:2:1: 'device' is missing",
              "p.yaml:2:41: workload.hyper_parameters: must be a map of "
              "hyper-parameters, found an empty list",
              "p.yaml:2:61: workload.metrics.loss: unknown direction 'down'. "
              "Allowed: maximize, minimize",
              "p.yaml:3:15: step_seconds: must be above 0, found '-1'",
              "p.yaml:5:9: spread: must be a number, found 'wide'",
              "p.yaml:6:19: checkpoint_bytes: must be an integer, found '1.5'",
              "p.yaml:4:15: failure_rate: must be at most 1, found '2'",
              "p.yaml:7:8: curve: 'samples_per_step' is missing",
              "p.yaml:7:20: curve.sharpness: must be above 0, found '0'",
              "p.yaml:7:8: curve: 'gradient_noise' is missing",
              "p.yaml:7:52: curve.metrics.loss: 'best' is missing",
            }));
}

TEST(ProfileTest, ChecksValuesAgainstTheWorkload) {
  expect_error("lr: {default: 0.1,", "lr: {default: -1,",
               "workload.hyper_parameters.lr.default: must be at least 0, "
               "found '-1'");
  expect_error("default: sgd", "default: sdg",
               "workload.hyper_parameters.optimizer.default: must be sgd or "
               "adamw, found 'sdg'");
  expect_error("step_seconds: 10", "step_seconds: {by: lr, values: {0.1: 2}}",
               "step_seconds.by: must name a hyper-parameter with "
               "'affects_speed: true', by which the service learns how long "
               "steps take, found 'lr'");
  expect_error("step_seconds: 10",
               "step_seconds: {by: batch_sise, values: {1: 2}}",
               "step_seconds.by: unknown hyper-parameter 'batch_sise', did you "
               "mean 'batch_size'? Allowed: lr, momentum, batch_size, "
               "weight_decay, optimizer");
  expect_error("step_seconds: 10",
               "step_seconds: {by: batch_size, values: {1.5: 2, 2: 3}}",
               "step_seconds.values.1.5: must be an integer, found '1.5'");
  expect_error("step_seconds: 10", "step_seconds: {by: batch_size, values: {}}",
               "step_seconds.values: must have at least one value");
  expect_error("step_seconds: 10",
               "step_seconds: {by: optimizer, values: {sgd: 1}}",
               "step_seconds.values: has no time for 'adamw'");
  expect_error("step_seconds: 10", "step_seconds: []",
               "step_seconds: must be a number, found an empty list");
  expect_error("step_seconds: 10", "step_seconds: 1e99",
               "step_seconds: must be at most 1000000, found '1e99'");
}

TEST(ProfileTest, ChecksTheCurveAgainstTheWorkload) {
  expect_error("    accuracy: {start: 0.1, best: 0.95}\n", "",
               "curve.metrics: 'accuracy' is missing");
  expect_error("    accuracy: {start",
               "    acuracy: {start: 0, best: 1}\n"
               "    accuracy: {start",
               "curve.metrics.acuracy: unknown metric 'acuracy', did you mean "
               "'accuracy'? Allowed: accuracy, loss, train_loss");
  expect_error("{weight_decay: 0.0005}", "{weight_dekay: 0.0005}",
               "curve.regularisers.weight_dekay: unknown hyper-parameter "
               "'weight_dekay', did you mean 'weight_decay'? Allowed: lr, "
               "momentum, batch_size, weight_decay, optimizer");
  expect_error("{weight_decay: 0.0005}", "{optimizer: 1}",
               "curve.regularisers.optimizer: must be a hyper-parameter that "
               "is a number, 'optimizer' is a word");
  expect_error("{optimizer: {adamw: 50}}", "{lr: {adamw: 50}}",
               "curve.learning_rate_factors.lr: must be a hyper-parameter that "
               "is a word, 'lr' is a number");
  expect_error("{optimizer: {adamw: 50}}", "{optimizer: {adam: 50}}",
               "curve.learning_rate_factors.optimizer.adam: unknown word "
               "'adam', did you mean 'adamw'? Allowed: sgd, adamw");
  expect_error("  flatness: 1e-4", "  flatness: 1",
               "curve.flatness: must be at most the sharpness, found '1'");
  expect_error("  samples_per_step",
               "  learning_rate: optimizer\n"
               "  samples_per_step",
               "curve.learning_rate: must be a hyper-parameter that is a "
               "number, 'optimizer' is a word");
  expect_error("  samples_per_step", "  momentum: 1\n  samples_per_step",
               "curve.momentum: must be below 1, found '1'");
  expect_error("    lr: {default: 0.1, min: 0}", "    rate: {default: 0.1}",
               "curve: 'learning_rate' is missing, and 'net' has no "
               "hyper-parameter 'lr'");
  expect_error("overfits: false", "overfits: perhaps",
               "curve.metrics.train_loss.overfits: must be true or false, "
               "found 'perhaps'");
}

/// The sample with another curve.
std::string with_curve(const std::string& curve) {
  const std::string text = sample_profile;
  return text.substr(0, text.find("curve:")) + "curve: " + curve + '\n';
}

TEST(ProfileTest, ATableStandsForTheCurve) {
  const auto x = read_good_profile(with_curve("{table: results/net.csv}"));
  EXPECT_EQ(x.table_file, "results/net.csv");
  EXPECT_FALSE(x.table); // whoever reads the file gives it
  EXPECT_EQ(x.curve.batch_size.name, "batch_size");
  EXPECT_EQ(read_good_profile(sample_profile).table_file, "");
}

TEST(ProfileTest, NothingStandsBesideATable) {
  EXPECT_EQ(errors_of(with_curve("{table: net.csv, sharpness: 1}")),
            std::vector<std::string>{
              "p.yaml:18:25: curve.sharpness: unknown key 'sharpness'. "
              "Allowed: table"});
  EXPECT_EQ(errors_of(with_curve("{table: [net.csv]}")).size(), 1u);
}

TEST(ProfileTest, RefusesWhatIsNoProfile) {
  EXPECT_EQ(errors_of("- 1"),
            (std::vector<std::string>{
              "p.yaml: must be a map that describes a simulation profile"}));
  EXPECT_EQ(errors_of("a: 1\n---\nb: 2\n"),
            (std::vector<std::string>{
              "p.yaml:3:1: holds more than one document, a simulation profile "
              "is one"}));
}

TEST(ProfileTest, NeverCrashesOnPartOfAProfile) {
  const std::string whole = sample_profile;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto read = read_profile(whole.substr(0, size), "p.yaml");
    EXPECT_EQ(read.profile.has_value(), read.errors.empty()) << size;
  }
}

// -- examples -----------------------------------------------------------------

simulation_profile read_example(const std::string& name) {
  const auto text =
    read_study_text(std::string{PROFILE_FOLDER} + '/' + name + ".yaml");
  EXPECT_TRUE(text) << name;
  return text ? read_good_profile(*text) : simulation_profile{};
}

/// What `metric` is after 120 steps in which the learning rate is `lr` and all
/// else is as by default.
double at_the_end(const simulation_profile& profile, const sequence& lr,
                  const std::string& metric) {
  const learning_curve curve{profile.curve};
  curve_state x;
  const auto segments = segments_of(profile, {{"lr", lr}}, 120);
  for (std::size_t i = 0; i < segments.size(); ++i)
    for (auto at = segments[i].begin;
         at < (i + 1 < segments.size() ? segments[i + 1].begin : 120); ++at)
      curve.train(x, segments[i].config, at);
  return curve.evaluate(x).at(metric);
}

TEST(ExampleProfileTest, EveryOneReadsWithoutErrorAndIsNamedAsItsWorkload) {
  int found = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator{PROFILE_FOLDER}) {
    const auto name = entry.path().stem().string();
    EXPECT_EQ(read_example(name).workload.name, name);
    ++found;
  }
  EXPECT_GE(found, 3);
}

TEST(ExampleProfileTest, UsualRecipesEndWhereTheCommentsSay) {
  const auto resnet = read_example("resnet56-cifar10");
  EXPECT_NEAR(at_the_end(resnet, multistep(0.1, 0.1, {60, 90}), "val_accuracy"),
              0.93, 0.01);
  EXPECT_NEAR(at_the_end(resnet, constant(0.1), "val_accuracy"), 0.85, 0.02);
  EXPECT_NEAR(at_the_end(read_example("mobilenetv2-cifar10"),
                         multistep(0.05, 0.1, {60, 90}), "val_accuracy"),
              0.94, 0.01);
  form ramp;
  ramp.kind = form_kind::polynomial;
  ramp.a = {0, 3e-5, 12, 1};
  auto decay = ramp;
  decay.origin = 12;
  decay.a = {3e-5, 0, 108, 1};
  EXPECT_NEAR(at_the_end(read_example("bert-base-squad"),
                         sequence{{{0, ramp}, {12, decay}}}, "f1"),
              0.77, 0.01);
}

} // namespace
} // namespace hippo
