#include "hippo/checkpoint/parts/parted_store.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hippo/base/hash.hpp"
#include "hippo/checkpoint/parts/part_cutter.hpp"

namespace hippo {

namespace {

using outcome = std::optional<error>;

/// How much of a state is cut at a time.
constexpr std::size_t cut_bytes = 4 << 20;

/// Files of others are used only for this part of a state, or more: each has to
/// be kept as long as the state is.
constexpr std::uint64_t shared_share_min = 64;

/// Shorter stretches in common are written again: over a network each costs a
/// request when the state is read.
constexpr std::uint64_t shared_stretch_min = 1 << 20;

struct hash_of_hash {
  std::size_t operator()(const wide_hash& x) const noexcept {
    return static_cast<std::size_t>(x.low);
  }
};

/// Where a part lies in a file of another checkpoint.
struct known_part {
  const part_file* file = nullptr;
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
};

using known_parts = std::unordered_map<wide_hash, known_part, hash_of_hash>;

/// Cuts a state into parts, and gives each to `take`.
outcome cut(const content_source& state,
            const std::function<void(const char*, std::size_t)>& take) {
  std::vector<char> buffer(cut_bytes);
  std::size_t held = 0;
  for (std::uint64_t at = 0; at < state.size() || held > 0;) {
    const auto more = static_cast<std::size_t>(
      std::min<std::uint64_t>(buffer.size() - held, state.size() - at));
    if (auto why = state.read(at, buffer.data() + held, more))
      return why;
    at += more;
    held += more;
    std::size_t done = 0;
    while (held - done >= part_bytes_max
           || (at == state.size() && done < held)) {
      const auto size = first_part(buffer.data() + done, held - done);
      take(buffer.data() + done, size);
      done += size;
    }
    std::memmove(buffer.data(), buffer.data() + done, held - done);
    held -= done;
  }
  return std::nullopt;
}

/// The bytes of a checkpoint's file: of a state the parts that lie in it, then
/// their table.
class file_content final : public content_source {
public:
  /// A stretch of the state that lies in the file.
  struct stretch {
    std::uint64_t in_file = 0;
    std::uint64_t in_state = 0;
    std::uint64_t bytes = 0;
  };

  /// REQUIRES: `state` outlives `*this`; the stretches follow on each other in
  /// the file.
  file_content(const content_source& state, std::vector<stretch> stretches,
               std::string table)
    : state_(state), stretches_(std::move(stretches)),
      own_bytes_(stretches_.empty()
                   ? 0
                   : stretches_.back().in_file + stretches_.back().bytes),
      table_(std::move(table)) {}

  [[nodiscard]] std::uint64_t size() const override {
    return own_bytes_ + table_.size();
  }

