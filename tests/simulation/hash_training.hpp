#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine.hpp"
#include "hippo/forecast/simulate/virtual_timeline.hpp"
#include "hippo/train/call_watch.hpp"

namespace hippo::simulation {

/// The calls that a workload may fail in, and what a flaw does there.
enum class flawed_call : std::uint8_t {
  init,  ///< of state 0 only
  load,  ///< the state, where it was kept
  train, ///< the step that leads to it
  size,
  evaluate,
  save,
  output,
  none,
};
enum class flawed_way : std::uint8_t {
  throws,
  kills,      ///< the trainer
  is_silent,  ///< for minutes
  is_refused, ///< what it says cannot be told, or is far beyond the lease
  never_returns, ///< before what trains, or the trainer, is ended
};

/// What is wrong with a state of training, in scenarios that have such.
struct flaw {
  flawed_call call = flawed_call::none;
  flawed_way how{};
  /// Whether it is there wherever the state is trained, or only on trainers
  /// whose number is this one, modulo 3.
  bool is_everywhere = false;
  std::uint64_t of_three = 0;
  /// What ends a call that never returns; `effect::nothing` stands for SIGTERM
  /// that no process gets, as the trainer trains itself.
  call_watch::effect ends_with{};
};

/// A model of training: the state is a hash of the workload key and of all
/// values on the way, so that a state reached in any other way than alone from
/// step 0 shows.
struct hash_state {
  std::uint64_t value = 0;
  step_t at = 0;

  static hash_state initial(const std::string& workload_key);

  /// One step of `config`, whose text has that hash.
  void step(std::uint64_t config);
  [[nodiscard]] double measured() const;

  /// Whether the step to this state fails wherever it is trained, in scenarios
  /// that have such.
  [[nodiscard]] bool is_poisoned() const { return value % 61 == 0; }
  /// Whether it diverges there instead.
  [[nodiscard]] bool is_diverged() const { return value % 53 == 0; }
  [[nodiscard]] flaw wrong() const;
};

/// The hash of a configuration as `hash_state::step` wants it.
std::uint64_t hash_of(const configuration& params);

/// What lies in the folder of checkpoints, by path. Each has an empty file of
/// its name as well, which the service may delete.
using hash_folder = std::map<std::string, hash_state>;

/// What is wrong with a trainer's device, and how it lies.
struct ailments {
  bool is_stuck = false;     ///< nothing goes on
  bool is_slow = false;      ///< ten times
  bool cannot_load = false;  ///< every checkpoint
  bool cannot_train = false; ///< anything
  bool cannot_save = false;
  bool cannot_start = false; ///< the workload
  bool measures_nan = false;
  bool repeats = false;        ///< each report comes twice
  bool is_late = false;        ///< and once more a minute later
  bool talks_nonsense = false; ///< steps, files and leases that are not
  bool hands_back = false;     ///< each lease, unasked
  bool does_nothing = false;   ///< and says that it is done
  bool says_idle = false;      ///< while it holds a lease
  bool moves = false;          ///< in heartbeats alone
  bool resends = false;        ///< reports for what nobody knows
  bool dupes = false;          ///< saves what is not there

  [[nodiscard]] bool any() const {
    return is_stuck || is_slow || cannot_load || cannot_train || cannot_save
           || cannot_start || measures_nan || repeats || is_late
           || talks_nonsense || is_liar();
  }
  /// Whether it says what is not so of what it does with leases.
  [[nodiscard]] bool is_liar() const {
    return hands_back || does_nothing || says_idle || moves || dupes;
  }
  /// Whether it takes leases and trains nothing.
  [[nodiscard]] bool stands_still() const {
    return is_stuck || says_idle || moves;
  }
};

class hash_engine;

/// Where the members of gangs find each other.
class gang_room {
public:
  void enter(const gang_place& gang, const hash_engine& device);
  /// @param has_ended whether the lead says so to the others
  void leave(const gang_place& gang, bool has_ended);

