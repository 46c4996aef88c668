// Speed and quality of weights that parts exchange.
//
//   sync WORKLOAD PARTS MEMBERS BATCH_SIZE EXAMPLES
//        [EPOCHS [DELAY [ROUNDS [KIND]]]]
//        [--option NAME=VALUE]... [--set NAME=VALUE]...
//
// Trains a workload of images by members, each a thread, for so many epochs
// (default: 1) from the same weights on: without exchanges but that at the end
// of an epoch; with gradients that are added up (`step`); and by each kind of
// exchange, or KIND alone, every 5 and every 30 iterations, which all wait for
// or which arrives 4 or 25 iterations later. Every message between members
// takes DELAY ms longer (default: 0). All of them by turns, as often as ROUNDS
// says (default: 1). Prints a line of JSON for each: iterations per second and
// their ratio to those without exchanges, both of the fastest round, since
// others may use the machine; and the loss on validation examples.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "hippo/train/shareable.hpp"
#include "hippo/train/thread_gang.hpp"
#include "workloads.hpp"

namespace {

using namespace hippo;
using clock_type = std::chrono::steady_clock;

/// A place in a gang whose messages are late.
class late_gang final : public gang {
public:
  late_gang(gang& place, std::chrono::duration<double> delay)
    : place_(place), delay_(delay) {}
  [[nodiscard]] std::size_t size() const override { return place_.size(); }
  [[nodiscard]] std::size_t rank() const override { return place_.rank(); }
  void exchange(std::size_t peer, std::span<const std::byte> out,
                std::span<std::byte> in) override {
    std::this_thread::sleep_for(delay_);
    place_.exchange(peer, out, in);
  }

private:
  gang& place_;
  std::chrono::duration<double> delay_;
};

/// Members of one workload.
struct crew {
  crew(const workload_spec& spec, std::size_t size,
       std::chrono::duration<double> delay)
    : together(size) {
    for (std::size_t rank = 0; rank < size; ++rank) {
      auto& place = *places.emplace_back(
        std::make_unique<late_gang>(together.member(rank), delay));
      dynamic_cast<shareable&>(*members.emplace_back(made(spec)))
        .share(size == 1 ? nullptr : &place);
    }
  }

  /// Trains from the beginning. @returns seconds
  double train(const configuration& config, step_t epochs) {
    for (auto& x : members)
      x->init();
    const auto begin = clock_type::now();
    together.run(
      [&](std::size_t rank) { members[rank]->train(config, 0, epochs); });
    return std::chrono::duration<double>(clock_type::now() - begin).count();
  }

  thread_gang together;
  std::vector<std::unique_ptr<late_gang>> places;
  std::vector<std::unique_ptr<workload>> members;
};

/// One way to train, and what was measured of it.
struct way {
  std::string kind;
  double every, lag;
  double rate = 0; ///< iterations per second
  double loss = 0;
};

} // namespace

int main(int argc, char** argv) {
  const arguments args{argc, argv, 5,
                       "sync WORKLOAD PARTS MEMBERS BATCH_SIZE EXAMPLES "
                       "[EPOCHS [DELAY [ROUNDS [KIND]]]] "
                       "[--option NAME=VALUE]... [--set NAME=VALUE]..."};
  const auto& name = args.words[0];
  const auto size = static_cast<std::size_t>(args.number(2, 1));
  const auto batch = args.number(3, 0), examples = args.number(4, 0);
  const auto epochs = static_cast<step_t>(args.number(5, 1));
  const std::chrono::duration<double> delay{args.number(6, 0) / 1000};
  const auto rounds = static_cast<int>(args.number(7, 1));
  const auto only = args.word(8, "");
  constexpr double never = 1e6;
  std::vector<way> ways{{"average", never, 0}, {"step", 1, 0}};
  for (const auto* kind : {"average", "elastic", "bmuf"})
    for (const auto& [every, lag] :
         {std::pair{5., 0.}, {5., 4.}, {30., 0.}, {30., 25.}})
      if (only.empty() || only == kind)
        ways.push_back({kind, every, lag});
  for (int round = 0; round < rounds; ++round)
    for (auto& x : ways) {
      auto options = args.options;
      options["parts"] = args.number(1, 1);
      options["sync"] = x.kind;
      auto values = args.values;
      values["sync_every"] = x.every;
      values["sync_lag"] = x.lag;
      crew all{spec_of(name, examples, options), size, delay};
      const auto seconds = all.train(plain(name, batch, values), epochs);
      x.rate = std::max(x.rate, std::ceil(examples / batch)
                                  * static_cast<double>(epochs) / seconds);
      x.loss = all.members[0]->evaluate().at("val_loss");
    }
  for (const auto& x : ways)
    std::printf("{\"sync\": \"%s\", \"every\": %.0f, \"lag\": %.0f, "
                "\"iterations_per_second\": %.1f, \"ratio\": %.3f, "
                "\"val_loss\": %.4f}\n",
                x.every == never ? "none" : x.kind.c_str(), x.every, x.lag,
                x.rate, x.rate / ways[0].rate, x.loss);
}