  [[nodiscard]] outcome read(std::uint64_t offset, void* to,
                             std::size_t size) const override {
    auto* out = static_cast<char*>(to);
    while (size > 0) {
      std::size_t done = 0;
      if (offset >= own_bytes_) {
        done = size;
        std::memcpy(out, table_.data() + (offset - own_bytes_), done);
      } else {
        const auto next =
          std::ranges::upper_bound(stretches_, offset, {}, &stretch::in_file);
        const auto& x = *std::prev(next);
        const auto skipped = offset - x.in_file;
        done = static_cast<std::size_t>(
          std::min<std::uint64_t>(size, x.bytes - skipped));
        if (auto why = state_.read(x.in_state + skipped, out, done))
          return why;
      }
      out += done;
      offset += done;
      size -= done;
    }
    return std::nullopt;
  }

private:
  const content_source& state_;
  const std::vector<stretch> stretches_;
  const std::uint64_t own_bytes_;
  const std::string table_;
};

/// Notes where the parts of a checkpoint lie.
void note_parts(const checkpoint& x, const part_table& table,
                std::set<part_file>& files, known_parts& to) {
  const part_file own{x.file, x.bytes, x.digest};
  for (const auto& part : table.parts) {
    const auto& file = part.file == 0 ? own : table.files[part.file - 1u];
    to.try_emplace(part.hash, known_part{&*files.insert(file).first,
                                         part.offset, part.bytes});
  }
}

/// A part of a state that is to be written.
struct cut_part {
  wide_hash hash;
  std::uint32_t bytes = 0;
  const known_part* other = nullptr; ///< where it lies; null: nowhere yet
};

/// Finds the parts that lie in files of others, in stretches that are worth a
/// request of their own when the state is read.
void find_shared(std::vector<cut_part>& parts, const known_parts& known) {
  for (auto& x : parts)
    if (const auto i = known.find(x.hash);
        i != known.end() && i->second.bytes == x.bytes)
      x.other = &i->second;
  for (auto begin = parts.begin(); begin != parts.end();) {
    auto end = std::next(begin);
    auto bytes = std::uint64_t{begin->bytes};
    if (begin->other != nullptr)
      for (; end != parts.end() && end->other != nullptr
             && end->other->file == begin->other->file
             && end->other->offset == begin->other->offset + bytes;
           ++end)
        bytes += end->bytes;
    if (bytes < shared_stretch_min)
      std::for_each(begin, end, [](cut_part& x) { x.other = nullptr; });
    begin = end;
  }
}

/// Chooses the files of others that a state has parts in.
std::vector<part_file> choose_files(const std::vector<cut_part>& parts,
                                    std::uint64_t bytes) {
  std::map<part_file, std::uint64_t> shared;
  for (const auto& x : parts)
    if (x.other != nullptr)
      shared[*x.other->file] += x.bytes;
  std::vector<std::pair<std::uint64_t, part_file>> ranked;
  for (const auto& [file, size] : shared)
    if (size >= bytes / shared_share_min)
      ranked.emplace_back(size, file);
  std::ranges::sort(ranked, std::greater{});
  if (ranked.size() > part_files_max)
    ranked.resize(part_files_max);
  std::vector<part_file> result;
  for (auto& x : ranked)
    result.push_back(std::move(x.second));
  std::ranges::sort(result);
  return result;
}

/// Places parts of a state: in the file of another where one is known, or in
/// its own.
class placement {
public:
  explicit placement(part_table& table) : table_(table) {}

  void add(const cut_part& x) {
    const auto [i, is_new] = placed_.try_emplace(x.hash);
    auto& part = i->second;
    if (is_new || part.bytes != x.bytes) {
      part = {x.hash, own_bytes_, x.bytes, 0};
      const auto file = x.other == nullptr
                          ? table_.files.end()
                          : std::ranges::find(table_.files, *x.other->file);
      if (file != table_.files.end()) {
        part.offset = x.other->offset;
        part.file = static_cast<std::uint8_t>(file - table_.files.begin() + 1);
      } else {
        write(x.bytes);
      }
    }
    table_.parts.push_back(part);
    at_ += x.bytes;
  }

  /// Returns the stretches of the state that are to be written.
  [[nodiscard]] std::vector<file_content::stretch> take_stretches() {
    return std::move(stretches_);
  }

private:
  void write(std::uint32_t bytes) {
    if (!stretches_.empty()
        && stretches_.back().in_state + stretches_.back().bytes == at_)
      stretches_.back().bytes += bytes;
    else
      stretches_.push_back({own_bytes_, at_, bytes});
    own_bytes_ += bytes;
  }

  part_table& table_;
  std::unordered_map<wide_hash, state_part, hash_of_hash> placed_;
  std::vector<file_content::stretch> stretches_;
  std::uint64_t own_bytes_ = 0; ///< of the file
  std::uint64_t at_ = 0;        ///< in the state
};

error damaged(const checkpoint& x, const std::string& why) {
  return {errc::bad_checkpoint, "checkpoint " + x.file + " is damaged: " + why};
}

/// Takes the bytes of parts that follow on each other, and passes on those that
/// are what was written.
class part_checker {
public:
  part_checker(const checkpoint& whose, const byte_taker& take)
    : whose_(whose), take_(take) {}

  /// REQUIRES: bytes of the parts before have been taken.
  void expect(const state_part* begin, const state_part* end) {
    next_ = begin;
    end_ = end;
  }

