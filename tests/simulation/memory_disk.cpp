#include "simulation/memory_disk.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hippo::simulation {

namespace {

constexpr std::size_t sector_bytes = 512;

} // namespace

// -- files --------------------------------------------------------------------

std::size_t disk_file::read(void* to, std::size_t size, std::size_t at) const {
  if (at >= content_.size())
    return 0;
  const auto there = std::min(size, content_.size() - at);
  std::memcpy(to, content_.data() + at, there);
  return there;
}

void disk_file::write(const void* from, std::size_t size, std::size_t at) {
  change x;
  x.at = at;
  x.size_before = content_.size();
  if (at < content_.size())
    x.before = content_.substr(at, size);
  x.after.assign(static_cast<const char*>(from), size);
  if (at + size > content_.size())
    content_.resize(at + size);
  x.size_after = content_.size();
  content_.replace(at, size, x.after);
  unsynced_.push_back(std::move(x));
}

void disk_file::truncate(std::size_t size) {
  if (size >= content_.size())
    return;
  change x;
  x.at = size;
  x.before = content_.substr(size);
  x.size_before = content_.size();
  x.size_after = size;
  content_.resize(size);
  unsynced_.push_back(std::move(x));
}

void disk_file::cut_power(std::mt19937_64& random) {
  auto lost = std::move(unsynced_);
  unsynced_.clear();
  for (auto i = lost.rbegin(); i != lost.rend(); ++i) {
    content_.resize(i->size_before);
    content_.replace(i->at, i->before.size(), i->before);
  }
  for (const auto& x : lost) {
    if (x.after.empty()) {
      if (random() % 2 == 0 && x.size_after < content_.size())
        content_.resize(x.size_after);
      continue;
    }
    for (std::size_t i = 0; i < x.after.size();) {
      const auto next = std::min((x.at + i) / sector_bytes * sector_bytes
                                   + sector_bytes - x.at,
                                 x.after.size());
      if (random() % 2 == 0) {
        if (content_.size() < x.at + next)
          content_.resize(x.at + next);
        content_.replace(x.at + i, next - i, x.after, i, next - i);
      }
      i = next;
    }
  }
}

// -- SQLite's calls -----------------------------------------------------------

/// An open file, in memory that SQLite gives.
struct disk_handle {
  sqlite3_file base{};
  memory_disk* disk = nullptr;
  std::shared_ptr<disk_file> file;
  std::string path; ///< empty: of no name
  bool is_temporary = false;
  int lock = SQLITE_LOCK_NONE;
  bool has_shm = false;
  unsigned shm_shared = 0; ///< bits
  unsigned shm_exclusive = 0;
};

struct disk_calls {
  using lock = std::lock_guard<std::mutex>;

  static disk_handle& of(sqlite3_file* x) {
    return *reinterpret_cast<disk_handle*>(x);
  }
  static memory_disk& of(sqlite3_vfs* x) {
    return *static_cast<memory_disk*>(x->pAppData);
  }

  static int close(sqlite3_file* x) {
    auto& h = of(x);
    shm_unmap(x, 0);
    unlock(x, SQLITE_LOCK_NONE);
    if (h.is_temporary && !h.path.empty())
      ::unlink(h.path.c_str());
    h.~disk_handle();
    return SQLITE_OK;
  }

  static int read(sqlite3_file* x, void* to, int size, sqlite3_int64 at) {
    auto& h = of(x);
    const lock guard{h.disk->mutex_};
    const auto wanted = static_cast<std::size_t>(size);
    const auto n = h.file->read(to, wanted, static_cast<std::size_t>(at));
    if (n == wanted)
      return SQLITE_OK;
    std::memset(static_cast<char*>(to) + n, 0, wanted - n);
    return SQLITE_IOERR_SHORT_READ;
  }

