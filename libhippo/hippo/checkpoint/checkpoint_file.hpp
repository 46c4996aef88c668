#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "hippo/base/content_source.hpp"
#include "hippo/base/error.hpp"
#include "hippo/base/file_descriptor.hpp"
#include "hippo/base/hash.hpp"
#include "hippo/model/lease.hpp"

namespace hippo {

/// Longest name of a checkpoint, in bytes: a file system takes 255, and a
/// temporary name is a little longer.
inline constexpr std::size_t checkpoint_name_bytes_max = 240;

/// Whether `name` can be that of a checkpoint, or of a folder with some: it
/// leads nowhere else (no '/' and no zero byte), is not hidden (no dot in
/// front) and is neither empty nor too long.
bool is_checkpoint_name(const std::string& name) noexcept;

/// The failures that a checkpoint survives.
enum class durability : std::uint8_t {
  synced, ///< the end of the machine: it is on the disk
  cached, ///< the end of the process: the system writes it when it likes to.
          ///< Damage by a power failure is found when it is read.
};

/// A checkpoint while it is written, in parts. Until it is committed it has a
/// temporary name that ends in `.part` and is no other writer's; whatever is
/// not committed is removed.
class checkpoint_writer {
public:
  /// @returns the writer, `errc::invalid_argument` if `name` is not that of a
  ///          checkpoint, or `errc::io_failed`
  static expected<checkpoint_writer> open(const std::string& folder,
                                          const std::string& name);

  checkpoint_writer(checkpoint_writer&& other) noexcept;
  checkpoint_writer& operator=(checkpoint_writer&& other) = delete;
  ~checkpoint_writer();

  /// Writes the next bytes.
  /// @returns nothing, or `errc::io_failed`: do not go on then
  [[nodiscard]] std::optional<error> append(const void* data, std::size_t size);

  /// Returns the size and digest of what has been written so far.
  [[nodiscard]] checkpoint written() const;

  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

  /// Gives the file its name, replacing what was there. If it is to be `synced`,
  /// all of it is on the disk before, and the name when this returns, which may
  /// take seconds.
  /// @returns nothing, or `errc::io_failed`: the file is gone then
  [[nodiscard]] std::optional<error>
  commit(durability how = durability::synced);

private:
  checkpoint_writer(std::string folder, std::string name, std::string part,
                    file_descriptor file);

  [[nodiscard]] error failed(int code) const;

  std::string folder_;
  std::string name_;
  std::string part_; ///< path of the temporary file; empty: nothing to remove
  file_descriptor file_;
  std::uint64_t bytes_ = 0;
  byte_hasher hasher_;
};

/// A checkpoint while it is read, in parts.
class checkpoint_reader {
public:
  /// @returns the reader, `errc::bad_checkpoint` if the file is missing or not
  ///          of the size that `checkpoint` says, or `errc::io_failed`
  static expected<checkpoint_reader> open(const std::string& folder,
                                          const checkpoint& checkpoint);

  /// Reads the next `size` bytes. After the last ones it checks the digest.
  /// @returns nothing, `errc::bad_checkpoint` or `errc::io_failed`
  /// REQUIRES: `size <= left()`.
  [[nodiscard]] std::optional<error> read(void* out, std::size_t size);

  /// Reads `size` bytes from `offset` on, and checks no digest.
  /// @returns nothing, `errc::bad_checkpoint` or `errc::io_failed`
  /// REQUIRES: they lie within the file's size.
  [[nodiscard]] std::optional<error> read_at(std::uint64_t offset, void* out,
                                             std::size_t size) const;

  /// How many bytes are still to be read.
  [[nodiscard]] std::uint64_t left() const noexcept { return left_; }

private:
  checkpoint_reader(std::string path, const checkpoint& checkpoint,
                    file_descriptor file);

  std::string path_;
  std::uint64_t bytes_;
  std::uint64_t left_;
  std::uint64_t digest_; ///< that it should have
  file_descriptor file_;
  byte_hasher hasher_;
};

/// Writes bytes to the file `name` of `folder`, replacing what was there. The
/// name appears only once all of it is written; a failure leaves no file.
/// @returns its size and digest, `errc::invalid_argument` if `name` is not that
///          of a checkpoint, or `errc::io_failed`
expected<checkpoint> write_checkpoint(const std::string& folder,
                                      const std::string& name,
                                      const content_source& bytes,
                                      durability how = durability::synced);
expected<checkpoint> write_checkpoint(const std::string& folder,
                                      const std::string& name,
                                      std::string bytes,
                                      durability how = durability::synced);

/// Reads a checkpoint of `folder` and checks its size and digest.
/// @returns the bytes, `errc::bad_checkpoint` if the file is missing or is not
///          what `checkpoint` says, or `errc::io_failed`
expected<std::string> read_checkpoint(const std::string& folder,
                                      const checkpoint& checkpoint);

/// Whether the files that a checkpoint is read from are there, as far as their
/// sizes say: its own, and those of others that have parts of it.
bool is_complete(const std::string& folder, const checkpoint& checkpoint);

/// How long nothing must have been written to a temporary file before it can be
/// taken for that of the dead.
inline constexpr std::chrono::seconds unfinished_age_min{600};

/// Removes what writers that are gone left unfinished in `folder`. Those that
/// live keep their files, also on other machines: each holds a lock (`flock`) on
/// its own, and only files that are old by the file system's clock are looked at.
void remove_unfinished_checkpoints(const std::string& folder) noexcept;

} // namespace hippo
