#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "hippo/base/nearest.hpp"
#include "hippo/sequence/family.hpp"
#include "space/fixtures.hpp"

namespace hippo {
namespace {

using test::read;
using test::texts;
using test::with_space;
using lines = std::vector<std::string>;

void expect_errors(const std::string& text, const lines& expected) {
  const auto file = read(text);
  EXPECT_EQ(texts(file.errors), expected) << text;
  EXPECT_EQ(file.study.has_value(), expected.empty());
}

void expect_warnings(const std::string& text, const lines& expected) {
  const auto file = read(text);
  EXPECT_EQ(texts(file.errors), lines{}) << text;
  EXPECT_EQ(texts(file.warnings), expected) << text;
}

std::string with_lr(const std::string& lr) {
  return with_space("  lr: " + lr + "\n");
}

// -- the file -----------------------------------------------------------------

class StudyFile : public testing::Test {
protected:
  StudyFile()
    : path_(std::filesystem::temp_directory_path()
            / ("hippo-study-"
               + std::string(
                 testing::UnitTest::GetInstance()->current_test_info()->name())
               + ".yaml")) {}
  ~StudyFile() override { std::filesystem::remove(path_); }

  void write(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
  }

  std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

TEST_F(StudyFile, IsRead) {
  write(with_lr("0.1"));
  const auto text = read_study_text(path());
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, with_lr("0.1"));
}

TEST_F(StudyFile, Missing) {
  const auto text = read_study_text(path());
  ASSERT_FALSE(text);
  EXPECT_EQ(text.failure().message,
            path() + ": cannot be read: No such file or directory");
}

TEST_F(StudyFile, Folder) {
  const auto folder = std::filesystem::temp_directory_path().string();
  const auto text = read_study_text(folder);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.failure().message,
            folder + ": cannot be read: Is a directory");
}

TEST_F(StudyFile, TooLarge) {
  write(std::string(2 << 20, '#'));
  const auto file
    = read_study(*read_study_text(path()), path(), test::workloads());
  EXPECT_EQ(texts(file.errors), lines{path() + ": is larger than 1 MiB"});
}

TEST(StudyError, NotYaml) {
  expect_errors("study: s\nspace: {lr: [1, 2\n",
                {"s.yaml:3:1: is not valid YAML: end of sequence flow not "
                 "found"});
  expect_errors("study: s\n\tsteps: 1\n",
                {"s.yaml:2:1: a tab is no indentation in YAML: use spaces"});
  expect_errors("study: s\nspace:\n  \tlr: 0.1\n",
                {"s.yaml:3:3: a tab is no indentation in YAML: use spaces"});
  expect_errors("study: s\nspace: {lr: 0.1,\n\tbatch_size: 2}\nsteps: [\n",
                {"s.yaml:5:1: is not valid YAML: end of sequence flow not "
                 "found"});
  expect_errors("study: s\nworkload: *nothing\n",
                {"s.yaml:2:11: is not valid YAML: the referenced anchor is not "
                 "defined"});
}

TEST(StudyError, NotUtf8) {
  for (const char* bytes : {"\xff", "\x80", "\xc3", "\xc0\xaf", "\xe0\x80\xaf",
                            "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88"})
    expect_errors("study: s\nsp\xc3\xa4" + std::string(bytes) + "x: 1\n",
                  {"s.yaml:2:4: is not valid UTF-8"});
  const auto file = read(with_lr("0.1")
                         + "# \xc3\xa4 \xe2\x82\xac "
                           "\xf0\x9f\xa6\x9b\n");
  EXPECT_TRUE(file.study);
}

TEST(StudyError, NotAStudy) {
  for (const char* text : {"", "# nothing\n", "42\n", "[1, 2]\n"})
    expect_errors(text, {"s.yaml: must be a map that describes a study"});
  expect_errors("study: a\n---\nstudy: b\n",
                {"s.yaml:3:1: holds more than one document, a study is one"});
}

TEST(StudyError, EverythingMissing) {
  expect_errors("seed: 1\n", {"s.yaml:1:1: 'study' is missing",
                              "s.yaml:1:1: 'workload' is missing",
                              "s.yaml:1:1: 'objective' is missing",
                              "s.yaml:1:1: 'max_steps' is missing",
                              "s.yaml:1:1: 'space' is missing"});
  expect_errors("study:\nworkload: {}\nobjective: {}\nmax_steps: []\n"
                "space: {}\n",
                {"s.yaml:1:1: study: must be a word, found nothing",
                 "s.yaml:2:11: workload: 'name' is missing",
                 "s.yaml:3:12: objective: 'metric' is missing",
                 "s.yaml:4:12: max_steps: must be a whole number from 1 to "
                 "1000000000, found an empty list",
                 "s.yaml:5:8: space: must be a map from hyper-parameters to "
                 "their values, found an empty map"});
}

TEST(StudyError, DuplicateAndBadKeys) {
  expect_errors(with_space("  lr: 0.1\n  lr: 0.2\n"),
                {"s.yaml:7:3: space.lr: the key 'lr' is there twice"});
  expect_errors(with_lr("0.1") + "budget: {[1]: 2}\n",
                {"s.yaml:7:10: budget: a key must be a word"});
  expect_errors(with_lr("0.1") + "budgt: {trials: 2}\n",
                {"s.yaml:7:1: budgt: unknown key 'budgt', did you mean "
                 "'budget'? Allowed: study, tags, workload, objective, "
                 "constraints, max_steps, eval_every, space, prior, first, "
                 "import, algorithm, "
                 "budget, stop_when, seed, weight, on_error, devices, "
                 "repeats, notify"});
}

TEST(StudyErrors, Notify) {
  const auto with = [](const std::string& text) {
    return with_lr("0.1") + "notify: " + text + "\n";
  };
  const auto file = read(with("{url: 'https://h/p?a=b', on: [best, ended]}"));
  ASSERT_TRUE(file.study);
  using event = notify_event;
  EXPECT_EQ(file.study->notify,
            (notify_request{"https://h/p?a=b", {event::ended, event::best}}));
  EXPECT_EQ(read(with("{url: 'http://h'}")).study->notify,
            (notify_request{"http://h", {event::ended}}));
  EXPECT_FALSE(read(with_lr("0.1")).study->notify);
  expect_errors(with("http://h"),
                {"s.yaml:7:9: notify: must be a map of url, on, found "
                 "'http://h'"});
  expect_errors(with("{on: [ended]}"),
                {"s.yaml:7:9: notify: 'url' is missing"});
  expect_errors(with("{url: 'http://h', at: 1}"),
                {"s.yaml:7:27: notify.at: unknown key 'at'. Allowed: url, on"});
  expect_errors(with("{url: 'http://h', on: []}"),
                {"s.yaml:7:31: notify.on: must be a list of at least one word, "
                 "found an empty list"});
  expect_errors(with("{url: 'http://h', on: [end]}"),
                {"s.yaml:7:32: notify.on[0]: unknown event 'end', did you mean "
                 "'ended'? Allowed: ended, failed, best"});
  const std::string rule = "must be an http:// or https:// URL of at most 2048 "
                           "bytes with a host and without a user or password, "
                           "found '";
  for (const std::string url :
       {"h", "ftp://h", "http://", "http:///p", "http://:80/", "http://a@h/",
        "http://a:b@h", "http://h/ p", "https://?a"})
    expect_errors(with("{url: '" + url + "'}"),
                  {"s.yaml:7:15: notify.url: " + rule + url + "'"});
  const auto longest = "http://h/" + std::string(2048 - 9, 'a');
  EXPECT_TRUE(read(with("{url: " + longest + "}")).study);
  EXPECT_FALSE(read(with("{url: " + longest + "b}")).study);
}

TEST(StudyErrors, TheBestNeedsOneMetric) {
  const auto text = with_lr("0.1")
                    + "constraints: ['ms <= 5']\n"
                      "notify: {url: 'http://h', on: [best]}\n";
  const auto errors = texts(read(text).errors);
  ASSERT_FALSE(errors.empty());
  EXPECT_NE(errors.back().find("best needs an objective of one metric"),
            std::string::npos)
    << errors.back();
}

TEST(StudyError, DevicesAreOfOneKindOrAny) {
  expect_errors(with_lr("0.1") + "devices: all\n",
                {"s.yaml:7:10: devices: must be one-kind or any, found 'all'"});
  EXPECT_TRUE(
    read(with_lr("0.1") + "devices: any\n").study->workload.any_device);
  EXPECT_FALSE(
    read(with_lr("0.1") + "devices: one-kind\n").study->workload.any_device);
}

TEST(StudyError, AbsurdDocuments) {
  std::string nested = "0.1";
  for (int i = 0; i < 70; ++i)
    nested = "{choice: [" + nested + "]}";
  const auto file = read(with_lr(nested));
  ASSERT_FALSE(file.errors.empty());
  EXPECT_EQ(file.errors[0].message, "is nested more than 64 levels deep");

  // Aliases that would spell out as 8^8 values.
  std::string laughs = with_lr("0.1") + "a0: &a0 [x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 8; ++i) {
    const auto one = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + one;
    for (int k = 1; k < 8; ++k)
      laughs += ", " + one;
    laughs += "]\n";
  }
  const auto laughing = read(laughs);
  ASSERT_FALSE(laughing.errors.empty());
  EXPECT_EQ(laughing.errors[0].message,
            "the file holds more than 50000 values");

