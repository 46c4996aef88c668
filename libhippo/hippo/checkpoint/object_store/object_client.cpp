#include "hippo/checkpoint/object_store/object_client.hpp"

#include <algorithm>
#include <charconv>
#include <thread>
#include <utility>

#include "hippo/base/backoff.hpp"
#include "hippo/base/hash.hpp"
#include "hippo/model/code/sha256.hpp"
#include "hippo/net/http/curl_http.hpp"

namespace hippo {

namespace {

/// A store's answer of a failure may have so many bytes.
constexpr std::uint64_t error_bytes_max = 64 << 10;

object_client::world this_world() {
  return {std::make_unique<curl_http>(), own_environment(),
          [] {
            return std::chrono::duration_cast<std::chrono::seconds>(
                     std::chrono::system_clock::now().time_since_epoch())
              .count();
          },
          [](std::chrono::milliseconds x) { std::this_thread::sleep_for(x); }};
}

error failed(const std::string& what, const std::string& why) {
  return {errc::io_failed, what + ": " + why};
}

std::uint64_t number_in(const std::string& text) {
  std::uint64_t result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

} // namespace

object_client::object_client(object_location where,
                             object_client_options options)
  : object_client(std::move(where), options, this_world()) {}

object_client::object_client(object_location where,
                             object_client_options options, world with)
  : where_(std::move(where)),
    options_(options),
    with_(std::move(with)),
    credentials_(*with_.carrier, with_.env, with_.now) {}

expected<http_answer> object_client::ask(http_request request,
                                         const std::string& what) {
  request.silence_max = options_.silence_max;
  request.headers.push_back("x-amz-content-sha256: " + sha256_of(request.body));
  backoff pauses{options_.pause_first, options_.pause_last};
  // Many who lost the same store do not come back at once.
  const auto hash = hash_bytes(request.url.data(), request.url.size());
  const auto jitter = static_cast<double>(hash >> 11) * 0x1p-53;
  bool renewed = false;
  for (unsigned attempt = 1;; ++attempt) {
    auto by = credentials_.get();
    if (!by)
      return failed(what, by.failure().message);
    request.sign =
      http_request::signature{where_.region, std::move(by->id),
                              std::move(by->secret), std::move(by->session)};
    auto answer = with_.carrier->perform(request);
    switch (judge(answer)) {
      case verdict::done:
      case verdict::missing:
        return answer;
      case verdict::refused:
        return failed(what, describe(answer));
      case verdict::renew:
        if (std::exchange(renewed, true))
          return failed(what, describe(answer));
        credentials_.forget();
        break;
      case verdict::again:
        if (attempt >= options_.attempts_max)
          return failed(what, "tried " + std::to_string(attempt)
                                + " times: " + describe(answer));
        with_.pause(pauses.next(jitter));
    }
  }
}

expected<std::optional<std::string>>
object_client::get_range(const std::string& name, std::uint64_t offset,
                         std::uint64_t size) {
  const auto key = key_of(where_, name);
  http_request x;
  x.url = url_of(where_, key);
  x.headers.push_back("range: bytes=" + std::to_string(offset) + '-'
                      + std::to_string(offset + size - 1));
  x.answer_bytes_max = std::max(size, error_bytes_max);
  const auto what = "cannot read " + key;
  auto answer = ask(std::move(x), what);
  if (!answer)
    return answer.failure();
  if (judge(*answer) == verdict::missing)
    return std::optional<std::string>{};
  constexpr long range_not_satisfiable = 416;
  if (answer->status == range_not_satisfiable)
    return std::optional{std::string{}};
  if (judge(*answer) != verdict::done)
    return failed(what, describe(*answer));
  if (answer->body.size() > size)
    return failed(what, "the store gave " + std::to_string(answer->body.size())
                          + " bytes in place of " + std::to_string(size));
  return std::optional{std::move(answer->body)};
}

expected<bool> object_client::read(const std::string& name,
                                   std::uint64_t offset, std::uint64_t size,
                                   const byte_taker& take) {
  constexpr std::uint64_t piece_bytes = 16 << 20;
  const auto end = offset + size;
  for (auto at = offset; at < end;) {
    const auto wanted = std::min(end - at, piece_bytes);
    const auto piece = get_range(name, at, wanted);
    if (!piece)
      return piece.failure();
    if (!*piece && at == offset)
      return false;
    if (!*piece)
      return failed("cannot read " + key_of(where_, name),
                    "it has gone meanwhile");
    if (auto why = take((*piece)->data(), (*piece)->size()))
      return *why;
    if ((*piece)->size() < wanted)
      break;
    at += wanted;
  }
  return true;
}

std::optional<error> object_client::put(const std::string& name,
                                        const content_source& bytes) {
  const auto key = key_of(where_, name);
  if (bytes.size() > options_.part_bytes)
    return put_in_parts(key, bytes);
  std::string body(bytes.size(), '\0');
  if (auto why = bytes.read(0, body.data(), body.size()))
    return why;
  http_request x;
  x.method = "PUT";
  x.url = url_of(where_, key);
  x.body = body;
  const auto what = "cannot write " + key;
  const auto answer = ask(std::move(x), what);
  if (!answer)
    return answer.failure();
  if (judge(*answer) != verdict::done)
    return failed(what, describe(*answer));
  return std::nullopt;
}

std::optional<error> object_client::put_in_parts(const std::string& key,
                                                 const content_source& bytes) {
  const auto what = "cannot write " + key;
  http_request x;
  x.method = "POST";
  x.url = url_of(where_, key) + "?uploads=";
  auto begun = ask(x, what);
  if (!begun)
    return begun.failure();
  const auto ids = texts_of(begun->body, "UploadId");
  if (judge(*begun) != verdict::done || ids.size() != 1)
    return failed(what, "the store names no upload: " + describe(*begun));
  const auto id = "uploadId=" + encode_query(ids.front());
  const auto address = url_of(where_, key) + '?';
  auto why = [&]() -> std::optional<error> {
    std::vector<std::string> tags;
    std::string body;
    for (std::uint64_t at = 0; at < bytes.size(); at += body.size()) {
      body.resize(std::min(bytes.size() - at, options_.part_bytes));
      if (auto unread = bytes.read(at, body.data(), body.size()))
        return unread;
      http_request part;
      part.method = "PUT";
      part.url = address + "partNumber=" + std::to_string(tags.size() + 1) + '&'
                 + id;
      part.body = body;
      auto stored = ask(std::move(part), what);
      if (!stored)
        return stored.failure();
      const auto tag = stored->headers["etag"];
      if (judge(*stored) != verdict::done || tag.empty())
        return failed(what, "a part was not stored: " + describe(*stored));
      tags.push_back(tag);
    }
    const auto completion = completion_of(tags);
    http_request last;
    last.method = "POST";
    last.url = address + id;
    last.body = completion;
    last.headers = {"Content-Type: application/xml"};
    const auto stored = ask(std::move(last), what);
    if (!stored)
      return stored.failure();
    if (judge(*stored) != verdict::done)
      return failed(what, "its parts were not put together: "
                            + describe(*stored));
    return std::nullopt;
  }();
  if (!why)
    return std::nullopt;
  http_request end; // or the parts would be kept, and paid for
  end.method = "DELETE";
  end.url = address + id;
  static_cast<void>(ask(std::move(end), what));
  return why;
}

std::optional<error> object_client::remove(const std::string& name) {
  const auto key = key_of(where_, name);
  http_request x;
  x.method = "DELETE";
  x.url = url_of(where_, key);
  const auto answer = ask(std::move(x), "cannot delete " + key);
  return answer ? std::nullopt : std::optional{answer.failure()};
}

expected<std::vector<listed_object>>
object_client::list(const std::string& prefix) {
  std::vector<listed_object> result;
  std::string token;
  const auto what = "cannot list " + key_of(where_, prefix);
  for (;;) {
    http_request x;
    x.url = url_of(where_, "") + '?';
    if (!token.empty())
      x.url += "continuation-token=" + encode_query(token) + '&';
    x.url += "list-type=2&prefix=" + encode_query(key_of(where_, prefix));
    x.answer_bytes_max = 16 << 20;
    const auto answer = ask(std::move(x), what);
    if (!answer)
      return answer.failure();
    if (judge(*answer) != verdict::done)
      return failed(what, describe(*answer));
    for (const auto& entry : texts_of(answer->body, "Contents")) {
      const auto keys = texts_of(entry, "Key");
      const auto sizes = texts_of(entry, "Size");
      const auto times = texts_of(entry, "LastModified");
      if (keys.size() != 1 || sizes.size() != 1)
        return failed(what, "the store answers something else");
      result.push_back({keys.front(), number_in(sizes.front()),
                        times.empty() ? std::nullopt
                                      : parse_time(times.front())});
    }
    const auto next = texts_of(answer->body, "NextContinuationToken");
    if (next.empty() || next.front() == token)
      return result;
    token = next.front();
  }
}

} // namespace hippo