  static int write(sqlite3_file* x, const void* from, int size,
                   sqlite3_int64 at) {
    auto& h = of(x);
    const lock guard{h.disk->mutex_};
    const auto begin = static_cast<std::size_t>(at);
    const auto bytes = static_cast<std::size_t>(size);
    ++h.disk->writes;
    if (h.disk->is_read_only)
      return SQLITE_IOERR_WRITE;
    if (h.disk->is_full && begin + bytes > h.file->size())
      return SQLITE_FULL;
    h.file->write(from, bytes, begin);
    return SQLITE_OK;
  }

  static int truncate(sqlite3_file* x, sqlite3_int64 size) {
    auto& h = of(x);
    const lock guard{h.disk->mutex_};
    h.file->truncate(static_cast<std::size_t>(size));
    return SQLITE_OK;
  }

  static int sync(sqlite3_file* x, int) {
    auto& h = of(x);
    const lock guard{h.disk->mutex_};
    ++h.disk->syncs;
    if (h.disk->sync_fails)
      return SQLITE_IOERR_FSYNC;
    h.file->sync();
    return SQLITE_OK;
  }

  static int file_size(sqlite3_file* x, sqlite3_int64* size) {
    auto& h = of(x);
    const lock guard{h.disk->mutex_};
    *size = static_cast<sqlite3_int64>(h.file->size());
    return SQLITE_OK;
  }

  static int take_lock(sqlite3_file* x, int level) {
    auto& h = of(x);
    const lock guard{h.disk->mutex_};
    auto& f = *h.file;
    if (level <= h.lock)
      return SQLITE_OK;
    if (f.exclusive_by && f.exclusive_by != &h)
      return SQLITE_BUSY;
    if (level == SQLITE_LOCK_SHARED) {
      if (f.is_pending)
        return SQLITE_BUSY;
      ++f.shared_locks;
    } else if (level == SQLITE_LOCK_RESERVED) {
      if (f.reserved_by && f.reserved_by != &h)
        return SQLITE_BUSY;
      f.reserved_by = &h;
    } else {
      if (f.reserved_by && f.reserved_by != &h)
        return SQLITE_BUSY;
      f.reserved_by = &h;
      f.is_pending = true;
      h.lock = SQLITE_LOCK_PENDING;
      if (f.shared_locks > 1)
        return SQLITE_BUSY;
      f.exclusive_by = &h;
    }
    h.lock = level;
    return SQLITE_OK;
  }

  static int unlock(sqlite3_file* x, int level) {
    auto& h = of(x);
    const lock guard{h.disk->mutex_};
    auto& f = *h.file;
    if (h.lock <= level)
      return SQLITE_OK;
    if (f.exclusive_by == &h)
      f.exclusive_by = nullptr;
    if (f.reserved_by == &h) {
      f.reserved_by = nullptr;
      f.is_pending = false;
    }
    if (level == SQLITE_LOCK_NONE && h.lock >= SQLITE_LOCK_SHARED)
      --f.shared_locks;
    h.lock = level;
    return SQLITE_OK;
  }

  static int check_reserved(sqlite3_file* x, int* result) {
    auto& h = of(x);
    const lock guard{h.disk->mutex_};
    *result = h.file->reserved_by != nullptr;
    return SQLITE_OK;
  }

  static int control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
  static int sector_size(sqlite3_file*) { return sector_bytes; }
  static int characteristics(sqlite3_file*) {
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
  }

  static int shm_map(sqlite3_file* x, int region, int size, int extend,
                     void volatile** to) {
    auto& h = of(x);
    const lock guard{h.disk->mutex_};
    auto& shm = h.file->shm;
    if (!std::exchange(h.has_shm, true))
      ++shm.users;
    const auto i = static_cast<std::size_t>(region);
    *to = nullptr;
    if (shm.regions.size() <= i && extend == 0)
      return SQLITE_OK;
    while (shm.regions.size() <= i) // of zeros
      shm.regions.push_back(
        std::make_unique<char[]>(static_cast<std::size_t>(size)));
    *to = shm.regions[i].get();
    return SQLITE_OK;
  }

