#include "notifier.hpp"

#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "hippo/net/http/curl_http.hpp"
#include "hippo/net/keys/certificate.hpp"
#include "hippo/service/notify/notification_text.hpp"
#include "hippo/service/notify/webhook_key.hpp"

namespace hippo {

namespace {

constexpr std::size_t posting_threads = 4;

/// The interval at which the store is looked at.
constexpr std::chrono::milliseconds store_interval{500};

/// Events that are read at a time.
constexpr std::size_t due_read_max = 10'000;

/// The longest answer that is read; none of it matters.
constexpr std::uint64_t response_bytes_max = 64 << 10;

std::string key_path(const notifier_options& options) {
  return options.state + "/notify.key";
}

} // namespace

expected<std::unique_ptr<notifier>> notifier::open(notifier_options options,
                                                   settler settle) {
  // For receivers to be made ready; whether it can be read matters to posts.
  static_cast<void>(webhook_key::open(key_path(options)));
  auto store = state_reader::open(options.state);
  if (!store)
    return store.failure();
  return std::unique_ptr<notifier>{
    new notifier{std::move(options), std::move(*store), std::move(settle)}};
}

notifier::notifier(notifier_options options,
                   std::unique_ptr<state_reader> store, settler settle)
  : options_(std::move(options)), settle_(std::move(settle)),
    store_(std::move(store)), schedule_(options_.limits) {
  for (std::size_t i = 0; i < posting_threads; ++i)
    threads_.emplace_back([this] { run(); });
}

notifier::~notifier() {
  {
    const std::lock_guard lock{mutex_};
    is_over_ = true;
  }
  changed_.notify_all();
  threads_.clear(); // waits for them
}

void notifier::flush(std::chrono::milliseconds time) {
  const auto until = moment::clock::now() + time;
  std::unique_lock lock{mutex_};
  look();
  changed_.notify_all();
  changed_.wait_until(lock, until, [this] {
    return on_their_way_ == 0 && !schedule_.has_untried();
  });
}

void notifier::run() {
  curl_http http;
  std::unique_lock lock{mutex_};
  while (!is_over_) {
    if (moment::clock::now() - looked_ >= store_interval)
      look();
    const auto what = schedule_.take(moment::clock::now());
    if (!what) {
      changed_.wait_for(lock, store_interval);
      continue;
    }
    ++on_their_way_;
    auto body = text_of(*what);
    lock.unlock();
    const auto how = post(http, *what, body);
    if (how.how != post_outcome::kind::accepted && !is_over_)
      spdlog::warn("notifier: study {}, event {}: {} has not got it{}: {}",
                   to_string(what->study), to_string(what->event), what->url,
                   how.how == post_outcome::kind::deferred ? ", again later"
                                                           : "",
                   how.trouble);
    lock.lock();
    --on_their_way_;
    if (auto settled = schedule_.note(*what, how, moment::clock::now());
        settled && !is_over_)
      settle_(std::move(*settled));
    changed_.notify_all();
  }
}

/// Reads anew what is due.
void notifier::look() {
  looked_ = moment::clock::now();
  auto due = store_->load_due_notifications(due_read_max);
  if (due)
    schedule_.set_due(std::move(*due));
  else
    spdlog::warn("notifier: {}", due.failure().message);
}

/// @returns the body; empty: the study cannot be read
std::string notifier::text_of(const due_notification& what) {
  const auto study = store_->load_study(what.study);
  if (!study)
    return {};
  const auto best = store_->load_best(*study);
  return notification_text(what.event, *study,
                           best ? *best : std::optional<stored_trial>{},
                           now_seconds());
}

post_outcome notifier::post(http& to, const due_notification& what,
                            const std::string& body) {
  if (body.empty())
    return {post_outcome::kind::deferred, "its study cannot be read"};
  const auto key = webhook_key::open(key_path(options_));
  if (!key)
    return {post_outcome::kind::deferred, key.failure().message};
  const auto id = to_string(what.study) + '-' + to_string(what.event) + '-'
                  + std::to_string(what.number);
  const auto now = now_seconds();
  http_request request;
  request.method = "POST";
  request.url = what.url;
  request.headers = {"content-type: application/json", "user-agent: hippo",
                     "webhook-id: " + id,
                     "webhook-timestamp: " + std::to_string(now),
                     "webhook-signature: " + key->sign(id, now, body)};
  request.body = body;
  request.answer_bytes_max = response_bytes_max;
  request.connect_max = request.silence_max = options_.post_max;
  request.total_max = options_.post_max;
  request.through_proxy = false;
  request.public_only = !options_.private_addresses;
  request.is_over = &is_over_;
  return outcome_of(to.perform(request));
}

} // namespace hippo
