#include "hippo/process/process_workload.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

namespace hippo {

namespace {

namespace fs = std::filesystem;

/// A folder for states that come and go.
class exchange_folder {
public:
  exchange_folder()
    : path_((fs::temp_directory_path() / "hippo-states-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr)
      throw std::runtime_error("cannot make " + path_);
  }
  ~exchange_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  exchange_folder(const exchange_folder&) = delete;
  exchange_folder& operator=(const exchange_folder&) = delete;

  [[nodiscard]] std::string file() const { return path_ + "/state"; }

private:
  std::string path_;
};

class process_workload final : public workload {
public:
  process_workload(process_options options, std::uint64_t seed,
                   std::map<std::string, scalar> args)
    : options_(std::move(options)), seed_(seed), args_(std::move(args)) {
    start();
  }

  void init() override { running().init(); }

  void train(const configuration& config, step_t from, step_t to) override {
    process_->train(config, from, to);
  }

  metrics evaluate() override { return process_->evaluate(); }

  std::string save() override {
    const auto path = folder_.file();
    fs::remove(path);
    process_->save(path);
    std::ifstream in{path, std::ios::binary};
    if (!in)
      throw std::runtime_error("the workload has saved nothing in " + path);
    std::string result{std::istreambuf_iterator<char>{in}, {}};
    fs::remove(path);
    return result;
  }

  void load(const std::string& bytes) override {
    const auto path = folder_.file();
    std::ofstream out{path, std::ios::binary | std::ios::trunc};
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out)
      throw std::runtime_error("cannot write " + path);
    running().load(path);
    fs::remove(path);
  }

private:
  void start() {
    process_.emplace(options_);
    process_->describe();
    process_->setup(seed_, args_);
  }

  /// The process, in no particular state.
  workload_process& running() {
    if (!process_->alive())
      start();
    return *process_;
  }

  process_options options_;
  std::uint64_t seed_;
  std::map<std::string, scalar> args_;
  exchange_folder folder_;
  std::optional<workload_process> process_;
};

} // namespace

std::unique_ptr<workload>
make_process_workload(process_options options, std::uint64_t seed,
                      std::map<std::string, scalar> args) {
  return std::make_unique<process_workload>(std::move(options), seed,
                                            std::move(args));
}

} // namespace hippo
