#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>
#include <nlohmann/json.hpp>

#include "hippo/base/number.hpp"
#include "hippo/model/code/study_code.hpp"
#include "hippo/net/wire/exceptions.hpp"
#include "hippo/train/process/code_values.hpp"
#include "hippo/train/process/exchange_folder.hpp"
#include "hippo/train/process/process_workload.hpp"
#include "hippo/train/process/workload_process.hpp"
#include "process.capnp.h"

namespace hippo {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The version of what is in the files.
constexpr int file_protocol_version = 1;

/// The most bytes of one file of a state: what a Data of Cap'n Proto holds.
constexpr std::uint64_t state_file_bytes_max = (1ull << 29) - 1;

/// Of an answer: metrics and a traceback, nothing large.
constexpr std::uint64_t answer_bytes_max = 64ull << 20;

/// Returns the files of a folder, sorted by path.
std::map<std::string, fs::path> files_in(const fs::path& folder) {
  std::map<std::string, fs::path> result;
  for (const auto& x : fs::recursive_directory_iterator{folder})
    if (x.is_regular_file())
      result.emplace(x.path().lexically_relative(folder).string(), x.path());
  return result;
}

/// Writes a folder and what was measured of it as bytes. Equal ones give equal
/// bytes.
std::string pack(const fs::path& folder, const metrics& measured) {
  const auto files = files_in(folder);
  capnp::MallocMessageBuilder message;
  auto to = message.initRoot<schema::FolderState>();
  auto list = to.initFiles(static_cast<unsigned>(files.size()));
  unsigned i = 0;
  for (const auto& [name, path] : files) {
    const auto bytes = read_exchanged(path, state_file_bytes_max);
    list[i].setPath(name);
    list[i].setContent(
      {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()});
    ++i;
  }
  auto values = to.initMeasured(static_cast<unsigned>(measured.size()));
  i = 0;
  for (const auto& [name, value] : measured) {
    values[i].setName(name);
    values[i].setValue(value);
    ++i;
  }
  const auto words = capnp::messageToFlatArray(message);
  const auto bytes = words.asChars();
  return {bytes.begin(), bytes.size()};
}

/// Restores what `pack` wrote. @returns what was measured
metrics unpack(const std::string& bytes, const fs::path& folder) {
  auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
  std::copy_n(bytes.begin(), words.asChars().size(), words.asChars().begin());
  capnp::ReaderOptions limits;
  limits.traversalLimitInWords = words.size() + 1;
  capnp::FlatArrayMessageReader message{words, limits};
  const auto from = message.getRoot<schema::FolderState>();
  for (auto file : from.getFiles()) {
    const std::string name = file.getPath().cStr();
    if (!is_code_path(name))
      throw std::runtime_error("'" + name + "' leads out of the state");
    const auto path = folder / name;
    fs::create_directories(path.parent_path());
    const auto content = file.getContent();
    write_exchanged(path, {reinterpret_cast<const char*>(content.begin()),
                      content.size()});
  }
  metrics result;
  for (auto x : from.getMeasured())
    result[x.getName().cStr()] = x.getValue();
  return result;
}

class file_workload final : public workload, public stoppable {
public:
  file_workload(process_options options, process_setup setup)
    : options_(std::move(options)), setup_(std::move(setup)) {
    const auto program = fs::path{options_.folder} / options_.command[0];
    if (!fs::exists(program))
      throw std::runtime_error("there is no program " + options_.command[0]);
  }

  void stop(stop_force how) noexcept override {
    const std::lock_guard guard{mutex_};
    if (running_ != nullptr)
      running_->stop(how);
  }

  void init() override { run({}, 0, 0, ""); }

  void train(const configuration& config, step_t from, step_t to) override {
    run(config, from, to, state_);
  }

  [[nodiscard]] bool trains_in_one_go() const override { return true; }

  metrics evaluate() override { return measured_; }

  std::string save() override { return pack(state_, measured_); }

  void load(const std::string& bytes) override {
    const auto folder = fresh_folder();
    try {
      measured_ = unpack(bytes, folder);
    } catch (const kj::Exception& why) {
      throw std::runtime_error(sentence_of(why));
    }
    take_state(folder);
  }

