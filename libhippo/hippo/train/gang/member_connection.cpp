#include "hippo/train/gang/member_connection.hpp"

#include <algorithm>
#include <utility>

#include "hippo/base/little_endian.hpp"
#include "hippo/base/text.hpp"
#include "hippo/base/utf8.hpp"
#include "hippo/train/gang.hpp"

namespace hippo {

namespace {

using clock = std::chrono::steady_clock;

/// How often is looked whether the lease was cancelled.
constexpr std::chrono::milliseconds cancel_look_interval{50};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span{text});
}

} // namespace

member_connection::member_connection(member_socket socket, std::string name,
                                     gang_limits limits,
                                     cancel_test is_cancelled, cancel_way way)
  : name_(std::move(name)), limits_(limits),
    is_cancelled_(std::move(is_cancelled)), way_(way),
    socket_(std::move(socket)) {}

member_connection::~member_connection() = default;

member_connection::header member_connection::header_of(frame_kind kind,
                                                       std::uint64_t size) {
  header result{};
  put_little_endian(static_cast<std::uint32_t>(kind), result.data());
  put_little_endian(size, result.data() + 8);
  return result;
}

void member_connection::lose(const std::string& clause) {
  {
    const std::lock_guard guard{mutex_};
    is_over_ = true;
  }
  give_up(clause);
}

void member_connection::give_up(const std::string& clause) const {
  throw gang_lost{name_ + " " + clause};
}

void member_connection::give_up_silent(gang_limits::duration limit) const {
  give_up("is silent since "
          + duration_text(std::chrono::duration<double>(limit).count()));
}

bool member_connection::write_some(outgoing& out) {
  const std::lock_guard guard{mutex_};
  bool any = false;
  const auto write = [&](std::span<const std::byte>& bytes) {
    while (!bytes.empty()) {
      const auto n = socket_.send(bytes);
      if (n == 0)
        return false;
      any = true;
      bytes = bytes.subspan(n);
    }
    return true;
  };
  auto owed = bytes_of(owed_);
  const bool is_paid = write(owed);
  owed_.erase(0, owed_.size() - owed.size());
  is_writing_ = true;
  if (is_paid && write(out.head) && write(out.body))
    is_writing_ = false;
  return any;
}

void member_connection::begin_frame(std::span<std::byte> values,
                                    bool wants_values) {
  const auto number = get_little_endian<std::uint32_t>(header_.data());
  const auto reserved = get_little_endian<std::uint32_t>(header_.data() + 4);
  const auto size = get_little_endian<std::uint64_t>(header_.data() + 8);
  if (reserved != 0 || number < static_cast<std::uint32_t>(frame_kind::alive)
      || number > static_cast<std::uint32_t>(frame_kind::problem))
    lose("sends something that is no frame");
  kind_ = frame_kind{number};
  text_.clear();
  body_got_ = 0;
  body_size_ = size;
  if (kind_ == frame_kind::values) {
    if (!wants_values)
      lose("sends values where none are awaited");
    if (size != values.size())
      lose("sends " + std::to_string(size) + " bytes of values where "
           + std::to_string(values.size()) + " are awaited");
    return;
  }
  const auto most =
    kind_ == frame_kind::problem ? problem_bytes_max : text_bytes_max;
  if (size > most)
    lose("sends a frame of " + std::to_string(size)
         + " bytes, which may have at most " + std::to_string(most));
}

bool member_connection::read_some(std::span<std::byte> values,
                                  bool wants_values, bool& is_whole) {
  bool any = false;
  std::array<std::byte, text_bytes_max> text;
  while (!is_whole) {
    const bool in_header = header_got_ < header_bytes;
    const auto rest = static_cast<std::size_t>(body_size_) - body_got_;
    std::span<std::byte> to;
    if (in_header)
      to = std::span{header_}.subspan(header_got_);
    else if (kind_ == frame_kind::values)
      to = values.subspan(body_got_);
    else
      to = std::span{text}.first(std::min(rest, text.size()));
    if (!to.empty()) {
      std::size_t n = 0;
      {
        const std::lock_guard guard{mutex_};
        n = socket_.receive(to);
      }
      if (n == 0)
        return any;
      any = true;
      if (in_header) {
        header_got_ += n;
        if (header_got_ == header_bytes)
          begin_frame(values, wants_values);
        continue;
      }
      body_got_ += n;
      if (kind_ != frame_kind::values)
        text_.append(reinterpret_cast<const char*>(to.data()), n);
    }
    if (body_got_ < body_size_)
      continue;
    header_got_ = 0;
    if (kind_ == frame_kind::failed)
      lose("trains no more: " + to_utf8(text_));
    if (kind_ == frame_kind::lost) {
      const std::lock_guard guard{mutex_};
      is_over_ = true;
      throw gang_lost{to_utf8(text_)};
    }
    is_whole = kind_ != frame_kind::alive;
  }
  return any;
}

