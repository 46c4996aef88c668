#include "client/fake_service.hpp"

#include <future>
#include <list>
#include <thread>

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <service.capnp.h>

#include "hippo/model/view/view_wire.hpp"

// Cap'n Proto counts references to servers: nobody deletes one by its base.
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

namespace hippo {

namespace {

[[noreturn]] void refuse(const std::string& text) {
  kj::throwFatalException(kj::Exception(kj::Exception::Type::FAILED, __FILE__,
                                        __LINE__, kj::str(text.c_str())));
}

double value_of(std::uint64_t trial, step_t step) {
  return 0.5 + 0.1 * static_cast<double>(trial)
         + 0.01 * static_cast<double>(step);
}

std::string name_in(const std::string& text) {
  const std::string key = "study: ";
  const auto begin = text.find(key);
  if (begin == text.npos)
    refuse("invalid_study: x.yaml:1:1: study: is missing\n"
           "x.yaml:2:1: space: is missing");
  const auto from = begin + key.size();
  return text.substr(from, text.find_first_of("\n,}", from) - from);
}

/// Lets methods see the model, and its connections be cut.
struct fake_context {
  fake_model& model;
  kj::Timer& timer;
  std::function<void()> cut;

  /// Counts a call, and does what the model has for it.
  void enter(const std::string& method) {
    ++model.calls[method];
    if (const auto i = model.failures.find(method); i != model.failures.end())
      refuse(i->second);
  }

  /// To be called when a method has done its work.
  void leave(const std::string& method) {
    if (auto& left = model.cuts[method]; left > 0) {
      --left;
      cut();
    }
  }

  template <class Work>
  void run(const std::string& method, const Work& work) {
    const std::lock_guard lock{model.mutex};
    enter(method);
    work();
    leave(method);
  }
};

class fake_study_server final : public schema::Study::Server {
public:
  fake_study_server(fake_context& x, std::uint64_t id) : x_(x), id_(id) {}

  kj::Promise<void> describe(DescribeContext call) override {
    x_.run("describe", [&] {
      auto out = call.getResults();
      fill(out.initInfo(), study().info);
      out.setText(study().text);
    });
    return kj::READY_NOW;
  }

  kj::Promise<void> trials(TrialsContext call) override {
    x_.run("trials", [&] {
      const auto first = call.getParams().getFirst();
      const auto& all = study().trials;
      const std::size_t most = std::min(call.getParams().getMost(), 1000U);
      const auto begin = std::min<std::size_t>(first, all.size());
      const auto size = std::min(most, all.size() - begin);
      auto out = call.getResults().initTrials(static_cast<unsigned>(size));
      for (unsigned i = 0; i < size; ++i)
        fill(out[i], all[begin + i]);
    });
    return kj::READY_NOW;
  }

  kj::Promise<void> best(BestContext call) override {
    x_.run("best", [&] {
      if (!study().info.best)
        refuse("invalid_argument: study '" + study().info.name
               + "' has no result yet");
      fill(call.getResults().initTrial(), *study().info.best);
    });
    return kj::READY_NOW;
  }

  kj::Promise<void> events(EventsContext call) override {
    x_.run("events", [&] {
      const auto after = call.getParams().getAfter();
      const auto most = call.getParams().getMost();
      auto& here = study();
      if (here.events.empty() || here.events.back().id <= after)
        x_.model.go_on(here);
      std::vector<event_view> page;
      for (const auto& y : here.events)
        // Little at a time, so that there is more than one page.
        if (y.id > after && page.size() < std::min(most, 3U))
          page.push_back(y);
      auto results = call.getResults();
      auto out = results.initEvents(static_cast<unsigned>(page.size()));
      for (unsigned i = 0; i < page.size(); ++i)
        fill(out[i], page[i]);
      const auto next = page.empty() ? after : page.back().id;
      results.setNext(next);
      results.setEnded(has_ended(here.info)
                       && (here.events.empty()
                           || here.events.back().id == next));
    });
    return kj::READY_NOW;
  }

