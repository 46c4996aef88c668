#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine.hpp"
#include "hippo/base/types.hpp"
#include "hippo/forecast/simulate/virtual_timeline.hpp"

namespace hippo {

/// What a simulated trainer measured, and when.
struct simulated_measurement {
  double seconds = 0; ///< virtual ones since the begin
  std::string workload;
  step_t step = 0;
  metrics values;
};

/// A simulated engine of which is followed what is kept of its work, and, if
/// somebody wants that, what it measures.
class watched_engine final : public engine {
public:
  /// @param out gets what it measures, as it is told; null: nobody wants it
  watched_engine(std::shared_ptr<engine> watched,
                 std::shared_ptr<virtual_timeline> timeline,
                 std::vector<simulated_measurement>* out);

  void start(const lease& lease, engine_sink sink) override;
  void add_stop(lease_id lease, const stop_point& stop) override;
  void cancel(lease_id lease) override;
  [[nodiscard]] step_t reached(lease_id lease) const override;

  /// For how long the leases that run have trained what no checkpoint holds
  /// yet, in seconds: of several lanes the longest.
  [[nodiscard]] double unkept_seconds() const;

private:
  [[nodiscard]] double now() const;

  std::shared_ptr<engine> watched_;
  std::shared_ptr<virtual_timeline> timeline_;
  std::vector<simulated_measurement>* out_;
  /// Of the leases that run, when they began or last left a checkpoint.
  std::map<lease_id, double> kept_at_;
};

} // namespace hippo
