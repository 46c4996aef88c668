#include "hippo/plan/node_table.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>
#include <utility>

namespace hippo {

namespace {

/// A node with more than so much on it is not packed: to unpack it would take
/// long.
constexpr std::size_t packed_items_max = 1024;

bool may_pack(const plan_node& x) {
  return x.is_idle()
         && x.results.size() + x.checkpoints.size() + x.cuts.size()
                + x.reaches.size() + x.measurings.size() + x.config.size()
                + (x.troubles ? x.troubles->diverged.size() : 0)
              <= packed_items_max;
}

/// Writes numbers, small ones in few bytes.
class packer {
public:
  void put(std::uint64_t x) {
    for (; x >= 0x80; x >>= 7)
      bytes_.push_back(static_cast<unsigned char>(x | 0x80));
    bytes_.push_back(static_cast<unsigned char>(x));
  }

  void put(const std::string& x) {
    put(x.size());
    put_raw(x.data(), x.size());
  }

  void put(const error& x) {
    put(static_cast<std::uint64_t>(x.code));
    put(x.message);
  }

  void put_raw(const void* from, std::size_t size) {
    const auto at = bytes_.size();
    bytes_.resize(at + size);
    if (size > 0)
      std::memcpy(bytes_.data() + at, from, size);
  }

  [[nodiscard]] const std::vector<unsigned char>& bytes() const {
    return bytes_;
  }

private:
  std::vector<unsigned char> bytes_;
};

/// Reads what a `packer` has written.
class unpacker {
public:
  explicit unpacker(const unsigned char* bytes) : at_(bytes) {}

  std::uint64_t get() {
    std::uint64_t result = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint64_t byte = *at_++;
      result |= (byte & 0x7f) << shift;
      if (byte < 0x80)
        return result;
    }
  }

  template <class T>
  T get_as() {
    return static_cast<T>(get());
  }

  std::string get_text() {
    std::string result(get(), '\0');
    get_raw(result.data(), result.size());
    return result;
  }

  error get_error() {
    const auto code = get_as<errc>();
    return {code, get_text()};
  }

  void get_raw(void* to, std::size_t size) {
    if (size > 0)
      std::memcpy(to, at_, size);
    at_ += size;
  }

private:
  const unsigned char* at_;
};

/// A step of a node, none of which is before its begin.
std::uint64_t from_begin(const plan_node& x, step_t at) {
  return at - x.begin;
}

void put_troubles(packer& out, const plan_node& x, const trouble& what) {
  out.put(what.diverged.size());
  for (const auto& [at, why] : what.diverged) {
    out.put(from_begin(x, at));
    out.put(why);
  }
  out.put(std::uint64_t{what.failed_at.has_value()});
  if (what.failed_at) {
    out.put(from_begin(x, *what.failed_at));
    out.put(what.failure);
  }
}

std::unique_ptr<trouble> get_troubles(unpacker& in, const plan_node& x) {
  auto result = std::make_unique<trouble>();
  for (auto left = in.get(); left > 0; --left) {
    const auto at = x.begin + in.get();
    result->diverged.emplace_hint(result->diverged.end(), at, in.get_error());
  }
  if (in.get() != 0) {
    result->failed_at = x.begin + in.get();
    result->failure = in.get_error();
  }
  return result;
}

} // namespace

node_table::~node_table() {
  for (auto& x : slots_)
    drop_packed(x);
}

void node_table::drop_packed(slot& place) const {
  if (place.packed == nullptr)
    return;
  cold_->deallocate(place.packed, place.packed_size, 1);
  packed_bytes_ -= place.packed_size;
  place.packed = nullptr;
}

plan_node& node_table::emplace_back() {
  const auto id = slots_.add({std::make_unique<plan_node>()});
  if (id != root_node)
    unpacked_.push_back(id);
  return *slots_[id].node;
}

plan_node& node_table::unpack_in_place(node_id id) const {
  auto& x = slots_[id];
  x.node = std::make_unique<plan_node>(unpack(x.packed));
  drop_packed(x);
  unpacked_.push_back(id);
  return *x.node;
}

const plan_node& node_table::peek(node_id id, plan_node& room) const {
  const auto& x = slots_[id];
  if (x.node)
    return *x.node;
  room = unpack(x.packed);
  return room;
}

void node_table::set_unpacked_max(std::size_t value) {
  unpacked_max_ = pack_from_ = value;
}

void node_table::pack_idle() {
  if (unpacked_.size() <= pack_from_)
    return;
  std::erase_if(unpacked_, [this](node_id id) {
    if (!may_pack(*slots_[id].node))
      return false;
    pack(id);
    return true;
  });
  pack_from_ = 2 * unpacked_.size() + unpacked_max_;
}