void member_connection::talk(outgoing out, bool reads,
                             std::span<std::byte> values, bool wants_values) {
  bool is_whole = !reads;
  auto heard = clock::now();
  const auto is_sent = [&] { return out.head.empty() && out.body.empty(); };
  try {
    for (;;) {
      bool any = false;
      try {
        if (!is_sent())
          any = write_some(out);
      } catch (const connection_ended&) {
        // It may have said why before it went.
        for (bool ignored = false; read_some(values, wants_values, ignored);)
          ignored = false;
        throw;
      }
      if (!is_whole)
        any = read_some(values, wants_values, is_whole) || any;
      if (is_sent() && is_whole)
        return;
      const auto now = clock::now();
      if (any)
        heard = now;
      auto limit = limits_.silence;
      if (is_cancelled_()) {
        if (way_ == cancel_way::leaves)
          give_up("is left, since the lease was cancelled");
        limit = std::min(limit, limits_.hurry);
      }
      if (now - heard > limit)
        give_up_silent(limit);
      if (!any)
        socket_.wait(!is_whole, !is_sent(), cancel_look_interval);
    }
  } catch (const connection_ended& e) {
    lose(e.what());
  }
}

void member_connection::exchange(std::span<const std::byte> out,
                                 std::span<std::byte> in) {
  const auto head = header_of(frame_kind::values, out.size());
  talk({head, out}, true, in, true);
  if (kind_ != frame_kind::values)
    lose("sends something else than values");
}

void member_connection::send(std::span<const std::byte> values) {
  const auto head = header_of(frame_kind::values, values.size());
  talk({head, values}, false, {}, false);
}

void member_connection::receive(std::span<std::byte> in) {
  talk({}, true, in, true);
  if (kind_ != frame_kind::values)
    lose("sends something else than values");
}

void member_connection::send(frame_kind kind, const std::string& text) {
  const auto head = header_of(kind, text.size());
  talk({head, bytes_of(text)}, false, {}, false);
}

member_connection::short_frame member_connection::receive() {
  talk({}, true, {}, false);
  return {kind_, std::move(text_)};
}

void member_connection::listen() {
  heard_ = clock::now();
}

std::optional<member_connection::short_frame>
member_connection::look(gang_limits::duration silence) {
  bool is_whole = false;
  try {
    if (read_some({}, false, is_whole))
      heard_ = clock::now();
  } catch (const connection_ended& e) {
    lose(e.what());
  }
  if (is_whole)
    return short_frame{kind_, std::move(text_)};
  if (clock::now() - heard_ > silence)
    give_up_silent(silence);
  return std::nullopt;
}

void member_connection::say_last(frame_kind kind, const std::string& text) {
  const std::lock_guard guard{mutex_};
  if (!std::exchange(is_over_, true) && !is_writing_ && owed_.empty()) {
    const auto head = header_of(kind, text.size());
    std::string bytes{reinterpret_cast<const char*>(head.data()), head.size()};
    bytes += text;
    try {
      for (auto rest = bytes_of(bytes); !rest.empty();) {
        const auto n = socket_.send(rest);
        if (n == 0)
          break;
        rest = rest.subspan(n);
      }
    } catch (const connection_ended&) {
      // It knows already.
    }
  }
  socket_.finish();
}

void member_connection::await_close(clock::time_point then) const {
  while (!socket_.drop_input()) {
    const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(then - clock::now());
    if (left.count() <= 0)
      return;
    socket_.wait(true, false, left);
  }
}

void member_connection::beat() noexcept {
  const std::unique_lock guard{mutex_, std::try_to_lock};
  if (!guard || is_writing_ || is_over_)
    return;
  try {
    if (owed_.empty()) {
      const auto head = header_of(frame_kind::alive, 0);
      owed_.assign(reinterpret_cast<const char*>(head.data()), head.size());
    }
    owed_.erase(0, socket_.send(bytes_of(owed_)));
  } catch (const std::exception&) {
    is_over_ = true; // its users find out why
  }
}

} // namespace hippo
