// The parts of a BERT's batches, against a loop that is written out here.

#include <gtest/gtest.h>

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "hippo/train/torch/data/span_data.hpp"
#include "hippo/train/torch/epoch.hpp"
#include "hippo/train/torch/networks/bert.hpp"
#include "hippo/train/torch/tensor_file.hpp"
#include "hippo/train/torch/training_state.hpp"
#include "train/training_process.hpp"

namespace hippo {
namespace {

const std::string tiny = "squad-bert-tiny";
constexpr std::int64_t length = 16;
constexpr std::int64_t vocabulary = 64;
constexpr step_t compared = 3; // sgd, sgd, adamw

/// Of short texts, the last batch of 8 having 2.
constexpr std::int64_t windows = 34;

workload_spec spec_of(std::int64_t parts) {
  auto spec = small_spec(tiny, static_cast<double>(windows));
  spec.options["data.length"] = static_cast<double>(length);
  spec.options["data.vocabulary"] = static_cast<double>(vocabulary);
  if (parts > 1)
    spec.options["parts"] = static_cast<double>(parts);
  return spec;
}

/// Without anything random but the order, and without Adam, which makes much of
/// small differences.
configuration plain_configuration(double clip) {
  auto result = default_configuration(tiny);
  result["optimizer"] = form::text("sgd");
  result["lr"] = form::constant(0.02);
  result["batch_size"] = form::constant(8);
  result["dropout"] = form::constant(0);
  result["clip"] = form::constant(clip);
  return result;
}

struct batch {
  bert_inputs inputs;
  at::Tensor starts, ends;
};

/// Returns windows as they are read, padded to `length`.
batch batch_of(const span_set& set, const std::vector<std::uint32_t>& indices) {
  const auto count = static_cast<std::int64_t>(indices.size());
  const auto zeros = at::zeros({count, length}, at::kLong);
  batch result{{zeros, zeros.clone(), zeros.to(at::kBool)},
               at::zeros({count}, at::kLong),
               at::zeros({count}, at::kLong)};
  for (std::int64_t i = 0; i < count; ++i) {
    const auto& x = set.windows[indices[static_cast<std::size_t>(i)]];
    for (std::size_t k = 0; k < x.tokens.size(); ++k) {
      const auto place = static_cast<std::int64_t>(k);
      result.inputs.tokens[i][place] = x.tokens[k];
      result.inputs.segments[i][place] = k < x.first ? 0 : 1;
      result.inputs.present[i][place] = true;
    }
    result.starts[i] = static_cast<std::int64_t>(x.start);
    result.ends[i] = static_cast<std::int64_t>(x.end);
  }
  return result;
}

/// Adds up neighbours until one is left.
std::vector<at::Tensor> tree(std::vector<std::vector<at::Tensor>> parts) {
  while (parts.size() > 1) {
    std::vector<std::vector<at::Tensor>> sums;
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      auto& sum = sums.emplace_back();
      for (std::size_t k = 0; k < parts[i].size(); ++k)
        sum.push_back(parts[i][k] + parts[i + 1][k]);
    }
    parts = std::move(sums);
  }
  return std::move(parts.front());
}

/// Returns the state after the changing trial's first steps in so many parts.
/// One part is how batches were trained before there were parts.
std::string trained_by_hand(std::int64_t parts, step_t last) {
  constexpr std::uint64_t seed = 1;
  constexpr std::int64_t batch_size = 8;
  const auto data = make_spans({windows, 64, length, 32, vocabulary});
  bert network{{vocabulary, 128, 2, 2, 512}, at::kCPU};
  network.init(seed);
  training_state state{tiny, network.parameters(), {}, [](const at::Tensor& x) {
                         return x.dim() > 1;
                       }};
  state.restart(std::log(static_cast<double>(length)));
  step_values values{at::kCPU};
  for (step_t step = 0; step < last; ++step) {
    const auto config = changing_configuration(tiny, step);
    const auto order = epoch_order(seed, step, windows);
    const auto clip = number_at(config, "clip", step);
    values.reset({seed, step, 0, number_at(config, "dropout", step)});
    values->clip = static_cast<float>(clip);
    double loss = 0;
    std::uint64_t address = 0;
    for (std::int64_t first = 0; first < windows; first += batch_size) {
      const auto size = std::min(batch_size, windows - first);
      state.plan(update_rule_at(config, step), values);
      std::vector<std::vector<at::Tensor>> all; // gradients, then the loss
      for (std::int64_t part = 0; part < parts; ++part) {
        const auto begin = order.begin() + first + part * size / parts,
                   end = order.begin() + first + (part + 1) * size / parts;
        auto& own = all.emplace_back();
        values->iteration = address++;
        if (begin == end) {
          for (const auto& [name, x] : network.parameters())
            own.push_back(at::zeros_like(x).detach());
          own.push_back(at::zeros({}));
          continue;
        }
        const auto examples = batch_of(data.training, {begin, end});
        const auto sum = span_loss(
          network.forward(examples.inputs, &values), examples.starts,
          examples.ends, parts == 1 ? at::Reduction::Mean : at::Reduction::Sum);
        state.go_back(parts == 1 ? sum : sum / static_cast<double>(size), 1);
        for (const auto& [name, x] : network.parameters())
          own.push_back(x.grad().clone());
        own.push_back(sum.detach());
      }
      const auto sums = tree(std::move(all));
      for (std::size_t i = 0; i < network.parameters().size(); ++i)
        network.parameters()[i].second.mutable_grad() = sums[i];
      if (clip > 0)
        state.clip_gradients(values);
      state.apply(values);
      const auto of_batch = sums.back().item<double>();
      loss += parts == 1 ? of_batch * static_cast<double>(size) : of_batch;
    }
    state.train_loss = loss / static_cast<double>(windows);
  }
  return state.save();
}

/// The same by the workload.
std::string trained(const workload_spec& spec, step_t last) {
  const auto work = make_built_in(spec);
  for (step_t step = 0; step < last; ++step) {
    auto config = changing_configuration(tiny, step);
    config["batch_size"] = form::constant(8);
    work->train(config, step, step + 1);
  }
  return work->save();
}

} // namespace