void node_table::pack(node_id id) {
  auto& to = slots_[id];
  const auto& x = *to.node;
  packer out;
  out.put(number_of(x.parent));
  out.put(x.depth);
  out.put(x.begin);
  out.put(x.strand);
  out.put_raw(&x.identity, sizeof(x.identity));
  out.put(x.config.size());
  for (auto y : x.config)
    out.put(y);
  out.put(number_of(x.first_child));
  out.put(number_of(x.next_sibling));
  out.put(x.cuts.size());
  for (auto at : x.cuts)
    out.put(from_begin(x, at));
  out.put(x.measurings.size());
  for (auto y : x.measurings)
    out.put(y);
  out.put(x.results.size());
  for (const auto& [at, values] : x.results) {
    out.put(from_begin(x, at));
    out.put(values.names());
    out.put_raw(values.values(), values.size(names_) * sizeof(double));
  }
  out.put(x.checkpoints.size());
  for (const auto& [at, file] : x.checkpoints) {
    out.put(from_begin(x, at));
    out.put(file.file);
    out.put(file.bytes);
    out.put_raw(&file.digest, sizeof(file.digest));
    out.put(file.device);
    out.put(file.table_bytes);
    out.put(file.part_files.size());
    for (const auto& y : file.part_files) {
      out.put(y.file);
      out.put(y.bytes);
      out.put_raw(&y.digest, sizeof(y.digest));
    }
  }
  for (auto at : {x.asked_to, x.goal, x.restored_to, x.delivered_to,
                  x.known_to})
    out.put(from_begin(x, at)); // `goal` and `restored_to` may be 0: it wraps
  out.put(x.reaches.size());
  for (const auto& y : x.reaches) {
    out.put(number_of(y.study));
    out.put(from_begin(x, y.asked_to));
    out.put(from_begin(x, y.delivered_to));
  }
  out.put(std::uint64_t{x.troubles != nullptr});
  if (x.troubles)
    put_troubles(out, x, *x.troubles);
  const auto& bytes = out.bytes();
  to.packed = static_cast<unsigned char*>(cold_->allocate(bytes.size(), 1));
  to.packed_size = bytes.size();
  std::copy(bytes.begin(), bytes.end(), to.packed);
  packed_bytes_ += bytes.size();
  to.node.reset();
}

plan_node node_table::unpack(const unsigned char* bytes) const {
  unpacker in{bytes};
  plan_node x;
  x.parent = in.get_as<node_id>();
  x.depth = in.get_as<std::uint32_t>();
  x.begin = in.get();
  x.strand = in.get();
  in.get_raw(&x.identity, sizeof(x.identity));
  x.config.resize(in.get());
  for (auto& y : x.config)
    y = in.get_as<std::uint32_t>();
  x.first_child = in.get_as<node_id>();
  x.next_sibling = in.get_as<node_id>();
  x.cuts.resize(in.get());
  for (auto& at : x.cuts)
    at = x.begin + in.get();
  x.measurings.resize(in.get());
  for (auto& y : x.measurings)
    y = in.get_as<std::uint32_t>();
  const auto results = in.get();
  x.results.reserve(results);
  for (auto left = results; left > 0; --left) {
    const auto at = x.begin + in.get();
    packed_metrics values{in.get_as<std::uint32_t>(), names_};
    in.get_raw(values.values(), values.size(names_) * sizeof(double));
    x.results.emplace_hint(x.results.end(), at, std::move(values));
  }
  const auto checkpoints = in.get();
  x.checkpoints.reserve(checkpoints);
  for (auto left = checkpoints; left > 0; --left) {
    const auto at = x.begin + in.get();
    checkpoint file;
    file.file = in.get_text();
    file.bytes = in.get();
    in.get_raw(&file.digest, sizeof(file.digest));
    file.device = in.get_text();
    file.table_bytes = in.get();
    file.part_files.resize(in.get());
    for (auto& y : file.part_files) {
      y.file = in.get_text();
      y.bytes = in.get();
      in.get_raw(&y.digest, sizeof(y.digest));
    }
    x.checkpoints.emplace_hint(x.checkpoints.end(), at, std::move(file));
  }
  for (auto* at : {&x.asked_to, &x.goal, &x.restored_to, &x.delivered_to,
                   &x.known_to})
    *at = x.begin + in.get();
  x.reaches.resize(in.get());
  for (auto& y : x.reaches) {
    y.study = in.get_as<study_no>();
    y.asked_to = x.begin + in.get();
    y.delivered_to = x.begin + in.get();
  }
  if (in.get() != 0)
    x.troubles = get_troubles(in, x);
  return x;
}

std::uint64_t node_table::cold_bytes() const {
  const auto packed = slots_.size() - 1 - unpacked_.size();
  return slots_.size() * sizeof(slot) + packed_bytes_ + packed * block_bytes;
}

std::uint64_t node_table::memory_bytes() const {
  std::uint64_t result = 0;
  for (auto id : unpacked_) {
    const auto& x = *slots_[id].node;
    result += sizeof(x) + 2 * block_bytes
              + x.config.size() * sizeof(x.config[0]);
    for (const auto& kvp : x.results)
      result += sizeof(kvp) + kvp.second.size(names_) * sizeof(double)
                + 2 * block_bytes;
    for (const auto& kvp : x.checkpoints)
      result +=
        sizeof(kvp) + kvp.second.file.size() + 2 * block_bytes
        + kvp.second.part_files.size() * (sizeof(part_file) + block_bytes);
  }
  return result;
}

} // namespace hippo
