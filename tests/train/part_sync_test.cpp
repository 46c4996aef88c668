// Weights that parts exchange: what each kind does to them, that it makes no
// difference how many members the parts have, and that members train meanwhile.

#include "hippo/train/torch/part_sync.hpp"

#include <gtest/gtest.h>

#include <torch/types.h>

#include <algorithm>
#include <array>
#include <future>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hippo/train/thread_gang.hpp"
#include "train/message_of.hpp"
#include "train/random_tensor.hpp"

namespace hippo {
namespace {

using floats = std::vector<float>;

constexpr std::int64_t width = 5;

device_stream& on_cpu() {
  static device_stream result{at::kCPU};
  return result;
}

named_tensors weights_of(std::int64_t parts) {
  return {{"a", random_tensor({parts, 3, 2}, 1)},
          {"b", random_tensor({parts, 4}, 2)}};
}

TEST(PartSync, SumsAreATree) {
  const auto parts = random_tensor({8, 50}, 1) * 1e3;
  const auto expected = ((parts[0] + parts[1]) + (parts[2] + parts[3]))
                        + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
  EXPECT_TRUE(same(sum_of_parts(parts)[0], expected));
  EXPECT_TRUE(same(sum_of_parts(parts.narrow(0, 2, 1))[0], parts[2]));
  EXPECT_TRUE(same(mean_of_parts(parts)[0], expected / 8));
}

// -- histories ----------------------------------------------------------------

/// A step of a history: its exchanges, and what each part's training adds to
/// its weights in each iteration.
struct trained_step {
  sync_rule rule;
  std::vector<at::Tensor> moves; ///< by iteration, parts x width
};

struct history {
  std::int64_t parts;
  at::Tensor begin;
  std::vector<trained_step> steps;
};

history random_history(std::uint64_t round) {
  random_numbers numbers{1, purpose::example, {round}};
  history x{std::int64_t{1} << (1 + numbers.below(3)), {}, {}};
  const auto draw = [&] {
    return random_tensor({x.parts, width}, numbers.below(1'000'000));
  };
  x.begin = draw();
  for (int i = 0; i < 4; ++i) {
    trained_step step;
    step.rule.kind = static_cast<sync_kind>(numbers.below(4));
    step.rule.every = 1 + numbers.below(4);
    step.rule.lag = numbers.below(step.rule.every);
    step.rule.alpha = numbers.uniform();
    step.rule.momentum = numbers.uniform();
    step.rule.lr = 2 * numbers.uniform();
    const auto iterations = 1 + numbers.below(9);
    while (step.moves.size() < iterations)
      step.moves.push_back(draw());
    x.steps.push_back(std::move(step));
  }
  return x;
}

/// The exchanges by their definition, one number after the other.
class exchange_model {
public:
  explicit exchange_model(std::vector<floats> weights)
    : weights_(std::move(weights)), centre_(mean_of(weights_)),
      velocity_(centre_.size()) {}

  void begin(const sync_rule& rule) {
    rule_ = rule;
    if (rule.kind == sync_kind::step)
      weights_.assign(weights_.size(), mean_of(weights_));
  }

  void move(const at::Tensor& by) {
    for (std::size_t part = 0; part < weights_.size(); ++part)
      for (std::size_t i = 0; i < centre_.size(); ++i)
        weights_[part][i] +=
          by[static_cast<std::int64_t>(part)][static_cast<std::int64_t>(i)]
            .item<float>();
  }

  void exchange(std::uint64_t iteration, bool is_last) {
    const auto moves = rule_.kind != sync_kind::step;
    // All that left before arrives first.
    if (moves && sent_ && (is_last || sent_->first + rule_.lag == iteration))
      arrive();
    if (moves && (is_last || (iteration + 1) % rule_.every == 0)) {
      sent_ = {iteration, weights_};
      if (is_last || rule_.lag == 0)
        arrive();
    }
    if (is_last
        && (rule_.kind == sync_kind::step
            || rule_.kind == sync_kind::average)) {
      centre_ = mean_of(weights_);
      velocity_.assign(centre_.size(), 0);
    }
  }

