#include "gateway/query_service.hpp"

#include <algorithm>
#include <fstream>
#include <utility>

#include <spdlog/spdlog.h>

#include "gateway/limits.hpp"
#include "gateway/live_study.hpp"
#include "gateway/trainer_views.hpp"
#include "hippo/base/ratio.hpp"
#include "hippo/report/report.hpp"
#include "hippo/search/think/thinking_pool.hpp"
#include "hippo/store/waiting_board.hpp"
#include "log_format.hpp"

namespace hippo {

namespace {

/// Reads the log of this process, which it writes to `file`, from byte `after`
/// on, in whole lines if they are not too long.
expected<query_service::log_part> read_log(const std::string& file,
                                  std::uint64_t after) {
  if (file.empty())
    return {errc::invalid_argument, "this service keeps no log"};
  spdlog::default_logger()->flush(); // lines wait in memory for a second
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in)
    return {errc::io_failed, "cannot read the log"};
  auto size = static_cast<std::uint64_t>(in.tellg());
  if (after == size)
    return query_service::log_part{{}, size};
  if (after > size) { // it was full: first the rest of what it was
    std::ifstream old(old_log_of(file), std::ios::binary | std::ios::ate);
    const auto old_size = old ? static_cast<std::uint64_t>(old.tellg()) : 0;
    if (after < old_size) {
      in = std::move(old);
      size = old_size;
    } else {
      after = 0;
    }
  }
  in.seekg(static_cast<std::streamoff>(after));
  query_service::log_part result{
    std::string(std::min<std::uint64_t>(size - after, log_bytes_per_call_max),
                '\0'),
    after};
  in.read(result.text.data(), static_cast<std::streamsize>(result.text.size()));
  result.text.resize(static_cast<std::size_t>(in.gcount()));
  if (const auto end = result.text.rfind('\n'); end != std::string::npos)
    result.text.resize(end + 1);
  result.next += result.text.size();
  return result;
}

} // namespace

error looked_at_only() {
  return {errc::invalid_argument,
          "this is a state folder that is only looked at: give --server, or "
          "start `hippo serve` on it"};
}

kj::Exception no_service() {
  return to_exception(looked_at_only());
}

// -- opening and closing ------------------------------------------------------

query_service::query_service(caf::actor_system& system, query_sources sources,
                             kj::Timer& timer, std::unique_ptr<archive> stored,
                             std::unique_ptr<state_reader> watched)
  : sources_(std::move(sources)), timer_(timer), archive_(std::move(stored)),
    watch_(std::move(watched), timer),
    asker_(system, actor_caller::place::shared),
    reader_(system, actor_caller::place::own_thread),
    where_(sources_.where ? sources_.where : std::make_shared<thinking_pool>()),
    workloads_(std::make_shared<const workload_list>(sources_.workloads)) {}

expected<std::unique_ptr<query_service>>
query_service::open(caf::actor_system& system, query_sources sources,
                    kj::Timer& timer) {
  auto read = state_reader::open(sources.state);
  if (!read)
    return read.failure();
  auto watched = state_reader::open(sources.state);
  if (!watched)
    return watched.failure();
  auto stored = std::make_unique<archive>(std::move(*read), sources.workloads,
                                          sources.objects);
  return std::unique_ptr<query_service>{new query_service{
    system, std::move(sources), timer, std::move(stored), std::move(*watched)}};
}

void query_service::close() {
  asker_.close();
  reader_.close();
}

kj::TimePoint query_service::deadline(std::uint32_t wait_millis) const {
  const auto most = static_cast<std::uint32_t>(wait_max.count());
  return timer_.now() + std::min(wait_millis, most) * kj::MILLISECONDS;
}

// -- what is stored -----------------------------------------------------------

kj::Promise<stored_study> query_service::find(std::string id_or_name) {
  return read<stored_study>(
    [name = std::move(id_or_name)](archive& x) { return x.find(name); });
}

