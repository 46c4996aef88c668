#include "gateway/http.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "gateway/http_actions.hpp"
#include "gateway/http_body.hpp"
#include "gateway/http_json.hpp"
#include "gateway/http_reply.hpp"
#include "gateway/http_target.hpp"
#include "gateway/limits.hpp"
#include "gateway/metrics.hpp"
#include "gateway/page_files.hpp"
#include "gateway/response_cache.hpp"

namespace hippo {

namespace {

constexpr auto metrics_type = "text/plain; version=0.0.4; charset=utf-8";
constexpr auto stream_type = "text/event-stream";

/// How long a page's stream is silent at most, in which nothing was stored.
constexpr auto stream_pause = 15 * kj::SECONDS;

/// What is sent is at most so long: a study file, and what JSON makes of it.
constexpr std::size_t sent_bytes_max = 2 * study_text_bytes_max;

/// How often it tells of news at most: all pages at the same moments, so that
/// one answer is made for all of them.
constexpr auto stream_interval = 500 * kj::MILLISECONDS;

/// Begins a stream: who loses it may come back after so many milliseconds. With
/// the first event, or instead of one.
constexpr auto retry = "retry: 1000\n"_kj;
constexpr auto hello = "retry: 1000\n\n"_kj;

/// How old what runs may be that a page is told of.
constexpr auto live_age_max = 400 * kj::MILLISECONDS;

/// The page loads nothing from elsewhere, and is in no other page.
constexpr auto content_policy
  = "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

http_json shown_asker(const http_access::verdict& x) {
  return {{"role", to_string(x.role)},
          {"name", x.who ? http_json(x.who->name) : http_json()}};
}

// -- the service --------------------------------------------------------------

std::string header(const kj::HttpHeaders& from, kj::HttpHeaderId id) {
  KJ_IF_MAYBE(x, from.get(id))
    return {x->begin(), x->end()};
  return {};
}

using Response = kj::HttpService::Response;

class http_service final : public http_answers {
public:
  http_service(query_service& answers, const http_headers& headers,
               http_service_options options)
    : queries_(answers), names_(headers), headers_(*headers.table),
      options_(std::move(options)), access_(options_.access) {}

  kj::Own<kj::HttpService> serve(client_connection& whose) override {
    return kj::heap<of_connection>(*this, whose);
  }

private:
  /// What one connection asks.
  class of_connection final : public kj::HttpService {
  public:
    of_connection(http_service& all, client_connection& whose)
      : all_(all), whose_(whose) {}

    kj::Promise<void> request(kj::HttpMethod method, kj::StringPtr url,
                              const kj::HttpHeaders& asked_with,
                              kj::AsyncInputStream& body,
                              Response& response) override {
      whose_.begin_work();
      return all_.request(whose_, method, url, asked_with, body, response)
        .attach(kj::defer([&whose = whose_] { whose.end_work(); }));
    }

  private:
    http_service& all_;
    client_connection& whose_;
  };

