#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>

#include "hippo/forecast/simulate/virtual_timeline.hpp"
#include "messages.hpp"
#include "simulation/hash_training.hpp"

namespace hippo::simulation {

/// What lies between a trainer and the service, as CAF's connections do: each
/// sees the other as an actor that passes messages on. It may delay them, lose
/// them with itself, or send what a trainer that lies would.
class connection : public std::enable_shared_from_this<connection> {
public:
  struct environment {
    caf::actor_system* system = nullptr;
    std::shared_ptr<virtual_timeline> timeline;
    /// Told of each actor that belongs to the network.
    std::function<void(const caf::actor&)> note_actor;
    const ailments* sick = nullptr; ///< of the trainer; outlives the connection
    std::uint64_t seed = 0;
  };

  /// @param pool,trainer the two ends
  static std::shared_ptr<connection> make(environment where, pool_actor pool,
                                          trainer_actor trainer);

  /// The pool as the trainer sees it.
  [[nodiscard]] registrar_actor pool() const { return far_pool_; }

  /// Messages of both directions wait from now on, until they do not.
  void delay(bool delayed);

  /// It is lost, with all that is on the way. Each end notices when its own
  /// time has come.
  void lose(virtual_timeline::duration until_service_notices,
            virtual_timeline::duration until_trainer_notices);

  [[nodiscard]] bool is_lost() const { return is_lost_; }
  /// Whether the service has taken the trainer in.
  [[nodiscard]] bool is_registered() const { return is_registered_; }

private:
  explicit connection(environment where)
    : where_(std::move(where)), random_(where_.seed) {}

  registrar_actor::behavior_type be_pool(registrar_actor::pointer self,
                                         pool_actor pool);
  trainer_actor::behavior_type be_trainer(trainer_actor::pointer self,
                                          trainer_actor trainer);
  lease_owner_actor owner_for(const lease_owner_actor& owner);
  void pass(std::function<void()> message);
  heartbeat_wire told(const heartbeat_wire& message);
  template <class Self>
  void send_unknown(Self self, const pool_actor& pool);
  void send_report(const lease_owner_actor& owner,
                   const stop_report_wire& message);
  void end(const caf::actor& actor, virtual_timeline::duration after);

  environment where_;
  std::mt19937_64 random_;
  registrar_actor far_pool_;
  trainer_actor far_trainer_;
  std::vector<caf::actor> owners_;
  std::deque<std::function<void()>> waiting_;
  bool is_delayed_ = false;
  bool is_lost_ = false;
  bool is_registered_ = false;
};

} // namespace hippo::simulation