  EXPECT_FALSE(read("a: &a [*a, *a]\n").study);
  EXPECT_FALSE(read(std::string(1'000'000, '[')).study);
  EXPECT_FALSE(read(std::string(1'000'000, '{')).study);
}

TEST(StudyError, AnyPrefixAndAnyByteIsAnAnswer) {
  const auto whole = with_space("  lr: {choice: [0.1, {cosine: {initial: 1, "
                                "horizon: 3}}, {value: 2, with: "
                                "{momentum: 0.1}}]}\n");
  for (std::size_t n = 0; n < whole.size(); ++n)
    (void)read(whole.substr(0, n));
  for (std::size_t n = 0; n < whole.size(); ++n)
    for (char c : {'\0', '\xff', '{', ']', '\n', '"', '-', '9'}) {
      auto text = whole;
      text[n] = c;
      const auto file = read(text);
      EXPECT_NE(file.study.has_value(), !file.errors.empty());
    }
}

// -- what is not the space ----------------------------------------------------

std::string study(const std::string& workload, const std::string& objective,
                  const std::string& steps, const std::string& rest = "") {
  return "study: s\nworkload: " + workload + "\nobjective: " + objective
         + "\nmax_steps: " + steps + "\nspace: {lr: 0.1}\n" + rest;
}