  outcome take(const char* data, std::size_t size) {
    while (size > 0) {
      if (next_ == end_)
        return damaged(whose_, "there is more of a part than was asked for");
      const auto done =
        std::min<std::size_t>(size, next_->bytes - buffer_.size());
      buffer_.append(data, done);
      data += done;
      size -= done;
      if (buffer_.size() < next_->bytes)
        continue;
      if (wide_hash_of(buffer_.data(), buffer_.size()) != next_->hash)
        return damaged(whose_, "a part is not the one that was written");
      hasher_.add(buffer_.data(), buffer_.size());
      if (auto why = take_(buffer_.data(), buffer_.size()))
        return why;
      buffer_.clear();
      ++next_;
    }
    return std::nullopt;
  }

  /// Whether all parts that are expected have been taken.
  [[nodiscard]] bool is_complete() const { return next_ == end_; }

  [[nodiscard]] std::uint64_t digest() const { return hasher_.digest(); }

private:
  const checkpoint& whose_;
  const byte_taker& take_;
  const state_part* next_ = nullptr;
  const state_part* end_ = nullptr;
  std::string buffer_;
  byte_hasher hasher_;
};

} // namespace

parted_store::parted_store(const lease& lease, checkpoint_store& files,
                           part_tables& tables)
  : lease_(lease), files_(files), tables_(tables) {}

outcome parted_store::read(const checkpoint& checkpoint,
                           const byte_taker& take) {
  if (checkpoint.table_bytes == 0)
    return files_.read(checkpoint, take);
  const auto table = tables_.find(lease_.folder, checkpoint, files_);
  return table ? read_parts(checkpoint, **table, take) : table.failure();
}

outcome parted_store::read_parts(const checkpoint& x, const part_table& table,
                                 const byte_taker& take) {
  part_checker checker{x, take};
  const auto* const end = table.parts.data() + table.parts.size();
  for (const auto* begin = table.parts.data(); begin != end;) {
    auto bytes = std::uint64_t{begin->bytes};
    const auto* last = begin + 1;
    for (; last != end && last->file == begin->file
           && last->offset == begin->offset + bytes;
         ++last)
      bytes += last->bytes;
    checker.expect(begin, last);
    auto where = x;
    if (begin->file > 0) {
      const auto& other = table.files[begin->file - 1u];
      where = {other.file, other.bytes, other.digest};
    }
    if (auto why = files_.read_range(where, begin->offset, bytes,
                                     [&](const char* data, std::size_t size) {
                                       return checker.take(data, size);
                                     }))
      return why;
    if (!checker.is_complete())
      return damaged(x, "a file with parts of it is too short");
    begin = last;
  }
  if (checker.digest() != table.digest)
    return damaged(x, "its parts are not those that were written");
  return std::nullopt;
}

expected<std::uint64_t> parted_store::size_of(const checkpoint& checkpoint) {
  if (checkpoint.table_bytes == 0)
    return checkpoint.bytes;
  const auto table = tables_.find(lease_.folder, checkpoint, files_);
  return table ? expected<std::uint64_t>{(*table)->bytes} : table.failure();
}

expected<checkpoint> parted_store::write(const std::string& name,
                                         const content_source& state,
                                         durability how) {
  if (state.size() < parted_bytes_min)
    return files_.write(name, state, how);
  auto table = std::make_shared<part_table>();
  table->bytes = state.size();
  byte_hasher hasher;
  std::vector<cut_part> parts;
  if (auto why = cut(state, [&](const char* data, std::size_t size) {
        hasher.add(data, size);
        parts.push_back({wide_hash_of(data, size),
                         static_cast<std::uint32_t>(size), nullptr});
      }))
    return *why;
  table->digest = hasher.digest();
  std::set<part_file> files;
  known_parts known;
  for (const checkpoint* x : std::initializer_list<const checkpoint*>{
         &lease_.base, &lease_.start, &written_})
    if (x->table_bytes > 0)
      if (const auto found = tables_.find(lease_.folder, *x, files_))
        note_parts(*x, **found, files, known);
  find_shared(parts, known);
  table->files = choose_files(parts, state.size());
  placement places{*table};
  for (const auto& x : parts)
    places.add(x);
  auto encoded = to_bytes(*table);
  const auto table_bytes = encoded.size();
  const file_content content{state, places.take_stretches(),
                             std::move(encoded)};
  auto result = files_.write(name, content, how);
  if (!result)
    return result;
  result->table_bytes = table_bytes;
  result->part_files = table->files;
  tables_.keep(lease_.folder, *result, std::move(table));
  written_ = *result;
  return result;
}

} // namespace hippo
