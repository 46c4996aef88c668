#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "hippo/base/error.hpp"
#include "hippo/base/file_descriptor.hpp"

namespace hippo {

/// Takes the next bytes of a stream. @returns nothing, or why it takes no more
using byte_taker =
  std::function<std::optional<error>(const char* data, std::size_t size)>;

/// Bytes that can be read in pieces, in any order, any number of times.
class content_source {
public:
  virtual ~content_source() = default;

  [[nodiscard]] virtual std::uint64_t size() const = 0;

  /// Reads `size` bytes from `offset` on.
  /// @returns nothing, or `errc::io_failed`
  /// REQUIRES: `offset + size <= this->size()`
  [[nodiscard]] virtual std::optional<error>
  read(std::uint64_t offset, void* to, std::size_t size) const = 0;
};

/// Bytes in memory.
class memory_source final : public content_source {
public:
  explicit memory_source(std::string bytes) : bytes_(std::move(bytes)) {}

  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] std::optional<error> read(std::uint64_t offset, void* to,
                                          std::size_t size) const override;

private:
  const std::string bytes_;
};

/// The bytes of a file, which stays open and must not become shorter.
class file_source final : public content_source {
public:
  /// @returns the source, or `errc::io_failed`: also if the path is that of no
  ///          regular file
  static expected<file_source> open(const std::string& path);

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] std::optional<error> read(std::uint64_t offset, void* to,
                                          std::size_t size) const override;

private:
  file_source(std::string path, file_descriptor file, std::uint64_t size)
    : path_(std::move(path)), file_(std::move(file)), size_(size) {}

  std::string path_;
  file_descriptor file_;
  std::uint64_t size_;
};

/// A file that is written piece by piece.
class file_writer {
public:
  /// Makes the file, for this user alone, or empties the one that is there.
  /// @returns the writer, or `errc::io_failed`
  static expected<file_writer> create(const std::string& path);

  /// @returns nothing, or `errc::io_failed`
  [[nodiscard]] std::optional<error> append(const char* data, std::size_t size);

private:
  file_writer(std::string path, file_descriptor file)
    : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  file_descriptor file_;
};

/// Most bytes of a source that are in memory at a time: 1 MiB.
inline constexpr std::size_t source_piece_bytes = 1 << 20;

/// Gives all bytes of a source to a taker, in their order.
/// @returns the first failure of either
std::optional<error> pass_on(const content_source& source,
                             const byte_taker& take);

} // namespace hippo