kj::Promise<described_study> query_service::describe(study_id id) {
  return read<archived_study>([id](archive& x) { return x.describe(id); })
    .then([this](archived_study x) -> kj::Promise<described_study> {
      if (has_ended(x.row.state))
        return described(std::move(x), {});
      return live().then([x = std::move(x)](live_view now) mutable {
        return described(std::move(x), now);
      });
    });
}

kj::Promise<std::vector<study_view>> query_service::list(bool removed) {
  return read<std::vector<archived_study>>([](archive& x) { return x.list(); })
    .then([this, removed](std::vector<archived_study> all) {
      return live().then(
        [all = std::move(all), removed](live_view now) mutable {
          std::vector<study_view> result;
          for (auto& x : all)
            if (removed || !x.view.removed)
              result.push_back(live_view_of(std::move(x), now));
          return result;
        });
    });
}

kj::Promise<std::vector<trial_view>>
query_service::trials(study_id study, std::uint64_t first,
                      std::size_t most) {
  return read<std::vector<trial_view>>(
    [=](archive& x) { return x.trials(study, first, most); });
}

kj::Promise<trial_view> query_service::best(study_id study) {
  return read<trial_view>([=](archive& x) { return x.best(study); });
}

template <class T, class F>
kj::Promise<T> query_service::explore(client_work& client, F function) {
  return client.ask<T>([function = std::move(function), state = sources_.state,
                        objects = sources_.objects, workloads = workloads_](
                         const client_work::stop_test&) -> expected<T> {
    auto opened = state_reader::open(state);
    if (!opened)
      return opened.failure();
    archive x{std::move(*opened), *workloads, objects};
    return function(x);
  });
}

kj::Promise<exported_part> query_service::export_part(client_work& client,
                                                      study_id study,
                                                      std::string after) {
  return explore<exported_part>(
    client, [study, after = std::move(after)](archive& x) {
      return x.export_part(study, after);
    });
}

kj::Promise<events_view> query_service::events(study_id study,
                                               std::uint64_t after,
                                               std::size_t most) {
  return read<events_view>(
    [=](archive& x) { return x.events(study, after, most); });
}

kj::Promise<events_view> query_service::events_of(study_id study,
                                                  trial_no trial,
                                                  std::uint64_t after,
                                                  std::size_t most) {
  return read<events_view>(
    [=](archive& x) { return x.events(study, after, most, trial); });
}

kj::Promise<query_service::log_part> query_service::logs(std::uint64_t after) {
  return reader_.run<log_part>(
    [file = sources_.log_file, after] { return read_log(file, after); });
}

kj::Promise<trial_output>
query_service::output(study_id study, trial_no trial, step_t first) {
  return read<trial_output>(
    [=](archive& x) { return x.output(study, trial, first); });
}

kj::Promise<weights_recipe>
query_service::weights(study_id study, trial_no trial, step_t step,
                       std::set<std::string> without) {
  return read<weights_recipe>(
    [=, without = std::move(without)](archive& x) {
      return x.weights(study, trial, step, without);
    });
}

kj::Promise<std::string> query_service::checkpoint_part(study_id study,
                                                        std::string file,
                                                        std::uint64_t offset) {
  return read<std::string>([=, file = std::move(file)](archive& x) {
    return x.checkpoint_part(study, file, offset);
  });
}

kj::Promise<importance_view>
query_service::importance(client_work& client, study_id study, step_t step,
                          std::string metric) {
  return explore<importance_view>(client, [=](archive& x) {
    return x.importance(study, step, metric);
  });
}

kj::Promise<packed_body> query_service::columns(study_id study,
                                                std::string what,
                                                std::uint64_t after,
                                                std::string metric) {
  return read<packed_body>(
    [=, what = std::move(what), metric = std::move(metric)](
      archive& x) -> expected<packed_body> {
      auto text = x.columns(study, what, after, metric);
      if (!text)
        return text.failure();
      return pack_body(std::move(*text));
    });
}

kj::Promise<archive::totals> query_service::count() {
  return read<archive::totals>([](archive& x) { return x.count(); });
}

// -- what runs ----------------------------------------------------------------

