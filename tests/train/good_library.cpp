#include "hippo/train/workload.hpp"

namespace {

class nothing : public hippo::workload {
public:
  void init() override {}
  void train(const hippo::configuration&, hippo::step_t,
             hippo::step_t) override {}
  hippo::metrics evaluate() override { return {{"loss", 0.5}}; }
  std::string save() override { return {}; }
  void load(const std::string&) override {}
};

} // namespace

HIPPO_WORKLOADS(registry) {
  hippo::workload_descriptor x;
  x.name = "from-library";
  registry.add(x, [](const hippo::workload_spec& spec) {
    if (spec.options.contains("lost"))
      throw hippo::missing_data_error("no data");
    return std::make_unique<nothing>();
  });
}