  /// Whether all members are there, and each does what it is to.
  [[nodiscard]] bool is_whole(const gang_place& gang) const;
  /// Whether one that was there has gone.
  [[nodiscard]] bool is_broken(const gang_place& gang) const;
  /// Whether the lead has said that it has ended.
  [[nodiscard]] bool has_ended(const gang_place& gang) const;

private:
  struct entry {
    std::map<std::uint32_t, const hash_engine*> there; ///< by rank
    bool is_broken = false;
    bool has_ended = false;
  };
  std::map<std::string, entry> all_; ///< by secret
};

/// A device that trains by hashing, in virtual time.
class hash_engine final : public engine {
public:
  struct environment {
    std::shared_ptr<virtual_timeline> timeline;
    std::shared_ptr<hash_folder> folder;
    std::shared_ptr<gang_room> gangs;
    bool has_poison = false;
    bool has_flaws = false;
    bool has_hangs = false;
    bool has_dupes = false; ///< whether some save what is not there
    std::uint64_t number = 0; ///< of the trainer
    std::uint32_t at_once = 1; ///< leases of the trainer
    std::uint32_t ranks = 1;   ///< of a trial, that it holds
    virtual_timeline::duration step{}; ///< the time that one takes
    /// Called with each violation of what an engine may rely on.
    std::function<void(std::string)> complain;
    /// Whether the service still counts on a lease, and on what it starts from.
    std::function<bool(const lease&)> is_wanted;
    std::function<void()> note_failure; ///< called with each
    /// Called where training fails by itself, before it says so, with the first
    /// stop that it has not told of.
    std::function<void(const lease&, const stop_point&)> note_fruitless;
    std::function<void(const lease&, step_t)> note_report; ///< with each
    std::function<void()> die; ///< ends the trainer, soon
    std::function<void()> start_anew; ///< once it was told to be stuck
  };

  explicit hash_engine(environment where) : where_(std::move(where)) {}
  ~hash_engine() override;
  hash_engine(const hash_engine&) = delete;
  hash_engine& operator=(const hash_engine&) = delete;

  void start(const lease& lease, engine_sink sink) override;
  void add_stop(lease_id lease, const stop_point& stop) override;
  void cancel(lease_id lease) override;
  [[nodiscard]] step_t reached(lease_id lease) const override;
  [[nodiscard]] std::chrono::milliseconds
  overdue(lease_id lease) const override;

  /// For how long a lease has not returned at most that was cancelled and
  /// hangs; nothing of it while the device stands still.
  [[nodiscard]] virtual_timeline::duration unreturned() const;

  /// Whether it does what it is to at once.
  [[nodiscard]] bool responds() const {
    return !frozen_ && !sick.stands_still();
  }

  /// Stands still from now on, until it is let go on.
  void freeze(bool frozen);

  ailments sick;
  std::uint64_t trained = 0; ///< steps

private:
  struct job {
    lease work;
    engine_sink sink;
    hash_state state;
    checkpoint written{}; ///< last; no file: nothing yet
    std::size_t next_stop = 0;
    virtual_timeline::duration since{}; ///< when `state` was reached
    virtual_timeline::duration step{};
    std::optional<virtual_timeline::entry> next;
    bool is_loaded = false;
    bool cancelled = false;
    bool is_silent = false; ///< until the minutes are over
    bool is_joined = false; ///< to its gang, which was whole once
    /// Since when the other members have not answered.
    std::optional<virtual_timeline::duration> unanswered_since{};
    /// What ends the call that it hangs in, if it does.
    std::optional<call_watch::effect> hangs_until;
    call_watch calls{};
    std::optional<virtual_timeline::duration> awaited_since{};
  };

  [[nodiscard]] static bool follows(const job& work) {
    return work.work.gang && work.work.gang->rank > 0;
  }
  [[nodiscard]] bool is_held_up(job& work);
  void follow(job& work);
  void hang(job& work, call_kind call, call_watch::effect ends_with);
  void look(lease_id number);

  void schedule(job& work);
  void go_on(lease_id number);
  void pass_stop(job& work, const stop_point& stop);
  static std::vector<part_file> shared_parts(const job& work);
  void end(lease_id number, std::optional<error> why,
           lease_part during = lease_part::training,
           std::optional<step_t> at = {});
  [[nodiscard]] bool fails(job& work, flawed_call call,
                           const hash_state& state);
  void dupe(job& work);
  void strike(job& work, const flaw& wrong, lease_part during, step_t at);
  [[nodiscard]] step_t reached(const job& work) const;

  environment where_;
  std::map<lease_id, job> jobs_;
  bool frozen_ = false;
  bool is_stuck_ = false; ///< whether it has said so
};

} // namespace hippo::simulation