TEST(StudyError, Name) {
  const auto message =
    std::string("must be at most 100 letters, digits, '-', '_' and '.', the "
                "first a letter or digit, found ");
  for (const char* name : {"a b", "-x", "a/b"})
    expect_errors("study: " + std::string(name)
                    + study("toy", "{metric: loss}", "1").substr(8),
                  {"s.yaml:1:8: study: " + message + "'" + name + "'"});
}

TEST(StudyError, Workload) {
  expect_errors(study("toi", "{metric: nonsense}", "1"),
                {"s.yaml:2:11: workload: unknown workload 'toi', did you mean "
                 "'toy'? Allowed: toy, fashion-cnn"});
  expect_errors(study("[toy]", "{metric: loss}", "1"),
                {"s.yaml:2:11: workload: must be a map of 'name' and the "
                 "workload's options, or of 'python', 'command' or 'files' and "
                 "what goes with it, found a list"});
  expect_errors(
    study("{name: toy, sed: 1, data: {trian: 3}, dat: {train: 1}}",
          "{metric: loss}", "1"),
    {"s.yaml:2:23: workload.sed: unknown option 'sed' of toy, did you mean "
     "'seed'? Allowed: seed, data.train, data.folder, noise, mode",
     "s.yaml:2:38: workload.data.trian: unknown option 'data.trian' of toy, "
     "did you mean 'data.train'? Allowed: seed, data.train, data.folder, "
     "noise, mode",
     "s.yaml:2:49: workload.dat: unknown option 'dat' of toy, did you mean "
     "'data'? Allowed: seed, data.train, data.folder, noise, mode"});
  expect_errors(
    study("{name: toy, seed: 1.5, data: 3, noise: [1], mode: flot32, "
          "data.train: 0}",
          "{metric: loss}", "1"),
    {"s.yaml:2:29: workload.seed: must be an integer, found '1.5'",
     "s.yaml:2:40: workload.data: must be a map of options, found '3'",
     "s.yaml:2:50: workload.noise: must be a number or a word, found a list",
     "s.yaml:2:61: workload.mode: must be float32 or bfloat16, found 'flot32', "
     "did you mean 'float32'?",
     "s.yaml:2:81: workload.data.train: must be at least 1, found '0'"});
  expect_errors(study("{name: toy, data: {train: 1}, data.train: 2}",
                      "{metric: loss}", "1"),
                {"s.yaml:2:53: workload.data.train: the option 'data.train' is "
                 "there twice"});
}

