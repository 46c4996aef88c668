#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hippo/model/workload_descriptor.hpp"
#include "hippo/search/think/thinking.hpp"
#include "service.hpp"

namespace hippo {

/// Studies of before that have been read: a message from the job that did.
struct found_studies {
  struct unreadable {
    study_id id{};
    std::string name;
    std::string why;
  };
  std::vector<study_submission> readable;
  std::vector<unreadable> others;
  bool is_all = false;           ///< whether there are no more
  std::optional<error> failure{}; ///< why it is not known which there are
};

} // namespace hippo

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(hippo::found_studies)

namespace hippo {

/// The studies of before, which are read and go on while clients are served
/// already; those that have ended and lack their last events take these in. One
/// that cannot be read or cannot start has failed; others do not wait for it.
class returning_studies {
public:
  using teller = std::function<void(const std::string&)>;

  struct source {
    std::string state; ///< folder
    std::vector<workload_descriptor> workloads;
    bool priced = false; ///< whether it is known what trainers cost
  };

  /// Begins to read them, in turns with others.
  /// @param say tells people what becomes of them
  returning_studies(service& svc, const std::shared_ptr<thinking>& where,
                    source from, teller say);

  /// @returns why it is not known which studies there are, if it is not
  std::optional<error> note(const found_studies& found);
  void note(const study_start& start);

  /// Lets training begin once all are there, or have taken too long.
  void look();

private:
  using clock = std::chrono::steady_clock;
  class reading;

  void read_on();

  service& svc_;
  teller say_;
  bool priced_;
  std::shared_ptr<reading> reading_;
  thinking_place place_;
  std::size_t left_ = 0; ///< that have been read and are yet to start
  bool is_all_read_ = false;
  bool gone_ = false;
  clock::time_point begun_ = clock::now();
};

} // namespace hippo
