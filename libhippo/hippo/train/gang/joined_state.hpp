#pragma once

#include <memory>
#include <vector>

#include "hippo/base/content_source.hpp"
#include "hippo/train/workload.hpp"

namespace hippo {

/// The state of a trial of several ranks, of the parts that members have saved:
/// each is a tar file without its end, and this is all of them with one.
class joined_state final : public workload_state {
public:
  using parts = std::vector<std::unique_ptr<content_source>>;

  /// @param all by member
  explicit joined_state(parts all);

  [[nodiscard]] std::string bytes() const override;
  [[nodiscard]] std::unique_ptr<content_source> content() const override;
  [[nodiscard]] std::uint64_t content_size() const override;

private:
  const std::shared_ptr<const parts> all_;
};

} // namespace hippo
