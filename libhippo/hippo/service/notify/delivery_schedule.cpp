#include "hippo/service/notify/delivery_schedule.hpp"

#include <cassert>

namespace hippo {

namespace {

/// The scheme, host and port of a URL.
std::string server_of(const std::string& url) {
  const auto host = url.find("://");
  return url.substr(0,
                    url.find_first_of("/?#", host == url.npos ? 0 : host + 3));
}

} // namespace

post_outcome outcome_of(const http_answer& answer) {
  using kind = post_outcome::kind;
  if (answer.is_forbidden)
    return {kind::refused, answer.trouble};
  if (answer.status == 0)
    return {kind::deferred, answer.trouble};
  if (answer.status >= 200 && answer.status < 300)
    return {kind::accepted, {}};
  const auto text = "it answered with status " + std::to_string(answer.status);
  if (answer.status >= 300 && answer.status < 400)
    return {kind::refused, text + ", a redirection, which is not followed"};
  const bool may_pass = answer.status >= 500 || answer.status == 408
                        || answer.status == 425 || answer.status == 429;
  return {may_pass ? kind::deferred : kind::refused, text};
}

delivery_schedule::host_state&
delivery_schedule::host_of(const std::string& url) {
  return hosts_
    .try_emplace(server_of(url),
                 host_state{.waits = {limits_.first_wait, limits_.last_wait}})
    .first->second;
}

bool delivery_schedule::is_settled(const due_notification& x) const {
  const auto i = settled_.find({x.study, x.event});
  return i != settled_.end() && i->second >= x.number;
}

bool delivery_schedule::has_untried() const {
  for (const auto& x : due_) {
    const auto i = tried_.find({x.study, x.event});
    if (!is_settled(x) && (i == tried_.end() || i->second.number != x.number))
      return true;
  }
  return false;
}

bool delivery_schedule::may_be_posted(const due_notification& x,
                                      moment now) const {
  if (is_settled(x))
    return false;
  if (x.event != notify_event::best)
    return true;
  const auto i = posted_.find({x.study, x.event});
  return i == posted_.end() || now - i->second >= limits_.best_interval;
}

std::optional<due_notification> delivery_schedule::take(moment now) {
  const due_notification* best = nullptr;
  host_state* best_host = nullptr;
  const auto rank = [](const host_state& host) {
    return std::pair{host.failures > 0, host.last};
  };
  for (const auto& x : due_) {
    auto& host = host_of(x.url);
    if (host.is_busy || now < host.not_before || !may_be_posted(x, now))
      continue;
    if (best == nullptr || rank(host) < rank(*best_host)) {
      best = &x;
      best_host = &host;
    }
  }
  if (best == nullptr)
    return std::nullopt;
  best_host->is_busy = true;
  auto& known = tried_[{best->study, best->event}];
  if (known.number != best->number)
    known = {best->number, now};
  return *best;
}

std::optional<notification_settled>
delivery_schedule::note(const due_notification& what, const post_outcome& how,
                        moment now) {
  auto& host = host_of(what.url);
  assert(host.is_busy);
  host.is_busy = false;
  host.last = now;
  const key id{what.study, what.event};
  const auto first = tried_[id].first;
  if (how.how == post_outcome::kind::deferred) {
    ++host.failures;
    host.not_before = now + host.waits.next();
    if (now - first < limits_.give_up_after)
      return std::nullopt;
  } else {
    host.failures = 0;
    host.waits.reset();
  }
  tried_.erase(id);
  settled_[id] = what.number;
  if (how.how == post_outcome::kind::accepted)
    posted_[id] = now;
  return notification_settled{what.study, what.event, what.number, how.trouble};
}

} // namespace hippo
