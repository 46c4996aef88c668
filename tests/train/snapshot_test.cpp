// States that are kept: the same bits as those that are saved and loaded,
// whatever is trained meanwhile.

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <stdexcept>

#include "train/test_name.hpp"
#include "train/training_process.hpp"

namespace hippo {

namespace {

using state_ptr = std::shared_ptr<const workload_state>;

constexpr step_t last = 5; ///< sgd, sgd, adamw, adamw, sgd

} // namespace

class Snapshot : public testing::TestWithParam<std::string> {
protected:
  /// Trains the changing trial, and keeps and saves the state after each step.
  void train() {
    work->init();
    for (step_t step = 0;; ++step) {
      kept.push_back(work->snapshot());
      saved.push_back(work->save());
      if (step == last)
        return;
      train_changing(*work, GetParam(), step, step + 1);
    }
  }

  std::unique_ptr<workload> work = make_built_in(small_spec(GetParam()));
  std::vector<state_ptr> kept;
  std::vector<std::string> saved;
};

TEST_P(Snapshot, IsWhatWasSavedThen) {
  train();
  for (step_t step = 0; step <= last; ++step)
    EXPECT_TRUE(kept[step]->bytes() == saved[step]) << step;
}

TEST_P(Snapshot, IsRestoredInWhateverStateTheWorkloadIs) {
  train();
  const auto other = make_built_in(small_spec(GetParam()));
  for (step_t from = 0; from <= last; ++from)
    for (step_t to = 0; to <= last; ++to) {
      work->load(saved[from]);
      work->restore(*kept[to]);
      EXPECT_TRUE(work->save() == saved[to]) << "from " << from << " to " << to;
    }
}

TEST_P(Snapshot, IsGoneOnFromAsAfterALoad) {
  train();
  for (auto step = last; step-- > 0;) {
    work->restore(*kept[step]);
    const auto measured = work->evaluate();
    train_changing(*work, GetParam(), step, step + 1);
    EXPECT_TRUE(work->save() == saved[step + 1]) << "from " << step;
    work->load(saved[step]);
    EXPECT_EQ(work->evaluate(), measured) << step;
    EXPECT_TRUE(kept[step]->bytes() == saved[step]) << "trained along";
  }
}

TEST_P(Snapshot, IsWrittenByAnotherThreadWhileItTrainsOn) {
  work->init();
  train_changing(*work, GetParam(), 0, 1);
  const auto expected = work->save();
  const auto state = work->snapshot();
  auto written = std::async(std::launch::async, [&] {
    bool same = true;
    for (int i = 0; i < 20; ++i)
      same = same && state->bytes() == expected;
    return same;
  });
  train_changing(*work, GetParam(), 1, 4);
  EXPECT_TRUE(written.get());
}

TEST_P(Snapshot, OutlivesTheWorkload) {
  const auto expected = work->save();
  const auto state = work->snapshot();
  work.reset();
  EXPECT_TRUE(state->bytes() == expected);
}

TEST_P(Snapshot, TellsHowLargeItIs) {
  train();
  for (step_t step = 0; step <= last; ++step) {
    // Each of at most some hundred tensors begins at a multiple of 512 bytes.
    EXPECT_LT(kept[step]->size(), saved[step].size() + (512 << 7));
    EXPECT_GT(kept[step]->size(), saved[step].size() / 10 * 9);
  }
}

INSTANTIATE_TEST_SUITE_P(Workloads, Snapshot,
                         testing::Values("fashion-mlp", "fashion-cnn",
                                         "squad-bert-tiny"),
                         [](const auto& x) { return test_name_of(x.param); });

TEST(SnapshotOf, AnotherWorkloadIsRefused) {
  const auto mlp = make_built_in(small_spec("fashion-mlp"));
  const auto cnn = make_built_in(small_spec("fashion-cnn"));
  const auto before = mlp->save();
  EXPECT_THROW(mlp->restore(*cnn->snapshot()), std::runtime_error);
  EXPECT_THROW(mlp->restore(saved_state{cnn->save()}), std::runtime_error);
  EXPECT_TRUE(mlp->save() == before);
  train_changing(*mlp, "fashion-mlp", 0, 1);
  mlp->restore(saved_state{before});
  EXPECT_TRUE(mlp->save() == before);
}

} // namespace hippo
