#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "hippo/base/scratch_folder.hpp"
#include "hippo/train/gang/connected_gang.hpp"
#include "hippo/train/setup_time.hpp"
#include "hippo/train/workload.hpp"
#include "hippo/train/world_member.hpp"

namespace hippo {

/// The workload of the lead where members of a gang have ranks of a trial
/// each: every call goes to the ranks of all members, and returns once all
/// have carried it out. A state is the parts of all ranks.
///
/// A call throws what the lead's own ranks have thrown, or what another member
/// says of its own, whichever is first; ranks that wait for those are ended.
/// The next `prepare` starts those of all members anew. Each call throws
/// `gang_lost` as well, always once it has thrown.
class ranks_workload final : public workload, public setup_time {
public:
  /// @param ranks the other side of `own`
  /// @param on_leave called when a member leaves, with the state that was
  ///        reached: the lease is to end there
  /// REQUIRES: all outlive `*this`.
  ranks_workload(workload& own, world_member& ranks, connected_gang& members,
                 std::function<void(step_t)> on_leave);

  /// Ends the ranks of this member if those of another one have ended.
  ~ranks_workload() override;

  ranks_workload(const ranks_workload&) = delete;
  ranks_workload& operator=(const ranks_workload&) = delete;

  /// Waits until each member has told the world of its ranks.
  /// @returns whether all are in one, so that the states of before are theirs
  bool greet();

  void prepare() override;
  void init() override;
  void train(const configuration& config, step_t from, step_t to) override;
  metrics evaluate() override;
  std::string save() override { return snapshot()->bytes(); }
  void load(const std::string& bytes) override;
  [[nodiscard]] std::string state_file() override { return own_.state_file(); }
  void load_file() override;
  std::shared_ptr<const workload_state> snapshot() override;
  [[nodiscard]] workload_size size() const override { return own_.size(); }
  std::string take_output() override { return own_.take_output(); }
  [[nodiscard]] std::uint64_t setup_ns() const noexcept override;

private:
  /// Has all members carry out a call at the same time.
  /// @returns whether one of them leaves
  bool call(const gang_order& order, const std::function<void()>& own);

  /// Returns the text of an answer; nothing: it is one to a call before.
  std::optional<std::string> answer_in(const connected_gang::heard& said);

  /// Waits until a call has returned everywhere. Once it has failed anywhere, a
  /// while: that a member is lost counts more.
  bool await_all(class own_call& own);

  /// Has the ranks of all members enter a world of their own.
  void begin_world();

  /// Takes the state that a member has saved, into a file without a name.
  std::unique_ptr<content_source> take_state(std::uint32_t rank);

  workload& own_;
  world_member& ranks_;
  connected_gang& members_;
  const std::function<void(step_t)> on_leave_;
  std::optional<scratch_folder> folder_; ///< of states that come
  /// By member, how many answers are to come to calls that have failed.
  std::map<std::uint32_t, unsigned> owed_;
  bool is_broken_ = false; ///< whether ranks have ended
  std::string ended_;      ///< why the gang is lost; empty: it is not
};

} // namespace hippo
