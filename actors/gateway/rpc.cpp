#include "gateway/rpc.hpp"

#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include <spdlog/spdlog.h>

#include "gateway/client_books.hpp"
#include "gateway/http_json.hpp"
#include "gateway/rpc_answers.hpp"
#include "gateway/rpc_steering.hpp"
#include "hippo/base/number.hpp"
#include "hippo/net/wire/codec.hpp"

namespace hippo {

namespace {

using verb = study_command::verb;
using json = nlohmann::ordered_json;

std::string to_string(capnp::Text::Reader x) { return {x.cStr(), x.size()}; }

kj::Exception refuse(std::string why) {
  return to_exception({errc::invalid_argument, std::move(why)});
}

kj::Exception too_long(const char* what, std::size_t bytes, std::size_t most) {
  return refuse(std::string{what} + " may have at most " + std::to_string(most)
                + " bytes, not " + std::to_string(bytes));
}

// -- a study ------------------------------------------------------------------

class study_server final : public schema::Study::Server {
public:
  study_server(query_service& answers, kj::Own<client_books> calls,
               study_id id)
    : queries_(answers), calls_(kj::mv(calls)), id_(id) {
    calls_->add_study();
  }
  KJ_DISALLOW_COPY(study_server);
  ~study_server() { calls_->remove_study(); }

  kj::Promise<void> describe(DescribeContext context) override {
    return call(context, listing_bytes_guess, [this, context]() mutable {
      return queries_.describe(id_).then([context](described_study x) mutable {
        auto to = context.getResults();
        fill(to.initInfo(), x.view);
        to.setText(to_text(x.text));
      });
    });
  }

  kj::Promise<void> trials(TrialsContext context) override {
    return call(context, listing_bytes_guess, [this, context]() mutable {
      const auto params = context.getParams();
      return queries_.trials(id_, params.getFirst(), params.getMost())
        .then([context](std::vector<trial_view> xs) mutable {
          fill_all(context.getResults().initTrials(count(xs.size())), xs);
        });
    });
  }

  kj::Promise<void> best(BestContext context) override {
    return call(context, small_bytes_guess, [this, context]() mutable {
      return queries_.best(id_).then([context](trial_view x) mutable {
        fill(context.getResults().initTrial(), x);
      });
    });
  }

  kj::Promise<void> events(EventsContext context) override {
    context.allowCancellation();
    const auto params = context.getParams();
    const auto after = params.getAfter();
    const auto most = params.getMost();
    const auto until = queries_.deadline(params.getWaitMillis());
    const auto seen = std::make_shared<std::uint64_t>(0);
    const auto look = [=, this]() mutable {
      *seen = queries_.news();
      return queries_.events(id_, after, most)
        .then([=, this](events_view x) mutable {
          if (x.events.empty() && !x.study_has_ended
              && queries_.timer().now() < until)
            return false;
          auto to = context.getResults();
          fill_all(to.initEvents(count(x.events.size())), x.events);
          to.setNext(x.events.empty() ? after : x.events.back().id);
          to.setEnded(x.study_has_ended);
          return true;
        });
    };
    return calls_->admit_waiting(events_bytes_guess, context, look, [=, this] {
      return queries_.news_after(*seen, until);
    });
  }

  kj::Promise<void> wait(WaitContext context) override {
    context.allowCancellation();
    const auto until = queries_.deadline(context.getParams().getWaitMillis());
    const auto seen = std::make_shared<std::uint64_t>(0);
    const auto look = [=, this]() mutable {
      *seen = queries_.news();
      return queries_.find(to_string(id_))
        .then([=, this](stored_study x) mutable -> kj::Promise<bool> {
          if (!has_ended(x.state) && queries_.timer().now() < until)
            return false;
          return queries_.describe(id_).then(
            [context](const described_study& y) mutable {
              fill(context.getResults().initInfo(), y.view);
              return true;
            });
        });
    };
    return calls_->admit_waiting(small_bytes_guess, context, look, [=, this] {
      return queries_.news_after(*seen, until);
    });
  }

