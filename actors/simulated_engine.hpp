#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "engine.hpp"
#include "hippo/simulate/simulated_training.hpp"
#include "hippo/simulate/virtual_timeline.hpp"

namespace hippo {

/// An engine that trains nothing: it tells what training would, at the virtual
/// time at which it would. All engines of a simulation share its timeline and
/// shelf, and one thread.
class simulated_engine final : public engine {
public:
  /// @param seed decides everything that is drawn
  simulated_engine(std::shared_ptr<virtual_timeline> timeline,
                   std::shared_ptr<const simulation_profile> profile,
                   std::shared_ptr<checkpoint_shelf> shelf, std::uint64_t seed);

  /// What runs is not told of any more.
  ~simulated_engine() override;

  simulated_engine(const simulated_engine&) = delete;
  simulated_engine& operator=(const simulated_engine&) = delete;

  void start(const lease& x, engine_sink sink) override;
  void add_stop(std::uint64_t lease, const stop_point& stop) override;
  void cancel(std::uint64_t lease) override;
  [[nodiscard]] step_t reached() const override;

private:
  /// A lease that runs.
  struct task {
    simulated_training training;
    virtual_timeline::duration begun;
    engine_sink sink;
    virtual_timeline::entry next{};
  };

  [[nodiscard]] bool runs(std::uint64_t lease) const;
  void schedule();
  void tell_next();

  std::shared_ptr<virtual_timeline> timeline_;
  std::shared_ptr<const simulation_profile> profile_;
  std::shared_ptr<checkpoint_shelf> shelf_;
  std::uint64_t seed_;
  std::optional<task> task_;
};

} // namespace hippo
