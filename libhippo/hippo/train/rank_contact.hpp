#pragma once

namespace hippo {

/// A workload that may be several ranks, and knows whether they train together.
class rank_contact {
public:
  virtual ~rank_contact() = default;

  /// Whether the ranks had joined no process group after the last
  /// `workload::train`, as far as they can tell: each trains alone then.
  [[nodiscard]] virtual bool ranks_apart() const noexcept = 0;
};

} // namespace hippo