  kj::Promise<void> pause(PauseContext context) override {
    return order(context, verb::pause);
  }
  kj::Promise<void> resume(ResumeContext context) override {
    return order(context, verb::resume);
  }
  kj::Promise<void> stop(StopContext context) override {
    return order(context, verb::stop);
  }
  kj::Promise<void> cancel(CancelContext context) override {
    return order(context, verb::cancel, 0,
                 to_string(context.getParams().getReason()));
  }
  kj::Promise<void> retry(RetryContext context) override {
    const auto params = context.getParams();
    json said{{"all", params.getAll()}};
    for (const auto no : params.getTrials())
      said["trials"].push_back(no);
    return command(context, {verb::retry, 0, 0, said.dump(), 0},
                   [context](const command_answer& x) mutable {
                     context.getResults().setTrials(x.retried);
                   });
  }
  kj::Promise<void> setWeight(SetWeightContext context) override {
    const auto weight = context.getParams().getWeight();
    return order(context, verb::weight, 0, hippo::to_text(weight));
  }
  kj::Promise<void> steer(SteerContext context) override {
    return command(context, steering_of(context.getParams().getChange()),
                   [context](const command_answer& x) mutable {
                     context.getResults().setTrials(x.trials);
                     fill(context.getResults().initSpace(), x.space);
                   });
  }
  kj::Promise<void> close(CloseContext context) override {
    return order(context, verb::close);
  }

  kj::Promise<void> export_(ExportContext context) override {
    return call(context, export_bytes_guess, [this, context]() mutable {
      return queries_
        .export_part(calls_->work(), id_,
                     to_string(context.getParams().getAfter()))
        .then([context](const exported_part& x) mutable {
          auto to = context.getResults();
          to.setJson(to_text(x.text));
          to.setNext(to_text(x.next));
        });
    });
  }

  kj::Promise<void> importance(ImportanceContext context) override {
    return call(context, listing_bytes_guess, [this, context]() mutable {
      const auto asked = context.getParams();
      return queries_.importance(calls_->work(), id_, asked.getStep(),
                                 to_string(asked.getMetric()))
        .then([context](const importance_view& x) mutable {
          fill(context.getResults().initImportance(), x);
        });
    });
  }

  kj::Promise<void> columns(ColumnsContext context) override {
    const auto kind
      = static_cast<std::size_t>(context.getParams().getKind());
    if (kind >= column_kinds.size())
      return refuse("this service knows no columns of kind "
                    + std::to_string(kind) + ": upgrade it");
    return call(context, export_bytes_guess,
                [this, context, what = column_kinds[kind]]() mutable {
                  const auto after = context.getParams().getAfter();
                  return queries_.columns(id_, what, after)
                    .then([context](const packed_body& x) mutable {
                      context.getResults().setJson(to_text(x.plain));
                    });
                });
  }

  kj::Promise<void> output(OutputContext context) override {
    return call(context, listing_bytes_guess, [this, context]() mutable {
      const auto params = context.getParams();
      return queries_.output(id_, params.getTrial(), params.getFromStep())
        .then([context](trial_output x) mutable {
          auto to = context.getResults();
          to.setText(to_text(x.text));
          to.setNextStep(x.next);
          to.setEnded(x.ended);
        });
    });
  }

  kj::Promise<void> weights(WeightsContext context) override {
    return call(context, listing_bytes_guess, [this, context]() mutable {
      const auto params = context.getParams();
      std::set<std::string> without;
      for (const auto x : params.getWithout())
        without.insert(to_string(x));
      return queries_
        .weights(id_, params.getTrial(), params.getStep(), std::move(without))
        .then([context](const weights_recipe& x) mutable {
          auto to = context.getResults();
          to.setRecipe(encode(x.path).words().asBytes());
          to.setCode(to_text(x.code).asBytes());
          to.setKind(to_text(x.kind));
        });
    });
  }

  kj::Promise<void> checkpoint(CheckpointContext context) override {
    return call(context, checkpoint_bytes_per_call_max,
                [this, context]() mutable {
                  const auto x = context.getParams();
                  return queries_
                    .checkpoint_part(id_, to_string(x.getFile()), x.getOffset())
                    .then([context](const std::string& part) mutable {
                      context.getResults().setContent(to_text(part).asBytes());
                    });
                });
  }

