#include "hippo/train/process/process_workload.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "hippo/base/content_source.hpp"
#include "hippo/train/process/captured_file.hpp"
#include "hippo/train/process/exchange_folder.hpp"
#include "hippo/train/process/workload_process.hpp"
#include "hippo/train/rank_contact.hpp"
#include "hippo/train/setup_time.hpp"
#include "hippo/train/world_member.hpp"

namespace hippo {

namespace {

namespace fs = std::filesystem;

/// A state in a file that nobody else has.
class file_state final : public workload_state {
public:
  using file = std::shared_ptr<const file_source>;

  /// @param size its bytes, at least about
  /// @param open opens the file; the first use of the state calls it, once
  file_state(std::uint64_t size, std::function<file()> open)
    : size_(size), open_(std::move(open)) {}

  [[nodiscard]] std::string bytes() const override {
    return read_whole(*opened());
  }

  [[nodiscard]] std::unique_ptr<content_source> content() const override {
    return std::make_unique<shared_source>(opened());
  }

  [[nodiscard]] std::uint64_t content_size() const override { return size_; }

private:
  /// The file, which stays open as long as it is used.
  class shared_source final : public content_source {
  public:
    explicit shared_source(file opened) : file_(std::move(opened)) {}

    [[nodiscard]] std::uint64_t size() const override { return file_->size(); }
    [[nodiscard]] std::optional<error> read(std::uint64_t offset, void* to,
                                            std::size_t size) const override {
      return file_->read(offset, to, size);
    }

  private:
    const file file_;
  };

  [[nodiscard]] const file& opened() const {
    std::call_once(once_, [this] { file_ = open_(); });
    return file_;
  }