TEST(StudyError, Objective) {
  expect_errors(
    study("toy", "{metric: los, direction: maximise}", "1", "eval_every: 0\n"),
    {"s.yaml:3:21: objective.metric: unknown metric 'los', did you "
     "mean 'loss'? Allowed: accuracy, loss",
     "s.yaml:3:37: objective.direction: unknown direction "
     "'maximise', did you mean 'maximize'? Allowed: maximize, "
     "minimize",
     "s.yaml:6:13: eval_every: must be a whole number from 1 "
     "to 1000000000, found '0'"});
  expect_errors(study("toy", "loss", "1"),
                {"s.yaml:3:12: objective: must be a map of metric, direction, "
                 "found 'loss'"});
}

TEST(StudyError, Steps) {
  const auto steps = [](const std::string& max) {
    return study("toy", "{metric: loss}", max);
  };
  for (const char* bad :
       {"0", "-3", "2.5", "1000000001", "ten", ".nan", "1e99"})
    expect_errors(steps(bad), {"s.yaml:4:12: max_steps: must be a whole number "
                               "from 1 to 1000000000, found '"
                               + std::string(bad) + "'"});
  EXPECT_EQ(read(steps("1e9")).study->max_steps, 1'000'000'000u);
}

TEST(StudyError, TheRest) {
  const auto rest = [](const std::string& text) {
    return study("toy", "{metric: loss}", "1", text);
  };
  expect_errors(rest("algorithm: {asha: {}, grid: {}}\n"),
                {"s.yaml:6:12: algorithm: must be a word or a map with one "
                 "key, found 2 keys"});
  expect_errors(rest("algorithm: [asha]\n"),
                {"s.yaml:6:12: algorithm: must be a word or a map with one "
                 "key, found a list"});
  expect_errors(rest("algorithm: {asha: {eta: [1]}}\n"),
                {"s.yaml:6:25: algorithm.asha.eta: must be a number or a word, "
                 "found a list"});
  expect_errors(rest("algorithm: {asha: 3}\n"),
                {"s.yaml:6:19: algorithm.asha: must be a map of options, found "
                 "'3'"});
  expect_errors(rest("budget: {steps: 0}\n"),
                {"s.yaml:6:17: budget.steps: must be a whole number from 1 to "
                 "999999999999, found '0'"});
  expect_errors(rest("budget: {device_hours: 0}\n"),
                {"s.yaml:6:24: budget.device_hours: must be a finite number "
                 "above 0, found '0'"});
  expect_errors(rest("budget: {cost: -1, deadline: tomorrow}\n"),
                {"s.yaml:6:16: budget.cost: must be a finite number above 0, "
                 "found '-1'",
                 "s.yaml:6:30: budget.deadline: must be a span above 0 from "
                 "the submission on, such as 6h or 1h30m, or a time such as "
                 "2030-01-31T18:00Z, found 'tomorrow'"});
  expect_errors(rest("stop_when: {value: good, no_gain: 0, after: 3}\n"),
                {"s.yaml:6:38: stop_when.after: unknown key 'after'. Allowed: "
                 "value, no_gain",
                 "s.yaml:6:20: stop_when.value: must be a finite number, found "
                 "'good'",
                 "s.yaml:6:35: stop_when.no_gain: must be a whole number from "
                 "1 to 1000000000, found '0'"});
  expect_errors(rest("stop_when: {}\n"),
                {"s.yaml:6:12: stop_when: must hold value or no_gain, found "
                 "nothing"});
  expect_errors(rest("stop_when: 0.9\n"),
                {"s.yaml:6:12: stop_when: must be a map of value, no_gain, "
                 "found '0.9'"});
  expect_errors(rest("budget: {trials: 0, seconds: -1, hours: 3}\n"),
                {"s.yaml:6:34: budget.hours: unknown key 'hours'. Allowed: "
                 "trials, steps, failed, seconds, device_hours, cost, deadline",
                 "s.yaml:6:18: budget.trials: must be a whole number from 1 to "
                 "1000000000, found '0'",
                 "s.yaml:6:30: budget.seconds: must be a finite number above "
                 "0, found '-1'"});
  expect_errors(rest("seed: -1\nweight: .inf\n"),
                {"s.yaml:6:7: seed: must be a whole number from 0 to "
                 "999999999999, found '-1'",
                 "s.yaml:7:9: weight: must be a finite number above 0, found "
                 "'.inf'"});
}

// -- the space ----------------------------------------------------------------

const std::string keys_of_a_value
  = list_of(family_names()) + ", choice, uniform, log_uniform, int_uniform, "
                            "log_int_uniform, normal, log_normal, product";

TEST(SpaceError, UnknownNames) {
  expect_errors(with_space("  learning_rate: 0.1\n  momentun: 0.5\n"),
                {"s.yaml:6:3: space.learning_rate: unknown hyper-parameter "
                 "'learning_rate'. Allowed: lr, batch_size, momentum, "
                 "weight_decay, optimizer",
                 "s.yaml:7:3: space.momentun: unknown hyper-parameter "
                 "'momentun', did you mean 'momentum'? Allowed: lr, "
                 "batch_size, momentum, weight_decay, optimizer"});
  expect_errors(with_lr("{choice: [0.1, {multstep: {initial: 1}}]}"),
                {"s.yaml:6:23: space.lr.choice[1].multstep: unknown sequence "
                 "'multstep', did you mean 'multistep'? Allowed: "
                 + keys_of_a_value});
  expect_errors(with_lr("{choise: [0.1, 0.2]}"),
                {"s.yaml:6:8: space.lr.choise: unknown sequence 'choise', did "
                 "you mean 'choice'? Allowed: " + keys_of_a_value});
  expect_errors(with_lr("{constant: 1, step: 2}"),
                {"s.yaml:6:7: space.lr: must have one key, found 2. Allowed: "
                 + keys_of_a_value});
  expect_errors(with_lr("{cosine: {initial: 1, horizn: 3}}"),
                {"s.yaml:6:37: space.lr.cosine.horizn: unknown parameter of "
                 "cosine 'horizn', did you mean 'horizon'? Allowed: initial, "
                 "end, horizon",
                 "s.yaml:6:16: space.lr.cosine: 'horizon' is missing"});
  expect_errors(with_lr("{choice: [1], points: 3}"),
                {"s.yaml:6:21: space.lr.points: unknown key beside 'choice' "
                 "'points'. Allowed: choice"});
}

TEST(SpaceError, Choices) {
  expect_errors(with_lr("{choice: []}"),
                {"s.yaml:6:16: space.lr.choice: must be a list of at least one "
                 "option, found an empty list"});
  expect_errors(with_lr("{choice: 0.1}"),
                {"s.yaml:6:16: space.lr.choice: must be a list of at least one "
                 "option, found '0.1'"});
  expect_errors(with_lr("{choice: [0.1, ]}\n  momentum:"),
                {"s.yaml:7:3: space.momentum: must be a value, found "
                 "nothing"});
}

TEST(SpaceError, Ranges) {
  const auto range = [](const std::string& text, const std::string& path,
                        const std::string& message) {
    expect_errors(with_lr("{" + text + "}"),
                  {"s.yaml:6:" + path + ": " + message});
  };
  range("uniform: [0.2, 0.1]", "18: space.lr.uniform[0]",
        "must be below the other end, found 0.2 and 0.1");
  range("uniform: [0.1, 0.1]", "18: space.lr.uniform[0]",
        "must be below the other end, found 0.1 and 0.1");
  range("uniform: [0.1]", "17: space.lr.uniform",
        "must be a list [low, high], found 1 items");
  range("uniform: 3", "17: space.lr.uniform",
        "must be a list [low, high], found '3'");
  range("uniform: [0.1, x]", "23: space.lr.uniform[1]",
        "must be a finite number, found 'x'");
  range("uniform: [0.1, .inf]", "23: space.lr.uniform[1]",
        "must be a finite number, found '.inf'");
  range("log_uniform: [0, 1]", "22: space.lr.log_uniform[0]",
        "must be above 0 on a logarithmic range, found '0'");
  range("int_uniform: [1, 2.5]", "25: space.lr.int_uniform[1]",
        "must be a whole number of at most 12 digits, found '2.5'");
  for (const char* points : {"1", "0", "2.5", "x", "1000001"})
    range("uniform: [0.1, 1], points: " + std::string(points),
          "35: space.lr.points",
          "must be a whole number from 2 to 1000000, found '"
            + std::string(points) + "'");
  range("uniform: [0.1, 1], point: 3", "27: space.lr.point",
        "unknown key beside 'uniform' 'point', did you mean 'points'? "
        "Allowed: uniform, points, step");
}

TEST(SpaceError, ValuesOutsideOfTheirLimits) {
  expect_errors(with_lr("-0.1"),
                {"s.yaml:6:7: space.lr: must be above 0, found -0.1"});
  expect_errors(with_lr(".nan"),
                {"s.yaml:6:7: space.lr: must be a finite number, found nan"});
  expect_errors(with_lr("{choice: [0.1, .inf]}"),
                {"s.yaml:6:22: space.lr.choice[1]: must be a finite number, "
                 "found inf"});
  expect_errors(with_lr("'0.1'"),
                {"s.yaml:6:7: space.lr: must be a number, found '0.1'"});
  expect_errors(with_lr("fast"),
                {"s.yaml:6:7: space.lr: must be a number, found 'fast'"});
  expect_errors(with_space("  optimizer: {choice: [adam, sgd, 3]}\n"),
                {"s.yaml:6:24: space.optimizer.choice[0]: must be sgd or "
                 "adamw, found 'adam', did you mean 'adamw'?",
                 "s.yaml:6:35: space.optimizer.choice[2]: must be sgd or "
                 "adamw, found 3"});
  expect_errors(with_lr("{uniform: [0, 1]}"),
                {"s.yaml:6:17: space.lr.uniform: must be above 0, found 0"});
  expect_errors(with_lr("[0.1, 0.2]"),
                {"s.yaml:6:7: space.lr: must be a number or a word, found a "
                 "list; one of several is {choice: [0.1,0.2]}, a range "
                 "{uniform: [low, high]}"});
}

TEST(SpaceError, ValuesAtSomeStepOutsideOfTheirLimits) {
  expect_errors(
    with_lr("{linear: {from: 0.1, to: -0.1, horizon: 10}}"),
    {"s.yaml:6:16: space.lr.linear: must be above 0, found -0.1 at "
     "step 10"});
  // A ramp that fades is highest in between.
  expect_errors(
    with_space("  momentum: {cyclic: {low: 0, high: 10, up: 10, mode: "
               "exp_range, gamma: 0.7}}\n"),
    {"s.yaml:6:22: space.momentum.cyclic: must be below 1, found 1.029 at "
     "step 3"});
  expect_errors(with_lr("{linear: {from: 0.1, to: -0.1, horizon: 20}}"),
                {"s.yaml:6:16: space.lr.linear: must be above 0, found -0.01 "
                 "at step 11"});
  expect_errors(with_lr("{linear: {from: 0.1, to: -0.1, horizon: 24}}"), {});
  expect_errors(with_lr("{exponential: {initial: 1, gamma: 1e100}}"),
                {"s.yaml:6:21: space.lr.exponential: must be a finite number, "
                 "found inf at step 11"});
  expect_errors(with_space("  momentum: {step: {initial: 0.5, size: 5, gamma: "
                           "2}}\n"),
                {"s.yaml:6:20: space.momentum.step: must be below 1, found 1 "
                 "at step 5"});
  expect_errors(
    with_lr("{warmup: {steps: 4, from: 0.1, to: 0.2, then: {choice: "
            "[0.1, {multistep: {milestones: [2], gamma: 0}}]}}}"),
    {"s.yaml:6:16: space.lr.warmup: must be above 0, found 0 at step 6"});
}

TEST(SpaceError, ValuesThatMustBeWhole) {
  const auto batch = [](const std::string& text) {
    return with_space("  batch_size: " + text + "\n");
  };
  expect_errors(batch("64.5"), {"s.yaml:6:15: space.batch_size: must be an "
                                "integer, found 64.5"});
  expect_errors(
    batch("{multistep: {initial: 64, milestones: [2, 6], gamma: 0.3}}"),
    {"s.yaml:6:27: space.batch_size.multistep: must be an integer, found 19.2 "
     "at step 2"});
  expect_errors(batch("{linear: {from: 10, to: 20, horizon: 4}}"),
                {"s.yaml:6:24: space.batch_size.linear: must be an integer, "
                 "found 12.5 at step 1"});
  expect_errors(batch("{linear: {from: 10, to: 40, horizon: 10}}"), {});
  expect_errors(batch("{exponential: {initial: 2, gamma: 2}}"), {});
  expect_errors(batch("{multistep: {initial: 64, milestones: [2], gamma: "
                      "{choice: [0.5, 0.3]}}}"),
                {"s.yaml:6:27: space.batch_size.multistep: must be an integer, "
                 "found 19.2 at step 2"});
}

TEST(SpaceError, Sequences) {
  expect_errors(
    with_lr("{multistep: {initial: 0.1, milestones: [9, 6, 0, 2.5], gamma: "
            "0.1}}"),
    {"s.yaml:6:50: space.lr.multistep.milestones[1]: must be above the "
     "milestone before it, found 6 after 9",
     "s.yaml:6:53: space.lr.multistep.milestones[2]: must be a whole number of "
     "steps from 1 to 1000000000, found 0",
     "s.yaml:6:56: space.lr.multistep.milestones[3]: must be a whole number of "
     "steps from 1 to 1000000000, found 2.5"});
  expect_errors(with_lr("{cosine: {initial: 0.1, horizon: -5, end: 0.01}}"),
                {"s.yaml:6:40: space.lr.cosine.horizon: must be a whole number "
                 "of steps from 1 to 1000000000, found -5"});
  expect_errors(
    with_lr("{choice: [0.1, 0.2, {warmup: {steps: 1.5, from: 0.1, to: 0.1}}]}"),
    {"s.yaml:6:44: space.lr.choice[2].warmup.steps: must be a whole number of "
     "steps from 0 to 1000000000, found 1.5"});
  // Only one combination of the two choices is wrong.
  expect_errors(with_lr("{multistep: {initial: 0.1, gamma: 0.1, milestones: "
                        "[{choice: [2, 6]}, {choice: [5, 9]}]}}"),
                {"s.yaml:6:87: space.lr.multistep.milestones[1].choice[0]: "
                 "must be above the milestone before it, found 5 after 6"});
}

TEST(SpaceError, AListThatIsTooLong) {
  std::string list = "{piecewise: [[0, 1]";
  for (int i = 1; i <= 10'000; ++i)
    list += ", [" + std::to_string(i) + ", 1]";
  EXPECT_EQ(texts(read(with_lr(list + "]}")).errors),
            lines{"s.yaml:6:19: space.lr.piecewise: has 10001 items, at most "
                  "10000 are allowed"});
}

TEST(SpaceError, EveryOptionOfALargeSpaceIsChecked) {
  // 40^4 combinations: not all are looked at, but every option is.
  std::string options;
  for (int i = 1; i <= 40; ++i)
    options += std::to_string(i) + ", ";
  const auto choice = "{choice: [" + options + "]}";
  const auto bad = "{choice: [" + options + "-1]}";
  const auto file =
    read(with_lr("{piecewise: [[0, " + choice + "], [2, " + choice + "], [4, "
                 + choice + "], [6, " + bad + "]]}"));
  ASSERT_EQ(file.errors.size(), 1u);
  EXPECT_EQ(file.errors[0].message, "must be above 0, found -1 at step 6");
  // The bad option is nested in another one.
  const auto nested =
    read(with_lr("{piecewise: [[0, " + choice + "], [2, " + choice + "], [4, "
                 + choice + "], [6, {choice: [" + options + bad + "]}]]}"));
  EXPECT_EQ(nested.errors.size(), 1u);
  // So are both ends of ranges.
  const auto range =
    read(with_lr("{piecewise: [[0, " + choice + "], [2, " + choice
                 + "], [4, {uniform: [0.1, 1]}], [6, "
                   "{int_uniform: [0, 100000]}]]}"));
  ASSERT_EQ(range.errors.size(), 1u);
  EXPECT_EQ(range.errors[0].message, "must be above 0, found 0 at step 6");
  const auto high = read(
    with_space("  momentum: {piecewise: [[0, 0], [2, {uniform: [0, 1], points: "
               "100000}], [4, {uniform: [0, 0.5], points: 100000}]]}\n"));
  ASSERT_EQ(high.errors.size(), 1u);
  EXPECT_EQ(high.errors[0].message, "must be below 1, found 1 at step 2");
}

TEST(SpaceError, ContinuousRangesAreCheckedBetweenTheirEnds) {
  const auto file = read(with_space("  batch_size: {uniform: [1, 2]}\n"));
  ASSERT_EQ(file.errors.size(), 1u); // once, whatever was drawn
  EXPECT_TRUE(
    file.errors[0].message.starts_with("must be an integer, found 1."))
    << file.errors[0].message;
}

TEST(SpaceError, OneErrorForAPlace) {
  expect_errors(with_space("  batch_size: {multistep: {initial: {choice: [10, "
                           "20, 30]}, milestones: [2], gamma: 0.33}}\n"),
                {"s.yaml:6:27: space.batch_size.multistep: must be an integer, "
                 "found 3.3 at step 2"});
}

TEST(SpaceError, DefinedTwice) {
  expect_errors(
    with_space("  lr: {choice: [0.1, {value: 0.2, with: {momentum: 0.5}}]}\n"
               "  momentum: 0.9\n"),
    {"s.yaml:7:13: space.momentum: a trial would have 'momentum' twice, here "
     "and at space.lr.choice[1].with.momentum"});
  expect_errors(
    with_space("  lr: {choice: [0.1, {value: 0.2, with: {momentum: 0.5}}]}\n"
               "  batch_size: {choice: [{value: 1, with: {momentum: 0.6}}]}\n"),
    {"s.yaml:7:53: space.batch_size.choice[0].with.momentum: a trial would "
     "have 'momentum' twice, here and at space.lr.choice[1].with.momentum"});
  expect_errors(with_lr("{choice: [{value: {choice: [{value: 0.1, with: "
                        "{momentum: 0.5}}]}, with: {momentum: 0.6}}]}"),
                {"s.yaml:6:91: space.lr.choice[0].with.momentum: a trial would "
                 "have 'momentum' twice, here and at "
                 "space.lr.choice[0].value.choice[0].with.momentum"});
  expect_errors(with_lr("{choice: [{value: 0.2, with: {lr: 0.5}}]}"),
                {"s.yaml:6:41: space.lr.choice[0].with.lr: a trial would have "
                 "'lr' twice, here and at space.lr.choice"});
  expect_errors(with_lr("{choice: [{value: 0.1, with: {momentum: 0.5}}, "
                        "{value: 0.2, with: {momentum: 0.6}}]}"),
                {});
}

TEST(SpaceError, WhatAnOptionBringsIsCheckedToo) {
  expect_errors(with_lr("{choice: [{value: 0.1, with: {momentun: 1}}, "
                        "{value: -1, with: {momentum: 2}}, {with: {}}, "
                        "{value: 1, wiht: 2}]}"),
                {"s.yaml:6:37: space.lr.choice[0].with.momentun: unknown "
                 "hyper-parameter 'momentun', did you mean 'momentum'? "
                 "Allowed: lr, batch_size, momentum, weight_decay, optimizer",
                 "s.yaml:6:86: space.lr.choice[2]: 'value' is missing",
                 "s.yaml:6:93: space.lr.choice[2].with: must be a map from "
                 "hyper-parameters to their values, found an empty map",
                 "s.yaml:6:109: space.lr.choice[3].wiht: unknown key beside "
                 "'value' 'wiht', did you mean 'with'? Allowed: value, with",
                 "s.yaml:6:60: space.lr.choice[1].value: must be above 0, "
                 "found -1",
                 "s.yaml:6:81: space.lr.choice[1].with.momentum: must be below "
                 "1, found 2"});
}

TEST(SpaceError, IndependentErrorsAreAllTold) {
  const auto file = read("study: s\nworkload: {name: toy, sed: 1}\n"
                         "objective: {metric: los}\nmax_steps: 0\n"
                         "space:\n  lr: -1\n  momentum: {cosin: 1}\n"
                         "  batch_size: 1.5\n");
  EXPECT_EQ(file.errors.size(), 6u);
}

TEST(SpaceWarning, OddButHarmless) {
  expect_warnings(with_lr("{multistep: {initial: 0.1, milestones: [6, 12, 20], "
                          "gamma: 0.1}}"),
                  {"s.yaml:6:50: space.lr.multistep.milestones[1]: is never "
                   "reached, training ends at step 12",
                   "s.yaml:6:54: space.lr.multistep.milestones[2]: is never "
                   "reached, training ends at step 12"});
  expect_warnings(with_lr("{choice: [0.1, 0.2, 1e-1, {constant: 0.2}, "
                          "{constant: 0.20}]}"),
                  {"s.yaml:6:27: space.lr.choice[2]: is the same option as "
                   "space.lr.choice[0]",
                   "s.yaml:6:50: space.lr.choice[4]: is the same option as "
                   "space.lr.choice[3]"});
  expect_warnings(with_lr("{cosine: {initial: 0.1, horizon: 500}}"), {});
}

} // namespace
} // namespace hippo
