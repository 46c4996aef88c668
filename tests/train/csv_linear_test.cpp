// Linear models of CSV files.

#include "hippo/train/torch/linear/table_data.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "hippo/model/code/sha256.hpp"
#include "hippo/train/torch/weights_file.hpp"
#include "train/linear_problem.hpp"
#include "train/message_of.hpp"
#include "train/temporary_folder.hpp"
#include "train/training_process.hpp"

namespace hippo {
namespace {

/// A file that is gone after the test.
struct csv_fixture : testing::Test {
  temporary_folder folder;
  std::string path = folder.path + "/t.csv";

  /// Writes the file and returns its digest.
  std::string write(const std::string& text) const {
    write_file(path, text);
    return sha256_of(text);
  }

  [[nodiscard]] std::string why(const std::string& text) const {
    const auto digest = write(text);
    return message_of<std::invalid_argument>(
      [&] { read_csv(path, "y", digest); });
  }
};

using CsvFile = csv_fixture;
using CsvLinear = csv_fixture;

TEST_F(CsvFile, IsATableOfNumbersAndTargets) {
  const auto digest = write("a,y,\"b, c\"\n1,x,-2.5\n\n3e2,\"y\"\"\",0\n");
  const auto table = read_csv(path, "y", digest);
  EXPECT_EQ(table.names, (std::vector<std::string>{"a", "b, c"}));
  EXPECT_EQ(table.features, (std::vector<float>{1, -2.5, 300, 0}));
  EXPECT_EQ(table.targets, (std::vector<std::string>{"x", "y\""}));
  EXPECT_EQ(table.lines, (std::vector<int>{2, 4}));
}

TEST_F(CsvFile, FaultsHaveALineAndAColumn) {
  EXPECT_EQ(why("a,y\n1,2\n\"3\n\",4\n"),
            path + ":3: column 'a': must be a finite number, found '3\n'");
  EXPECT_EQ(why("a,y\n1,2\nred,4\n"),
            path + ":3: column 'a': must be a finite number, found 'red'");
  EXPECT_EQ(why("a,y\nnan,2\n"),
            path + ":2: column 'a': must be a finite number, found 'nan'");
  EXPECT_EQ(why("a,y\n1,2\n,4\n"),
            path
              + ":3: column 'a': is empty; give it a value or leave the row "
                "out");
  EXPECT_EQ(why("a,y\n1,\n"),
            path
              + ":2: column 'y': is empty; give it a value or leave the row "
                "out");
  EXPECT_EQ(why("a,y\n1,2,3\n"),
            path + ":2: has 3 fields, the first line has 2");
  EXPECT_EQ(why("a,b\n1,2\n"), path + ":1: data.target: has no column 'y'");
  EXPECT_EQ(why("y\n1\n"), path + ":1: must have columns beside 'y'");
  EXPECT_EQ(why("a,y\n"),
            path + ":1: must have a line of names and one line for each row");
  EXPECT_EQ(why(""),
            path + ":1: must have a line of names and one line for each row");
}

TEST_F(CsvFile, OtherContentIsRefused) {
  const auto digest = write("a,y\n1,2\n"), other = sha256_of("");
  const auto of = [&](const std::string& sha256) {
    return message_of<std::invalid_argument>(
      [&] { read_csv(path, "y", sha256); });
  };
  EXPECT_EQ(of(other), "data.sha256: " + path + " has " + digest
                         + ", the study says " + other);
  EXPECT_EQ(of(""), "data.sha256: " + path + " has " + digest
                      + ", the study says none: its content is a part of the "
                        "workload key");
  EXPECT_NE(message_of<missing_data_error>([&] {
              read_csv(path + "x", "y", digest);
            }).find("give the path that it has on the trainers"),
            std::string::npos);
  EXPECT_EQ(message_of<std::invalid_argument>([] { read_csv("", "y", ""); }),
            "data.file: must name a CSV file");
}

// -- examples -----------------------------------------------------------------

/// A table with normally distributed features of several units and a constant
/// one, and targets of a linear model or one of three classes.
std::string table_text(std::size_t rows, linear_loss loss) {
  random_numbers numbers{7, purpose::example, {}};
  std::string result = "a,y,b,c\n";
  for (std::size_t i = 0; i < rows; ++i) {
    const auto a = normal(numbers), b = 50 + 10 * normal(numbers);
    const auto y = 2 * a - 0.3 * b + 1;
    result += std::to_string(a) + ','
              + (loss == linear_loss::least_squares ? std::to_string(y)
                 : y < -15                          ? "low"
                 : y < -13                          ? "middle"
                                                    : "top")
              + ',' + std::to_string(b) + ",4\n";
  }
  return result;
}

TEST_F(CsvLinear, RowsAreDividedAndScaled) {
  const auto digest = write(table_text(101, linear_loss::least_squares));
  const auto table = read_csv(path, "y", digest);
  const auto examples =
    examples_of(table, linear_loss::least_squares, 0.7, 0.2);
  ASSERT_EQ(examples.training.count, 70);
  ASSERT_EQ(examples.validation.count, 20);
  std::set<float> targets{examples.training.targets.begin(),
                          examples.training.targets.end()};
  for (const auto target : examples.validation.targets)
    EXPECT_FALSE(targets.contains(target));
  auto values = at::empty({70, 3}, at::kFloat);
  for (std::int64_t i = 0; i < 70; ++i)
    examples.training.features_of(i, values.mutable_data_ptr<float>()
                                       + std::ptrdiff_t{3} * i);
  EXPECT_TRUE(values.mean(0).allclose(at::zeros({3}), 0, 1e-6));
  EXPECT_TRUE(
    values.square().mean(0).allclose(at::tensor({1.F, 1.F, 0.F}), 0, 1e-5));
}

TEST_F(CsvLinear, SharesAndTargetsThatDoNotFit) {
  const auto digest = write("a,y\n1,2\n2,x\n3,2\n4,2\n5,1\n");
  const auto table = read_csv(path, "y", digest);
  const auto of = [&](linear_loss loss, double training, double validation) {
    return message_of<std::invalid_argument>(
      [&] { examples_of(table, loss, training, validation); });
  };
  EXPECT_EQ(of(linear_loss::logistic, 0.8, 0.6),
            "data.train 0.8 and data.validation 0.6 overlap: together they may "
            "be at most 1");
  EXPECT_EQ(of(linear_loss::logistic, 0.8, 0.1),
            "data.train 0.8 and data.validation 0.1 of 5 rows: each part needs "
            "one row");
  EXPECT_EQ(of(linear_loss::least_squares, 0.8, 0.2),
            path + ":3: column 'y': must be a finite number, found 'x'");
  const auto one = write("a,y\n1,2\n2,2\n3,2\n4,2\n5,2\n");
  EXPECT_EQ(message_of<std::invalid_argument>([&] {
              examples_of(read_csv(path, "y", one), linear_loss::logistic, 0.8,
                          0.2);
            }),
            "data.target: column 'y' of " + path
              + " has 1 distinct values: loss: logistic takes from 2 to 1000 "
                "as classes, loss: least_squares takes numbers");
}

// -- the workload -------------------------------------------------------------

constexpr auto name = "csv-linear";

workload_spec csv_spec(const std::string& path, const std::string& digest,
                       const std::string& loss) {
  auto spec = small_spec(name);
  spec.options["data.file"] = path;
  spec.options["data.sha256"] = digest;
  spec.options["data.target"] = "y";
  spec.options["data.train"] = 0.8;
  spec.options["data.validation"] = 0.2;
  spec.options["loss"] = loss;
  return spec;
}

TEST_F(CsvLinear, LeastSquaresFindsTheModelOfTheFile) {
  const auto digest = write(table_text(200, linear_loss::least_squares));
  const auto work = make_built_in(csv_spec(path, digest, "least_squares"));
  auto config = default_configuration(name);
  config["weight_decay"] = form::constant(0);
  config["lr"] = form::constant(0.05);
  work->init();
  work->train(config, 0, 100);
  const auto measured = work->evaluate();
  EXPECT_LT(measured.at("val_loss"), 1e-9);
  EXPECT_FALSE(measured.contains("val_accuracy"));
  work->export_weights(folder.path + "/w.pt");
  const auto weights = read_weights(folder.path + "/w.pt");
  EXPECT_TRUE(weights.at("weight").allclose(
    at::tensor({2.F, -0.3F, 0.F}).view({1, 3}), 0, 1e-4));
  EXPECT_NEAR(weights.at("bias").item<double>(), 1, 1e-4);
}

TEST_F(CsvLinear, ClassesAreLearned) {
  const auto digest = write(table_text(500, linear_loss::logistic));
  const auto work = make_built_in(csv_spec(path, digest, "logistic"));
  work->init();
  EXPECT_NEAR(work->evaluate().at("val_loss"), std::log(3), 1e-9);
  work->train(default_configuration(name), 0, 30);
  EXPECT_GT(work->evaluate().at("val_accuracy"), 0.85);
}

TEST_F(CsvLinear, CutAnywhereItGivesTheSameBytes) {
  const auto digest = write(table_text(90, linear_loss::logistic));
  const auto spec = csv_spec(path, digest, "logistic");
  const auto uncut = make_built_in(spec);
  uncut->init();
  std::vector<std::string> states{uncut->save()};
  for (step_t step = 0; step < 4; ++step) {
    train_changing(*uncut, name, step, step + 1);
    states.push_back(uncut->save());
  }
  for (step_t from = 0; from < 4; ++from) {
    const auto cut = make_built_in(spec);
    cut->load(states[from]);
    train_changing(*cut, name, from, 4);
    EXPECT_TRUE(cut->save() == states[4]) << from;
  }
}

} // namespace
} // namespace hippo