  kj::Promise<void> request(client_connection& whose, kj::HttpMethod method,
                            kj::StringPtr url,
                            const kj::HttpHeaders& asked_with,
                            kj::AsyncInputStream& body, Response& response) {
    // With a body, it is there when that is.
    if (method != kj::HttpMethod::POST)
      note_there(whose);
    auto read = read_http_target({url.begin(), url.size()});
    if (!read)
      return send_plain(response, failure(to_exception(read.failure())));
    auto& asked = *read;
    spdlog::debug("gateway: HTTP /{}", fmt::join(asked.path, "/"));
    const bool is_health = asked.path == std::vector<std::string>{"healthz"};
    if (whose.is_spare() && !is_health)
      return send_plain(
        response, failure(503, "resource_exhausted: this port has as many "
                               "connections as it takes: try again later"));
    if (method == kj::HttpMethod::GET && asked.path.empty()
        && access_.asks_for_tokens() && asked.query.contains("token"))
      return welcome(response, asked.query.at("token"));
    // Of a HEAD kj sends everything but the body.
    const bool looks
      = method == kj::HttpMethod::GET || method == kj::HttpMethod::HEAD;
    const auto said = [&](kj::HttpHeaderId id) {
      return header(asked_with, id);
    };
    const auto verdict = access_.judge(
      {said(kj::HttpHeaderId::HOST), said(names_.origin), said(names_.cookie),
       said(names_.authorization), said(names_.page),
       said(kj::HttpHeaderId::CONTENT_TYPE), !looks});
    // Files of the page hold nothing, and say that a token is needed.
    if (verdict.status != 200
        && (verdict.status != 401 || !(looks && is_open(asked))))
      return send_plain(response, failure(verdict.status, verdict.why));
    if (verdict.who)
      whose.note_identity("token " + verdict.who->name);
    if (method == kj::HttpMethod::POST)
      return change(whose, std::move(asked), body, response);
    if (!looks) {
      kj::HttpHeaders headers{headers_};
      headers.add("Allow", "GET, HEAD, POST");
      return send(response,
                  failure(405, "only GET, HEAD and POST are answered here"),
                  kj::mv(headers));
    }
    if (asked.path == std::vector<std::string>{"api", "me"})
      return send_plain(response, json_reply(shown_asker(verdict)));
    const auto heard = news_in(header(asked_with, names_.news));
    if (asked.path == std::vector<std::string>{"api", "stream"})
      return stream(response, method == kj::HttpMethod::HEAD,
                    news_in(header(asked_with, names_.last_event)));
    const bool compress
      = takes_gzip(header(asked_with, names_.accept_encoding));
    const auto known = header(asked_with, names_.if_none_match);
    auto answered = [=, this, url = std::string{url.begin(), url.size()},
                     asked = std::move(asked)]() mutable {
      return answer(std::move(asked), {url, heard})
        .catch_([](kj::Exception&& why) { return failure(why); });
    };
    // How the service does is told however much others want to know.
    if (!asked_for_much(url))
      return answered().then([=, this, &response](reply x) mutable {
        return send_tagged(response, std::move(x), compress, known);
      });
    return whose.line()
      .take(listing_bytes_guess, response_memory::line::purpose::make)
      .then([=, this, &response,
             answered = std::move(answered)](held_room room) mutable {
        return answered().then([=, this, &response, room = kj::mv(room)](
                                 reply x) mutable {
          room.end_turn();
          if (auto why = room.resize(bytes_of(x)))
            x = failure(to_exception(*why));
          auto sent = send_tagged(response, std::move(x), compress, known);
          return sent.attach(kj::mv(room));
        });
      });
  }

  /// A request is there as a whole.
  static void note_there(client_connection& whose) {
    whose.note_request_ended();
    whose.note_greeted();
  }

  /// Whether an answer may be long.
  static bool asked_for_much(kj::StringPtr url) {
    return url.startsWith("/api");
  }
  static std::size_t bytes_of(const reply& x) {
    return x.packed ? x.packed->bytes() : x.body.size();
  }

  /// Whether somebody may look at this who has no token.
  static bool is_open(const http_target& x) {
    return x.path.empty()
           || (x.path.size() == 1
               && (x.path[0] == "healthz"
                   || packed_files().contains(x.path[0])));
  }

  /// Lets a browser in that has come with a link: it gets a cookie, and an
  /// address without the link.
  kj::Promise<void> welcome(Response& response, const std::string& link) {
    const auto cookie = access_.welcome(link);
    kj::HttpHeaders headers{headers_};
    headers.add("Cache-Control", "no-store");
    headers.add("Referrer-Policy", "no-referrer");
    if (!cookie)
      return send(response, failure(401, cookie.failure().message),
                  kj::mv(headers));
    headers.add("Set-Cookie", kj::str(cookie->c_str()));
    headers.add("Location", "./");
    return send(response, {303, "welcome\n", "text/plain; charset=utf-8"},
                kj::mv(headers));
  }

