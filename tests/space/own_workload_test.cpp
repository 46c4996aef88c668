#include "hippo/space/own_workload.hpp"

#include <gtest/gtest.h>

#include "hippo/model/averaging.hpp"
#include "hippo/space/study.hpp"
#include "space/fixtures.hpp"

namespace hippo {
namespace {

using lines = std::vector<std::string>;
using options = std::map<std::string, scalar>;

study_code code() {
  study_code x;
  x.files["train.py"] = {"class Net: pass\n", false};
  x.files["data.py"] = {"", false};
  x.files["mine"] = {"#!/bin/sh\n", true};
  x.versions = {{"hippo-hpo", "0.1.0"}, {"python", "3.11.2"}, {"torch", "2.11.0"},
                {"absent", ""}};
  return x;
}

/// The text of a study with this `workload`, which stands in line 2.
std::string text_of(const std::string& workload, const std::string& objective) {
  return "study: s\nworkload: " + workload + "\nobjective: " + objective
         + "\nmax_steps: 4\nspace: {lr: 0.1, my_own: {choice: [a, b]}}\n";
}

/// Reads such a study with the files that it names.
study_file read(const std::string& workload,
                const std::string& objective = "{metric: any, direction: "
                                               "minimize}",
                const study_code& with = code()) {
  const auto text = text_of(workload, objective);
  auto sent = with;
  sent.files.clear();
  for (const auto& path : requested_code(text).files)
    if (const auto i = with.files.find(path); i != with.files.end())
      sent.files.insert(*i);
  return read_study(join({text, to_json(sent)}), "s.yaml",
                    built_in_workloads());
}

/// Reads such a study with all of these files.
study_file read_with(const std::string& workload, const study_code& sent) {
  return read_study(
    join({text_of(workload, "{metric: any, direction: minimize}"),
          to_json(sent)}),
    "s.yaml", built_in_workloads());
}

workload_spec spec_of(const std::string& workload) {
  const auto file = read(workload);
  EXPECT_EQ(test::texts(file.errors), lines{});
  return file.study ? file.study->workload : workload_spec{};
}

void expect_errors(const std::string& workload, const lines& errors) {
  EXPECT_EQ(test::texts(read(workload).errors), errors);
}

TEST(OwnWorkload, AClassIsKnownByAllThatDecidesItsResults) {
  const auto spec
    = spec_of("{python: ./train.py:Net, files: [data.py], seed: 3, args: {a: 1, "
              "b: word, deep: {c: true}}, packages: [torch]}");
  EXPECT_EQ(spec.name, "python");
  EXPECT_EQ(spec.options, (options{{"args.a", 1.0},
                                   {"args.b", "word"},
                                   {"args.deep.c", 1.0},
                                   {"class", "train.py:Net"},
                                   {"file.data.py", digest_of({"", false})},
                                   {"file.train.py",
                                    digest_of({"class Net: pass\n", false})},
                                   {"seed", 3.0},
                                   {"version.hippo-hpo", "0.1.0"},
                                   {"version.python", "3.11.2"},
                                   {"version.torch", "2.11.0"}}));
  EXPECT_TRUE(spec.settings.empty());
  EXPECT_TRUE(is_exact(spec));
  EXPECT_TRUE(may_share(spec));
}

TEST(OwnWorkload, NoPackagesAreAListWithoutAny) {
  EXPECT_EQ(key_of(spec_of("{python: train.py, packages: []}")),
            key_of(spec_of("{python: train.py}")));
  EXPECT_EQ(spec_of("{python: 'mine:Net', packages: []}").options.at("class"),
            scalar{"mine:Net"});
  expect_errors("{command: [./mine], packages: []}",
                {"s.yaml:2:41: workload.packages: must be a map of versions by "
                 "name, found an empty list"});
}

TEST(OwnWorkload, HowItIsRunIsNoPartOfTheKey) {
  const auto plain = spec_of("{python: train.py}");
  auto spec = spec_of("{python: train.py, python_executable: /opt/python, "
                      "silence_seconds: 2.5, check: false}");
  EXPECT_EQ(key_of(spec), key_of(plain));
  EXPECT_EQ(spec.settings, (options{{"python_executable", "/opt/python"},
                                    {"silence_seconds", 2.5},
                                    {"check", 0.0}}));
  EXPECT_EQ(spec_of("{python: train.py, check: true}").settings,
            plain.settings);
  auto resolved = code();
  resolved.python = "/home/me/.venv/bin/python";
  const auto file
    = read("{python: train.py, python_executable: .venv/bin/python}",
           "{metric: any, direction: minimize}", resolved);
  EXPECT_EQ(file.study->workload.settings.at("python_executable"),
            scalar{"/home/me/.venv/bin/python"});
}

TEST(OwnWorkload, ACommandAndAProgramOfFiles) {
  EXPECT_EQ(spec_of("{command: [./mine, --flag], files: [data.py]}").options,
            (options{{"command", R"(["./mine","--flag"])"},
                     {"file.data.py", digest_of({"", false})},
                     {"file.mine", digest_of({"#!/bin/sh\n", true})},
                     {"seed", 1.0}}));
  EXPECT_EQ(spec_of("{command: [julia, t.jl], packages: {julia: 1.10}}").options,
            (options{{"command", R"(["julia","t.jl"])"},
                     {"seed", 1.0},
                     {"version.julia", "1.10"}}));
  EXPECT_EQ(spec_of("{files: [mine, data.py]}").options,
            (options{{"file.data.py", digest_of({"", false})},
                     {"file.mine", digest_of({"#!/bin/sh\n", true})},
                     {"program", "./mine"},
                     {"seed", 1.0}}));
}

TEST(OwnWorkload, AMeanOfWeightsIsAnOptionOfIt) {
  const auto objective = [](const std::string& average) {
    return "{metric: any, direction: minimize, average: " + average + "}";
  };
  const auto file =
    read("{python: train.py}", objective("{of: 5, every: 200}"));
  ASSERT_EQ(test::texts(file.errors), lines{});
  EXPECT_EQ(averaging_of(file.study->workload), (averaging{5, 200}));
  EXPECT_NE(key_of(file.study->workload),
            key_of(spec_of("{python: train.py}")));
  EXPECT_EQ(averaging_of(spec_of("{python: train.py}")), averaging{});
  const auto errors_of = [&](const std::string& workload,
                             const std::string& average) {
    return test::texts(read(workload, objective(average)).errors);
  };
  const std::string at = "s.yaml:3:";
  EXPECT_EQ(
    errors_of("{python: train.py}", "{of: 1, every: 0, from: 3}"),
    (lines{at
             + "74: objective.average.from: unknown key 'from'."
               " Allowed: of, every",
           at
             + "61: objective.average.of: must be a whole number from 2 to "
               "100, found '1'",
           at
             + "71: objective.average.every: must be a whole number from 1 "
               "to 1000000000, found '0'"}));
  EXPECT_EQ(
    errors_of("{python: train.py}", "5"),
    (lines{at
           + "56: objective.average: must be a map of 'of' and 'every', "
             "found '5'"}));
  EXPECT_EQ(errors_of("{files: [mine]}", "{of: 2, every: 1}"),
            (lines{at
                   + "56: objective.average: workload files cannot measure "
                     "the mean of weights: built-in workloads and Python "
                     "code with PyTorch can"}));
  const auto several = read(
    "{python: train.py}",
    "[{metric: any, direction: minimize, average: {of: 2, every: 1}}, {metric: "
    "b, direction: minimize}]");
  EXPECT_EQ(test::texts(several.errors),
            (lines{at
                   + "48: objective[0].average: unknown key 'average'."
                     " Allowed: metric, direction"}));
}

TEST(OwnWorkload, WhatIsInstalledNamesItsVersions) {
  EXPECT_EQ(spec_of("{python: 'nets.cnn:Net', packages: {nets: 2}}")
              .options.at("version.nets"),
            scalar{"2"});
  const auto error
    = [](const std::string& path) {
        return "s.yaml:2:" + path
               + ": what is installed already does not travel with the study: "
                 "name what decides its results under 'packages'";
      };
  expect_errors("{python: 'nets.cnn:Net'}", {error("20: workload.python")});
  expect_errors("{command: [julia]}", {error("21: workload.command")});
}

TEST(OwnWorkload, WhatIsNotExactSharesOnRequestAlone) {
  const auto alone = spec_of("{python: train.py, exact: false}");
  EXPECT_FALSE(is_exact(alone));
  EXPECT_FALSE(may_share(alone));
  const auto shared
    = spec_of("{python: train.py, exact: false, share: always}");
  EXPECT_FALSE(is_exact(shared));
  EXPECT_TRUE(may_share(shared));
  const auto exact = spec_of("{python: train.py, exact: true}");
  EXPECT_EQ(exact, spec_of("{python: train.py}"));
  EXPECT_NE(key_of(alone), key_of(exact));
  EXPECT_NE(key_of(alone), key_of(shared));
  expect_errors("{python: train.py, share: always}",
                {"s.yaml:2:37: workload.share: an exact workload is always "
                 "shared: this goes with 'exact: false'"});
  expect_errors("{python: train.py, exact: maybe, share: never}",
                {"s.yaml:2:37: workload.exact: must be true or false, found "
                 "'maybe'",
                 "s.yaml:2:51: workload.share: must be 'always', found "
                 "'never'"});
}

TEST(OwnWorkload, FilesAreThereAndStayInTheFolder) {
  expect_errors("{python: tran.py:Net, files: [data.py, ../x, /etc/x, y]}",
                {"s.yaml:2:20: workload.python: there is no file tran.py beside "
                 "the study file",
                 "s.yaml:2:50: workload.files[1]: must be a path within the "
                 "study's folder, found '../x'",
                 "s.yaml:2:56: workload.files[2]: must be a path within the "
                 "study's folder, found '/etc/x'",
                 "s.yaml:2:64: workload.files[3]: there is no file y beside the "
                 "study file"});
}

TEST(OwnWorkload, ProgramsCanBeRun) {
  expect_errors("{files: [data.py, mine]}",
                {"s.yaml:2:20: workload.files[0]: the file cannot be run: chmod "
                 "+x data.py"});
  expect_errors("{command: [./data.py]}",
                {"s.yaml:2:22: workload.command[0]: the file cannot be run: "
                 "chmod +x data.py"});
}

TEST(OwnWorkload, PackagesAreThere) {
  for (const auto* name : {"absent", "unheard"})
    expect_errors("{python: train.py, packages: [torch, " + std::string{name}
                    + "]}",
                  {"s.yaml:2:48: workload.packages[1]: the interpreter has no "
                   "package '"
                   + std::string{name}
                   + "'; install it, or, if only trainers have it, give its "
                     "version as 'name: version'"});
}

TEST(OwnWorkload, SeveralRanksAreAnotherWorkload) {
  const auto ranks = [](const std::string& number) {
    return spec_of("{python: train.py:Net, ranks: " + number + '}');
  };
  const auto one = spec_of("{python: train.py:Net}");
  EXPECT_EQ(ranks_of(one), 1u);
  EXPECT_EQ(ranks("1"), one);
  EXPECT_EQ(ranks_of(ranks("4")), 4u);
  EXPECT_NE(key_of(ranks("4")), key_of(one));
  EXPECT_NE(key_of(ranks("4")), key_of(ranks("2")));
  EXPECT_EQ(ranks_of(ranks("1024")), ranks_max);
  for (const auto* number : {"0", "1025", "1.5", "two"})
    EXPECT_EQ(read("{python: train.py:Net, ranks: " + std::string{number} + '}')
                .errors.size(),
              1u)
      << number;
  EXPECT_EQ(read("{command: [./mine], packages: {a: '1'}, ranks: 2}")
              .errors.size(),
            1u);
}

TEST(OwnWorkload, BadValuesAreTold) {
  expect_errors("{python: Net}",
                {"s.yaml:2:20: workload.python: must be FILE.py, FILE.py:CLASS, "
                 "or MODULE:CLASS of an installed package, found 'Net'"});
  EXPECT_EQ(read("{python: 'train.py:'}").errors.size(), 1u);
  EXPECT_EQ(read("{python: ':Net'}").errors.size(), 1u);
  expect_errors(
    "{python: train.py, arg: {}, args: [1], seed: -1}",
    {"s.yaml:2:30: workload.arg: unknown key 'arg', did you mean "
     "'args'? Allowed: python, args, seed, packages, "
     "silence_seconds, exact, share, from, files, "
     "python_executable, check, ranks",
     "s.yaml:2:56: workload.seed: must be a whole number from 0 to "
     "999999999999, found '-1'",
     "s.yaml:2:45: workload.args: must be a map of arguments, found "
     "a list"});
  expect_errors("{command: [./mine], packages: [a]}",
                {"s.yaml:2:41: workload.packages: must be a map of versions by "
                 "name, found a list"});
  expect_errors("{command: []}",
                {"s.yaml:2:21: workload.command: must be a list of at least one "
                 "word, found an empty list"});
}

TEST(OwnWorkload, ItsMetricsAndHyperParametersAreAnyButSaidWhichWayIsBetter) {
  EXPECT_EQ(test::texts(read("{python: train.py}", "{metric: any}").errors),
            lines{"s.yaml:3:12: objective: 'direction' is missing"});
  const auto study = read("{python: train.py}").study;
  ASSERT_TRUE(study);
  EXPECT_EQ(study->objective.direction, direction::minimize);
  EXPECT_EQ(study->space.size(), 2u);
}

TEST(OwnWorkload, ItsNameAloneNamesNone) {
  EXPECT_EQ(read("python").errors.size(), 1u);
  EXPECT_EQ(read("{name: python}").errors.size(), 1u);
}

TEST(OwnWorkload, CodeThatIsDamagedIsTold) {
  const auto file = read_study("study: s\n--- # code\n{\n", "s.yaml",
                               built_in_workloads());
  ASSERT_FALSE(file.errors.empty());
  EXPECT_NE(file.errors[0].message.find("malformed code"), std::string::npos);
}

TEST(OwnWorkload, AFileThatTheStudyDoesNotNameIsRefused) {
  auto x = code();
  x.files.erase("data.py");
  x.files.erase("mine");
  EXPECT_TRUE(read_with("{python: train.py}", x).study);
  x.files["helper.py"] = {"V = 2.0\n", false};
  EXPECT_EQ(test::texts(read_with("{python: train.py}", x).errors),
            lines{"s.yaml:2:11: workload: the study brings a file 'helper.py' "
                  "that it does not name: name it under 'files', or leave it "
                  "out"});
  EXPECT_TRUE(read_with("{python: train.py, files: [helper.py]}", x).study);
}

TEST(OwnWorkload, CodeGoesWithAWorkloadThatIsCode) {
  const auto file = read_study(
    join({"study: s\nworkload: fashion-mlp\nmax_steps: 4\nobjective: "
          "{metric: val_accuracy}\nspace: {lr: 0.1}\n",
          to_json(study_code{})}),
    "s.yaml", built_in_workloads());
  ASSERT_EQ(file.errors.size(), 1u);
  EXPECT_NE(file.errors[0].message.find("brings code"), std::string::npos);
}

TEST(OwnWorkload, FilesThatCannotBeUnpackedAreTold) {
  study_code x;
  x.files["x"] = x.files["x/y"] = {"#!/bin/sh\n", true};
  const auto file = read_with("{files: [x, x/y]}", x);
  ASSERT_FALSE(file.errors.empty());
  EXPECT_NE(file.errors[0].message.find("needs a folder 'x', which is a file"),
            std::string::npos);
}

// A trainer that has the code of one key never needs that of an equal one.
TEST(OwnWorkload, EqualKeysRunEqualCode) {
  auto x = code();
  x.python = "/opt/a/python";
  auto y = code();
  y.python = "/opt/b/python";
  y.versions["unused"] = "1";
  const auto one = read("{python: train.py}", "{metric: a, direction: minimize}",
                        x);
  const auto other
    = read("{python: train.py}", "{metric: b, direction: maximize}", y);
  EXPECT_EQ(key_of(one.study->workload), key_of(other.study->workload));
  EXPECT_EQ(one.study->code, other.study->code);
  EXPECT_NE(one.study->code, "");
}

/// The state that training begins from is a part of the key by its content.
TEST(OwnWorkload, InitialStateIsInTheKey) {
  const auto text = text_of("{python: train.py, from: /models/base}",
                            "{metric: any, direction: minimize}");
  auto sent = code();
  sent.files = {{"train.py", sent.files.at("train.py")}};
  const auto read_sent = [&] {
    return read_study(join({text, to_json(sent)}), "s.yaml",
                      built_in_workloads());
  };
  EXPECT_EQ(test::texts(read_sent().errors),
            lines{"s.yaml:2:36: workload.from: the initial state has not come "
                  "with the study: hippo submit, hippo run and the Python "
                  "client send it"});
  sent.initial.emplace();
  sent.initial->files["state.pt"] = {std::string(64, 'a'), 7};
  sent.initial->path = "/models/base";
  const auto first = read_sent();
  ASSERT_EQ(test::texts(first.errors), lines{});
  EXPECT_EQ(first.study->workload.options.at("from"),
            scalar{digest_of(*sent.initial)});
  EXPECT_EQ(first.study->initial_path, "/models/base");
  sent.initial->path = "/elsewhere";
  const auto moved = read_sent();
  EXPECT_EQ(key_of(moved.study->workload), key_of(first.study->workload));
  EXPECT_EQ(moved.study->code, first.study->code);
  sent.initial->files["state.pt"].sha256 = std::string(64, 'b');
  EXPECT_NE(key_of(read_sent().study->workload), key_of(first.study->workload));
}

TEST(OwnWorkload, InitialStateThatIsNotNamedIsRefused) {
  auto sent = code();
  sent.files = {{"train.py", sent.files.at("train.py")}};
  sent.initial.emplace();
  sent.initial->files["state.pt"] = {std::string(64, 'a'), 7};
  const auto file = read_with("{python: train.py}", sent);
  ASSERT_EQ(file.errors.size(), 1u);
  EXPECT_NE(file.errors[0].message.find("name it under 'from'"),
            std::string::npos);
}

TEST(RequestedCode, NamesTheInitialState) {
  const auto from = [](const std::string& value) {
    return requested_code("workload: {python: train.py, from: " + value + "}")
      .initial;
  };
  EXPECT_EQ(from("models/base")->path, "models/base");
  const auto state = from("{study: pretrain, trial: 3, step: 90}");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->path, "");
  EXPECT_EQ(state->study, "pretrain");
  EXPECT_EQ(state->trial, 3u);
  EXPECT_EQ(state->step, 90u);
  EXPECT_EQ(to_text(*state), "trial 3 of study pretrain at step 90");
  EXPECT_EQ(to_text(*from("models/base")), "models/base");
  for (const auto* bad : {"{study: pretrain}", "[a]",
                          "{study: p, trial: -1, "
                          "step: 90}",
                          "{study: p, trial: 0, step: 0}"})
    EXPECT_FALSE(from(bad)) << bad;
  EXPECT_FALSE(requested_code("workload: {python: train.py}").initial);
}

TEST(RequestedCode, IsWhatWhoeverSendsItMustAdd) {
  const auto x = requested_code(
    "study: s\nworkload: {python: ./a/train.py:Net, files: [data.py], "
    "packages: [torch], python_executable: .venv/bin/python}\n");
  EXPECT_TRUE(x.own);
  EXPECT_TRUE(x.runs_python);
  EXPECT_EQ(x.files, (lines{"a/train.py", "data.py"}));
  EXPECT_EQ(x.packages, (lines{"hippo-hpo", "python", "torch"}));
  EXPECT_EQ(x.python, ".venv/bin/python");
  EXPECT_EQ(requested_code("workload: {python: 'a:B', packages: {torch: 2}}")
              .packages,
            (lines{"hippo-hpo", "python"}));
  EXPECT_FALSE(
    requested_code("workload: {files: [a, b]}").runs_python);
  EXPECT_FALSE(requested_code("workload: fashion-mlp").own);
  EXPECT_FALSE(requested_code("workload: {name: fashion-mlp}").own);
  EXPECT_FALSE(requested_code("not: [a study").own);
  EXPECT_FALSE(requested_code("").own);
}

} // namespace
} // namespace hippo