namespace {

/// Takes an answer, or does without it: what was asked may be gone by now.
template <class T, class F>
kj::Promise<void> take(kj::Promise<T> from, F f) {
  return from.then(std::move(f), [](kj::Exception&&) {});
}

} // namespace

kj::Promise<live_view> query_service::live() {
  if (!is_live()) {
    live_view result;
    result.told = waiting_board::read(sources_.state);
    return result;
  }
  return asker_
    .request<coordinator_status>(sources_.coordinator, status_timeout,
                                 status_atom::value)
    .then([this](coordinator_status known) {
      const auto result = std::make_shared<live_view>();
      result->memory_bytes_max = known.memory_bytes_max;
      result->absent = std::move(known.absent);
      kj::Vector<kj::Promise<void>> answers;
      answers.add(asker_
                    .request<pool_status>(sources_.pool, status_timeout,
                                          status_atom::value)
                    .then([=](pool_status x) { result->pool = std::move(x); }));
      answers.add(take(journal_lately(), [=](journal_status x) {
        result->journal = std::move(x);
      }));
      for (const auto& x : known.studies)
        if (!x.ended)
          answers.add(take(asker_.request<study_status>(
                             x.handle, status_timeout, status_atom::value),
                           [=](study_status y) {
                             result->studies[y.id()] = std::move(y);
                           }));
      for (const auto& x : known.mergers)
        answers.add(take(asker_.request<merger_status>(
                           x.handle, status_timeout, status_atom::value),
                         [=, key = x.workload_key](merger_status y) {
                           result->merger_of[key] = result->mergers.size();
                           result->mergers.push_back(std::move(y));
                         }));
      return kj::joinPromises(answers.releaseAsArray()).then([result] {
        look_ahead(*result);
        return std::move(*result);
      });
    });
}

kj::Promise<std::vector<workload_timings_view>> query_service::timings() {
  return read<std::vector<workload_timings_view>>(
    [](archive& x) { return x.timings(); });
}

kj::Promise<service_view> query_service::keeps() {
  return live().then([this](live_view now) {
    service_view result;
    result.checkpoint_bytes_max = sources_.checkpoint_bytes_max;
    result.memory_bytes_max = now.memory_bytes_max;
    for (const auto& kvp : now.studies)
      result.memory_bytes += kvp.second.memory_bytes;
    std::uint64_t delivered = 0, unique = 0, unique_of_each = 0;
    for (const auto& x : now.mergers) {
      result.memory_bytes += x.memory_bytes;
      delivered += x.figures.delivered_steps;
      unique += x.figures.unique_delivered_steps;
      for (const auto& y : x.by_study)
        unique_of_each += y.unique_delivered_steps;
    }
    if (unique > 0) {
      result.merge_rate = ratio(delivered, unique);
      result.k_wise_merge_rate = ratio(unique_of_each, unique);
    }
    return read<std::vector<checkpoints_view>>(
             [](archive& x) { return x.checkpoints(); })
      .then([result = std::move(result)](
              std::vector<checkpoints_view> all) mutable {
        result.checkpoints = std::move(all);
        return std::move(result);
      });
  });
}

kj::Promise<std::vector<trainer_view>> query_service::trainers() {
  return live().then([this](live_view now) {
    std::set<study_id> studies;
    for (const auto& merger : now.mergers)
      for (const auto& lease : merger.running)
        studies.insert(lease.studies.begin(), lease.studies.end());
    return read<std::set<std::string>>(
             [studies](archive& x) { return x.varied(studies); })
      .then([now = std::move(now)](const std::set<std::string>& varied) {
        return trainer_views(now, varied);
      });
  });
}

kj::Promise<std::vector<merger_overview>> query_service::trees() {
  if (!is_live())
    return std::vector<merger_overview>{};
  return asker_
    .request<coordinator_status>(sources_.coordinator, status_timeout,
                                 status_atom::value)
    .then([this](coordinator_status known) {
      const auto result = std::make_shared<std::vector<merger_overview>>();
      kj::Vector<kj::Promise<void>> answers;
      for (const auto& x : known.mergers)
        answers.add(
          take(asker_.request<merger_overview>(x.handle, status_timeout,
                                               overview_atom::value),
               [=](merger_overview y) { result->push_back(std::move(y)); }));
      return kj::joinPromises(answers.releaseAsArray()).then([result] {
        return std::move(*result);
      });
    });
}