  static int shm_lock(sqlite3_file* x, int first, int count, int flags) {
    auto& h = of(x);
    const lock guard{h.disk->mutex_};
    auto& shm = h.file->shm;
    const bool is_shared = (flags & SQLITE_SHM_SHARED) != 0;
    auto& mine = is_shared ? h.shm_shared : h.shm_exclusive;
    if ((flags & SQLITE_SHM_LOCK) != 0)
      for (int i = first; i < first + count; ++i) {
        const auto own = static_cast<int>(h.shm_shared >> i & 1u);
        if ((shm.exclusive[i] && shm.exclusive[i] != &h)
            || (!is_shared && shm.shared[i] > own))
          return SQLITE_BUSY;
      }
    for (int i = first; i < first + count; ++i) {
      const auto bit = 1u << i;
      const bool had = (mine & bit) != 0;
      if ((flags & SQLITE_SHM_LOCK) != 0) {
        if (is_shared)
          shm.shared[i] += had ? 0 : 1;
        else
          shm.exclusive[i] = &h;
        mine |= bit;
      } else if (had) {
        if (is_shared)
          --shm.shared[i];
        else
          shm.exclusive[i] = nullptr;
        mine &= ~bit;
      }
    }
    return SQLITE_OK;
  }

  static void shm_barrier(sqlite3_file* x) {
    const lock guard{of(x).disk->mutex_};
  }

  static int shm_unmap(sqlite3_file* x, int) {
    auto& h = of(x);
    const lock guard{h.disk->mutex_};
    auto& shm = h.file->shm;
    if (!std::exchange(h.has_shm, false))
      return SQLITE_OK;
    for (int i = 0; i < SQLITE_SHM_NLOCK; ++i) {
      shm.shared[i] -= static_cast<int>(h.shm_shared >> i & 1u);
      if (shm.exclusive[i] == &h)
        shm.exclusive[i] = nullptr;
    }
    h.shm_shared = h.shm_exclusive = 0;
    if (--shm.users == 0)
      shm.regions.clear();
    return SQLITE_OK;
  }

