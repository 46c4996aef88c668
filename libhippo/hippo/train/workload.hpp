#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hippo/base/content_source.hpp"
#include "hippo/base/error.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/model/workload_size.hpp"
#include "hippo/sequence/configuration.hpp"

namespace hippo {

/// The exception of a workload whose data set is not in its place. The text
/// says what is missing and what to do about it.
class missing_data_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// A state of a workload as it was at some moment, whatever the workload has
/// done since. Any thread may use it, while the workload goes on, and let go of
/// it.
class workload_state {
public:
  virtual ~workload_state() = default;

  /// Returns what `workload::save` would have returned at that moment, and
  /// throws as it does. It may take a while.
  [[nodiscard]] virtual std::string bytes() const = 0;

  /// Returns the same bytes where a state can be had in pieces, which takes
  /// less memory. The default has them in memory. Throws as `bytes`.
  [[nodiscard]] virtual std::unique_ptr<content_source> content() const;

  /// How many bytes that is, where it is known; 0: it is not.
  [[nodiscard]] virtual std::uint64_t content_size() const { return 0; }

  /// How much memory of the device it takes, if that is worth it: 0 if
  /// `workload::restore` gains nothing over `load`, so that nobody is to keep
  /// it for that.
  [[nodiscard]] virtual std::uint64_t size() const { return 0; }
};

/// A state that has been saved already.
class saved_state final : public workload_state {
public:
  explicit saved_state(std::string bytes) : bytes_(std::move(bytes)) {}

  [[nodiscard]] std::string bytes() const override { return bytes_; }
  [[nodiscard]] std::uint64_t content_size() const override {
    return bytes_.size();
  }

private:
  const std::string bytes_;
};

/// A model with its data and everything that training it needs; the seam
/// between Hippo and whatever trains.
///
/// The promise that an implementation keeps: the state after step t is a
/// function of the spec and of the hyper-parameter values of the steps before
/// t, bit for bit. So randomness is addressed by (seed, step, ...), never drawn
/// from a stream that lives from one step to the next, and `save` leaves out
/// nothing that a later step reads. `train(0, b)` must equal `train(0, a)`,
/// `save`, `load` in another process, `train(a, b)`.
///
/// Errors are exceptions derived from `std::exception`; `hippo::run` turns
/// them into the failure of the lease. Not thread-safe: one thread at a time.
class workload {
public:
  virtual ~workload() = default;

  /// Waits until it can be used, if that takes a while. Called before each
  /// `init`, `load` and `restore`.
  virtual void prepare() {}

  /// Puts the workload into its state at step 0.
  virtual void init() = 0;

  /// Trains from state `from` to state `to` under `config`, whose forms give
  /// each hyper-parameter's value at every step of `[from, to)`. All
  /// hyper-parameters of the descriptor are there.
  /// REQUIRES: the workload is in state `from`.
  virtual void train(const configuration& config, step_t from, step_t to) = 0;

  /// Measures the present state and leaves it as it is.
  virtual metrics evaluate() = 0;

  /// Writes the present state as bytes. Equal states give equal bytes.
  virtual std::string save() = 0;

  /// Restores a state that `save` wrote, perhaps in another process.
  virtual void load(const std::string& bytes) = 0;

  /// Returns the path of a file, perhaps of one that is not there yet: states
  /// that are to be restored are put into it, and `load_file` follows, so that
  /// none is ever whole in memory. Empty, the default: `load` is given them.
  [[nodiscard]] virtual std::string state_file() { return {}; }

  /// Restores the state in `state_file()`, as `load` does.
  virtual void load_file();

  /// Keeps the present state as it is now, so that training can go on while it
  /// is written. The default saves it. Throws `std::bad_alloc` if there is no
  /// room for a copy; `save` may still work then.
  virtual std::shared_ptr<const workload_state> snapshot();

  /// Restores a state that this workload, or another one of the same spec and
  /// device in this process, is or was in: the same bits as
  /// `load(workload_state.bytes())`, which is the default. If it throws, `load`
  /// may still work. REQUIRES: `workload_state` is a snapshot of such a one.
  virtual void restore(const workload_state& saved);

  /// How much there is to compute, as far as it is known by now: how long steps
  /// take where nobody has measured it follows from that. Decides no result.
  [[nodiscard]] virtual workload_size size() const { return {}; }

  /// Whether each call of `train` costs much beside its steps, so that as many
  /// of them as may be are to be trained in one.
  [[nodiscard]] virtual bool trains_in_one_go() const { return false; }

  /// Returns what it has printed since the last call.
  virtual std::string take_output() { return {}; }

  /// Says in which parts two saved states differ, a sentence for each; empty if
  /// they do not. The default compares bytes.
  virtual std::vector<std::string> differences(const std::string& left,
                                               const std::string& right);

  /// Writes the present state's weights to `path` in a form that Python's
  /// `torch.load(path, weights_only=True)` reads as a dict of tensors; code that a
  /// study brings writes its state as it saves it. The default refuses.
  virtual void export_weights(const std::string& path);
};

/// Makes a workload for a spec whose options are complete and checked.
/// Throws if it cannot: `missing_data_error` when a data set is missing.
using workload_factory
  = std::function<std::unique_ptr<workload>(const workload_spec&)>;

/// The workloads that a trainer can make, by name.
class workload_registry {
public:
  /// Adds a workload, or replaces the one of that name.
  void add(workload_descriptor descriptor, workload_factory factory);

  /// Adds all of `other`, whose workloads are of that version from now on.
  void add(workload_registry other, const std::string& version);

  [[nodiscard]] std::vector<workload_descriptor> descriptors() const;

  /// @returns the workload, or `errc::unknown_workload` with the nearest name,
  ///          or what the factory threw as `errc::missing_data` or
  ///          `errc::training_failed`
  [[nodiscard]] expected<std::unique_ptr<workload>>
  make(const workload_spec& spec) const;

private:
  struct entry {
    workload_descriptor descriptor;
    workload_factory factory;
  };
  std::map<std::string, entry> entries_;
};

} // namespace hippo

/// The version of everything above that a shared library compiles in.
#define HIPPO_WORKLOAD_ABI 11

/// Defines the entry points of a workload library: `HIPPO_WORKLOADS(r) { ... }`
/// adds to the registry `r`.
#define HIPPO_WORKLOADS(registry)                                              \
  extern "C" int hippo_workload_abi() { return HIPPO_WORKLOAD_ABI; }           \
  extern "C" void hippo_add_workloads(hippo::workload_registry& registry)
