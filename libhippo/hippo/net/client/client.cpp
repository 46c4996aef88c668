#include "hippo/net/client/client.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

#include "depot.capnp.h"
#include "hippo/base/endpoint.hpp"
#include "hippo/net/client/connection.hpp"
#include "hippo/net/client/decode.hpp"

namespace hippo {

namespace {

using namespace std::chrono_literals;

// The service gives no more at once.
constexpr std::uint32_t trials_per_call = 1000;
constexpr std::uint32_t events_per_call = 1000;

/// For how long the service is asked to wait for what comes next.
constexpr std::chrono::milliseconds wait_max = 60s;

std::uint32_t wait_millis(std::chrono::milliseconds x) {
  return static_cast<std::uint32_t>(std::clamp(x, 0ms, wait_max).count());
}

/// What a call gives: a `T` or why there is none, for `void` only that.
template <class T>
struct answer_of {
  using type = expected<T>;
};
template <>
struct answer_of<void> {
  using type = std::optional<error>;
};
template <class T>
using answer_t = typename answer_of<T>::type;

} // namespace

/// Runs the connection's event loop on a thread of its own.
class client::impl {
public:
  impl(const std::string& address, const client_options& options,
       const transport& secure)
    : thread_([this, address, options, secure] {
        serve(address, options, secure);
      }) {
    started_.get_future().wait();
  }

  ~impl() {
    executor_->executeSync([this] { stop_->fulfill(); });
    thread_.join();
  }

  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;

  /// Connects.
  std::optional<error> open() {
    return blocking<void>([this] { return connection_->open(); });
  }

  service_summary info() {
    return executor_->executeSync([this] { return connection_->info(); });
  }

  /// Makes a call and waits for its answer, of which `send` makes a `T`.
  template <class T, class Send>
  answer_t<T> call(repeating again, const Send& send) {
    return blocking<T>(
      [this, again, &send] { return connection_->run<T>(again, send); });
  }

  /// Runs `act` on the loop, and waits for its end.
  template <class Act>
  void on_loop(const Act& act) {
    executor_->executeSync(act);
  }

  /// Makes a call in the background; `done` hears how it went, on the loop.
  template <class T, class Send, class Done>
  void begin(repeating again, const Send& send, const Done& done) {
    executor_->executeSync([this, again, &send, &done] {
      connection_->add(connection_->run<T>(again, send).then(
        [done](T x) { done(std::move(x)); },
        [done](kj::Exception&& why) { done(error_of(why)); }));
    });
  }

private:
  /// Runs what returns a promise on the loop, and waits for it.
  template <class T, class Run>
  answer_t<T> blocking(const Run& run) {
    try {
      if constexpr (std::is_void_v<T>) {
        executor_->executeSync(run);
        return std::nullopt;
      } else {
        return executor_->executeSync(run);
      }
    } catch (const kj::Exception& why) {
      return error_of(why);
    }
  }

  void serve(const std::string& address, const client_options& options,
             const transport& secure) {
    auto io = kj::setupAsyncIo();
    connection here{io.provider->getNetwork(), io.provider->getTimer(),
                    address, options, secure};
    auto stop = kj::newPromiseAndFulfiller<void>();
    stop_ = kj::mv(stop.fulfiller);
    connection_ = &here;
    executor_ = kj::getCurrentThreadExecutor().addRef();
    started_.set_value();
    stop.promise.wait(io.waitScope);
  }

