#include "hippo/train/torch/member_workload.hpp"

#include <utility>

#include "hippo/train/data_wait.hpp"
#include "hippo/train/shareable.hpp"
#include "hippo/train/thread_gang.hpp"

namespace hippo {

namespace {

class member_workload final : public workload, public data_wait {
public:
  member_workload(const std::vector<std::string>& devices,
                  const member_maker& make)
    : devices_(devices), gang_(devices.size()) {
    for (std::size_t rank = 0; rank < devices.size(); ++rank)
      dynamic_cast<shareable&>(*members_.emplace_back(make(devices[rank])))
        .share(&gang_.member(rank));
  }

  void init() override {
    each([](workload& x) { x.init(); });
  }

  void train(const configuration& config, step_t from, step_t to) override {
    each([&](workload& x) { x.train(config, from, to); });
  }

  metrics evaluate() override {
    metrics result; // each of them has it
    gang_.run([&](std::size_t rank) {
      auto measured = members_[rank]->evaluate();
      if (rank == 0)
        result = std::move(measured);
    });
    return result;
  }

  std::string save() override { return first().save(); }

  void load(const std::string& bytes) override {
    each([&](workload& x) { x.load(bytes); });
  }

  std::shared_ptr<const workload_state> snapshot() override {
    return first().snapshot();
  }

  void restore(const workload_state& saved) override {
    gang_.run([&](std::size_t rank) {
      // A copy in a device's memory is for those that are on that device.
      if (devices_[rank] == devices_.front())
        members_[rank]->restore(saved);
      else
        members_[rank]->load(saved.bytes());
    });
  }

  [[nodiscard]] workload_size size() const override {
    return members_.front()->size();
  }

  [[nodiscard]] std::uint64_t waited_ns() const noexcept override {
    const auto* waits = dynamic_cast<const data_wait*>(members_.front().get());
    return waits == nullptr ? 0 : waits->waited_ns();
  }

  void export_weights(const std::string& path) override {
    first().export_weights(path);
  }

private:
  [[nodiscard]] workload& first() { return *members_.front(); }

  void each(const std::function<void(workload&)>& work) {
    gang_.run([&](std::size_t rank) { work(*members_[rank]); });
  }

  std::vector<std::string> devices_;
  thread_gang gang_;
  std::vector<std::unique_ptr<workload>> members_;
};

} // namespace

std::unique_ptr<workload>
make_member_workload(const std::vector<std::string>& devices,
                     const member_maker& make) {
  return std::make_unique<member_workload>(devices, make);
}

} // namespace hippo
