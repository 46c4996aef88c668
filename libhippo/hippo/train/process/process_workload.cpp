#include "hippo/train/process/process_workload.hpp"

#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "hippo/base/whole_file.hpp"
#include "hippo/train/process/exchange_folder.hpp"
#include "hippo/train/process/workload_process.hpp"
#include "hippo/train/setup_time.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

class process_workload final : public workload,
                               public stoppable,
                               public setup_time {
public:
  process_workload(process_options options, process_setup setup)
    : options_(std::move(options)), setup_(std::move(setup)) {
    options_.scratch = folder_.path();
    start();
  }

  ~process_workload() override {
    if (started_.valid()) // nobody needs it to have started
      process_->stop(stop_force::kill);
  }

  void stop(stop_force how) noexcept override {
    const std::lock_guard guard{mutex_};
    process_->stop(how);
  }

  void prepare() override {
    if (!started_.valid() && !process_->alive())
      start();
    if (!started_.valid())
      return;
    try {
      started_.get();
    } catch (const std::exception& why) {
      process_->kill(); // it is not what it should be: the next one begins anew
      const auto said = process_->take_output();
      throw std::runtime_error(
        why.what() + (said.empty() ? said : "\nprinted before that:\n" + said));
    }
  }

  void init() override { process_->init(); }

  void train(const configuration& config, step_t from, step_t to) override {
    process_->train(config, from, to);
  }

  [[nodiscard]] std::uint64_t setup_ns() const noexcept override {
    return process_->setup_ns();
  }

  metrics evaluate() override { return process_->evaluate(); }

  [[nodiscard]] workload_size size() const override {
    return process_->size();
  }

  std::string save() override {
    const auto path = folder_.file("state");
    fs::remove(path);
    process_->save(path);
    auto result = read_exchanged(path, state_bytes_max);
    fs::remove(path);
    return result;
  }

  void load(const std::string& bytes) override {
    const auto path = folder_.file("state");
    write_exchanged(path, bytes);
    process_->load(path);
    fs::remove(path);
  }

  void export_weights(const std::string& path) override {
    if (const auto why = write_whole(path, save()))
      throw std::runtime_error("weights: " + why->message);
  }

  std::string take_output() override { return process_->take_output(); }

  std::vector<std::string> differences(const std::string& left,
                                       const std::string& right) override {
    const auto one = folder_.file("one");
    const auto other = folder_.file("other");
    write_exchanged(one, left);
    write_exchanged(other, right);
    auto found = process_->compare(one, other);
    return found ? std::move(*found) : workload::differences(left, right);
  }

private:
  /// Starts the process, which goes on starting while others do their part.
  void start() {
    auto fresh = std::make_unique<workload_process>(options_);
    {
      const std::lock_guard guard{mutex_};
      process_.swap(fresh);
    }
    started_ = std::async(std::launch::async, [this] {
      check_versions(process_->describe());
      process_->setup(setup_);
    });
  }

  void check_versions(const workload_process::description& said) const {
    for (const auto& [name, wanted] : setup_.versions) {
      const auto i = said.versions.find(name);
      if (i != said.versions.end() && i->second != wanted)
        throw std::runtime_error(
          "this trainer has "
          + (i->second.empty() ? "no " + name : name + ' ' + i->second)
          + ", the study was made for " + name + ' ' + wanted
          + ": results would not be the same");
    }
  }

  process_options options_;
  process_setup setup_;
  scratch_folder folder_ = make_exchange_folder();
  std::mutex mutex_; ///< guards which one `process_` is from `stop`
  std::unique_ptr<workload_process> process_; ///< set but while constructed
  std::future<void> started_; ///< valid until somebody has waited for it
};

} // namespace

std::unique_ptr<workload> make_process_workload(process_options options,
                                                process_setup setup) {
  return std::make_unique<process_workload>(std::move(options),
                                            std::move(setup));
}

} // namespace hippo