  kj::Promise<void> wait(WaitContext call) override {
    bool waits = false;
    x_.run("wait", [&] {
      x_.model.go_on(study());
      fill(call.getResults().initInfo(), study().info);
      waits = study().info.finished == 0 && !has_ended(study().info);
    });
    // Nothing happens to a slow study, but nobody is to ask without a pause.
    if (waits)
      return x_.timer.afterDelay(20 * kj::MILLISECONDS);
    return kj::READY_NOW;
  }

  kj::Promise<void> pause(PauseContext) override {
    return change("pause", [](study_view& x) { x.state = "PAUSED"; });
  }
  kj::Promise<void> resume(ResumeContext) override {
    return change("resume", [](study_view& x) { x.state = "RUNNING"; });
  }
  kj::Promise<void> stop(StopContext) override {
    return change("stop", [](study_view& x) { x.state = "STOPPING"; });
  }
  kj::Promise<void> cancel(CancelContext call) override {
    const std::string reason = call.getParams().getReason();
    return change("cancel", [&](study_view& x) {
      x.state = "CANCELLED";
      x.reason = reason;
    });
  }
  kj::Promise<void> setWeight(SetWeightContext call) override {
    const auto weight = call.getParams().getWeight();
    return change("setWeight", [&](study_view& x) {
      if (!(weight > 0))
        refuse("invalid_argument: a weight is above 0");
      x.weight = weight;
    });
  }

  kj::Promise<void> steer(SteerContext call) override {
    x_.run("steer", [&] {
      const auto change = call.getParams().getChange();
      const std::string said = change.isEnqueue()  ? change.getEnqueue()
                               : change.isTellPast() ? change.getTellPast()
                                                     : "";
      if (said.find("refuse") != std::string::npos)
        refuse("invalid_argument: trials[0].refuse: " + said);
      auto& known = study().info.trials;
      auto& info = study().info;
      if (change.isSetSpace()) {
        const auto x = change.getSetSpace();
        if (std::string{x.getSpace()}.find("refuse") != std::string::npos)
          refuse("invalid_argument: space.refuse: is unknown");
        auto to = call.getResults().initSpace();
        auto first = to.initChanges(3);
        first[0].setName("dropout");
        first[0].setAfter("{\"uniform\":[0,0.5]}");
        first[1].setName("lr");
        first[1].setBefore("0.1");
        first[1].setAfter("0.2");
        first[2].setName("momentum");
        first[2].setBefore("0.9");
        to.setReplaced(x.getDryRun() ? 12 : 1);
        to.setLearned(3);
        to.setTrials(known);
      }
      if (change.isNote()) {
        const auto x = change.getNote();
        if (x.getSetNote())
          info.note = x.getNote();
        for (const auto tag : x.getAddTags())
          info.tags.emplace_back(tag);
        for (const auto tag : x.getRemoveTags())
          std::erase(info.tags, std::string{tag});
      }
      if (change.isRemove() || change.isRestore()) {
        const auto trials = change.isRemove() ? change.getRemove().getTrials()
                                              : change.getRestore().getTrials();
        for (const auto trial : trials)
          if (trial >= known)
            refuse("invalid_argument: study mnist has no trial "
                   + std::to_string(trial));
        if (trials.size() == 0)
          info.removed = change.isRemove();
      }
      if (change.isExtend())
        known += change.getExtend().getTrials();
      else if (change.isEnqueue())
        ++known;
      call.getResults().setTrials(known);
    });
    return kj::READY_NOW;
  }

  kj::Promise<void> export_(ExportContext call) override {
    x_.run("export", [&] {
      const auto whole = "{\"name\": \"" + study().info.name + "\"}";
      auto to = call.getResults();
      const bool is_first = call.getParams().getAfter().size() == 0;
      to.setJson(is_first ? whole.substr(0, 5) : whole.substr(5));
      to.setNext(is_first ? "5" : "");
    });
    return kj::READY_NOW;
  }