  kj::Promise<void> ask(AskContext context) override {
    auto params = to_string(context.getParams().getParams());
    return command(context, {verb::ask, 0, 0, std::move(params), 0},
                   [context](const command_answer& x) mutable {
                     auto to = context.getResults();
                     to.setTrial(x.trial);
                     to.setParams(to_text(x.params.dump()));
                   });
  }

  kj::Promise<void> train(TrainContext context) override {
    return call(context, [this, context]() mutable {
      const auto params = context.getParams();
      return queries_.train(id_, params.getTrial(), params.getStep())
        .then([context](const trained_trial& x) mutable {
          fill(context.getResults().initTrained(), x);
        });
    });
  }

  kj::Promise<void> tell(TellContext context) override {
    const auto params = context.getParams();
    const auto outcome = params.getOutcome();
    json said{{"state", to_string(outcome.getState())}};
    if (outcome.getValue().isValue()) {
      const auto value = outcome.getValue().getValue();
      if (std::isinf(value))
        return refuse("a measured value must not be infinite");
      if (!std::isnan(value)) // which is as good as none
        said["value"] = value;
    }
    return order(context, verb::tell, params.getTrial(),
                 said.dump(-1, ' ', false, json::error_handler_t::replace),
                 outcome.getStep());
  }

private:
  template <class Context, class F>
  kj::Promise<void> call(Context& context, F&& f) {
    context.allowCancellation();
    return calls_->admit(context, std::forward<F>(f));
  }

  /// The same for an answer that may be long.
  template <class Context, class F>
  kj::Promise<void> call(Context& context, std::size_t bytes, F&& f) {
    context.allowCancellation();
    return calls_->admit(bytes, context, std::forward<F>(f));
  }

  /// Has a command carried out.
  /// @param tell fills in the answer
  template <class Context, class F>
  kj::Promise<void> command(Context& context, study_command x, F tell) {
    if (const auto most = text_bytes_max(x.what); x.text.size() > most)
      return too_long("this text", x.text.size(), most);
    spdlog::debug("gateway: RPC {} of study {}", to_string(x.what),
                  number_of(id_));
    return call(context, [&] {
      return queries_.command(calls_->work(), id_, std::move(x))
        .then([tell](command_answer y) mutable { tell(y); });
    });
  }

  /// The same without an answer.
  template <class Context>
  kj::Promise<void> order(Context& context, verb what, trial_no trial = 0,
                          std::string text = {}, step_t at = 0) {
    return command(context, {what, trial, at, std::move(text), 0},
                   [](const command_answer&) {});
  }

  query_service& queries_;
  kj::Own<client_books> calls_;
  study_id id_;
};

// -- the service --------------------------------------------------------------

class service_server final : public schema::Service::Server {
public:
  service_server(query_service& answers, const gateway_limits& limits,
                 kj::Own<client_connection> whose, const depot& files,
                 std::string host)
    : queries_(answers), calls_(kj::refcounted<client_books>(
                           limits, kj::mv(whose), answers.enter())),
      files_(files), host_(std::move(host)) {}

  kj::Promise<void> submit(SubmitContext context) override {
    if (auto why = calls_->refusal_of_study())
      return to_exception(std::move(*why));
    return with_text(context, [&](auto... xs) {
      return queries_.submit(calls_->work(), std::move(xs)...)
        .then([this, context](query_service::submitted x) mutable {
          auto to = context.getResults();
          to.setStudy(study_of(x.id));
          to.setId(number_of(x.id));
          fill(to.initWarnings(count(x.warnings.size())), x.warnings);
          fill(to.initNotes(count(x.notes.size())), x.notes);
        });
    });
  }

  kj::Promise<void> study(StudyContext context) override {
    context.allowCancellation();
    if (auto why = calls_->refusal_of_study())
      return to_exception(std::move(*why));
    auto name = to_string(context.getParams().getIdOrName());
    return calls_->admit(small_bytes_guess, context, [=, this]() mutable {
      return queries_.find(name)
        .then([this, context](stored_study x) mutable {
          auto to = context.getResults();
          to.setStudy(study_of(x.id));
          to.setId(number_of(x.id));
        });
    });
  }

