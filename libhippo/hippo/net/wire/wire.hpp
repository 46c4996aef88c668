#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/array.h>

namespace hippo {

/// Largest control message, in 8-byte words (64 MiB). Whoever receives one
/// checks this before allocating memory. Checkpoints never travel as messages.
inline constexpr std::size_t max_wire_words = (64ull << 20) / 8;

/// How deep the pointers of a message may go; the deepest schema needs 7.
inline constexpr int max_wire_nesting = 16;

/// An immutable, flat Cap'n Proto message whose root is a `Schema`.
///
/// Copying is O(1) and shares the words, hence sending a `wire` to an actor of
/// the same process copies no payload. Thread-safe since immutable.
template <class Schema>
class wire {
public:
  using words_type = kj::Array<const capnp::word>;

  /// Holds no message: `empty()` is true and `read` must not be called.
  wire() = default;

  /// Flattens `builder` (one copy).
  explicit wire(capnp::MessageBuilder& builder)
    : wire(capnp::messageToFlatArray(builder)) {}

  /// Takes ownership of an encoded message, not validated until `read`.
  explicit wire(kj::Array<capnp::word> words)
    : words_(std::make_shared<const words_type>(kj::mv(words))) {}

  /// Shares an encoded message, not validated until `read`; null: none.
  explicit wire(std::shared_ptr<const words_type> words)
    : words_(std::move(words)) {}

  /// Copies an encoded message, not validated until `read`. Bytes that are no
  /// whole words are none: the result is empty then.
  static wire of_bytes(std::string_view bytes) {
    if (bytes.size() % sizeof(capnp::word) != 0)
      return {};
    auto words = kj::heapArray<capnp::word>(bytes.size() / sizeof(capnp::word));
    std::copy(bytes.begin(), bytes.end(), words.asChars().begin());
    return wire{kj::mv(words)};
  }

  [[nodiscard]] bool empty() const noexcept { return words_ == nullptr; }

  [[nodiscard]] kj::ArrayPtr<const capnp::word> words() const noexcept {
    return empty() ? nullptr : words_->asPtr();
  }

  /// Returns the message without its type; null: it is empty.
  [[nodiscard]] const std::shared_ptr<const words_type>&
  shared() const noexcept {
    return words_;
  }

  [[nodiscard]] std::size_t size_bytes() const noexcept {
    return words().size() * sizeof(capnp::word);
  }

  /// Calls `function(typename Schema::Reader)` and returns its result. The
  /// reader and what it points to die with the call. What may be read is
  /// limited to a few times the message's own size, so that a message whose
  /// pointers all lead to one place costs no more than an honest one.
  /// @throws kj::Exception if the bytes are malformed
  template <class F>
  decltype(auto) read(F&& function) const {
    capnp::ReaderOptions options;
    options.traversalLimitInWords = 4 * words().size() + 64;
    options.nestingLimit = max_wire_nesting;
    capnp::FlatArrayMessageReader reader{words(), options};
    return std::forward<F>(function)(reader.template getRoot<Schema>());
  }

  friend bool operator==(const wire& left, const wire& right) noexcept {
    const auto xs = left.words().asBytes(), ys = right.words().asBytes();
    return xs.size() == ys.size()
           && (xs.size() == 0
               || std::memcmp(xs.begin(), ys.begin(), xs.size()) == 0);
  }

private:
  std::shared_ptr<const words_type> words_;
};

} // namespace hippo