  std::vector<floats> weights_;
  floats centre_, velocity_;

private:
  /// The mean over the parts, by a tree.
  static floats mean_of(std::vector<floats> values) {
    const auto parts = static_cast<float>(values.size());
    while (values.size() > 1) {
      std::vector<floats> pairs;
      for (std::size_t part = 0; part < values.size(); part += 2) {
        auto sum = values[part];
        for (std::size_t i = 0; i < sum.size(); ++i)
          sum[i] += values[part + 1][i];
        pairs.push_back(std::move(sum));
      }
      values = std::move(pairs);
    }
    for (auto& x : values.front())
      x /= parts;
    return values.front();
  }

  void arrive() {
    const auto copies = std::move(sent_->second);
    sent_.reset();
    const auto alpha = static_cast<float>(rule_.alpha);
    if (rule_.kind == sync_kind::elastic) {
      velocity_.assign(centre_.size(), 0);
      for (std::size_t part = 0; part < copies.size(); ++part)
        for (std::size_t i = 0; i < centre_.size(); ++i) {
          const float off = (copies[part][i] - centre_[i]) * alpha;
          centre_[i] += off;
          weights_[part][i] -= off;
        }
      return;
    }
    auto goal = mean_of(copies);
    if (rule_.kind == sync_kind::bmuf)
      for (std::size_t i = 0; i < goal.size(); ++i) {
        velocity_[i] *= static_cast<float>(rule_.momentum);
        velocity_[i] += (goal[i] - centre_[i]) * static_cast<float>(rule_.lr);
        goal[i] = centre_[i] += velocity_[i];
      }
    for (std::size_t part = 0; part < copies.size(); ++part)
      for (std::size_t i = 0; i < goal.size(); ++i)
        weights_[part][i] += (goal[i] - copies[part][i]) * alpha;
  }

  sync_rule rule_;
  std::optional<std::pair<std::uint64_t, std::vector<floats>>> sent_;
};

floats floats_of(const at::Tensor& tensor) {
  const auto values = tensor.contiguous();
  return {values.const_data_ptr<float>(),
          values.const_data_ptr<float>() + values.numel()};
}

TEST(PartSync, ExchangesAreThoseOfTheDefinition) {
  for (std::uint64_t round = 0; round < 80; ++round) {
    const auto all = random_history(round);
    const auto weight = all.begin.clone();
    part_sync sync{{{"w", weight}}};
    sync.init();
    std::vector<floats> begin;
    for (std::int64_t part = 0; part < all.parts; ++part)
      begin.push_back(floats_of(weight[part]));
    exchange_model model{begin};
    for (const auto& step : all.steps) {
      sync.begin(step.rule);
      model.begin(step.rule);
      for (std::uint64_t i = 0; i < step.moves.size(); ++i) {
        const bool is_last = i + 1 == step.moves.size();
        weight.add_(step.moves[i]);
        model.move(step.moves[i]);
        const bool is_due = sync.is_due(i, is_last);
        const auto before = floats_of(weight);
        sync.exchange(on_cpu(), i, is_last);
        model.exchange(i, is_last);
        for (std::int64_t part = 0; part < all.parts; ++part)
          ASSERT_EQ(floats_of(weight[part]),
                    model.weights_[static_cast<std::size_t>(part)])
            << round << ' ' << i << ' ' << part;
        if (!is_due) {
          ASSERT_EQ(floats_of(weight), before);
        }
      }
      ASSERT_EQ(floats_of(sync.buffers()[0].second), model.centre_) << round;
      ASSERT_EQ(floats_of(sync.buffers()[1].second), model.velocity_) << round;
    }
  }
}

TEST(PartSync, AnyNumberOfMembersGivesTheSameBits) {
  for (std::uint64_t round = 0; round < 30; ++round) {
    // One kind, as workloads that members share have it.
    constexpr std::array kinds{sync_kind::average, sync_kind::elastic,
                               sync_kind::bmuf};
    const auto kind = kinds[round % kinds.size()];
    const bool has_buffers = kind != sync_kind::average;
    auto all = random_history(round);
    for (auto& step : all.steps)
      step.rule.kind = kind;
    std::optional<std::vector<floats>> expected;
    for (std::size_t size = 1; size <= static_cast<std::size_t>(all.parts);
         size *= 2) {
      thread_gang members{size};
      const auto count = all.parts / static_cast<std::int64_t>(size);
      std::vector<std::vector<floats>> buffers(size);
      std::vector<floats> rows(static_cast<std::size_t>(all.parts));
      members.run([&](std::size_t rank) {
        const auto weight = all.begin.clone();
        part_sync sync{{{"w", weight}}, has_buffers};
        sync.init();
        const auto first = static_cast<std::int64_t>(rank) * count;
        if (size > 1)
          sync.share(&members.member(rank), {all.parts, first, count});
        const auto own = weight.narrow(0, first, count);
        for (const auto& step : all.steps) {
          sync.begin(step.rule);
          for (std::uint64_t i = 0; i < step.moves.size(); ++i) {
            own.add_(step.moves[i].narrow(0, first, count));
            sync.exchange(on_cpu(), i, i + 1 == step.moves.size());
          }
        }
        for (std::int64_t part = first; part < first + count; ++part)
          rows[static_cast<std::size_t>(part)] = floats_of(weight[part]);
        for (const auto& [name, x] : sync.buffers())
          buffers[rank].push_back(floats_of(x));
      });
      for (const auto& x : buffers)
        EXPECT_EQ(x, buffers.front()) << size;
      for (auto& x : buffers.front())
        rows.push_back(std::move(x));
      if (!expected)
        expected = rows;
      EXPECT_EQ(rows, *expected) << "round " << round << ", " << size;
    }
  }
}

// -- behind training ----------------------------------------------------------

/// A gang of two whose exchanges wait until they may end. The other member has
/// the same values.
class waiting_gang final : public gang {
public:
  [[nodiscard]] std::size_t size() const override { return 2; }
  [[nodiscard]] std::size_t rank() const override { return 0; }
  void exchange(std::size_t /*peer*/, std::span<const std::byte> out,
                std::span<std::byte> in) override {
    gate.wait();
    std::ranges::copy(out.first(std::min(out.size(), in.size())), in.begin());
    if (fails)
      throw gang_lost{"member 1 of 2 is gone"};
  }