  std::promise<void> started_;
  // Made by the thread before `started_`; all but the executor are its own.
  kj::Own<const kj::Executor> executor_;
  kj::Own<kj::PromiseFulfiller<void>> stop_;
  connection* connection_ = nullptr;
  std::thread thread_;
};

// -- client -------------------------------------------------------------------

bool has_ended(const study_view& view) noexcept {
  return view.state == "COMPLETE" || view.state == "FAILED"
         || view.state == "CANCELLED";
}

expected<client> client::connect(const std::string& address,
                                 client_options options) {
  if (!is_local_socket(address))
    if (const auto at = parse_endpoint(address); !at)
      return at.failure();
  const auto secure = make_transport(options);
  if (!secure)
    return secure.failure();
  const auto x = std::make_shared<impl>(address, options, *secure);
  if (const auto why = x->open())
    return find_refusal(address, options).value_or(*why);
  return client{x};
}

service_summary client::service() const {
  return impl_->info();
}

expected<submitted_study> client::submit(const std::string& text,
                                         const std::string& name) {
  return impl_->call<submitted_study>(repeating::no, [&](session& x) {
    auto request = x.service().submitRequest();
    request.setText(text);
    request.setName(name);
    return request.send().then([](auto&& answer) {
      submitted_study result;
      result.id = answer.getId();
      for (const auto warning : answer.getWarnings())
        result.warnings.emplace_back(warning);
      for (const auto note : answer.getNotes())
        result.notes.emplace_back(note);
      return result;
    });
  });
}

namespace {

/// The bytes of a file that travel in one message, and those that are on their
/// way unanswered.
constexpr std::size_t chunk_bytes = 512 << 10;
constexpr std::size_t window_bytes = 8 * chunk_bytes;

/// Throws the failure that a depot has answered, if there is one.
template <class Answer>
void expect_success(const Answer& answer) {
  if (!answer.hasFailure())
    return;
  const auto failure = answer.getFailure();
  kj::throwFatalException(exception_of(static_cast<errc>(failure.getCode()),
                                       failure.getMessage().cStr()));
}

/// Sends bytes, and waits until all have been taken.
kj::Promise<bool> put(schema::Upload::Client& upload, std::string_view bytes) {
  auto answers = kj::heapArrayBuilder<kj::Promise<void>>(
    (bytes.size() + chunk_bytes - 1) / chunk_bytes);
  for (; !bytes.empty();
       bytes.remove_prefix(std::min(chunk_bytes, bytes.size()))) {
    const auto chunk = bytes.substr(0, chunk_bytes);
    auto request = upload.putRequest();
    request.setChunk(
      {reinterpret_cast<const kj::byte*>(chunk.data()), chunk.size()});
    answers.add(
      request.send().then([](auto&& answer) { expect_success(answer); }));
  }
  return kj::joinPromises(answers.finish()).then([] { return true; });
}

/// Ends an upload, and waits until the file is there.
kj::Promise<bool> commit(schema::Upload::Client& upload) {
  return upload.commitRequest().send().then([](auto&& answer) {
    expect_success(answer);
    return true;
  });
}

} // namespace

std::optional<error> client::send_initial(const std::string& sha256,
                                          std::uint64_t bytes,
                                          const byte_source& source) {
  using taker = std::optional<schema::Upload::Client>;
  auto begun = impl_->call<taker>(repeating::yes, [&](session& x) {
    auto request = x.service().sendInitialRequest();
    request.setSha256(sha256);
    request.setBytes(bytes);
    return request.send().then([](auto&& answer) -> taker {
      if (answer.getIsThere())
        return std::nullopt;
      return answer.getUpload().template castAs<schema::Upload>();
    });
  });
  if (!begun)
    return begun.failure();
  if (!*begun)
    return std::nullopt;
  auto& upload = **begun;
  std::string window(window_bytes, '\0');
  std::optional<error> failed;
  for (bool has_ended = false; !failed && !has_ended;) {
    const auto read = source(window.data(), window.size());
    if (!read) {
      failed = read.failure();
      break;
    }
    has_ended = *read == 0;
    const auto sent = impl_->call<bool>(repeating::no, [&](session&) {
      return has_ended ? commit(upload) : put(upload, {window.data(), *read});
    });
    if (!sent)
      failed = sent.failure();
  }
  // The capability belongs to the thread of the loop, and ends there.
  impl_->on_loop([&] { begun->reset(); });
  return failed;
}

expected<study_handle> client::study(const std::string& id_or_name) {
  const auto id
    = impl_->call<std::uint64_t>(repeating::yes, [&](session& x) {
        auto request = x.service().studyRequest();
        request.setIdOrName(id_or_name);
        return request.send().then(
          [](auto&& answer) -> std::uint64_t { return answer.getId(); });
      });
  if (!id)
    return id.failure();
  return study_handle{impl_, *id};
}

expected<std::vector<study_view>> client::studies(bool removed) {
  return impl_->call<std::vector<study_view>>(
    repeating::yes, [removed](session& x) {
      auto request = x.service().listRequest();
      request.setRemoved(removed);
      return request.send().then(
        [](auto&& answer) { return decode_all(answer.getStudies()); });
    });
}

expected<std::vector<trainer_view>> client::trainers() {
  return impl_->call<std::vector<trainer_view>>(
    repeating::yes, [](session& x) {
      return x.service().trainersRequest().send().then(
        [](auto&& answer) { return decode_all(answer.getTrainers()); });
    });
}

expected<demand_view> client::demand() {
  return impl_->call<demand_view>(repeating::yes, [](session& x) {
    return x.service().demandRequest().send().then(
      [](auto&& answer) { return decode(answer.getDemand()); });
  });
}

expected<preview_view> client::preview(const std::string& text,
                                       const std::string& name) {
  return impl_->call<preview_view>(repeating::yes, [&](session& x) {
    auto request = x.service().previewRequest();
    request.setText(text);
    request.setName(name);
    return request.send().then(
      [](auto&& answer) { return decode(answer.getPreview()); });
  });
}

expected<std::vector<workload_timings_view>> client::timings() {
  return impl_->call<std::vector<workload_timings_view>>(
    repeating::yes, [](session& x) {
      return x.service().timingsRequest().send().then(
        [](auto&& answer) { return decode_all(answer.getTimings()); });
    });
}

expected<log_part> client::logs(std::uint64_t after) {
  return impl_->call<log_part>(repeating::yes, [after](session& x) {
    auto request = x.service().logsRequest();
    request.setAfter(after);
    return request.send().then([](auto&& answer) {
      return log_part{answer.getText(), answer.getNext()};
    });
  });
}

// -- study_handle -------------------------------------------------------------

/// Answers to `start` that nobody has taken yet.
struct study_handle::answers {
  std::mutex mutex;
  std::condition_variable came;
  std::deque<expected<trained_trial>> list;
  std::size_t in_flight = 0; ///< whose answer nobody waits for yet
};

study_handle::study_handle(std::shared_ptr<client::impl> impl, std::uint64_t id)
  : impl_(std::move(impl)), answers_(std::make_shared<answers>()), id_(id) {}

expected<study_description> study_handle::describe() {
  return impl_->call<study_description>(
    repeating::yes, [this](session& x) {
      return x.study(id_).describeRequest().send().then([](auto&& answer) {
        return study_description{decode(answer.getInfo()), answer.getText()};
      });
    });
}

expected<std::vector<trial_view>>
study_handle::trials(std::uint64_t first) {
  std::vector<trial_view> result;
  for (;;) {
    auto page = impl_->call<std::vector<trial_view>>(
      repeating::yes, [&](session& x) {
        auto request = x.study(id_).trialsRequest();
        request.setFirst(result.empty() ? first : result.back().trial + 1);
        request.setMost(trials_per_call);
        return request.send().then(
          [](auto&& answer) { return decode_all(answer.getTrials()); });
      });
    if (!page)
      return page.failure();
    // One may be shorter than was asked for: it has a limit in bytes, too.
    if (page->empty())
      return result;
    std::move(page->begin(), page->end(), std::back_inserter(result));
  }
}

expected<trial_view> study_handle::best() {
  return impl_->call<trial_view>(repeating::yes, [this](session& x) {
    return x.study(id_).bestRequest().send().then(
      [](auto&& answer) { return decode(answer.getTrial()); });
  });
}

std::optional<error>
study_handle::follow(std::uint64_t after,
                     const std::function<bool(const event_view&)>& hear) {
  struct page {
    std::vector<event_view> events;
    std::uint64_t next = 0;
    bool ended = false;
  };
  for (;;) {
    const auto x = impl_->call<page>(repeating::yes, [&](session& y) {
      auto request = y.study(id_).eventsRequest();
      request.setAfter(after);
      request.setMost(events_per_call);
      request.setWaitMillis(wait_millis(wait_max));
      return request.send().then([](auto&& answer) {
        return page{decode_all(answer.getEvents()), answer.getNext(),
                    answer.getEnded()};
      });
    });
    if (!x)
      return x.failure();
    for (const auto& event : x->events)
      if (!hear(event))
        return std::nullopt;
    if (x->ended)
      return std::nullopt;
    after = x->next;
  }
}

expected<study_view>
study_handle::wait(const std::function<bool(const study_view&)>& look,
                   std::chrono::milliseconds interval) {
  for (;;) {
    auto now = impl_->call<study_view>(repeating::yes, [&](session& x) {
      auto request = x.study(id_).waitRequest();
      request.setWaitMillis(wait_millis(look ? interval : wait_max));
      return request.send().then(
        [](auto&& answer) { return decode(answer.getInfo()); });
    });
    if (!now)
      return now;
    if (look && !look(*now))
      return now;
    if (has_ended(*now))
      return now;
  }
}

std::optional<error> study_handle::pause() {
  return impl_->call<void>(repeating::yes, [this](session& x) {
    return x.study(id_).pauseRequest().send().ignoreResult();
  });
}

std::optional<error> study_handle::resume() {
  return impl_->call<void>(repeating::yes, [this](session& x) {
    return x.study(id_).resumeRequest().send().ignoreResult();
  });
}

std::optional<error> study_handle::stop() {
  return impl_->call<void>(repeating::yes, [this](session& x) {
    return x.study(id_).stopRequest().send().ignoreResult();
  });
}

std::optional<error> study_handle::cancel(const std::string& reason) {
  return impl_->call<void>(repeating::yes, [&](session& x) {
    auto request = x.study(id_).cancelRequest();
    request.setReason(reason);
    return request.send().ignoreResult();
  });
}

namespace {

template <class T>
void fill(typename capnp::List<T>::Builder to, const auto& from) {
  for (unsigned i = 0; i < to.size(); ++i)
    to.set(i, from[i]);
}

} // namespace

expected<std::uint64_t>
study_handle::retry(const std::vector<std::uint64_t>& trials, bool all) {
  return impl_->call<std::uint64_t>(repeating::no, [&](session& x) {
    auto request = x.study(id_).retryRequest();
    fill<std::uint64_t>(
      request.initTrials(static_cast<unsigned>(trials.size())), trials);
    request.setAll(all);
    return request.send().then(
      [](auto&& answer) -> std::uint64_t { return answer.getTrials(); });
  });
}

std::optional<error> study_handle::set_weight(double weight) {
  return impl_->call<void>(repeating::yes, [this, weight](session& x) {
    auto request = x.study(id_).setWeightRequest();
    request.setWeight(weight);
    return request.send().ignoreResult();
  });
}

namespace {

/// Returns what sends a change of a study. @param fill fills in a Steering
template <class F>
auto steering(std::uint64_t study, F fill) {
  return [study, fill](session& x) {
    auto request = x.study(study).steerRequest();
    fill(request.initChange());
    return request.send().then(
      [](auto&& answer) -> std::uint64_t { return answer.getTrials(); });
  };
}

} // namespace

expected<std::uint64_t> study_handle::extend(const study_extension& more) {
  return impl_->call<std::uint64_t>(
    repeating::no, steering(id_, [more](schema::Steering::Builder change) {
      auto to = change.initExtend();
      to.setTrials(more.trials);
      to.setSeconds(more.seconds);
      to.setDeadlineSeconds(more.deadline_seconds);
      to.setDeviceSeconds(more.device_seconds);
      to.setCost(more.cost);
      to.setBudgetSteps(more.budget_steps);
      to.setSteps(more.steps);
    }));
}

expected<std::uint64_t> study_handle::enqueue(const std::string& trials) {
  return impl_->call<std::uint64_t>(
    repeating::no, steering(id_, [&trials](schema::Steering::Builder change) {
      change.setEnqueue(trials);
    }));
}

expected<space_change_view> study_handle::set_space(const std::string& space,
                                                    bool dry_run) {
  return impl_->call<space_change_view>(
    repeating::no, [&, study = id_](session& x) {
      auto request = x.study(study).steerRequest();
      request.getChange().initSetSpace().setSpace(space);
      request.getChange().getSetSpace().setDryRun(dry_run);
      return request.send().then(
        [](auto&& answer) { return decode(answer.getSpace()); });
    });
}

expected<std::uint64_t> study_handle::tell_past(const std::string& results) {
  return impl_->call<std::uint64_t>(
    repeating::no, steering(id_, [&results](schema::Steering::Builder change) {
      change.setTellPast(results);
    }));
}

namespace {

/// Says why a call has failed, if it has.
std::optional<error> failure_of(const expected<std::uint64_t>& done) {
  return done ? std::nullopt : std::optional{done.failure()};
}

} // namespace

std::optional<error> study_handle::note(const study_note& change) {
  return failure_of(impl_->call<std::uint64_t>(
    repeating::no, steering(id_, [&](schema::Steering::Builder x) {
      auto to = x.initNote();
      to.setSetNote(change.text.has_value());
      to.setNote(change.text.value_or(""));
      fill<capnp::Text>(
        to.initAddTags(static_cast<unsigned>(change.added_tags.size())),
        change.added_tags);
      fill<capnp::Text>(
        to.initRemoveTags(static_cast<unsigned>(change.removed_tags.size())),
        change.removed_tags);
    })));
}

std::optional<error>
study_handle::remove(const std::vector<std::uint64_t>& trials) {
  return failure_of(impl_->call<std::uint64_t>(
    repeating::no, steering(id_, [&trials](schema::Steering::Builder change) {
      fill<std::uint64_t>(
        change.initRemove().initTrials(static_cast<unsigned>(trials.size())),
        trials);
    })));
}

std::optional<error>
study_handle::restore(const std::vector<std::uint64_t>& trials) {
  return failure_of(impl_->call<std::uint64_t>(
    repeating::no, steering(id_, [&trials](schema::Steering::Builder change) {
      fill<std::uint64_t>(
        change.initRestore().initTrials(static_cast<unsigned>(trials.size())),
        trials);
    })));
}

expected<std::string> study_handle::export_json() {
  using part = std::pair<std::string, std::string>; // and what follows it
  std::string result, after;
  do {
    auto next = impl_->call<part>(repeating::yes, [&, this](session& x) {
      auto request = x.study(id_).exportRequest();
      request.setAfter(after);
      return request.send().then([](auto&& answer) {
        const std::string json = answer.getJson();
        const std::string behind = answer.getNext();
        return part{json, behind};
      });
    });
    if (!next)
      return next.failure();
    result += next->first;
    after = std::move(next->second);
  } while (!after.empty());
  return result;
}

expected<importance_view> study_handle::importance(step_t step,
                                                   const std::string& metric) {
  return impl_->call<importance_view>(repeating::yes, [&, this](session& x) {
    auto request = x.study(id_).importanceRequest();
    request.setStep(step);
    request.setMetric(metric);
    return request.send().then(
      [](auto&& answer) { return decode(answer.getImportance()); });
  });
}

expected<std::string> study_handle::columns(const std::string& kind) {
  const auto found = std::ranges::find(column_kinds, kind);
  if (found == column_kinds.end())
    return error{errc::invalid_argument, "there are no columns '" + kind + "'"};
  return impl_->call<std::string>(repeating::yes, [&](session& x) {
    auto request = x.study(id_).columnsRequest();
    request.setKind(
      static_cast<schema::ColumnKind>(found - column_kinds.begin()));
    return request.send().then(
      [](auto&& answer) -> std::string { return answer.getJson(); });
  });
}

expected<asked_trial> study_handle::ask(const std::string& params) {
  return impl_->call<asked_trial>(repeating::no, [&](session& x) {
    auto request = x.study(id_).askRequest();
    request.setParams(params);
    return request.send().then([](auto&& answer) {
      return asked_trial{answer.getTrial(), answer.getParams()};
    });
  });
}

namespace {

/// Returns what sends a wish to train.
auto training(std::uint64_t study, std::uint64_t trial, step_t until) {
  return [study, trial, until](session& x) {
    auto request = x.study(study).trainRequest();
    request.setTrial(trial);
    request.setStep(until);
    return request.send().then(
      [](auto&& answer) { return decode(answer.getTrained()); });
  };
}

} // namespace

expected<trained_trial> study_handle::train(std::uint64_t trial,
                                            step_t until) {
  return impl_->call<trained_trial>(repeating::yes,
                                    training(id_, trial, until));
}

void study_handle::start(std::uint64_t trial, step_t until) {
  {
    const std::lock_guard lock{answers_->mutex};
    ++answers_->in_flight;
  }
  impl_->begin<trained_trial>(
    repeating::yes, training(id_, trial, until),
    [to = answers_](expected<trained_trial> x) {
      const std::lock_guard lock{to->mutex};
      to->list.push_back(std::move(x));
      to->came.notify_one();
    });
}

expected<trained_trial> study_handle::next() {
  std::unique_lock lock{answers_->mutex};
  if (answers_->in_flight == 0)
    return error{errc::invalid_argument,
                 "no trial is in flight: start one first"};
  --answers_->in_flight;
  answers_->came.wait(lock, [this] { return !answers_->list.empty(); });
  auto result = std::move(answers_->list.front());
  answers_->list.pop_front();
  return result;
}

std::optional<error> study_handle::tell(std::uint64_t trial,
                                        const trial_outcome& outcome) {
  return impl_->call<void>(repeating::no, [&](session& x) {
    auto request = x.study(id_).tellRequest();
    request.setTrial(trial);
    fill(request.initOutcome(), outcome);
    return request.send().ignoreResult();
  });
}

std::optional<error> study_handle::close() {
  return impl_->call<void>(repeating::yes, [this](session& x) {
    return x.study(id_).closeRequest().send().ignoreResult();
  });
}

expected<output_part> study_handle::output(std::uint64_t trial, step_t first) {
  return impl_->call<output_part>(repeating::yes, [=, this](session& x) {
    auto request = x.study(id_).outputRequest();
    request.setTrial(trial);
    request.setFromStep(first);
    return request.send().then([](auto&& answer) {
      return output_part{answer.getText(), answer.getNextStep(),
                         answer.getEnded()};
    });
  });
}

namespace {

std::string bytes_of(capnp::Data::Reader x) {
  const auto chars = x.asChars();
  return {chars.begin(), chars.end()};
}

} // namespace

expected<weights_summary>
study_handle::weights(std::uint64_t trial, step_t step,
                      const std::vector<std::string>& without) {
  return impl_->call<weights_summary>(repeating::yes, [&](session& x) {
    auto request = x.study(id_).weightsRequest();
    request.setTrial(trial);
    request.setStep(step);
    fill<capnp::Text>(
      request.initWithout(static_cast<unsigned>(without.size())), without);
    return request.send().then([](auto&& answer) {
      return weights_summary{bytes_of(answer.getRecipe()),
                             bytes_of(answer.getCode()), answer.getKind()};
    });
  });
}

expected<std::string> study_handle::checkpoint_part(const std::string& file,
                                                    std::uint64_t offset) {
  return impl_->call<std::string>(repeating::yes, [&](session& x) {
    auto request = x.study(id_).checkpointRequest();
    request.setFile(file);
    request.setOffset(offset);
    return request.send().then(
      [](auto&& answer) { return bytes_of(answer.getContent()); });
  });
}

} // namespace hippo
