// Lanes that several threads use: who waits for whom.

#include "hippo/train/lanes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <stdexcept>
#include <thread>

namespace hippo {

namespace {

using lanes_of_launch = std::vector<std::size_t>;

/// A configuration in which `size` decides which steps fit each other.
configuration config_of(double size) {
  return {{"size", form::constant(size)}};
}

double size_of(const laned_workload::part& x) {
  return std::get<double>(x.config->at("size").at(x.step));
}

/// What has been launched, outliving the workload.
struct log {
  std::vector<lanes_of_launch> trained, measured;
  bool ended = false;
};

/// Sums sizes, and writes down what is asked of it. A negative size is refused,
/// a launch of size 13 fails.
class fake : public laned_workload {
public:
  fake(std::size_t lanes, log& out) : sums_(lanes), log_(out) {}
  ~fake() override { log_.ended = true; }

  [[nodiscard]] std::size_t lanes() const override { return sums_.size(); }

  void check(const part& x) const override {
    if (size_of(x) < 0)
      throw std::invalid_argument("a negative size");
  }

  [[nodiscard]] bool fit(const part& x, const part& y) const override {
    return size_of(x) == size_of(y);
  }

  void train(const std::vector<part>& xs) override {
    lanes_of_launch those;
    for (const auto& x : xs) {
      those.push_back(x.lane);
      EXPECT_TRUE(fit(x, xs.front()));
      sums_[x.lane] += size_of(x);
    }
    log_.trained.push_back(those);
    if (size_of(xs.front()) == 13)
      throw std::runtime_error("13");
  }

  std::vector<metrics> evaluate(const lanes_of_launch& xs) override {
    log_.measured.push_back(xs);
    std::vector<metrics> result;
    for (auto i : xs)
      result.push_back({{"sum", sums_[i]}});
    return result;
  }

  void init(std::size_t lane) override { sums_[lane] = 0; }

  std::string save(std::size_t lane) override {
    return std::to_string(sums_[lane]);
  }

  void load(std::size_t lane, const std::string& bytes) override {
    sums_[lane] = std::stod(bytes);
  }

