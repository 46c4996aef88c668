#include <algorithm>
#include <utility>

#include "gateway/limits.hpp"
#include "gateway/query_service.hpp"
#include "gateway/running_ends.hpp"
#include "hippo/forecast/preview/first_rung.hpp"
#include "hippo/forecast/preview/preview.hpp"
#include "hippo/forecast/preview/sharing_notes.hpp"
#include "hippo/net/keys/certificate.hpp"

// How studies come in, and what is said of them before they do.

namespace hippo {

namespace {

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

/// Says why a study may not bring its code, if it may not.
std::optional<error>
refusal_of_code(const accepted_study& study, bool is_own_code,
                const std::optional<std::vector<workload_spec>>& allowed) {
  const auto& spec = study.spec();
  if (!allowed || !is_own_code
      || std::ranges::find(*allowed, spec.workload) != allowed->end())
    return std::nullopt;
  return error{errc::not_allowed,
               "study " + spec.name
                 + " brings code of its own, and hippo run trains only the "
                   "code that it was started with: start hippo serve for it"};
}

} // namespace

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

expected<study_admission> query_service::load(const std::string& text,
                                              const std::string& name,
                                              const workload_list& workloads,
                                              const admission& how) {
  auto result = admit_study(text, name, workloads, how);
  if (result.study) {
    const auto notes
      = sharing_notes(*result.study, workload_of(*result.study, workloads));
    result.warnings.insert(result.warnings.end(), notes.begin(), notes.end());
  }
  return result;
}

kj::Promise<study_admission>
query_service::only_admitted::operator()(study_admission admission) const {
  if (!admission.study)
    return to_exception(findings_error(admission.errors));
  return admission;
}

kj::Promise<std::optional<diagnostic>>
query_service::note_cost(client_work& client, const accepted_study& study) {
  if (!study.spec().budget.cost)
    return std::optional<diagnostic>{};
  const auto key = key_of(study.spec().workload);
  return read<trained_time>([key](archive& x) { return x.trained(key); })
    .then([this, &client, study](trained_time trained) {
      return live().then([this, &client, study, trained](const live_view& now) {
        return client.admit<std::optional<diagnostic>>(
          [study, trained, price = lowest_price(now.pool),
           workloads = workloads_](const client_work::stop_test&)
            -> expected<std::optional<diagnostic>> {
            return note_of_cost(study, workload_of(study, *workloads),
                                trained.step_seconds(), price);
          });
      });
    });
}

std::optional<error> query_service::refusal_of_files() const {
  if (!is_live())
    return looked_at_only();
  if (sources_.code_allowed)
    return error{errc::not_allowed,
                 "hippo run takes only the initial states of the studies that "
                 "it was started with: start hippo serve for others"};
  return std::nullopt;
}

kj::Promise<query_service::submitted>
query_service::submit(client_work& client, std::string text,
                      std::string name) {
  if (!is_live())
    return no_service();
  return as_new()
    .then([this, &client, text = std::move(text),
           name = std::move(name)](admission how) mutable {
      return client.admit<study_admission>(
        [text = std::move(text), name = std::move(name), how = std::move(how),
         workloads = workloads_](const client_work::stop_test&) {
          return load(text, name, *workloads, how);
        });
    })
    .then(only_admitted{})
    .then([this, &client](
            study_admission x) -> kj::Promise<query_service::submitted> {
      if (auto why = refusal_of_code(*x.study,
                                     workload_of(*x.study, *workloads_).open,
                                     sources_.code_allowed))
        return to_exception(std::move(*why));
      auto noted = note_cost(client, *x.study);
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

kj::Promise<preview_view> query_service::preview(client_work& client,
                                                 std::string text,
                                                 std::string name,
                                                 std::size_t stages_max) {
  return as_new()
    .then([this, &client, text = std::move(text),
           name = std::move(name)](admission how) mutable {
      how.has_clients = false; // nobody decides in a preview
      return client.ask<study_admission>(
        [text = std::move(text), name = std::move(name), how = std::move(how),
         workloads = workloads_](const client_work::stop_test&) {
          return load(text, name, *workloads, how);
        });
    })
    .then(only_admitted{})
    .then([=, this, &client](study_admission x) {
      using trees_of = std::vector<merger_overview>;
      auto all = stages_max > 0 ? trees() : kj::Promise<trees_of>{trees_of{}};
      return all.then([=, this, &client, study = std::move(*x.study)](
                        std::vector<merger_overview> plans) {
        std::optional<std::vector<overview_stage>> running;
        for (auto& y : plans)
          if (y.workload_key == key_of(study.spec().workload))
            running = std::move(y.stages);
        return preview_beside(client, study, stages_max, std::move(running));
      });
    });
}

kj::Promise<preview_view> query_service::preview_beside(
  client_work& client, accepted_study study, std::size_t stages_max,
  std::optional<std::vector<overview_stage>> running) {
  return client.ask<preview_view>(
    [study = std::move(study), stages_max, running = std::move(running),
     state = sources_.state, workloads = workloads_](
      const client_work::stop_test& stops) -> expected<preview_view> {
      const auto key = key_of(study.spec().workload);
      auto store = state_reader::open(state);
      if (!store)
        return store.failure();
      auto plan = (*store)->load_plan(key);
      if (!plan)
        return plan.failure();
      std::vector<stored_end> ends;
      if (stages_max > 0) {
        // Of studies that run, more is known where they do.
        auto stored = (*store)->load_ends(key, running.has_value());
        if (!stored)
          return stored.failure();
        ends = running ? with_running(*stored, *running) : std::move(*stored);
      }
      const std::map<std::string, stored_plan> plans{{key, std::move(*plan)}};
      const std::map<std::string, std::vector<stored_end>> others{
        {key, std::move(ends)}};
      const auto found = hippo::preview({study}, *workloads, &plans, stages_max,
                                        &others, stops);
      if (!found)
        return found.failure();
      return *found;
    });
}

kj::Promise<command_answer> query_service::reopen(client_work& client,
                                                  stored_study study,
                                                  study_command what) {
  return client
    .admit<study_admission>([workloads = workloads_, text = study.text,
                             file = study.file,
                             how = as_before(study.algorithm, study.typed)](
                              const client_work::stop_test&) {
      return load(text, file, *workloads, how);
    })
    .then(only_admitted{})
    .then([this, study = std::move(study), what = std::move(what)](
            study_admission read) mutable -> kj::Promise<command_answer> {
      if (!read.study)
        return to_exception(
          {errc::invalid_argument,
           "study " + study.name + ": " + read.errors.front().message});
      return asker_.request<command_answer>(
        sources_.coordinator, submit_timeout, command_atom::value,
        study_submission{std::move(*read.study), std::move(study)}, what);
    });
}

} // namespace hippo
