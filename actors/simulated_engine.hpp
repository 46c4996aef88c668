#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "engine.hpp"
#include "hippo/simulate/simulated_training.hpp"
#include "hippo/simulate/virtual_timeline.hpp"

namespace hippo {

/// Profiles by the names of the workloads that they describe.
using simulation_profiles = std::map<std::string, simulation_profile>;

/// An engine that trains nothing: it tells what training would, at the virtual
/// time at which it would. All engines of a simulation share its timeline and
/// shelf, and one thread.
class simulated_engine final : public engine {
public:
  /// @param profiles one for each workload of the leases that will come
  /// @param seed decides everything that is drawn
  simulated_engine(std::shared_ptr<virtual_timeline> timeline,
                   std::shared_ptr<const simulation_profiles> profiles,
                   std::shared_ptr<checkpoint_shelf> shelf,
                   std::uint64_t seed);

  /// What runs is not told of any more.
  ~simulated_engine() override;

  simulated_engine(const simulated_engine&) = delete;
  simulated_engine& operator=(const simulated_engine&) = delete;

  void start(const lease& x, engine_sink sink) override;
  void add_stop(std::uint64_t lease, const stop_point& stop) override;
  void cancel(std::uint64_t lease) override;
  [[nodiscard]] step_t reached(std::uint64_t lease) const override;

private:
  /// A lease that runs.
  struct task {
    simulated_training training;
    virtual_timeline::duration begun;
    engine_sink sink;
    virtual_timeline::entry next{};
  };

  void schedule(task& x);
  void tell_next(std::uint64_t lease);

  std::shared_ptr<virtual_timeline> timeline_;
  std::shared_ptr<const simulation_profiles> profiles_;
  std::shared_ptr<checkpoint_shelf> shelf_;
  std::uint64_t seed_;
  std::map<std::uint64_t, task> tasks_; ///< by the number of the lease
};

} // namespace hippo