  void export_weights(std::size_t lane, const std::string& path) override {
    throw std::runtime_error(path + " of " + std::to_string(lane));
  }

private:
  std::vector<double> sums_;
  log& log_;
};

using workloads = std::vector<std::unique_ptr<workload>>;

workloads lanes_of(std::size_t count, log& out) {
  workloads result;
  result.push_back(first_lane(std::make_unique<fake>(count, out)));
  auto others = result.front()->take_other_lanes();
  std::move(others.begin(), others.end(), std::back_inserter(result));
  return result;
}

/// Lanes that have all been begun: each is waited for until it rests.
workloads begun(std::size_t count, log& out) {
  auto result = lanes_of(count, out);
  for (const auto& x : result)
    x->init();
  return result;
}

/// Starts a thread of a lane that trains steps of these sizes, then rests.
std::future<void> training(workload& x, std::vector<double> sizes) {
  return std::async(std::launch::async, [&x, sizes = std::move(sizes)] {
    try {
      for (step_t i = 0; i < sizes.size(); ++i)
        x.train(config_of(sizes[i]), i, i + 1);
    } catch (...) {
      x.rest();
      throw;
    }
    x.rest();
  });
}

} // namespace

TEST(Lanes, AreTakenOnce) {
  log out;
  const auto first = first_lane(std::make_unique<fake>(3, out));
  const auto others = first->take_other_lanes();
  ASSERT_EQ(others.size(), 2);
  EXPECT_TRUE(first->take_other_lanes().empty());
  EXPECT_TRUE(others[0]->take_other_lanes().empty());
}

TEST(Lanes, AloneNeedNoOther) {
  log out;
  const auto all = lanes_of(3, out);
  all[1]->init();
  all[1]->train(config_of(2), 0, 3);
  EXPECT_EQ(all[1]->evaluate(), (metrics{{"sum", 6}}));
  EXPECT_EQ(out.trained, std::vector(3, lanes_of_launch{1}));
  EXPECT_EQ(out.measured, std::vector(1, lanes_of_launch{1}));
}

TEST(Lanes, OfEqualStepsTrainTogetherInWhateverOrderTheyCome) {
  const std::size_t count = 4;
  std::vector<std::size_t> order{0, 1, 2, 3};
  do {
    log out;
    const auto all = begun(count, out);
    std::vector<std::future<void>> threads;
    for (auto i : order)
      threads.push_back(training(*all[i], {2, 3, 4}));
    for (auto& x : threads)
      x.get();
    EXPECT_EQ(out.trained, std::vector(3, lanes_of_launch{0, 1, 2, 3}));
    for (const auto& x : all)
      EXPECT_EQ(x->save(), std::to_string(9.0));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Lanes, ThatRestAreNotWaitedFor) {
  log out;
  const auto all = begun(3, out);
  all[1]->rest();
  auto first = training(*all[0], {1, 1, 1}), last = training(*all[2], {1});
  first.get();
  last.get();
  EXPECT_EQ(out.trained,
            (std::vector<lanes_of_launch>{{0, 2}, {0}, {0}}));
  // The next call ends the rest: the first lane's after its steps as well.
  all[0]->save();
  all[1]->save();
  auto one = training(*all[0], {1}), other = training(*all[1], {1});
  one.get();
  other.get();
  EXPECT_EQ(out.trained.back(), (lanes_of_launch{0, 1}));
}

TEST(Lanes, ThatAreDestroyedAreNotWaitedFor) {
  log out;
  auto all = begun(3, out);
  all[0].reset();
  auto one = training(*all[1], {1, 1}), other = training(*all[2], {1});
  one.get();
  other.get();
  EXPECT_EQ(out.trained, (std::vector<lanes_of_launch>{{1, 2}, {1}}));
  EXPECT_EQ(all[1]->save(), std::to_string(2.0));
  all[1].reset();
  EXPECT_FALSE(out.ended);
  all[2].reset();
  EXPECT_TRUE(out.ended);
}

TEST(Lanes, OfStepsThatDoNotFitTrainTheLongestWaitingFirst) {
  log out;
  const auto all = begun(4, out);
  std::vector<std::future<void>> threads;
  for (std::size_t i = 0; i < all.size(); ++i)
    threads.push_back(
      training(*all[i], std::vector(3, i % 2 == 0 ? 1.0 : 2.0)));
  for (auto& x : threads)
    x.get();
  // Whoever comes first, with the one that fits; from then on the others have
  // always waited for longer.
  ASSERT_EQ(out.trained.size(), 6);
  const lanes_of_launch ones{0, 2}, twos{1, 3};
  const bool begins = out.trained[0] == ones;
  for (std::size_t i = 0; i < out.trained.size(); ++i)
    EXPECT_EQ(out.trained[i], (i % 2 == 0) == begins ? ones : twos) << i;
}

TEST(Lanes, MeasureFirstAndThenTrainWithTheOthers) {
  log out;
  const auto all = begun(2, out);
  auto other = training(*all[1], {1});
  EXPECT_EQ(all[0]->evaluate(), (metrics{{"sum", 0}}));
  all[0]->train(config_of(1), 0, 1);
  other.get();
  EXPECT_EQ(out.measured, std::vector(1, lanes_of_launch{0}));
  EXPECT_EQ(out.trained, std::vector(1, (lanes_of_launch{0, 1})));
}

TEST(Lanes, MeasureTogether) {
  log out;
  const auto all = begun(2, out);
  all[0]->load("5");
  auto other = std::async(std::launch::async,
                          [&] { return all[1]->evaluate(); });
  EXPECT_EQ(all[0]->evaluate(), (metrics{{"sum", 5}}));
  EXPECT_EQ(other.get(), (metrics{{"sum", 0}}));
  EXPECT_EQ(out.measured, std::vector(1, (lanes_of_launch{0, 1})));
}

TEST(Lanes, AreSavedWhileOthersWait) {
  log out;
  const auto all = begun(2, out);
  auto other = training(*all[1], {1});
  all[0]->load("3");
  EXPECT_EQ(all[0]->save(), std::to_string(3.0));
  EXPECT_TRUE(out.trained.empty());
  all[0]->train(config_of(1), 0, 1);
  other.get();
  EXPECT_EQ(out.trained, std::vector(1, (lanes_of_launch{0, 1})));
}

TEST(Lanes, AreKeptAndRestoredWhileOthersWait) {
  log out;
  const auto all = begun(3, out);
  auto other = training(*all[1], {1});
  all[0]->load("3");
  const auto state = all[0]->snapshot();
  all[0]->load("4");
  all[2]->restore(*state);
  EXPECT_TRUE(out.trained.empty());
  EXPECT_EQ(state->bytes(), std::to_string(3.0));
  EXPECT_EQ(all[2]->save(), std::to_string(3.0));
  EXPECT_EQ(all[0]->save(), std::to_string(4.0));
  all[0]->rest();
  all[2]->rest();
  other.get();
}

TEST(Lanes, KeepStatesInTheirOwnWay) {
  class keeping final : public fake {
  public:
    using fake::fake;
    std::shared_ptr<const workload_state> snapshot(std::size_t lane) override {
      return std::make_shared<saved_state>("kept " + std::to_string(lane));
    }
    void restore(std::size_t lane, const workload_state& x) override {
      load(lane, x.bytes().substr(5) + std::to_string(lane));
    }
  };
  log out;
  const auto first = first_lane(std::make_unique<keeping>(3, out));
  const auto others = first->take_other_lanes();
  const auto state = others[0]->snapshot();
  EXPECT_EQ(state->bytes(), "kept 1");
  others[1]->restore(*state);
  EXPECT_EQ(others[1]->save(), std::to_string(12.0));
}

TEST(Lanes, OfALaunchThatFailsHearOfItAndNoOthers) {
  log out;
  const auto all = begun(3, out);
  auto first = training(*all[0], {13}), second = training(*all[1], {13}),
       third = training(*all[2], {5, 5});
  EXPECT_THROW(first.get(), std::runtime_error);
  EXPECT_THROW(second.get(), std::runtime_error);
  EXPECT_NO_THROW(third.get());
  EXPECT_EQ(all[2]->save(), std::to_string(10.0));
  // And not again.
  all[2]->rest();
  all[0]->init();
  EXPECT_NO_THROW(all[0]->train(config_of(1), 0, 1));
}

TEST(Lanes, OfValuesThatAreRefusedHearOfItAlone) {
  log out;
  const auto all = begun(2, out);
  auto bad = training(*all[0], {-1}), good = training(*all[1], {1, 1});
  EXPECT_THROW(bad.get(), std::invalid_argument);
  EXPECT_NO_THROW(good.get());
  EXPECT_EQ(out.trained, std::vector(2, lanes_of_launch{1}));
}

TEST(Lanes, ExportTheirOwn) {
  log out;
  const auto all = lanes_of(3, out);
  try {
    all[2]->export_weights("weights");
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "weights of 2");
  }
}

} // namespace hippo
