#include <algorithm>
#include <utility>

#include "gateway/limits.hpp"
#include "gateway/query_service.hpp"
#include "gateway/running_ends.hpp"
#include "hippo/keys/certificate.hpp"
#include "hippo/preview/first_rung.hpp"
#include "hippo/preview/preview.hpp"
#include "hippo/preview/sharing_notes.hpp"
#include "hippo/report/preview.hpp"

// How studies come in, and what is said of them before they do.

namespace hippo {

namespace {

/// Studies that wait to be read or previewed.
constexpr std::size_t jobs_max = 64;

/// Puts all findings into one sentence for people, one a line.
error findings_error(const std::vector<diagnostic>& findings) {
  error result{errc::invalid_study, {}};
  for (const auto& x : findings) {
    if (!result.message.empty())
      result.message += '\n';
    result.message += to_text(x);
  }
  return result;
}

/// The lowest price of the trainers that are there; 0: none is known.
double lowest_price(const pool_status& pool) {
  double result = 0;
  for (const auto& x : pool.trainers)
    if (!x.machine.empty() && x.is_there()
        && (result == 0 || x.price < result))
      result = x.price;
  return result;
}

/// Finds what a study names. REQUIRES: it has been accepted with `known`.
const workload_descriptor&
workload_of(const accepted_study& study,
            const std::vector<workload_descriptor>& known) {
  return *std::ranges::find(known, study.spec().workload.name,
                            &workload_descriptor::name);
}

} // namespace

template <class T, class F>
kj::Promise<T> query_service::work(F f) {
  if (jobs_ >= jobs_max)
    return to_exception({errc::resource_exhausted,
                         std::to_string(jobs_max)
                           + " studies wait to be read: try again later"});
  ++jobs_;
  return worker_.run<T>(std::move(f)).attach(kj::defer([this] { --jobs_; }));
}

kj::Promise<admission> query_service::as_new() {
  admission result;
  result.has_clients = true;
  result.now = static_cast<double>(now_seconds());
  result.no_prices = sources_.no_prices;
  if (!is_live())
    return result;
  return asker_
    .request<pool_status>(sources_.pool, status_timeout, status_atom::value)
    .then([result = std::move(result)](const pool_status& pool) mutable {
      const auto there = std::ranges::count_if(pool.trainers,
                                               &trainer_record::is_there);
      result.trainers = std::max<std::size_t>(
        1, static_cast<std::size_t>(there));
      return std::move(result);
    });
}

kj::Promise<study_admission> query_service::load_new(std::string text,
                                                     std::string name) {
  return as_new().then([this, text = std::move(text),
                        name = std::move(name)](admission how) mutable {
    return load(std::move(text), std::move(name), std::move(how));
  });
}

kj::Promise<study_admission> query_service::load(std::string text,
                                                 std::string name,
                                                 admission how) {
  return work<study_admission>(
           [this, text = std::move(text), name = std::move(name),
            how = std::move(how)]() -> expected<study_admission> {
             auto result = admit_study(text, name, sources_.workloads, how);
             if (result.study) {
               const auto notes = sharing_notes(
                 *result.study,
                 workload_of(*result.study, sources_.workloads));
               result.warnings.insert(result.warnings.end(), notes.begin(),
                                      notes.end());
             }
             return result;
           })
    .then([](study_admission x) -> kj::Promise<study_admission> {
      if (!x.study)
        return to_exception(findings_error(x.errors));
      return x;
    });
}

kj::Promise<std::optional<diagnostic>>
query_service::note_cost(const accepted_study& study) {
  if (!study.spec().budget.cost)
    return std::optional<diagnostic>{};
  const auto key = key_of(study.spec().workload);
  return read<trained_time>([key](archive& x) { return x.trained(key); })
    .then([this, study](trained_time trained) {
      return live().then([this, study, trained](const live_view& now) {
        const auto price = lowest_price(now.pool);
        return work<std::optional<diagnostic>>(
          [this, study, trained, price]()
            -> expected<std::optional<diagnostic>> {
            return note_of_cost(study, workload_of(study, sources_.workloads),
                                trained.step_seconds(), price);
          });
      });
    });
}

kj::Promise<query_service::submitted> query_service::submit(std::string text,
                                                            std::string name) {
  if (!is_live())
    return no_service();
  return load_new(std::move(text), std::move(name))
    .then([this](study_admission x) {
      auto noted = note_cost(*x.study);
      return noted.then([this, x = std::move(x)](
                          std::optional<diagnostic> note) mutable {
        submitted result;
        for (const auto& y : x.warnings)
          result.warnings.push_back(to_text(y));
        for (const auto& y : x.notes)
          result.notes.push_back(to_text(y));
        if (note)
          result.warnings.push_back(to_text(*note));
        return asker_
          .request<study_id>(sources_.coordinator, submit_timeout,
                             submit_atom::value,
                             study_submission{std::move(*x.study), {}, 0})
          .then([result = std::move(result)](study_id id) mutable {
            result.id = id;
            return std::move(result);
          });
      });
    });
}

kj::Promise<std::string> query_service::preview(std::string text,
                                                std::string name,
                                                std::size_t stages_max) {
  return load_new(std::move(text), std::move(name))
    .then([=, this](study_admission x) {
      using trees_of = std::vector<merger_overview>;
      auto all = stages_max > 0 ? trees() : kj::Promise<trees_of>{trees_of{}};
      return all.then([=, this, study = std::move(*x.study)](
                        std::vector<merger_overview> plans) {
        std::optional<std::vector<overview_stage>> running;
        for (auto& y : plans)
          if (y.workload_key == key_of(study.spec().workload))
            running = std::move(y.stages);
        return preview_beside(study, stages_max, std::move(running));
      });
    });
}

kj::Promise<std::string> query_service::preview_beside(
  accepted_study study, std::size_t stages_max,
  std::optional<std::vector<overview_stage>> running) {
  struct known {
    stored_plan plan;
    std::vector<stored_end> ends;
  };
  const auto key = key_of(study.spec().workload);
  const bool runs = running.has_value();
  return read<known>([=](archive& x) -> expected<known> {
           auto plan = x.plan(key);
           if (!plan)
             return plan.failure();
           known result{std::move(*plan), {}};
           if (stages_max == 0)
             return result;
           // Of studies that run, more is known where they do.
           auto ends = x.ends(key, runs);
           if (!ends)
             return ends.failure();
           result.ends = std::move(*ends);
           return result;
         })
    .then([=, this, study = std::move(study),
           running = std::move(running)](known there) mutable {
      if (running)
        there.ends = with_running(there.ends, *running);
      return work<std::string>([this, study = std::move(study), key, stages_max,
                                there = std::move(
                                  there)]() -> expected<std::string> {
        const std::map<std::string, stored_plan> plans{{key, there.plan}};
        const std::map<std::string, std::vector<stored_end>> others{
          {key, there.ends}};
        const auto found = hippo::preview({study}, sources_.workloads, &plans,
                                          stages_max, &others);
        if (!found)
          return found.failure();
        return preview_json(*found);
      });
    });
}

} // namespace hippo