  kj::Promise<void> importance(ImportanceContext call) override {
    x_.run("importance", [&] {
      if (call.getParams().getStep() > 3)
        refuse("invalid_argument: nothing was measured at that step");
      importance_view x;
      x.study = "mnist";
      x.metric = "val_accuracy";
      x.direction = direction::maximize;
      x.step = 3;
      x.trials = 20;
      x.best = 2;
      x.importance = {{"lr", 0.3, 0.75, 20}, {"momentum", 0.1, 0.25, 12}};
      x.constant = {"batch_size"};
      fill(call.getResults().initImportance(), x);
    });
    return kj::READY_NOW;
  }

  kj::Promise<void> ask(AskContext call) override {
    x_.run("ask", [&] {
      auto& list = study().trials;
      trial_view trial;
      trial.trial = list.size();
      trial.params = call.getParams().getParams();
      if (trial.params.empty())
        trial.params = R"({"lr": 0.25})";
      auto out = call.getResults();
      out.setTrial(trial.trial);
      out.setParams(trial.params);
      list.push_back(std::move(trial));
      ++study().info.trials;
    });
    return kj::READY_NOW;
  }

  kj::Promise<void> train(TrainContext call) override {
    const auto trial = call.getParams().getTrial();
    const auto until = call.getParams().getStep();
    x_.run("train", [&] {
      if (trial >= study().trials.size())
        refuse("invalid_argument: there is no trial "
               + std::to_string(trial));
    });
    return answer_train(trial, until, call);
  }

  kj::Promise<void> tell(TellContext call) override {
    x_.run("tell", [&] {
      auto& trial = study().trials.at(call.getParams().getTrial());
      const auto outcome = decode(call.getParams().getOutcome());
      trial.state = outcome.state;
      if (outcome.value)
        trial.best = best_measurement{*outcome.value, outcome.step};
      ++study().info.finished;
    });
    return kj::READY_NOW;
  }

  kj::Promise<void> close(CloseContext) override {
    return change("close", [](study_view& x) { x.state = "COMPLETE"; });
  }

private:
  fake_study& study() { return x_.model.studies.at(id_ - 1); }

  template <class Change>
  kj::Promise<void> change(const std::string& method, const Change& change) {
    x_.run(method, [&] { change(study().info); });
    return kj::READY_NOW;
  }

  kj::Promise<void> answer_train(std::uint64_t trial, step_t until,
                                 TrainContext call) {
    {
      const std::lock_guard lock{x_.model.mutex};
      if (x_.model.trains) {
        study().trials[trial].delivered_steps = until;
        fill(call.getResults().initTrained(),
             trained_trial{trial, trial_state::paused, until,
                           {{"val_accuracy", value_of(trial, until)}}, ""});
        return kj::READY_NOW;
      }
    }
    return x_.timer.afterDelay(1 * kj::MILLISECONDS)
      .then([this, trial, until, call]() mutable {
        return answer_train(trial, until, kj::mv(call));
      });
  }

  fake_context& x_;
  std::uint64_t id_;
};

class fake_service_server final : public schema::Service::Server {
public:
  explicit fake_service_server(fake_context& x) : x_(x) {}

  kj::Promise<void> submit(SubmitContext call) override {
    x_.run("submit", [&] {
      const auto id = x_.model.add(call.getParams().getText()).info.id;
      auto out = call.getResults();
      out.setId(id);
      out.setStudy(kj::heap<fake_study_server>(x_, id));
      out.initWarnings(1).set(0, kj::str(call.getParams().getName(),
                                         ":1:1: is a fake"));
      out.initNotes(1).set(0, kj::str(call.getParams().getName(),
                                      ":2:1: grid, as it is a fake"));
    });
    return kj::READY_NOW;
  }