  /// Does what is asked for.
  kj::Promise<void> change(client_connection& whose, http_target target,
                           kj::AsyncInputStream& body, Response& response) {
    if (!target.query.empty())
      return send_plain(
        response, failure(400, "what is sent is a map, nothing behind '?'"));
    std::uint64_t wanted = sent_bytes_max;
    KJ_IF_MAYBE(length, body.tryGetLength())
      wanted = std::min<std::uint64_t>(wanted, *length);
    return whose.line()
      .take(wanted, response_memory::line::purpose::hold)
      .then([=, this, &whose, &body, &response,
             target = std::move(target)](held_room room) mutable {
        return body.readAllText(sent_bytes_max)
          .then(
            [=, this, &whose, target = std::move(target)](kj::String text) {
              note_there(whose);
              return act_on(queries_, target, {text.begin(), text.size()})
                .then(
                  [](std::optional<std::string> done) {
                    return done ? reply{200, std::move(*done)}
                                : failure(404, "there is nothing here to "
                                               "change");
                  },
                  [](kj::Exception&& why) { return failure(why); });
            },
            [&whose](kj::Exception&&) -> kj::Promise<reply> {
              note_there(whose);
              return failure(413, "what is sent is more than "
                                    + std::to_string(sent_bytes_max)
                                    + " bytes");
            })
          .then([this, &response, room = kj::mv(room)](reply x) mutable {
            auto sent = send_plain(response, std::move(x));
            return sent.attach(kj::mv(room));
          });
      });
  }

  /// How a page asks.
  struct asking {
    std::string url;
    /// The news that it has heard of; nothing: it is no page, and wants what is
    /// known now.
    std::optional<std::uint64_t> heard;
  };

  /// Reads what names a state of what is stored: that of this service only.
  [[nodiscard]] std::optional<std::uint64_t>
  news_in(std::string_view text) const {
    if (!text.starts_with(life_))
      return std::nullopt;
    text.remove_prefix(life_.size());
    std::uint64_t result = 0;
    const auto end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, result);
    return read.ec == std::errc{} && read.ptr == end ? std::optional{result}
                                                     : std::nullopt;
  }

  kj::Promise<void> send_plain(Response& response, reply x) {
    return send(response, std::move(x), kj::HttpHeaders{headers_});
  }

  /// Sends an answer, or that it is what the client has.
  /// @param known the tag of that
  kj::Promise<void> send_tagged(Response& response, reply x, bool compress,
                                const std::string& known) {
    kj::HttpHeaders headers{headers_};
    headers.add("X-Content-Type-Options", "nosniff");
    headers.add("Referrer-Policy", "no-referrer");
    headers.add("Content-Security-Policy", content_policy);
    if (x.status != 200 || x.type == metrics_type)
      return send(response, std::move(x), kj::mv(headers));
    if (!x.packed)
      x.packed = std::make_shared<const packed_body>(
        pack_body(std::move(x.body)));
    headers.add("Cache-Control", "no-cache");
    headers.add("ETag", kj::str(x.packed->tag));
    headers.add("Vary", "Accept-Encoding");
    if (known.find(x.packed->tag) != std::string::npos)
      return send(response, reply{304, {}, x.type}, kj::mv(headers));
    return send(response, std::move(x.packed), x.type, compress,
                kj::mv(headers));
  }

  /// Tells a page whenever something was stored, for as long as it listens:
  /// server-sent events, whose ids name what is stored.
  /// @param is_head whether nothing but how it begins is asked for
  /// @param heard what it knows of already
  kj::Promise<void> stream(Response& response, bool is_head,
                           std::optional<std::uint64_t> heard) {
    kj::HttpHeaders headers{headers_};
    headers.set(kj::HttpHeaderId::CONTENT_TYPE, stream_type);
    headers.add("Cache-Control", "no-store");
    auto out = response.send(200, "OK", headers);
    if (is_head)
      return kj::READY_NOW;
    auto& to = *out;
    auto told = heard ? to.write(hello.begin(), hello.size())
                          .then([=, this, &to] {
                            return tell_after(to, *heard);
                          })
                      : tell_of_news(to, queries_.news(), retry);
    return told.attach(kj::mv(out));
  }

  kj::Promise<void> tell_of_news(kj::AsyncOutputStream& out,
                                 std::uint64_t version,
                                 kj::StringPtr before = ""_kj) {
    auto text = kj::heapString(kj::str(before, "id: ", life_, version,
                                       "\nevent: news\ndata: {}\n\n"));
    auto written = out.write(text.begin(), text.size());
    return written.attach(kj::mv(text)).then([=, this, &out] {
      return tell_after(out, version);
    });
  }

  kj::Promise<void> tell_after(kj::AsyncOutputStream& out,
                               std::uint64_t version) {
    auto& timer = queries_.timer();
    const auto since = timer.now() - kj::origin<kj::TimePoint>();
    const auto next = kj::origin<kj::TimePoint>()
                      + (since / stream_interval + 1) * stream_interval;
    return timer.atTime(next)
      .then([this, version] {
        return queries_.news_after(version,
                                   queries_.timer().now() + stream_pause);
      })
      .then([this, &out] { return tell_of_news(out, queries_.news()); });
  }

