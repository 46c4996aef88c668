#pragma once

#include <type_traits>

#include "caf/all.hpp"

#include "hippo/wire/wire.hpp"

namespace hippo {

/// Lets CAF (0.17) ship a `wire<Schema>`: the word count, then the raw words.
/// Cap'n Proto is little-endian on every host, thus no per-element conversion.
template <class Inspector, class Schema>
typename Inspector::result_type inspect(Inspector& f, wire<Schema>& x) {
  if constexpr (std::is_base_of_v<caf::deserializer, Inspector>) {
    std::size_t n = 0;
    if (auto err = f.begin_sequence(n))
      return err;
    if (n > max_wire_words)
      return caf::sec::invalid_argument; // before memory is taken for it
    if (n == 0) {
      x = {};
      return f.end_sequence();
    }
    auto words = kj::heapArray<capnp::word>(n);
    auto bytes = words.asBytes();
    if (auto err = f.apply_raw(bytes.size(), bytes.begin()))
      return err;
    x = wire<Schema>{kj::mv(words)};
    return f.end_sequence();
  } else if constexpr (std::is_base_of_v<caf::serializer, Inspector>) {
    auto words = x.words();
    auto n = words.size();
    if (n > max_wire_words)
      return caf::sec::invalid_argument;
    if (auto err = f.begin_sequence(n))
      return err;
    if (n > 0) {
      auto bytes = words.asBytes();
      // The serializer takes `void*` but only reads when saving.
      auto ptr = const_cast<kj::byte*>(bytes.begin());
      if (auto err = f.apply_raw(bytes.size(), ptr))
        return err;
    }
    return f.end_sequence();
  } else {
    auto n = x.size_bytes(); // for logs: the size, never the payload
    return f(caf::meta::type_name("wire"), n);
  }
}

} // namespace hippo
