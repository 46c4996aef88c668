#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include <sqlite3.h>

namespace hippo::simulation {

/// What a file of a `memory_disk` holds, and what of it a power cut may take.
class disk_file {
public:
  /// Reads up to `size` bytes. @returns how many there were
  std::size_t read(void* to, std::size_t size, std::size_t at) const;
  void write(const void* from, std::size_t size, std::size_t at);
  void truncate(std::size_t size);
  [[nodiscard]] std::size_t size() const { return content_.size(); }

  /// Takes over what another one holds, but for locks and shared memory.
  void take_content(const disk_file& from) {
    content_ = from.content_;
    unsynced_ = from.unsynced_;
  }

  /// What was written so far survives a power cut.
  void sync() { unsynced_.clear(); }

  /// Takes back what was not synced, but for some of it: any subset of the
  /// sectors that were written.
  void cut_power(std::mt19937_64& random);

  // Who holds which of SQLite's locks on the file.
  int shared_locks = 0;
  const void* reserved_by = nullptr;
  const void* exclusive_by = nullptr;
  bool is_pending = false;

  /// Memory that connections of one process share (WAL index), and its locks.
  struct shared_memory {
    std::vector<std::unique_ptr<char[]>> regions;
    int shared[SQLITE_SHM_NLOCK] = {};
    const void* exclusive[SQLITE_SHM_NLOCK] = {};
    int users = 0;
  };
  shared_memory shm;

private:
  /// A change that no sync has followed yet.
  struct change {
    std::size_t at = 0;
    std::string before; ///< of the bytes that were there
    std::string after;
    std::size_t size_before = 0;
    std::size_t size_after = 0;
  };

  std::string content_;
  std::vector<change> unsynced_; ///< oldest first
};

/// A disk in memory under SQLite, for all databases of the process: what is not
/// synced is kept apart, so that it can be lost. Files are known by the inodes
/// of empty ones of the same names, which the program sees and may rename.
///
/// Thread-safe, since a service reads from two threads at times.
class memory_disk {
public:
  memory_disk();
  ~memory_disk();
  memory_disk(const memory_disk&) = delete;
  memory_disk& operator=(const memory_disk&) = delete;

  /// Forgets all files.
  void clear();

  /// The processes that have files open end here and now. What their handles
  /// do from now on, until `thaw`, changes nothing.
  void freeze();
  /// The same, and the power is cut.
  void freeze(std::mt19937_64& random);
  void thaw() { frozen_ = false; }

  bool is_full = false;      ///< what grows a file fails
  bool is_read_only = false; ///< every write fails
  bool sync_fails = false;
  std::uint64_t writes = 0;
  std::uint64_t syncs = 0;

private:
  friend struct disk_calls;

  std::mutex mutex_;
  sqlite3_vfs vfs_{};
  std::map<std::uint64_t, std::shared_ptr<disk_file>> files_; ///< by inode
  bool frozen_ = false;
};

} // namespace hippo::simulation
