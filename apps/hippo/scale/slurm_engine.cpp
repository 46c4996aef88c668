#include "scale/slurm_engine.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "hippo/base/first_line.hpp"
#include "hippo/deploy/engine_answers.hpp"
#include "scale/tool.hpp"

namespace hippo {

namespace {

constexpr std::chrono::seconds slurm_call_max{30};

/// Words of failures that pass: the controller is busy, or away.
constexpr const char* passing[] = {"Unable to contact slurm controller",
                                   "Socket timed out",
                                   "try again",
                                   "Resource temporarily unavailable",
                                   "Connection refused",
                                   "Communication connection failure",
                                   "Zero Bytes were transmitted"};

class slurm final : public scale_engine {
public:
  slurm(const machines& machines, std::string fleet)
    : machines_(machines), fleet_(std::move(fleet)) {}

  expected<std::vector<listed_trainer>> list() override {
    const auto said = run({"squeue", "--json", "--me"});
    if (!said)
      return said.failure();
    return read_squeue(said->out, fleet_);
  }

  std::optional<error> start(const std::string& name,
                             const trainer_group& group) override {
    const auto said = run({"sbatch", "--parsable"},
                          slurm_script(machines_, group, {fleet_, name}));
    return said ? std::nullopt : std::optional{said.failure()};
  }

  std::optional<error> end(const listed_trainer& which) override {
    // A job that runs is told first: Slurm would kill it after half a minute.
    const bool is_told = !told_.insert(which.id).second;
    std::vector<std::string> words{"scancel"};
    if (which.now == listed_trainer::state::running && !is_told)
      words.insert(words.end(), {"--batch", "--signal=TERM"});
    words.push_back(which.id);
    const auto said = run(words);
    if (said)
      return std::nullopt;
    told_.erase(which.id);
    return said.failure();
  }

private:
  static expected<program_output> run(const std::vector<std::string>& words,
                                      const std::string& input = {}) {
    auto said = run_tool(words, input, slurm_call_max);
    if (!said || said->exit_code == 0)
      return said;
    const bool passes = std::ranges::any_of(passing, [&](const char* x) {
      return said->err.find(x) != std::string::npos;
    });
    auto why = first_line(said->err);
    if (why.empty())
      why =
        words[0] + " has ended with code " + std::to_string(said->exit_code);
    return {passes ? errc::io_failed : errc::invalid_argument, std::move(why)};
  }

  const machines& machines_;
  std::string fleet_;
  std::set<std::string> told_; ///< ids of jobs that were told to leave
};

} // namespace

std::unique_ptr<scale_engine> slurm_engine(const machines& machines,
                                           std::string fleet) {
  return std::make_unique<slurm>(machines, std::move(fleet));
}

} // namespace hippo
