// Workloads that never return from one of their calls, which is in their name.

#include <unistd.h>

#include <string>

#include "hippo/train/workload.hpp"

namespace {

[[noreturn]] void hang() {
  for (;;)
    ::pause();
}

class hung final : public hippo::workload {
public:
  explicit hung(std::string call) : call_(std::move(call)) {}

  void init() override { hang_in("init"); }
  void train(const hippo::configuration&, hippo::step_t,
             hippo::step_t) override {
    hang_in("train");
  }
  hippo::metrics evaluate() override {
    hang_in("evaluate");
    return {{"loss", 0.5}};
  }
  std::string save() override {
    hang_in("save");
    return {};
  }
  void load(const std::string&) override {}

private:
  void hang_in(const std::string& call) const {
    if (call == call_)
      hang();
  }

  std::string call_;
};

} // namespace

HIPPO_WORKLOADS(registry) {
  for (const auto* call : {"make", "init", "train", "evaluate", "save"}) {
    hippo::workload_descriptor x;
    x.name = std::string{"hung-"} + call;
    x.metrics = {{"loss", hippo::direction::minimize, "of nothing"}};
    hippo::parameter_descriptor rate;
    rate.name = "lr";
    x.hyper_parameters = {rate};
    registry.add(x, [call = std::string{call}](const hippo::workload_spec&) {
      if (call == "make")
        hang();
      return std::make_unique<hung>(call);
    });
  }
}