  std::promise<void> opened;
  std::shared_future<void> gate{opened.get_future()};
  bool fails = false;
};

TEST(PartSync, TrainingGoesOnWhileCopiesTravel) {
  for (const auto kind :
       {sync_kind::average, sync_kind::elastic, sync_kind::bmuf}) {
    waiting_gang members;
    const auto weight = random_tensor({2, width}, 3);
    part_sync sync{{{"w", weight}}};
    sync.init();
    sync.share(&members, {2, 0, 1});
    sync.begin({kind, 5, 3, 0.5, 0, 1});
    for (std::uint64_t i = 0; i < 7; ++i) { // a copy leaves at 4, arrives at 7
      sync.exchange(on_cpu(), i, false);
      weight[0].add_(1);
    }
    members.opened.set_value();
    sync.exchange(on_cpu(), 7, false);
  }
}

TEST(PartSync, ALossOfAMemberIsToldOnArrival) {
  waiting_gang members;
  members.fails = true;
  members.opened.set_value();
  part_sync sync{{{"w", random_tensor({2, width}, 3)}}};
  sync.init();
  sync.share(&members, {2, 0, 1});
  sync.begin({sync_kind::average, 2, 1, 0.5, 0, 1});
  sync.exchange(on_cpu(), 1, false);
  EXPECT_EQ(message_of<gang_lost>([&] { sync.exchange(on_cpu(), 2, false); }),
            "member 1 of 2 is gone");
  // A copy that is given up with its step tells nobody.
  sync.begin({sync_kind::average, 2, 1, 0.5, 0, 1});
  sync.exchange(on_cpu(), 1, false);
  sync.drop();
  EXPECT_FALSE(sync.is_due(2, false));
}

// -- special cases ------------------------------------------------------------

TEST(PartSync, WithoutALagAndAllTheWayItIsLocalSgd) {
  const auto weights = weights_of(4);
  part_sync sync{weights};
  sync.init();
  sync.begin({sync_kind::average, 3, 0, 1, 0, 1});
  const auto mean = sync.mean();
  for (std::uint64_t i = 0; i < 2; ++i) {
    sync.exchange(on_cpu(), i, false);
    EXPECT_FALSE(same(weights[0].second[0], weights[0].second[1]));
  }
  sync.exchange(on_cpu(), 2, false);
  for (std::size_t i = 0; i < weights.size(); ++i)
    EXPECT_TRUE(weights[i].second.allclose(
      mean[i].second.expand_as(weights[i].second), 0, 1e-6));
}

TEST(PartSync, GradientsOfOneModelAreMixedByShare) {
  auto weights = weights_of(2);
  part_sync sync{weights};
  sync.init();
  const auto one = random_tensor({2, 3, 2}, 5), two = random_tensor({2, 4}, 6);
  weights[0].second.mutable_grad() = one.clone();
  weights[1].second.mutable_grad() = two.clone();
  sync.begin({sync_kind::average, 3, 0, 1, 0, 1});
  sync.mix_gradients(at::tensor({0.25F, 0.75F}));
  EXPECT_TRUE(same(weights[0].second.grad(), one));
  sync.begin({sync_kind::step, 1, 0, 1, 0, 1});
  sync.mix_gradients(at::tensor({0.25F, 0.75F}));
  for (std::int64_t part = 0; part < 2; ++part) {
    EXPECT_TRUE(weights[0].second.grad()[part].allclose(
      one[0] * 0.25 + one[1] * 0.75, 0, 1e-6));
    EXPECT_TRUE(weights[1].second.grad()[part].allclose(
      two[0] * 0.25 + two[1] * 0.75, 0, 1e-6));
  }
}

TEST(PartSync, OnePartExchangesNothing) {
  const auto weights = weights_of(1);
  const auto before = weights[0].second.clone();
  part_sync sync{weights};
  sync.init();
  EXPECT_TRUE(sync.buffers().empty());
  for (const auto kind : {sync_kind::step, sync_kind::average,
                          sync_kind::elastic, sync_kind::bmuf}) {
    sync.begin({kind, 1, 0, 0.5, 0.5, 1});
    sync.exchange(on_cpu(), 0, true);
  }
  EXPECT_TRUE(same(weights[0].second, before));
}

// -- the rule of a step -------------------------------------------------------

TEST(SyncRule, IsThatOfAStepAndHasDefaults) {
  const auto plain = sync_rule_at({}, sync_kind::bmuf, 3);
  EXPECT_EQ(plain.kind, sync_kind::bmuf);
  EXPECT_EQ(plain.every, 30);
  EXPECT_EQ(plain.lag, 0);
  EXPECT_EQ(plain.alpha, 0.5);
  EXPECT_EQ(plain.momentum, 0);
  EXPECT_EQ(plain.lr, 1);
  const auto given = sync_rule_at({{"sync_every", form::constant(5)},
                                   {"sync_lag", form::constant(4)},
                                   {"sync_alpha", form::constant(1)},
                                   {"sync_momentum", form::constant(0.9)},
                                   {"sync_lr", form::constant(2)}},
                                  sync_kind::average, 3);
  EXPECT_EQ(given.every, 5);
  EXPECT_EQ(given.lag, 4);
  EXPECT_EQ(given.alpha, 1);
  EXPECT_EQ(given.momentum, 0.9);
  EXPECT_EQ(given.lr, 2);
}

TEST(SyncRule, SaysWhatASequenceShouldNotHaveComeTo) {
  const auto refused = [](const std::string& name, double value) {
    return message_of<std::invalid_argument>([&] {
      sync_rule_at({{name, form::constant(value)}}, sync_kind::average, 7);
    });
  };
  EXPECT_EQ(refused("sync_every", 0.5),
            "sync_every is 0.5 at step 7: it must be at least 1");
  EXPECT_EQ(refused("sync_lag", -1),
            "sync_lag is -1 at step 7: it must be at least 0");
  EXPECT_EQ(refused("sync_lag", 30),
            "sync_lag is 30 at step 7: it must be below sync_every, which is "
            "30");
  EXPECT_EQ(refused("sync_alpha", 1.5),
            "sync_alpha is 1.5 at step 7: it must be at most 1");
  EXPECT_EQ(refused("sync_momentum", -0.5),
            "sync_momentum is -0.5 at step 7: it must be at least 0");
  EXPECT_EQ(refused("sync_lr", -2),
            "sync_lr is -2 at step 7: it must be at least 0");
}

} // namespace
} // namespace hippo
