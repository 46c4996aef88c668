// What the books of a service take in memory: those of a study (its tuner and
// trials) and those of a merger (its plan, stage tree and tables).
//
//   books ALGORITHM TRIALS STUDIES [SPACE [STEPS]]
//
// So many studies of so many trials follow each other under one workload key,
// each until it has ended, on two trainers that take no time. SPACE is a study
// file's space in one line. Prints a line of JSON: bytes allocated after each
// study has ended, in all and without the study, and at the most.

#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "hippo/base/hash.hpp"
#include "hippo/model/workload_descriptor.hpp"
#include "hippo/search/accepted_study.hpp"
#include "hippo/service/merge/merge_core.hpp"
#include "hippo/service/study/study_core.hpp"

namespace {

using namespace hippo;

std::size_t allocated() {
  const auto now = ::mallinfo2();
  return now.uordblks + now.hblkhd;
}

std::string text_of(const std::string& algorithm, std::uint64_t trials,
                    std::uint64_t number, const std::string& space,
                    const std::string& steps) {
  return "study: books-" + std::to_string(number)
         + "\nworkload: fashion-mlp\nobjective: "
           "{metric: val_accuracy}\neval_every: "
         + steps + "\nmax_steps: " + steps + "\nseed: "
         + std::to_string(number + 1) + "\nspace: " + space + "\nalgorithm: "
         + algorithm + "\nbudget: {trials: " + std::to_string(trials) + "}\n";
}

/// A study, a merger, a store that commits at once and trainers that need no
/// time.
class world {
public:
  explicit world(const workload_spec& workload)
    : merger_(options_of(workload), now_) {
    to_merger(merge_event::started{});
  }

  void run(const accepted_study& what, const workload_descriptor& workload) {
    study_options options;
    options.spec = what.spec();
    options.search = what.search();
    options.workload = workload;
    options.stored.id = study_id{++studies_};
    options.stored.name = options.spec.name;
    study_ = std::make_unique<study_core>(std::move(options), now_);
    study_->catch_up();
    to_merger(merge_event::study_added{study_->registration()});
    to_study(study_core_event::registered{});
    run_all();
    const auto with_study = allocated();
    const auto status = study_->status(now_);
    const auto counted = status.memory_bytes + merger_.memory_bytes();
    if (!has_ended(status.state))
      std::fprintf(stderr, "it has not ended\n");
    study_.reset();
    std::printf("%s{\"finished\": %llu, \"bytes\": %zu, \"after\": %zu, "
                "\"most\": %zu, \"counted\": %llu, "
                "\"counted_after\": %llu}",
                studies_ == 1 ? "[" : ", ",
                static_cast<unsigned long long>(status.view.finished),
                with_study, allocated(), most_,
                static_cast<unsigned long long>(counted),
                static_cast<unsigned long long>(merger_.memory_bytes()));
  }

private:
  static merger_options options_of(const workload_spec& workload) {
    merger_options result;
    result.workload = workload;
    result.folder = "folder";
    return result;
  }

  void to_merger(any_merge_event event) {
    from_merger(merger_.apply(std::move(event), now_));
  }

  void from_merger(merge_core::effects effects) {
    for (auto& x : effects) {
      if (auto* lease = std::get_if<merge_effect::send_lease>(&x))
        leases_.push_back(std::move(*lease));
      else if (auto* commit = std::get_if<merge_effect::commit>(&x))
        commits_.push_back(std::move(commit->what));
      else if (auto* offer = std::get_if<merge_effect::offer_capacity>(&x))
        to_study(study_core_event::capacity_offered{offer->trials});
      else if (auto* demand = std::get_if<merge_effect::announce_demand>(&x)) {
        wanted_ = demand->trainers;
        ++unanswered_;
      } else if (std::holds_alternative<merge_effect::release_trainer>(x))
        --held_;
    }
  }

  void to_study(any_study_event event) {
    for (auto& x : study_->apply(std::move(event), now_))
      if (auto* commit = std::get_if<study_effect::commit>(&x)) {
        if (!commit->news.empty())
          news_.push_back(std::move(commit->news));
      } else if (auto* orders = std::get_if<study_effect::send_orders>(&x)) {
        to_merger(merge_event::orders_given{
          static_cast<study_no>(studies_ - 1), std::move(orders->orders)});
      }
  }