  kj::Promise<void> study(StudyContext call) override {
    x_.run("study", [&] {
      const std::string wanted = call.getParams().getIdOrName();
      std::uint64_t id = 0;
      for (const auto& y : x_.model.studies)
        if (y.info.name == wanted || std::to_string(y.info.id) == wanted)
          id = y.info.id;
      if (id == 0)
        refuse("unknown_study: no study '" + wanted
               + "', did you mean 'mnist'?");
      call.getResults().setId(id);
      call.getResults().setStudy(kj::heap<fake_study_server>(x_, id));
    });
    return kj::READY_NOW;
  }

  kj::Promise<void> list(ListContext call) override {
    x_.run("list", [&] {
      const auto& all = x_.model.studies;
      auto out =
        call.getResults().initStudies(static_cast<unsigned>(all.size()));
      for (unsigned i = 0; i < all.size(); ++i)
        fill(out[i], all[i].info);
    });
    return kj::READY_NOW;
  }

  kj::Promise<void> trainers(TrainersContext call) override {
    x_.run("trainers", [&] {
      const auto& all = x_.model.trainers;
      auto out =
        call.getResults().initTrainers(static_cast<unsigned>(all.size()));
      for (unsigned i = 0; i < all.size(); ++i)
        fill(out[i], all[i]);
    });
    return kj::READY_NOW;
  }

  kj::Promise<void> demand(DemandContext call) override {
    x_.run("demand", [&] {
      demand_view x;
      x.trainers = 3;
      x.work.push_back({"sum", {"test"}, {}, 1, 2, 40, {}, {}});
      x.connected.push_back({1, "alpha:100", "test", 0, 2.5});
      fill(call.getResults().initDemand(), x);
    });
    return kj::READY_NOW;
  }

  kj::Promise<void> preview(PreviewContext call) override {
    x_.run("preview", [&] {
      name_in(call.getParams().getText());
      preview_view x;
      x.trials = 3;
      x.full = {30, 30, 20, 1.5, 1, 5, 15};
      fill(call.getResults().initPreview(), x);
    });
    return kj::READY_NOW;
  }

  kj::Promise<void> logs(LogsContext call) override {
    x_.run("logs", [&] {
      const auto& log = x_.model.log;
      const auto after =
        std::min<std::size_t>(call.getParams().getAfter(), log.size());
      // Little at a time, so that there is more than one part.
      const auto part = log.substr(after, 16);
      call.getResults().setText(part);
      call.getResults().setNext(after + part.size());
    });
    return kj::READY_NOW;
  }

private:
  fake_context& x_;
};

class fake_entrance final : public schema::Entrance::Server {
public:
  explicit fake_entrance(fake_context& x) : x_(x) {}

  kj::Promise<void> greet(GreetContext call) override {
    x_.run("greet", [&] {
      auto out = call.getResults();
      out.setService(kj::heap<fake_service_server>(x_));
      auto info = out.initInfo();
      info.setProtocol(schema::SERVICE_PROTOCOL_VERSION);
      info.setVersion("0.1.0");
      info.setState("/somewhere/state");
    });
    return kj::READY_NOW;
  }

private:
  fake_context& x_;
};

/// One connection.
struct fake_peer {
  fake_peer(kj::Own<kj::AsyncIoStream> from, fake_context& x)
    : stream(kj::mv(from)),
      network(*stream, capnp::rpc::twoparty::Side::SERVER),
      rpc(capnp::makeRpcServer(network, kj::heap<fake_entrance>(x))) {}

