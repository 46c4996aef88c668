#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine.hpp"
#include "hippo/forecast/simulate/simulated_training.hpp"
#include "hippo/forecast/simulate/virtual_timeline.hpp"

namespace hippo {

/// Profiles by the names of the workloads that they describe.
using simulation_profiles = std::map<std::string, simulation_profile>;

/// An engine that trains nothing: it tells what training would, at the virtual
/// time at which it would. All engines of a simulation share its timeline and
/// store, and one thread.
///
/// Leases that run at the same time slow each other down equally: k of them
/// together are as many times as fast as one as the profile says
/// (`simulation_profile::at_once_gain`), whatever each is at.
///
/// The lead of a gang is as many times as fast as the profile says of its
/// members. Its followers do nothing until they are cancelled.
class simulated_engine final : public engine {
public:
  /// @param profiles one for each workload of the leases that will come
  /// @param seed decides everything that is drawn
  simulated_engine(std::shared_ptr<virtual_timeline> timeline,
                   std::shared_ptr<const simulation_profiles> profiles,
                   std::shared_ptr<simulated_store> store,
                   std::uint64_t seed);

  /// What runs is not told of any more.
  ~simulated_engine() override;

  simulated_engine(const simulated_engine&) = delete;
  simulated_engine& operator=(const simulated_engine&) = delete;

  void start(const lease& lease, engine_sink sink) override;
  void add_stop(lease_id lease, const stop_point& stop) override;
  void cancel(lease_id lease) override;
  [[nodiscard]] step_t reached(lease_id lease) const override;

private:
  /// A lease that runs. Beside others its own time goes on slower.
  struct task {
    simulated_training training;
    engine_sink sink;
    double gain = 1; ///< as its profile has it
    virtual_timeline::duration own{}; ///< its time at `as_of`
    virtual_timeline::duration as_of{};
    // The same when it has told of something last, or has begun.
    virtual_timeline::duration told_own{};
    virtual_timeline::duration told_at{};
    virtual_timeline::entry next{};
  };

  /// The lease of a trainer that follows another one's.
  struct follower {
    step_t begin = 0;
    engine_sink sink;
  };

  void end_follower(lease_id lease, std::optional<error> why);
  [[nodiscard]] virtual_timeline::duration own_time(const task& work) const;
  void divide_time();
  void schedule(task& work);
  void stretch(task& work, virtual_timeline::duration own,
               simulated_event& what);
  void tell_next(lease_id lease);

  /// Calls `change` with a lease's training and its own time, if it runs.
  template <class F>
  void change(lease_id lease, const F& change);

  std::shared_ptr<virtual_timeline> timeline_;
  std::shared_ptr<const simulation_profiles> profiles_;
  std::shared_ptr<simulated_store> store_;
  std::uint64_t seed_;
  std::map<lease_id, task> tasks_; ///< by the number of the lease
  std::map<lease_id, follower> followers_; ///< likewise
  double slowdown_ = 1; ///< how many times as long everything takes
};

} // namespace hippo