  static const sqlite3_io_methods* methods() {
    static const sqlite3_io_methods result = [] {
      sqlite3_io_methods x{};
      x.iVersion = 2;
      x.xClose = close;
      x.xRead = read;
      x.xWrite = write;
      x.xTruncate = truncate;
      x.xSync = sync;
      x.xFileSize = file_size;
      x.xLock = take_lock;
      x.xUnlock = unlock;
      x.xCheckReservedLock = check_reserved;
      x.xFileControl = control;
      x.xSectorSize = sector_size;
      x.xDeviceCharacteristics = characteristics;
      x.xShmMap = shm_map;
      x.xShmLock = shm_lock;
      x.xShmBarrier = shm_barrier;
      x.xShmUnmap = shm_unmap;
      return x;
    }();
    return &result;
  }

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* to,
                  int flags, int* out_flags) {
    auto& disk = of(vfs);
    const lock guard{disk.mutex_};
    to->pMethods = nullptr;
    if (disk.frozen_)
      return SQLITE_CANTOPEN;
    std::shared_ptr<disk_file> file;
    if (name) {
      const bool may_create = (flags & SQLITE_OPEN_CREATE) != 0;
      if (may_create && (disk.is_full || disk.is_read_only)
          && ::access(name, F_OK) != 0)
        return SQLITE_CANTOPEN;
      const int fd
        = ::open(name, may_create ? O_RDWR | O_CREAT : O_RDWR, 0644);
      struct stat info {};
      if (fd < 0)
        return SQLITE_CANTOPEN;
      ::fstat(fd, &info);
      ::close(fd);
      auto& entry = disk.files_[info.st_ino];
      if (!entry)
        entry = std::make_shared<disk_file>();
      file = entry;
    } else {
      file = std::make_shared<disk_file>();
    }
    auto* const result = new (to) disk_handle;
    result->base.pMethods = methods();
    result->disk = &disk;
    result->file = std::move(file);
    result->path = name ? name : "";
    result->is_temporary = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
    if (out_flags)
      *out_flags = flags;
    return SQLITE_OK;
  }

  static int remove(sqlite3_vfs* vfs, const char* name, int) {
    auto& disk = of(vfs);
    const lock guard{disk.mutex_};
    if (disk.frozen_)
      return SQLITE_OK;
    struct stat info {};
    if (::stat(name, &info) != 0)
      return SQLITE_IOERR_DELETE_NOENT;
    disk.files_.erase(info.st_ino);
    ::unlink(name);
    return SQLITE_OK;
  }

  static int access(sqlite3_vfs* vfs, const char* name, int flags,
                    int* result) {
    auto& disk = of(vfs);
    const lock guard{disk.mutex_};
    struct stat info {};
    *result = ::stat(name, &info) == 0;
    // As in SQLite's own: an empty file counts as none.
    if (*result != 0 && flags == SQLITE_ACCESS_EXISTS) {
      const auto i = disk.files_.find(info.st_ino);
      *result = i != disk.files_.end() && i->second->size() > 0;
    }
    return SQLITE_OK;
  }

  static int full_path(sqlite3_vfs*, const char* name, int size, char* to) {
    sqlite3_snprintf(size, to, "%s", name);
    return SQLITE_OK;
  }

  static int randomness(sqlite3_vfs*, int size, char* to) {
    std::memset(to, 4, static_cast<std::size_t>(size));
    return size;
  }

  /// Time is virtual, but a thread that reads a history holds its locks in real
  /// time: whoever tries again and again must let it go on.
  static int sleep(sqlite3_vfs*, int microseconds) {
    std::this_thread::sleep_for(std::chrono::microseconds{200});
    return microseconds;
  }

  static int now(sqlite3_vfs*, sqlite3_int64* milliseconds) {
    // 2026-01-01, always: nothing may depend on it.
    *milliseconds = 2461041LL * 86'400'000 + 43'200'000;
    return SQLITE_OK;
  }
  static int now_in_days(sqlite3_vfs*, double* days) {
    *days = 2461041.5;
    return SQLITE_OK;
  }
  static int last_error(sqlite3_vfs*, int, char*) { return 0; }
};

// -- the disk -----------------------------------------------------------------

memory_disk::memory_disk() {
  vfs_.iVersion = 2;
  vfs_.szOsFile = sizeof(disk_handle);
  vfs_.mxPathname = 1024;
  vfs_.zName = "memory-disk";
  vfs_.pAppData = this;
  vfs_.xOpen = disk_calls::open;
  vfs_.xDelete = disk_calls::remove;
  vfs_.xAccess = disk_calls::access;
  vfs_.xFullPathname = disk_calls::full_path;
  vfs_.xRandomness = disk_calls::randomness;
  vfs_.xSleep = disk_calls::sleep;
  vfs_.xCurrentTime = disk_calls::now_in_days;
  vfs_.xGetLastError = disk_calls::last_error;
  vfs_.xCurrentTimeInt64 = disk_calls::now;
  sqlite3_vfs_register(&vfs_, 1);
}

memory_disk::~memory_disk() { sqlite3_vfs_unregister(&vfs_); }

void memory_disk::clear() {
  const std::lock_guard guard{mutex_};
  files_.clear();
  is_full = is_read_only = sync_fails = frozen_ = false;
  writes = syncs = 0;
}

void memory_disk::freeze() {
  const std::lock_guard guard{mutex_};
  frozen_ = true;
  for (auto& [inode, file] : files_) {
    // Open handles keep what was; those to come find a copy without locks.
    auto copy = std::make_shared<disk_file>();
    copy->take_content(*file);
    file = std::move(copy);
  }
}

void memory_disk::freeze(std::mt19937_64& random) {
  freeze();
  const std::lock_guard guard{mutex_};
  for (auto& [inode, file] : files_)
    file->cut_power(random);
}

} // namespace hippo::simulation
