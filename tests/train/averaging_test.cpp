// The mean of weights that built-in workloads measure.

#include <gtest/gtest.h>

#include <torch/types.h>

#include "hippo/model/averaging.hpp"
#include "hippo/train/torch/tensor_file.hpp"
#include "train/temporary_folder.hpp"
#include "train/test_name.hpp"
#include "train/training_process.hpp"

namespace hippo {
namespace {

constexpr step_t last = 6; // that the changing trial has
constexpr averaging mean_of_2{2, 2};

std::unique_ptr<workload> make(const std::string& name, averaging average) {
  auto spec = small_spec(name);
  if (average.of > 0) {
    spec.options[averaged_option] = static_cast<double>(average.of);
    spec.options[averaged_every_option] = static_cast<double>(average.every);
  }
  auto result = make_built_in(spec);
  result->init();
  return result;
}

/// A state with the mean of the models of others, by hand.
std::string with_mean(const std::string& state,
                      const std::vector<std::string>& others) {
  auto result = tensors_from_bytes(state);
  for (auto& [name, x] : result) {
    if (!name.starts_with("model."))
      continue;
    auto sum = at::zeros_like(x, at::kDouble);
    for (const auto& other : others)
      sum.add_(tensors_from_bytes(other).at(name));
    x = sum.div_(static_cast<double>(others.size())).to(at::kFloat);
  }
  return to_bytes(result);
}

metrics measured_in(const std::string& name, const std::string& state) {
  const auto work = make(name, {});
  work->load(state);
  return work->evaluate();
}

class Averaging : public testing::TestWithParam<std::string> {};

TEST_P(Averaging, MeasuresTheMeanOfTheLastStates) {
  const auto work = make(GetParam(), mean_of_2);
  const auto alone = make(GetParam(), {});
  std::vector<std::string> seen;
  for (step_t step = 0; step < last; ++step) {
    train_changing(*work, GetParam(), step, step + 1);
    train_changing(*alone, GetParam(), step, step + 1);
    const auto state = alone->save();
    if ((step + 1) % mean_of_2.every == 0)
      seen.push_back(state);
    if (seen.size() > mean_of_2.of)
      seen.erase(seen.begin());
    EXPECT_EQ(work->evaluate(),
              seen.empty() ? alone->evaluate()
                           : measured_in(GetParam(), with_mean(state, seen)))
      << "after step " << step;
    // Training goes on from the weights as they are.
    EXPECT_EQ(describe_model(work->save()), describe_model(state));
  }
}

TEST_P(Averaging, CutAnywhereItIsTheSame) {
  const auto whole = make(GetParam(), mean_of_2);
  train_changing(*whole, GetParam(), 0, last);
  const step_t apart = GetParam() == "fashion-mlp" ? 1 : 3; // these take time
  for (step_t cut = 0; cut < last; cut += apart) {
    const auto one = make(GetParam(), mean_of_2);
    train_changing(*one, GetParam(), 0, cut);
    const auto other = make(GetParam(), mean_of_2);
    train_changing(*other, GetParam(), 0, 4); // it has states of its own
    if (cut % 2 == 0)
      other->load(one->save());
    else
      other->restore(*one->snapshot());
    EXPECT_TRUE(other->save() == one->save());
    train_changing(*other, GetParam(), cut, last);
    EXPECT_TRUE(other->save() == whole->save()) << "cut at " << cut;
    EXPECT_EQ(other->evaluate(), whole->evaluate());
  }
}

TEST_P(Averaging, ExportsTheMean) {
  const temporary_folder folder;
  const auto work = make(GetParam(), mean_of_2);
  train_changing(*work, GetParam(), 0, last);
  const auto alone = make(GetParam(), {});
  std::vector<std::string> seen;
  for (step_t step = 0; step < last; ++step) {
    train_changing(*alone, GetParam(), step, step + 1);
    if ((step + 1) % mean_of_2.every == 0)
      seen.push_back(alone->save());
  }
  seen.erase(seen.begin());
  ASSERT_EQ(seen.size(), mean_of_2.of);
  alone->load(with_mean(alone->save(), seen));
  work->export_weights(folder.path + "/weights");
  const auto mean = read_file(folder.path + "/weights");
  alone->export_weights(folder.path + "/weights");
  EXPECT_TRUE(read_file(folder.path + "/weights") == mean);
}

TEST(AveragingStates, OthersAreAsTheyWereAndRefused) {
  const auto work = make("fashion-mlp", mean_of_2);
  train_changing(*work, "fashion-mlp", 0, 1);
  const auto alone = make("fashion-mlp", {});
  train_changing(*alone, "fashion-mlp", 0, 1);
  // Nothing is kept yet, so that nothing is said of it.
  EXPECT_TRUE(work->save() == alone->save());
  train_changing(*work, "fashion-mlp", 1, 2);
  EXPECT_THROW(alone->load(work->save()), std::runtime_error);
}

INSTANTIATE_TEST_SUITE_P(Workloads, Averaging,
                         testing::Values("fashion-mlp", "fashion-cnn",
                                         "squad-bert-tiny"),
                         [](const auto& x) { return test_name_of(x.param); });

} // namespace
} // namespace hippo
