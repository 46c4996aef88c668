#include "hippo/train/gang/gang_greeting.hpp"

#include <algorithm>
#include <string_view>

#include "hippo/base/little_endian.hpp"
#include "hippo/model/code/sha256.hpp"

namespace hippo {

namespace {

/// Names the protocol and its version.
constexpr std::string_view magic = "hippogg1";

std::string proof_of(const char* side, const gang_greeting& x,
                     const std::string& secret) {
  return sha256_of(
    std::string{"hippo gang "} + side + ' ' + std::to_string(number_of(x.lead))
    + ' ' + std::to_string(x.from) + ' ' + std::to_string(x.to) + ' ' + secret);
}

template <class T>
void put(T value, std::byte*& out) {
  put_little_endian(value, out);
  out += sizeof value;
}

template <class T>
T get(const std::byte*& in) {
  const auto result = get_little_endian<T>(in);
  in += sizeof result;
  return result;
}

} // namespace

gang_greeting gang_greeting::of(const gang_place& place, std::uint32_t to) {
  gang_greeting result{place.lead, place.rank, to, {}};
  result.proof = proof_of("greeting", result, place.secret);
  return result;
}

std::optional<gang_greeting>
gang_greeting::read(std::span<const std::byte> in) {
  if (in.size() != bytes
      || !std::ranges::equal(std::as_bytes(std::span{magic}),
                             in.first(magic.size())))
    return std::nullopt;
  const auto* at = in.data() + magic.size();
  gang_greeting result;
  result.lead = lease_id{get<std::uint64_t>(at)};
  result.from = get<std::uint32_t>(at);
  result.to = get<std::uint32_t>(at);
  const auto proof = in.last(proof_bytes);
  result.proof.assign(reinterpret_cast<const char*>(proof.data()),
                      proof.size());
  return result;
}

std::array<std::byte, gang_greeting::bytes> gang_greeting::write() const {
  std::array<std::byte, bytes> result{};
  auto* at =
    std::ranges::copy(std::as_bytes(std::span{magic}), result.begin()).out;
  put(std::uint64_t{number_of(lead)}, at);
  put(from, at);
  put(to, at);
  std::ranges::copy(std::as_bytes(std::span{proof}).first(proof_bytes), at);
  return result;
}

bool gang_greeting::is_proved_by(const std::string& secret) const {
  return are_equal_secrets(proof, proof_of("greeting", *this, secret));
}

std::string gang_greeting::answer(const std::string& secret) const {
  return proof_of("answer", *this, secret);
}

bool are_equal_secrets(const std::string& left, const std::string& right) {
  if (left.size() != right.size())
    return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < left.size(); ++i)
    difference |= static_cast<unsigned char>(left[i])
                  ^ static_cast<unsigned char>(right[i]);
  return difference == 0;
}

} // namespace hippo