  kj::Promise<void> list(ListContext context) override {
    context.allowCancellation();
    return calls_->admit(
      listing_bytes_guess, context, [this, context]() mutable {
        return queries_.list(context.getParams().getRemoved())
          .then([context](std::vector<study_view> xs) mutable {
            fill_all(context.getResults().initStudies(count(xs.size())), xs);
          });
      });
  }

  kj::Promise<void> trainers(TrainersContext context) override {
    context.allowCancellation();
    return calls_->admit(listing_bytes_guess, context, [this, context] {
      return queries_.trainers().then(
        [context](std::vector<trainer_view> xs) mutable {
          fill_all(context.getResults().initTrainers(count(xs.size())), xs);
        });
    });
  }

  kj::Promise<void> demand(DemandContext context) override {
    context.allowCancellation();
    return calls_->admit(listing_bytes_guess, context, [this, context] {
      return queries_.demand().then([context](const demand_view& x) mutable {
        fill(context.getResults().initDemand(), x);
      });
    });
  }

  kj::Promise<void> preview(PreviewContext context) override {
    context.allowCancellation();
    return with_text(context, [&](auto... xs) {
      return queries_.preview(calls_->work(), std::move(xs)..., 0)
        .then([context](const preview_view& x) mutable {
          fill(context.getResults().initPreview(), x);
        });
    });
  }

  kj::Promise<void> timeline(TimelineContext context) override {
    context.allowCancellation();
    return calls_->admit(listing_bytes_guess, context, [this, context] {
      return queries_.trees().then(
        [context](const std::vector<merger_overview>& xs) mutable {
          fill(context.getResults().initTimeline(), timeline_of(xs));
        });
    });
  }

  kj::Promise<void> timings(TimingsContext context) override {
    context.allowCancellation();
    return calls_->admit(listing_bytes_guess, context, [this, context] {
      return queries_.timings().then(
        [context](const std::vector<workload_timings_view>& xs) mutable {
          fill_all(context.getResults().initTimings(count(xs.size())), xs);
        });
    });
  }

  kj::Promise<void> logs(LogsContext context) override {
    context.allowCancellation();
    const auto params = context.getParams();
    if (params.getTrainer() != 0)
      return refuse("there are no logs of single trainers yet: `trainer` must "
                    "be 0");
    const auto after = params.getAfter();
    return calls_->admit(small_bytes_guess, context, [this, context, after] {
      return queries_.logs(after)
        .then([context](query_service::log_part x) mutable {
          auto to = context.getResults();
          to.setText(to_text(x.text));
          to.setNext(x.next);
        });
    });
  }

  kj::Promise<void> sendInitial(SendInitialContext context) override {
    context.allowCancellation();
    return calls_->admit(context, [this, context]() mutable {
      const auto params = context.getParams();
      const initial_file file{to_string(params.getSha256()), params.getBytes()};
      auto to = context.getResults();
      to.setIsThere(files_.has_initial(file));
      if (to.getIsThere())
        return kj::Promise<void>{kj::READY_NOW};
      if (auto why = queries_.refusal_of_files())
        return kj::Promise<void>{to_exception(std::move(*why))};
      auto taker = files_.take_initial(host_, file);
      if (!taker)
        return kj::Promise<void>{to_exception(taker.failure())};
      to.setUpload(schema::Upload::Client{kj::mv(*taker)});
      return kj::Promise<void>{kj::READY_NOW};
    });
  }

private:
  /// Calls `f` with the text of a study and its name, unless they are too long.
  template <class Context, class F>
  kj::Promise<void> with_text(Context& context, F&& f) {
    const auto text = context.getParams().getText();
    const auto name = context.getParams().getName();
    if (text.size() > study_text_bytes_max)
      return too_long("a study file", text.size(), study_text_bytes_max);
    if (name.size() > client_name_bytes_max)
      return too_long("its name", name.size(), client_name_bytes_max);
    return calls_->admit(context, [&] {
      return f(to_string(text), to_string(name));
    });
  }