  void train(const merge_effect::send_lease& x) {
    for (const auto& stop : x.work.stops) {
      const auto* where = stage_reaching(x.work, stop.at);
      const auto& last = where ? *where : x.work.stages.front();
      stop_report report;
      report.lease = x.work.number;
      report.at = stop.at;
      report.node = last.node;
      report.identity = last.identity;
      report.device = "cpu";
      report.trained_steps = 1;
      report.train_ns = 1'000'000;
      if (stop.evaluate) {
        const std::uint64_t state[]{last.identity, stop.at};
        const auto value = static_cast<double>(hash_bytes(state, sizeof(state))
                                               >> 11)
                           * 0x1p-53;
        report.values = {{"val_accuracy", value},
                         {"val_loss", 1 - value},
                         {"train_loss", 1 - value}};
      }
      if (stop.save)
        report.saved = checkpoint{
          checkpoint_name(report.node, report.at, report.lease), 1000, 1};
      now_ += std::chrono::milliseconds(1);
      to_merger(merge_event::reported{std::move(report), reply_address{1}});
    }
    to_merger(merge_event::lease_ended{
      {x.work.number, x.work.stops.back().at, std::nullopt, {}}});
  }

  void run_all() {
    for (std::uint64_t i = 0;; ++i) {
      if (i % 1024 == 0)
        most_ = std::max(most_, allocated());
      if (!commits_.empty()) {
        auto x = std::move(commits_.front());
        commits_.pop_front();
        for (auto& [study, news] : x.news)
          if (number_of(study) + 1 == studies_)
            to_study(study_core_event::received{std::move(news)});
        to_merger(merge_event::committed{x.number});
      } else if (!news_.empty()) {
        auto x = std::move(news_.front());
        news_.pop_front();
        to_study(study_core_event::received{std::move(x)});
      } else if (wanted_ > 0 && held_ < 2) {
        --wanted_;
        ++held_;
        to_merger(merge_event::granted{trainer_id{++trainers_}, "cpu"});
      } else if (unanswered_ > 0) {
        --unanswered_;
        to_merger(merge_event::demand_answered{});
      } else if (!leases_.empty()) {
        const auto x = std::move(leases_.front());
        leases_.pop_front();
        train(x);
      } else {
        return;
      }
    }
  }

  moment now_{};
  merge_core merger_;
  std::unique_ptr<study_core> study_;
  std::uint64_t studies_ = 0;
  std::deque<merge_effect::send_lease> leases_;
  std::deque<commit_request> commits_;
  std::deque<study_news> news_;
  std::uint64_t wanted_ = 0;     ///< trainers more
  std::uint64_t unanswered_ = 0; ///< demands
  std::uint64_t held_ = 0;       ///< trainers
  std::uint64_t trainers_ = 0;
  std::size_t most_ = 0;
};

} // namespace

int main(int argc, char** argv) {
  const auto trials = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  const auto studies = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  if (trials == 0 || studies == 0) {
    std::fprintf(stderr, "usage: books ALGORITHM TRIALS STUDIES "
                         "[SPACE [STEPS]]\n");
    return 2;
  }
  const std::string space
    = argc > 4 ? argv[4] : "{lr: {log_uniform: [1.0e-6, 0.1]}}";
  const std::string steps = argc > 5 ? argv[5] : "4";
  const auto& workloads = built_in_workloads();
  std::unique_ptr<world> around;
  for (std::uint64_t i = 0; i < studies; ++i) {
    const auto read
      = admit_study(text_of(argv[1], trials, i, space, steps), "books",
                    workloads);
    for (const auto& x : read.errors)
      std::fprintf(stderr, "%s\n", to_text(x).c_str());
    if (!read.study)
      return 2;
    const auto& spec = read.study->spec();
    const auto workload
      = std::find_if(workloads.begin(), workloads.end(), [&](const auto& x) {
          return x.name == spec.workload.name;
        });
    if (!around)
      around = std::make_unique<world>(spec.workload);
    around->run(*read.study, *workload);
  }
  std::printf("]\n");
}