kj::Promise<journal_status> query_service::journal() {
  if (!is_live())
    return journal_status{};
  return asker_.request<journal_status>(sources_.journal, status_timeout,
                                        status_atom::value);
}

kj::Promise<journal_status> query_service::journal_lately() {
  if (!is_live())
    return journal_status{};
  if (asked_journal_ == nullptr) {
    asked_journal_at_ = timer_.now();
    const auto forget = [this] {
      // Not at once: this is a part of what is forgotten.
      tasks_.add(kj::evalLater([this] { asked_journal_ = nullptr; }));
    };
    asked_journal_ = asker_
                       .request<journal_status>(sources_.journal, caf::infinite,
                                                status_atom::value)
                       .then(
                         [this, forget](journal_status x) {
                           journal_ = std::move(x);
                           forget();
                         },
                         [forget](kj::Exception&&) { forget(); })
                       .fork();
  }
  auto late
    = timer_.afterDelay(journal_answer_time.count() * kj::MILLISECONDS);
  return KJ_ASSERT_NONNULL(asked_journal_)
    .addBranch()
    .exclusiveJoin(kj::mv(late))
    .then([this] {
      auto result = journal_;
      const auto waited = timer_.now() - asked_journal_at_;
      if (asked_journal_ != nullptr && result.trouble.empty()
          && waited > health_part_time.count() * kj::SECONDS)
        result.trouble = "the disk has not answered for "
                         + std::to_string(waited / kj::SECONDS) + " s";
      return result;
    });
}

kj::Promise<std::string> query_service::examine() {
  // Each gives what is wrong with it, empty if nothing is.
  const auto look = [&](const char* what, kj::Promise<std::string> x) {
    return timer_
      .timeoutAfter(health_part_time.count() * kj::SECONDS, kj::mv(x))
      .catch_([what](kj::Exception&& why) -> std::string {
        return std::string{what}
               + (why.getType() == kj::Exception::Type::OVERLOADED
                    ? " do not answer in time"
                    : std::string{": "} + why.getDescription().cStr());
      });
  };
  kj::Vector<kj::Promise<std::string>> parts;
  parts.add(look("reads of what is stored",
                 read<std::string>([](archive& x) { return x.probe(); })));
  if (is_live()) {
    parts.add(look("writes of what is stored",
                   journal().then([](const journal_status& x) {
                     return x.trouble;
                   })));
    parts.add(look("questions to the coordinator",
                   asker_
                     .request<coordinator_status>(sources_.coordinator,
                                                  status_timeout,
                                                  status_atom::value)
                     .then([](const coordinator_status&) {
                       return std::string{};
                     })));
    parts.add(look("questions to the pool",
                   asker_
                     .request<pool_status>(sources_.pool, status_timeout,
                                           status_atom::value)
                     .then([](const pool_status&) { return std::string{}; })));
  }
  return kj::joinPromises(parts.releaseAsArray())
    .then([](kj::Array<std::string> found) {
      std::string result;
      for (const auto& x : found)
        if (!x.empty())
          result += (result.empty() ? "" : "; ") + x;
      return result;
    });
}

kj::Promise<std::string> query_service::health() {
  const auto now = timer_.now();
  if (examined_ == nullptr
      || now - examined_at_ > health_age.count() * kj::SECONDS) {
    examined_at_ = now;
    examined_ = examine()
                  .then([this](std::string found) {
                    health_ = found;
                    // What comes next looks anew when this is old.
                    examined_at_ = timer_.now();
                    return found;
                  })
                  .fork();
  }
  auto found = KJ_ASSERT_NONNULL(examined_).addBranch();
  if (!health_)
    return found;
  return found.exclusiveJoin(
    timer_.afterDelay(health_answer_time.count() * kj::MILLISECONDS)
      .then([this] { return *health_; }));
}

} // namespace hippo
