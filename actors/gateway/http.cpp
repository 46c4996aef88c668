#include "gateway/http.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "gateway/http_body.hpp"
#include "gateway/http_target.hpp"
#include "gateway/limits.hpp"
#include "gateway/metrics.hpp"
#include "gateway/web_files.hpp"

namespace hippo {

namespace {

using json = nlohmann::ordered_json;

constexpr auto json_type = "application/json";
constexpr auto metrics_type = "text/plain; version=0.0.4; charset=utf-8";

constexpr auto stream_type = "text/event-stream";

/// How long a page's stream is silent at most, in which nothing was stored.
constexpr auto stream_pause = 15 * kj::SECONDS;

/// How often it tells of news at most.
constexpr auto stream_interval = 500 * kj::MILLISECONDS;

/// Bodies below this are not worth compressing.
constexpr std::size_t compressed_bytes_min = 1024;

/// The page loads nothing from elsewhere, and is in no other page.
constexpr auto content_policy
  = "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

/// An answer to a request.
struct reply {
  unsigned status = 200;
  std::string body;
  const char* type = json_type;
};

const char* type_of_file(std::string_view name) {
  if (name.ends_with(".html"))
    return "text/html; charset=utf-8";
  if (name.ends_with(".js"))
    return "text/javascript; charset=utf-8";
  if (name.ends_with(".css"))
    return "text/css; charset=utf-8";
  return "image/svg+xml";
}

/// Returns a file of the page; nothing: there is no such.
std::optional<reply> find_web_file(std::string_view name) {
  for (const auto& x : web_files())
    if (x.name == name)
      return reply{200, std::string{x.bytes}, type_of_file(name)};
  return std::nullopt;
}

/// Whether a Host names this machine: others would be a foreign page's, whose
/// name was made to lead here.
bool is_loopback_name(std::string_view host) {
  if (host.starts_with('['))
    return host.starts_with("[::1]");
  host = host.substr(0, host.find(':'));
  return host == "localhost"
         || (host.starts_with("127.")
             && host.find_first_not_of("0123456789.") == host.npos);
}

const char* text_of_status(unsigned status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

std::string text_of(const json& x) {
  return x.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

reply json_reply(const json& x) { return {200, text_of(x)}; }

reply failure(unsigned status, const std::string& why) {
  return {status, text_of({{"error", why}})};
}

/// Makes a reply of what a query_service fails with.
reply failure(const kj::Exception& why) {
  const std::string text = why.getDescription().cStr();
  const auto is = [&](errc x) {
    return text.starts_with(std::string{to_string(x)} + ':');
  };
  const unsigned status = is(errc::unknown_study)        ? 404
                          : is(errc::invalid_argument)   ? 400
                          : is(errc::resource_exhausted) ? 503
                                                         : 500;
  return failure(status, text);
}

// -- what is shown ------------------------------------------------------------

json params_of(const std::string& x) {
  auto result = json::parse(x, nullptr, false);
  return result.is_discarded() ? json::object() : result;
}

json text_or_null(const std::string& x) {
  return x.empty() ? json(nullptr) : json(x);
}

json shown(const stored_trial& trial) {
  json best = nullptr;
  if (trial.best)
    best = {{"step", trial.best->step}, {"value", trial.best->value}};
  return {{"trial", trial.trial},
          {"state", to_string(trial.state)},
          {"params", params_of(trial.params)},
          {"asked_steps", trial.asked_to},
          {"steps", trial.steps},
          {"shared_steps", trial.shared},
          {"best", std::move(best)},
          {"failure", text_or_null(trial.failure)}};
}

json shown(const live_study_view& x) {
  const auto& study = x.stored.study;
  const bool up = study.direction == direction::maximize;
  return {{"id", study.id},
          {"name", study.name},
          {"state", to_string(study.state)},
          {"reason", text_or_null(study.reason)},
          {"metric", study.metric},
          {"direction", up ? "maximize" : "minimize"},
          {"weight", study.weight},
          {"algorithm", x.stored.algorithm},
          {"workload", x.stored.workload_key},
          {"trials", x.stored.counts.trials},
          {"finished", x.stored.counts.finished},
          {"asked_steps", x.stored.counts.asked_steps},
          {"delivered_steps", x.stored.counts.delivered_steps},
          {"shared_steps", x.stored.counts.shared_steps},
          {"best", x.stored.best ? shown(*x.stored.best) : json(nullptr)},
          {"active_seconds", x.active_seconds},
          {"saved_seconds", x.stored.saved_seconds},
          {"waiting", text_or_null(x.waiting)}};
}

json shown(const stored_event& x) {
  json result{{"id", x.id}, {"time", x.time}};
  if (const auto* measured = std::get_if<trial_measured>(&x.what)) {
    result["trial"] = measured->trial;
    result["step"] = measured->at;
    result["measured"] = measured->values;
  } else if (const auto* failed = std::get_if<trial_failed>(&x.what)) {
    result["trial"] = failed->trial;
    result["step"] = failed->at;
    result["failed"] = failed->reason.message;
  } else {
    const auto& command = std::get<study_command>(x.what);
    result["trial"] = command.trial;
    result["step"] = command.at;
    result["command"] = to_string(command.what);
    result["text"] = command.text;
  }
  return result;
}

json shown(const trainer_view& x) {
  json lease = nullptr;
  if (x.lease)
    lease = {{"lanes", x.lanes},
             {"studies", x.studies},
             {"what", x.what},
             {"at", x.lease->at},
             {"to", x.lease->to},
             {"steps_per_second", x.lease->steps_per_second}};
  return {{"number", x.trainer.number},
          {"name", x.trainer.name},
          {"device", x.trainer.device},
          {"memory_bytes", x.trainer.memory_bytes},
          {"driver", text_or_null(x.trainer.driver)},
          {"compute_capability", text_or_null(x.trainer.compute_capability)},
          {"sick", text_or_null(x.trainer.sick)},
          {"lost", text_or_null(x.gone())},
          {"lease", std::move(lease)}};
}

template <class T>
json shown(const std::vector<T>& xs) {
  json result = json::array();
  for (const auto& x : xs)
    result.push_back(shown(x));
  return result;
}

/// Shows stage trees, together at most `shown_stages_max` stages.
json shown(const std::vector<merger_overview>& trees) {
  json result = json::array();
  auto left = shown_stages_max;
  for (const auto& x : trees) {
    json stages = json::array();
    for (const auto& y : x.stages) {
      if (left == 0)
        break;
      --left;
      stages.push_back({{"id", y.id},
                        {"parent", y.parent},
                        {"begin", y.begin},
                        {"end", y.end},
                        {"config", y.config},
                        {"trials", y.trials}});
    }
    const auto& status = x.status;
    result.push_back({{"workload", x.workload_key},
                      {"asked_steps", status.figures.asked_steps},
                      {"delivered_steps", status.figures.delivered_steps},
                      {"unique_steps", status.figures.unique_delivered_steps},
                      {"shared_steps", status.figures.shared_steps},
                      {"trained_steps", status.trained_steps},
                      {"reused_steps", status.reused_steps},
                      {"saved_seconds", status.saved_seconds},
                      {"all_stages", x.stages.size()},
                      {"stages", std::move(stages)}});
  }
  return result;
}

// -- the service --------------------------------------------------------------

kj::Promise<void> send(kj::HttpService::Response& response, reply x,
                       kj::HttpHeaders headers) {
  headers.set(kj::HttpHeaderId::CONTENT_TYPE, x.type);
  auto body = kj::heap<std::string>(std::move(x.body));
  auto stream = response.send(x.status, text_of_status(x.status), headers,
                              body->size());
  if (body->empty()) // 304 has no room for one
    return kj::READY_NOW;
  auto written = stream->write(body->data(), body->size());
  return written.attach(kj::mv(stream), kj::mv(body));
}

std::string header(const kj::HttpHeaders& from, kj::HttpHeaderId id) {
  KJ_IF_MAYBE(x, from.get(id))
    return {x->begin(), x->end()};
  return {};
}

class http_service final : public kj::HttpService {
public:
  http_service(query_service& answers, const http_headers& headers,
               answer_budget& room, http_service_options options)
    : queries_(answers), names_(headers), headers_(*headers.table),
      room_(room), options_(std::move(options)) {}

  kj::Promise<void> request(kj::HttpMethod method, kj::StringPtr url,
                            const kj::HttpHeaders& asked_with,
                            kj::AsyncInputStream&,
                            Response& response) override {
    if (options_.loopback_only
        && !is_loopback_name(header(asked_with, kj::HttpHeaderId::HOST)))
      return send(response,
                  failure(403, "not_allowed: this service is asked by the name "
                               "of its machine: localhost or 127.0.0.1"),
                  kj::HttpHeaders{headers_});
    if (method != kj::HttpMethod::GET) {
      kj::HttpHeaders headers{headers_};
      headers.add("Allow", "GET");
      return send(response, failure(405, "only GET is answered here"),
                  kj::mv(headers));
    }
    auto asked = read_http_target({url.begin(), url.size()});
    if (asked.path == std::vector<std::string>{"api", "stream"})
      return stream(response);
    const bool compress
      = takes_gzip(header(asked_with, names_.accept_encoding));
    const auto known = header(asked_with, names_.if_none_match);
    // How the service does is told however much others want to know.
    const bool may_be_long = !asked.path.empty() && asked.path[0] == "api";
    return room_.take(may_be_long ? listing_bytes_guess : 0)
      .then([=, this, &response, asked = std::move(asked)](
              answer_budget::share room) mutable {
        return answer(std::move(asked))
          .catch_([](kj::Exception&& why) { return failure(why); })
          .then([=, this, &response, room = kj::mv(room)](reply x) mutable {
            auto sent = send_tagged(response, std::move(x), compress, known);
            return sent.attach(kj::mv(room));
          });
      });
  }

private:
  /// Sends an answer, or that it is what the client has.
  /// @param known the tag of that
  kj::Promise<void> send_tagged(Response& response, reply x, bool compress,
                                const std::string& known) {
    kj::HttpHeaders headers{headers_};
    headers.add("X-Content-Type-Options", "nosniff");
    headers.add("Referrer-Policy", "no-referrer");
    headers.add("Content-Security-Policy", content_policy);
    if (x.status == 200 && x.type != metrics_type) {
      const auto tag = entity_tag(x.body);
      headers.add("Cache-Control", "no-cache");
      headers.add("ETag", kj::str(tag));
      headers.add("Vary", "Accept-Encoding");
      if (known.find(tag) != std::string::npos)
        return send(response, {304, {}, x.type}, kj::mv(headers));
    }
    if (compress && x.body.size() >= compressed_bytes_min) {
      x.body = gzip(x.body);
      headers.add("Content-Encoding", "gzip");
    }
    return send(response, std::move(x), kj::mv(headers));
  }

  /// Tells a page whenever something was stored, for as long as it listens:
  /// server-sent events, whose ids are those of what is stored. A page that
  /// comes back asks anew for what it shows, and so misses nothing.
  kj::Promise<void> stream(Response& response) {
    kj::HttpHeaders headers{headers_};
    headers.set(kj::HttpHeaderId::CONTENT_TYPE, stream_type);
    headers.add("Cache-Control", "no-store");
    auto out = response.send(200, "OK", headers);
    auto& to = *out;
    return tell_of_news(to, queries_.news()).attach(kj::mv(out));
  }

  kj::Promise<void> tell_of_news(kj::AsyncOutputStream& out,
                                 std::uint64_t version) {
    auto text = kj::heapString(
      kj::str("id: ", version, "\nevent: news\ndata: {}\n\n"));
    auto written = out.write(text.begin(), text.size());
    return written.attach(kj::mv(text))
      .then([this] { return queries_.timer().afterDelay(stream_interval); })
      .then([this, version] {
        return queries_.news_after(version,
                                   queries_.timer().now() + stream_pause);
      })
      .then([this, &out] { return tell_of_news(out, queries_.news()); });
  }

  kj::Promise<reply> answer(http_target x) {
    const auto& path = x.path;
    if (path.size() <= 1)
      if (auto file
          = find_web_file(path.empty() ? "index.html" : path.front()))
        return only(x, [&] { return kj::Promise<reply>{std::move(*file)}; });
    if (path == std::vector<std::string>{"healthz"})
      return only(x, [this] { return health(); });
    if (path == std::vector<std::string>{"metrics"})
      return only(x, [this] { return metrics(); });
    if (path.size() == 2 && path[0] == "api") {
      if (path[1] == "studies")
        return only(x, [this] { return show(queries_.list()); });
      if (path[1] == "trainers")
        return only(x, [this] { return show(queries_.trainers()); });
      if (path[1] == "tree")
        return only(x, [this] { return show(queries_.trees()); });
    }
    if (path.size() >= 3 && path.size() <= 4 && path[0] == "api"
        && path[1] == "studies")
      return study(std::move(x));
    return failure(404, "there is nothing here; there are /, /healthz, "
                        "/metrics, /api/studies, /api/trainers, /api/tree and "
                        "/api/stream");
  }

  /// What is asked of one study.
  kj::Promise<reply> study(http_target x) {
    const auto what = x.path.size() == 4 ? x.path[3] : std::string{};
    auto id =
      queries_.find(x.path[2]).then([](stored_study y) { return y.id; });
    if (what.empty())
      return only(x, [&] {
        return id.then([this](std::uint64_t y) {
          return show(queries_.describe(y));
        });
      });
    if (what == "trials") {
      const auto first = take_number(x, "first", 0);
      const auto most = take_number(x, "most", trials_per_call_max);
      if (!first || !most)
        return to_exception(!first ? first.failure() : most.failure());
      return only(x, [&] {
        return id.then([=, this](std::uint64_t y) {
          return show(queries_.trials(y, *first, *most));
        });
      });
    }
    if (what == "events") {
      const auto after = take_number(x, "after", 0);
      if (!after)
        return to_exception(after.failure());
      return only(x, [&] {
        return id.then([=, this](std::uint64_t y) {
          return show_events(y, *after);
        });
      });
    }
    if (what == "table" || what == "curves" || what == "tree")
      return only(x, [&] {
        return id.then([=, this](std::uint64_t y) {
          return queries_.columns(y, what).then(
            [](std::string text) { return reply{200, std::move(text)}; });
        });
      });
    return failure(404, "a study has /trials, /events, /table, /curves and "
                        "/tree");
  }

  /// Goes on with `f` if nothing is left of the query.
  template <class F>
  static kj::Promise<reply> only(const http_target& x, F&& f) {
    if (!x.query.empty())
      return failure(400, "there is no parameter '" + x.query.begin()->first
                            + "' here");
    return f();
  }

  template <class T>
  static kj::Promise<reply> show(kj::Promise<T> x) {
    return x.then([](T y) { return json_reply(shown(y)); });
  }

  kj::Promise<reply> show_events(std::uint64_t study, std::uint64_t after) {
    return queries_
      .events(study, after, events_per_call_max, queries_.timer().now())
      .then([after](events_view x) {
        return json_reply(
          {{"events", shown(x.events)},
           {"next", x.events.empty() ? after : x.events.back().id},
           {"ended", x.study_has_ended}});
      });
  }

  kj::Promise<reply> health() {
    return queries_.health().then(
      [](journal_status x) {
        return x.trouble.empty()
                 ? json_reply({{"status", "ok"}})
                 : reply{503, text_of({{"status", "trouble"},
                                       {"error", x.trouble}})};
      },
      [](kj::Exception&& why) {
        return reply{503, text_of({{"status", "trouble"},
                                   {"error", why.getDescription().cStr()}})};
      });
  }

  kj::Promise<reply> metrics() {
    return queries_.count().then([this](archive::totals stored) {
      return queries_.live().then(
        [this, stored = std::move(stored)](live_view now) {
          return reply{200, metrics_text(stored, now, options_.figures()),
                       metrics_type};
        });
    });
  }

  query_service& queries_;
  const http_headers& names_;
  const kj::HttpHeaderTable& headers_;
  answer_budget& room_;
  http_service_options options_;
};

class closed_http_service final : public kj::HttpService {
public:
  explicit closed_http_service(const kj::HttpHeaderTable& headers)
    : headers_(headers) {}

  kj::Promise<void> request(kj::HttpMethod, kj::StringPtr,
                            const kj::HttpHeaders&, kj::AsyncInputStream&,
                            Response& response) override {
    return send(response,
                failure(403, "not_allowed: a trainer's certificate lets nobody "
                             "ask about studies"),
                kj::HttpHeaders{headers_});
  }

private:
  const kj::HttpHeaderTable& headers_;
};

/// Answers what is no HTTP request.
class http_errors final : public kj::HttpServerErrorHandler {
public:
  explicit http_errors(const kj::HttpHeaderTable& headers)
    : headers_(headers) {}

  kj::Promise<void>
  handleClientProtocolError(kj::HttpHeaders::ProtocolError why,
                            kj::HttpService::Response& response) override {
    return send(response, failure(why.statusCode, why.description.cStr()),
                kj::HttpHeaders{headers_});
  }

private:
  const kj::HttpHeaderTable& headers_;
};

} // namespace

http_headers::http_headers() {
  kj::HttpHeaderTable::Builder builder;
  accept_encoding = builder.add("Accept-Encoding");
  if_none_match = builder.add("If-None-Match");
  table = builder.build();
}

kj::Own<kj::HttpServerErrorHandler>
make_http_errors(const kj::HttpHeaderTable& headers) {
  return kj::heap<http_errors>(headers);
}

kj::Own<kj::HttpService>
make_http_service(query_service& answers, const http_headers& headers,
                  answer_budget& room, http_service_options options) {
  return kj::heap<http_service>(answers, headers, room, std::move(options));
}

kj::Own<kj::HttpService>
make_closed_http_service(const kj::HttpHeaderTable& headers) {
  return kj::heap<closed_http_service>(headers);
}

} // namespace hippo
