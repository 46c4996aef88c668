#include "hippo/checkpoint/checkpoint_store.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace hippo {

folder_store::folder_store(std::string folder) : folder_(std::move(folder)) {}

std::optional<error> folder_store::read(const checkpoint& checkpoint,
                                        const byte_taker& take) {
  auto reader = checkpoint_reader::open(folder_, checkpoint);
  if (!reader)
    return reader.failure();
  std::vector<char> piece(
    std::min<std::uint64_t>(checkpoint.bytes, source_piece_bytes));
  do {
    const auto size = static_cast<std::size_t>(
      std::min<std::uint64_t>(reader->left(), piece.size()));
    if (auto why = reader->read(piece.data(), size))
      return why;
    if (auto why = take(piece.data(), size))
      return why;
  } while (reader->left() > 0);
  return std::nullopt;
}

std::optional<error> folder_store::read_range(const checkpoint& checkpoint,
                                              std::uint64_t offset,
                                              std::uint64_t size,
                                              const byte_taker& take) {
  const auto reader = checkpoint_reader::open(folder_, checkpoint);
  if (!reader)
    return reader.failure();
  std::vector<char> piece(std::min<std::uint64_t>(size, source_piece_bytes));
  for (const auto end = offset + size; offset < end; offset += piece.size()) {
    piece.resize(std::min<std::uint64_t>(end - offset, piece.size()));
    if (auto why = reader->read_at(offset, piece.data(), piece.size()))
      return why;
    if (auto why = take(piece.data(), piece.size()))
      return why;
  }
  return std::nullopt;
}

expected<checkpoint> folder_store::write(const std::string& name,
                                         const content_source& bytes,
                                         durability how) {
  return write_checkpoint(folder_, name, bytes, how);
}

expected<std::string> read_whole(checkpoint_store& store,
                                 const checkpoint& checkpoint) {
  std::string result;
  auto why = store.read(
    checkpoint,
    [&](const char* data, std::size_t size) -> std::optional<error> {
      if (result.empty())
        result.reserve(checkpoint.bytes); // the store has found so many
      result.append(data, size);
      return std::nullopt;
    });
  if (why)
    return *why;
  return result;
}

expected<std::string> folder_store::find_initial(const initial_file& file) {
  return initial_folder_of(folder_) + '/' + file.sha256;
}

std::unique_ptr<checkpoint_store> folder_of(const lease& lease) {
  return std::make_unique<folder_store>(lease.folder);
}

} // namespace hippo