  const std::uint64_t size_;
  const std::function<file()> open_;
  mutable std::once_flag once_;
  mutable file file_;
};

/// A process is asked to capture states from this size on: below it, to write
/// one takes about as long as to copy the process.
constexpr std::uint64_t captured_bytes_min = 16ull << 20;

/// How long the file of a captured state may stay as it is.
constexpr std::chrono::minutes capture_silence_max{5};

/// The states that a process has saved. Any thread may use it.
struct saved_states {
  std::atomic<std::uint64_t> bytes = 0; ///< of the last one; 0: none yet
  std::atomic<bool> has_failed = false; ///< whether a captured one was lost
};

/// Empties a folder. @returns whether it is empty
bool clear(const std::string& folder) {
  std::error_code failed;
  for (fs::directory_iterator i{folder, failed}, end; !failed && i != end;
       i.increment(failed))
    fs::remove_all(i->path(), failed);
  return !failed && fs::is_empty(folder, failed);
}

class process_workload final : public workload,
                               public world_member,
                               public setup_time,
                               public rank_contact {
public:
  process_workload(process_options options, process_setup setup,
                   process_reuse reuse)
    : options_(std::move(options)), setup_(std::move(setup)),
      reuse_(std::move(reuse)) {
    auto kept = reuse_.idle ? reuse_.idle->take(reuse_.code) : std::nullopt;
    if (kept) {
      code_ = std::move(kept->code);
      folder_ = std::move(kept->states);
    } else if (reuse_.idle) {
      code_ = make_exchange_folder("hippo-code");
    }
    if (code_) {
      fs::copy(options_.folder, code_->path(), fs::copy_options::recursive);
      options_.folder = code_->path();
    }
    options_.scratch = folder_.path();
    if (!options_.command_in)
      start(kept ? std::move(kept->process) : nullptr);
  }

  ~process_workload() override {
    if (started_.valid()) // nobody needs it to have started
      process_->stop(stop_force::kill);
    else if (code_ && process_->renew() && clear(code_->path())
             && clear(folder_.path()))
      reuse_.idle->put(reuse_.code, {std::move(*code_), std::move(folder_),
                                     std::move(process_)});
  }

  void stop(stop_force how) noexcept override {
    const std::lock_guard guard{mutex_};
    if (process_)
      process_->stop(how);
  }

  // -- a member of a gang, which has some ranks ------------------------------

  [[nodiscard]] std::string world() const override {
    return process_ && !started_.valid() && process_->waits() ? world_
                                                              : std::string{};
  }

  void enter(const rank_world& world) override {
    leave();
    options_.command = options_.command_in(world);
    start();
    world_ = world.id;
  }

  void leave() noexcept override {
    world_.clear();
    if (!process_)
      return;
    if (started_.valid()) {
      process_->stop(stop_force::kill);
      started_.wait();
      started_ = {};
    }
    process_->kill();
  }

  // -- calls
  // -------------------------------------------------------------------

  void prepare() override {
    if (!started_.valid() && !process_->alive()) {
      if (options_.command_in) // those of other members would wait for it
        throw std::runtime_error("the ranks of this member have ended");
      start();
    }
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

  [[nodiscard]] bool ranks_apart() const noexcept override {
    return process_->ranks_apart();
  }

  metrics evaluate() override { return process_->evaluate(); }

  [[nodiscard]] workload_size size() const override {
    return process_->size();
  }

  std::string save() override { return written_state()->bytes(); }

  /// The process writes a file of its own for each, a large one while it goes
  /// on.
  std::shared_ptr<const workload_state> snapshot() override {
    const auto bytes = saved_->bytes.load();
    return process_->captures() && !saved_->has_failed
               && (bytes == 0 || bytes >= captured_bytes_min)
             ? captured_state()
             : written_state();
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

  std::string take_output() override {
    return process_ ? process_->take_output() : std::string{};
  }

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
  std::shared_ptr<const workload_state> written_state() {
    const auto path = folder_.file("saved");
    fs::remove(path);
    process_->save(path);
    auto file =
      std::make_shared<file_source>(open_exchanged(path, state_bytes_max));
    fs::remove(path); // it stays open
    saved_->bytes = file->size();
    return std::make_shared<file_state>(file->size(), [file] { return file; });
  }

  std::shared_ptr<const workload_state> captured_state() {
    // One of another workload may still be about to remove its own.
    static std::atomic<std::uint64_t> captured = 0;
    auto file = std::make_shared<captured_file>(
      folder_.file("captured-" + std::to_string(++captured)),
      capture_silence_max);
    process_->capture(file->path());
    return std::make_shared<file_state>(saved_->bytes, [file, saved = saved_] {
      try {
        auto whole = std::make_shared<file_source>(file->wait(state_bytes_max));
        saved->bytes = whole->size();
        return whole;
      } catch (...) {
        saved->has_failed = true;
        throw;
      }
    });
  }

  /// Starts the process, which goes on starting while others do their part.
  /// @param fresh one that has renewed itself; null: a new one
  void start(std::unique_ptr<workload_process> fresh = nullptr) {
    if (!fresh)
      fresh = std::make_unique<workload_process>(options_);
    {
      const std::lock_guard guard{mutex_};
      process_.swap(fresh);
    }
    started_ = std::async(std::launch::async, [this] {
      const auto said = process_->describe();
      check_versions(said);
      if (setup_.average.of > 0 && !said.averages)
        throw std::runtime_error(
          "the code of this study cannot measure the mean of weights "
          "(objective.average): leave it out, or use a function or class of "
          "hippo_hpo that trains with PyTorch");
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
  process_reuse reuse_;
  std::optional<scratch_folder> code_; ///< nothing: it lies where it was
  scratch_folder folder_ = make_exchange_folder();
  std::mutex mutex_; ///< guards which one `process_` is from `stop`
  /// Set but while constructed, or before `enter`.
  std::unique_ptr<workload_process> process_;
  std::string world_; ///< of its ranks; empty: none, or they have ended
  std::shared_ptr<saved_states> saved_ = std::make_shared<saved_states>();
  std::future<void> started_; ///< valid until somebody has waited for it
};

} // namespace

std::unique_ptr<workload> make_process_workload(process_options options,
                                                process_setup setup,
                                                process_reuse reuse) {
  return std::make_unique<process_workload>(std::move(options),
                                            std::move(setup), std::move(reuse));
}

} // namespace hippo