TEST(SpanParts, OneIsTheWholeBatchAsItEverWas) {
  if (test_device() != "cpu")
    GTEST_SKIP() << "the loop is that of a CPU";
  const auto before = trained_by_hand(1, compared);
  EXPECT_TRUE(trained(spec_of(1), compared) == before);
  auto spec = spec_of(1);
  spec.options.erase("parts");
  spec.options.erase("sync");
  EXPECT_TRUE(trained(spec, compared) == before);
}

TEST(SpanParts, HaveTheirOwnMasksAndAddUpAsATree) {
  if (test_device() != "cpu")
    GTEST_SKIP() << "the loop is that of a CPU";
  for (const std::int64_t parts : {2, 8})
    EXPECT_TRUE(trained(spec_of(parts), compared)
                == trained_by_hand(parts, compared))
      << parts << " parts";
}

TEST(SpanParts, TheNormThatIsClippedIsThatOfTheirSum) {
  // Nothing but rounding tells parts from the batch, also where all gradients
  // are cut to a small norm.
  for (const double clip : {0.05, 0.0}) {
    const auto config = plain_configuration(clip);
    const auto weights = [&](std::int64_t parts, step_t last) {
      const auto work = make_built_in(spec_of(parts));
      work->train(config, 0, last);
      const auto state = tensors_from_bytes(work->save());
      std::vector<at::Tensor> all;
      for (const auto& [name, x] : state)
        if (name.starts_with("model."))
          all.push_back(x.flatten());
      return at::cat(all);
    };
    const auto distance = [](const at::Tensor& x, const at::Tensor& y) {
      return (x - y).norm().item<double>();
    };
    const auto before = weights(1, 0), whole = weights(1, 1);
    EXPECT_GT(distance(whole, before), 0.001);
    for (const std::int64_t parts : {2, 8})
      EXPECT_LT(distance(weights(parts, 1), whole),
                1e-3 * distance(whole, before))
        << parts << " parts, clip " << clip;
  }
}

} // namespace hippo