  /// Makes an answer, or takes the one that somebody else got, if it is as new
  /// as the page has heard of.
  /// @param age_max how old it may be; nothing: it is of what is stored alone
  template <class Make>
  kj::Promise<reply> keep(const asking& how, kj::Maybe<kj::Duration> age_max,
                          Make make) {
    const auto now = queries_.news();
    if (age_max != nullptr && !how.heard)
      return make().then(
        [](auto x) { return reply{200, {}, json_type, packed(std::move(x))}; });
    return kept_
      .get(how.url, {now, how.heard.value_or(now), age_max},
           [&] {
             return make().then([](auto x) { return packed(std::move(x)); });
           })
      .then([](response_cache::answer x) {
        return reply{200, {}, json_type, std::move(x)};
      });
  }

  static response_cache::answer packed(packed_body x) {
    return std::make_shared<const packed_body>(std::move(x));
  }
  template <class T>
  static response_cache::answer packed(T x) {
    return packed(pack_body(text_of(to_json(x))));
  }

  kj::Promise<reply> answer(http_target x, const asking& how) {
    const auto& path = x.path;
    if (path.size() <= 1) {
      const auto& files = packed_files();
      if (const auto i
          = files.find(path.empty() ? "index.html" : path.front());
          i != files.end())
        return only(x, [&] { return kj::Promise<reply>{i->second}; });
    }
    if (path == std::vector<std::string>{"healthz"})
      return only(x, [this] { return health(); });
    if (path == std::vector<std::string>{"metrics"})
      return only(x, [this] { return metrics(); });
    if (path.size() == 2 && path[0] == "api") {
      if (path[1] == "studies") {
        const bool all = take_text(x, "removed") == "1";
        return only(x, [&] {
          return show(how, [this, all] { return queries_.list(all); });
        });
      }
      if (path[1] == "trainers")
        return only(
          x, [&] { return show(how, [this] { return queries_.trainers(); }); });
      if (path[1] == "demand")
        return only(
          x, [&] { return show(how, [this] { return queries_.demand(); }); });
      if (path[1] == "timeline")
        return only(x, [&] { return show(how, [this] {
          return queries_.trees().then(
            [](std::vector<merger_overview> y) { return timeline_of(y); });
        }); });
      if (path[1] == "tree")
        return only(
          x, [&] { return show(how, [this] { return queries_.trees(); }); });
      if (path[1] == "service")
        return only(
          x, [&] { return show(how, [this] { return queries_.keeps(); }); });
    }
    if (path.size() >= 3 && path.size() <= 4 && path[0] == "api"
        && path[1] == "studies")
      return study(std::move(x), how);
    return failure(404, "there is nothing here; there are /, /healthz, "
                        "/metrics, /api/studies, /api/trainers, /api/demand, "
                        "/api/timeline, /api/tree, /api/service, /api/stream");
  }