  schema::Study::Client study_of(study_id id) {
    return kj::heap<study_server>(queries_, kj::addRef(*calls_), id);
  }

  query_service& queries_;
  kj::Own<client_books> calls_; ///< of this client, whatever it calls
  const depot& files_;
  const std::string host_; ///< of the client
};

// -- the entrance -------------------------------------------------------------

class entrance_server final : public schema::Entrance::Server {
public:
  entrance_server(query_service& answers, peer_role role,
                  const gateway_limits& limits,
                  kj::Own<client_connection> whose, const hippo::depot& files,
                  std::string host)
    : queries_(answers), role_(role), limits_(limits), whose_(kj::mv(whose)),
      files_(files), host_(std::move(host)),
      depot_(files.for_connection(host_)) {}

  kj::Promise<void> depot(DepotContext context) override {
    if (role_ == peer_role::client)
      return to_exception({errc::not_allowed,
                           "this certificate is a client's: it lets nobody "
                           "read or write checkpoints. Use a trainer's: hippo "
                           "keys add NAME --role trainer"});
    whose_->note_greeted();
    context.getResults().setDepot(depot_);
    return kj::READY_NOW;
  }

  kj::Promise<void> greet(GreetContext context) override {
    const auto params = context.getParams();
    const auto protocol = params.getProtocol();
    constexpr auto mine = schema::SERVICE_PROTOCOL_VERSION;
    if (protocol != mine)
      return to_exception(
        {errc::incompatible_version,
         std::string{"this service speaks version "} + std::to_string(mine)
           + " of the protocol (hippo " HIPPO_VERSION
             ") and the client version "
           + std::to_string(protocol) + ": upgrade the "
           + (protocol < mine
                ? "client to the service's release (pip install --upgrade "
                  "hippo-hpo, or the program hippo)"
                : "service to the client's release (stop it, install that, and "
                  "run hippo serve again)")});
    if (role_ == peer_role::trainer)
      return to_exception({errc::not_allowed,
                           "this certificate is a trainer's: it lets nobody "
                           "ask about studies. Use a client's: hippo keys add "
                           "NAME --role client"});
    const auto client = params.getClient();
    if (client.size() > client_name_bytes_max)
      return too_long("the name of a client", client.size(),
                      client_name_bytes_max);
    whose_->note_greeted();
    spdlog::info("gateway: a client has come in: {}",
                 json(to_string(client))
                   .dump(-1, ' ', true, json::error_handler_t::replace));
    auto to = context.getResults();
    if (!service_)
      service_ = schema::Service::Client{kj::heap<service_server>(
        queries_, limits_, kj::addRef(*whose_), files_, host_)};
    to.setService(*service_);
    auto info = to.initInfo();
    info.setProtocol(mine);
    info.setVersion(HIPPO_VERSION);
    info.setState(to_text(queries_.state()));
    return kj::READY_NOW;
  }

private:
  query_service& queries_;
  peer_role role_;
  gateway_limits limits_;
  kj::Own<client_connection> whose_;
  const hippo::depot& files_;
  const std::string host_;
  schema::Depot::Client depot_;
  std::optional<schema::Service::Client> service_; ///< one a connection
};

class closed_entrance final : public schema::Entrance::Server {
public:
  explicit closed_entrance(error why) : why_(std::move(why)) {}
  kj::Promise<void> greet(GreetContext) override { return to_exception(why_); }
  kj::Promise<void> depot(DepotContext) override { return to_exception(why_); }

private:
  error why_;
};

} // namespace

schema::Entrance::Client make_entrance(query_service& answers, peer_role role,
                                       const gateway_limits& limits,
                                       kj::Own<client_connection> whose,
                                       const depot& files, std::string host) {
  return kj::heap<entrance_server>(answers, role, limits, kj::mv(whose), files,
                                   std::move(host));
}

schema::Entrance::Client make_closed_entrance(error why) {
  return kj::heap<closed_entrance>(std::move(why));
}

} // namespace hippo
