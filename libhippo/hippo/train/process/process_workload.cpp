#include "hippo/train/process/process_workload.hpp"

#include <unistd.h>

#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "hippo/base/content_source.hpp"
#include "hippo/train/process/exchange_folder.hpp"
#include "hippo/train/process/workload_process.hpp"
#include "hippo/train/setup_time.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

/// A state in a file that nobody else has.
class file_state final : public workload_state {
public:
  explicit file_state(const std::string& path)
    : file_(
      std::make_shared<file_source>(open_exchanged(path, state_bytes_max))) {}

  [[nodiscard]] std::string bytes() const override {
    return read_whole(*file_);
  }

  [[nodiscard]] std::unique_ptr<content_source> content() const override {
    return std::make_unique<shared_source>(file_);
  }

  [[nodiscard]] std::uint64_t content_size() const override {
    return file_->size();
  }

private:
  /// The file, which stays open as long as it is used.
  class shared_source final : public content_source {
  public:
    explicit shared_source(std::shared_ptr<const file_source> file)
      : file_(std::move(file)) {}

    [[nodiscard]] std::uint64_t size() const override { return file_->size(); }
    [[nodiscard]] std::optional<error> read(std::uint64_t offset, void* to,
                                            std::size_t size) const override {
      return file_->read(offset, to, size);
    }

  private:
    const std::shared_ptr<const file_source> file_;
  };

  const std::shared_ptr<const file_source> file_;
};

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

  std::string save() override { return snapshot()->bytes(); }

  /// The process writes a file of its own for each.
  std::shared_ptr<const workload_state> snapshot() override {
    const auto path = folder_.file("saved");
    fs::remove(path);
    process_->save(path);
    auto result = std::make_shared<file_state>(path);
    fs::remove(path); // it stays open
    return result;
  }

  void load(const std::string& bytes) override {
    write_exchanged(state_file(), bytes);
    load_file();
  }

  std::string state_file() override { return folder_.file("state"); }

  void load_file() override {
    process_->load(state_file());
    fs::remove(state_file());
  }

  void export_weights(const std::string& path) override {
    const auto part = path + ".part-" + std::to_string(::getpid());
    try {
      process_->save(fs::absolute(part));
      fs::rename(part, path);
    } catch (const fs::filesystem_error& why) {
      std::error_code ignored;
      fs::remove(part, ignored);
      throw std::runtime_error("weights: " + std::string{why.what()});
    } catch (...) {
      std::error_code ignored;
      fs::remove(part, ignored);
      throw;
    }
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