  /// What is asked of one study.
  kj::Promise<reply> study(http_target x, asking how) {
    const auto what = x.path.size() == 4 ? x.path[3] : std::string{};
    const auto name = x.path[2];
    const auto of_study = [this, name](auto ask) {
      return queries_.find(name).then(
        [ask = std::move(ask)](stored_study y) { return ask(y.id); });
    };
    if (what.empty())
      return only(x, [&] {
        return show(how, [=, this] {
          return of_study([this](auto y) { return queries_.describe(y); });
        });
      });
    if (what == "trials") {
      const auto first = take_number(x, "first", 0);
      const auto most = take_number(x, "most", trials_per_call_max);
      if (!first || !most)
        return to_exception(!first ? first.failure() : most.failure());
      return only(x, [&] {
        return of_study([=, this](auto y) {
          return queries_.trials(y, *first, *most)
            .then([](auto z) { return json_reply(to_json(z)); });
        });
      });
    }
    if (what == "events") {
      const bool is_of_trial = x.query.contains("trial");
      const auto after = take_number(x, "after", 0);
      const auto trial = take_number(x, "trial", 0);
      if (!after || !trial)
        return to_exception(!after ? after.failure() : trial.failure());
      return only(x, [&] {
        return of_study([=, this](auto y) {
          return shown_events(
            is_of_trial
              ? queries_.events_of(y, *trial, *after, events_per_call_max)
              : queries_.events(y, *after, events_per_call_max),
            *after);
        });
      });
    }
    if (is_columns(what)) {
      // Of the others, what is new changes what was there.
      const bool curves = what == "curves";
      const auto metric = curves ? take_text(x, "metric") : std::string{};
      const auto after = curves || what == "table" ? take_number(x, "after", 0)
                                                   : 0;
      if (!after)
        return to_exception(after.failure());
      return only(x, [&] {
        return keep(how, nullptr, [=, this] {
          return of_study([=, this](auto y) {
            return queries_.columns(y, what, *after, metric);
          });
        });
      });
    }
    if (what == "output") {
      const auto trial = take_number(x, "trial", 0);
      const auto from = take_number(x, "from_step", 0, "from");
      if (!trial || !from)
        return to_exception(!trial ? trial.failure() : from.failure());
      return only(x, [&] {
        return of_study([=, this](auto y) {
          return queries_.output(y, *trial, *from).then([](trial_output z) {
            return json_reply({{"text", z.text},
                               {"next_step", z.next},
                               {"next", z.next}, // its former name
                               {"ended", z.ended}});
          });
        });
      });
    }
    if (what == "importance") {
      const auto step = take_number(x, "step", 0, "at");
      const auto metric = take_text(x, "metric");
      if (!step)
        return to_exception(step.failure());
      return only(x, [&] {
        return keep(how, nullptr, [=, this] {
          return of_study([=, this](auto y) {
            auto client = queries_.enter();
            auto found = queries_.importance(*client, y, *step, metric);
            return found.attach(kj::mv(client));
          });
        });
      });
    }
    std::string columns;
    for (const std::string kind : column_kinds)
      columns += "/" + kind + ", ";
    return failure(404, "a study has /trials, /events, " + columns
                          + "/output and /importance");
  }

  /// Goes on with `f` if nothing is left of the query.
  template <class F>
  static kj::Promise<reply> only(const http_target& x, F&& f) {
    if (!x.query.empty())
      return failure(400, "there is no parameter '" + x.query.begin()->first
                            + "' here");
    return f();
  }

  /// Shows what runs, too: to pages at most a moment old.
  template <class Ask>
  kj::Promise<reply> show(const asking& how, Ask ask) {
    return keep(how, live_age_max, std::move(ask));
  }

  static kj::Promise<reply> shown_events(kj::Promise<events_view> from,
                                         std::uint64_t after) {
    return from.then([after](events_view x) {
      return json_reply(
        {{"events", to_json(x.events)},
         {"next", x.events.empty() ? after : x.events.back().id},
         {"ended", x.study_has_ended}});
    });
  }

  kj::Promise<reply> health() {
    return queries_.health().then([](std::string trouble) {
      return trouble.empty() ? json_reply({{"status", "ok"}})
                             : reply{503, text_of({{"status", "trouble"},
                                                   {"error", trouble}})};
    });
  }

  kj::Promise<reply> metrics() {
    return queries_.count().then([this](archive::totals stored) {
      return queries_.live().then([this, stored = std::move(stored)](auto now) {
        return reply{200, metrics_text(stored, now, options_.figures()),
                     metrics_type};
      });
    });
  }

  query_service& queries_;
  const http_headers& names_;
  const kj::HttpHeaderTable& headers_;
  const http_service_options options_;
  const http_access access_;
  /// Tells what pages have heard of this service from that of one before it.
  const std::string life_
    = std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count())
      + '.';
  response_cache kept_{queries_.timer(), response_cache_bytes};
};

} // namespace

http_headers::http_headers() {
  kj::HttpHeaderTable::Builder builder;
  accept_encoding = builder.add("Accept-Encoding");
  if_none_match = builder.add("If-None-Match");
  last_event = builder.add("Last-Event-ID");
  news = builder.add("Hippo-News");
  origin = builder.add("Origin");
  cookie = builder.add("Cookie");
  authorization = builder.add("Authorization");
  page = builder.add("Hippo-Page");
  table = builder.build();
}

kj::Own<http_answers>
make_http_answers(query_service& answers, const http_headers& headers,
                  http_service_options options) {
  return kj::heap<http_service>(answers, headers, std::move(options));
}

} // namespace hippo