  kj::Own<kj::AsyncIoStream> stream;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc;
};

} // namespace

fake_study& fake_model::add(const std::string& text) {
  fake_study x;
  x.info.id = studies.size() + 1;
  x.info.name = name_in(text);
  x.info.state = "RUNNING";
  x.info.metric = "val_accuracy";
  x.info.direction = direction::maximize;
  x.info.algorithm = "grid";
  x.info.workload = "fashion-mlp";
  x.info.weight = 1;
  x.info.saved_seconds = 75;
  x.text = text;
  if (text.find("algorithm: client") == text.npos) {
    for (std::uint64_t i = 0; i < 3; ++i) {
      trial_view trial;
      trial.trial = i;
      trial.state = trial_state::running;
      trial.params = "{\"lr\": 0." + std::to_string(i + 1)
                     + ", \"batch_size\": 64}";
      trial.asked_steps = 2;
      x.trials.push_back(std::move(trial));
    }
    x.info.trials = 3;
    x.info.asked_steps = 6;
    x.info.shared_steps = 2;
  }
  studies.push_back(std::move(x));
  return studies.back();
}

void fake_model::go_on(fake_study& study) {
  if (study.info.name.starts_with("slow") || study.info.state != "RUNNING"
      || study.info.finished == study.trials.size())
    return;
  auto& trial = study.trials[study.info.finished];
  for (step_t step = 1; step <= 2; ++step) {
    event_view y;
    y.id = 10 * (study.events.size() + 1); // ids grow, with gaps
    y.time = 1.7e9;
    y.trial = trial.trial;
    y.step = step;
    y.measured = metrics{{"val_accuracy", value_of(trial.trial, step)}};
    study.events.push_back(std::move(y));
  }
  trial.delivered_steps = 2;
  study.info.delivered_steps += 2;
  trial.shared_steps = 1;
  trial.state = trial_state::complete;
  trial.best = best_measurement{value_of(trial.trial, 2), 2};
  study.info.best = trial;
  if (++study.info.finished == study.trials.size())
    study.info.state = "COMPLETE";
}

void fill(fake_model& model) {
  const std::lock_guard lock{model.mutex};
  auto& done = model.add("study: mnist\n");
  while (!has_ended(done.info))
    model.go_on(done);
  model.add("study: slow-one\n");
  model.trainers = {{1, "alpha/100", "cpu avx2 1 thread", "",
                     lease_view{"lr 0.1, batch_size 64", 3, 12, 1.5, 1},
                     17179869184, "", ""},
                    {2, "alpha/101", "cpu avx2 1 thread", "", std::nullopt,
                     17179869184, "", ""},
                    {3, "beta/7", "cuda H100", "connection lost", std::nullopt,
                     85899345920, "13.0", "9.0"}};
  model.log = "the first line of the log\nand the second one\n";
}

class fake_service::impl {
public:
  impl(fake_model& model, std::uint16_t port)
    : thread_([this, &model, port] { serve(model, port); }) {
    started_.get_future().wait();
  }

  ~impl() {
    executor_->executeSync([this] { stop_->fulfill(); });
    thread_.join();
  }

  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

private:
  struct quiet final : kj::TaskSet::ErrorHandler {
    void taskFailed(kj::Exception&&) override {}
  };

  void serve(fake_model& model, std::uint16_t port) {
    auto io = kj::setupAsyncIo();
    quiet handler;
    std::list<fake_peer> peers;
    kj::TaskSet tasks{handler};
    fake_context context{model, io.provider->getTimer(), [&] {
                           tasks.add(kj::evalLater([&] { peers.clear(); }));
                         }};
    auto stop = kj::newPromiseAndFulfiller<void>();
    stop_ = kj::mv(stop.fulfiller);
    executor_ = kj::getCurrentThreadExecutor().addRef();
    auto receiver = io.provider->getNetwork()
                            .parseAddress("127.0.0.1", port)
                            .wait(io.waitScope)
                            ->listen();
    port_ = static_cast<std::uint16_t>(receiver->getPort());
    std::function<kj::Promise<void>()> accept = [&] {
      return receiver->accept().then([&](kj::Own<kj::AsyncIoStream>&& stream) {
        peers.emplace_back(kj::mv(stream), context);
        return accept();
      });
    };
    tasks.add(accept());
    started_.set_value();
    stop.promise.wait(io.waitScope);
  }

  std::promise<void> started_;
  kj::Own<const kj::Executor> executor_;
  kj::Own<kj::PromiseFulfiller<void>> stop_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

fake_service::fake_service(fake_model& model, std::uint16_t port)
  : impl_(std::make_unique<impl>(model, port)) {}

fake_service::~fake_service() = default;

std::uint16_t fake_service::port() const {
  return impl_->port();
}

} // namespace hippo