  /// Copies the folder, which must not be there yet, as a whole or not at all.
  void export_weights(const std::string& path) override {
    if (fs::exists(path))
      throw std::runtime_error(path + " is there already");
    const auto part = path + ".part-" + std::to_string(::getpid());
    try {
      fs::copy(state_, part, fs::copy_options::recursive);
      fs::rename(part, path);
    } catch (...) {
      std::error_code ignored;
      fs::remove_all(part, ignored);
      throw;
    }
  }

  std::string take_output() override { return tail_.take(); }

private:
  /// Lets `stop` reach a program while it is there.
  class reach {
  public:
    reach(file_workload& owner, child& program) : owner_(owner) {
      const std::lock_guard guard{owner_.mutex_};
      owner_.running_ = &program;
    }
    ~reach() {
      const std::lock_guard guard{owner_.mutex_};
      owner_.running_ = nullptr;
    }
    reach(const reach&) = delete;
    reach& operator=(const reach&) = delete;

  private:
    file_workload& owner_;
  };

  std::string fresh_folder() {
    auto result = folder_.file(std::to_string(++folders_));
    fs::create_directory(result);
    return result;
  }

  void take_state(const std::string& folder) {
    if (!state_.empty())
      fs::remove_all(state_);
    state_ = folder;
  }

  void run(const configuration& config, step_t from, step_t to,
           const std::string& start) {
    const auto request = folder_.file("request.json");
    const auto answer = folder_.file("answer.json");
    const auto result = fresh_folder();
    write_exchanged(
      request,
      json{
        {"protocol", file_protocol_version},
        {"from", from},
        {"to", to},
        {"values", values_json(config, from, to)},
        {"seed", setup_.seed},
        {"args", arguments_json(setup_)},
        {"device", options_.device},
        {"initial", options_.initial.empty() ? json() : json(options_.initial)},
        {"threads", options_.threads},
        {"load", start.empty() ? json() : json(start)},
        {"save", result}}
        .dump(1));
    fs::remove(answer);
    auto options = options_;
    options.command.insert(options.command.end(), {request, answer});
    spawn_plan plan;
    child program{plan, options};
    const reach reachable{*this, program};
    const bool is_hung
      = program.wait(-1, 0, options.silence_max) == child::event::silence;
    if (is_hung)
      program.kill();
    const auto how = program.end(last_breath);
    tail_.add(program.take_output());
    if (is_hung)
      throw std::runtime_error(
        "the program printed nothing for "
        + to_text(static_cast<double>(options.silence_max.count()) / 1000)
        + " s and was killed");
    take_answer(answer, how);
    take_state(result);
  }

  void take_answer(const std::string& path, const std::string& how) {
    const auto said
      = fs::exists(path) ? json::parse(read_exchanged(path, answer_bytes_max), nullptr,
                                       false)
                         : json();
    if (said.is_object() && said.contains("error"))
      throw std::runtime_error(said.value("error", std::string{"an error"})
                               + (said.contains("details")
                                    ? "\n" + said.value("details", std::string{})
                                    : std::string{}));
    if (how != "exit code 0")
      throw std::runtime_error("the program ended with " + how);
    if (!said.is_object() || !said.contains("metrics")
        || !said["metrics"].is_object() || said["metrics"].empty())
      throw std::runtime_error("the program's answer is no JSON object with "
                               "'metrics', a map of numbers, or 'error'");
    measured_.clear();
    for (const auto& [name, value] : said["metrics"].items()) {
      if (!value.is_number() && !value.is_null())
        throw std::runtime_error("the metric '" + name + "' is no number");
      // JSON has no other way to say what is not finite.
      measured_[name] = value.is_null()
                          ? std::numeric_limits<double>::quiet_NaN()
                          : value.get<double>();
    }
    check_metrics(measured_);
  }

  process_options options_;
  process_setup setup_;
  scratch_folder folder_ = make_exchange_folder();
  std::uint64_t folders_ = 0;
  std::string state_; ///< folder
  metrics measured_;  ///< of the state
  output_tail tail_;

  std::mutex mutex_;         ///< guards what follows
  child* running_ = nullptr; ///< null: no program runs
};

} // namespace

std::unique_ptr<workload> make_file_workload(process_options options,
                                             process_setup setup) {
  return std::make_unique<file_workload>(std::move(options), std::move(setup));
}

} // namespace hippo
