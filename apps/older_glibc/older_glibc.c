// Functions that glibc has had since a version later than 2.28, for programs
// that were built against a newer one. A program of a wheel loads this library
// before glibc, and scripts/older-glibc lets the program's references to these
// names take whichever definition comes first: this one.
//
// Each function uses only what glibc 2.28 has. Nothing here is slower than
// glibc's own by more than a call.

#define _GNU_SOURCE

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// glibc 2.34 gave this a new version when it took in libdl.
__asm__(".symver dlvsym, dlvsym@GLIBC_2.2.5");

// -- the start of a program

typedef int main_function(int, char**, char**);
typedef void init_function(int, char**, char**);
typedef int start_function(main_function*, int, char**, init_function*,
                           void (*)(void), void (*)(void), void*);

static int run_constructors(struct dl_phdr_info* program, size_t size,
                            void* start) {
  (void)size;
  const ElfW(Dyn)* entry = NULL;
  for (size_t i = 0; i < program->dlpi_phnum; ++i)
    if (program->dlpi_phdr[i].p_type == PT_DYNAMIC)
      entry = (const ElfW(Dyn)*)(program->dlpi_addr
                                 + program->dlpi_phdr[i].p_vaddr);
  uintptr_t init = 0;
  uintptr_t array = 0;
  size_t count = 0;
  for (; entry && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_INIT)
      init = program->dlpi_addr + entry->d_un.d_ptr;
    else if (entry->d_tag == DT_INIT_ARRAY)
      array = program->dlpi_addr + entry->d_un.d_ptr;
    else if (entry->d_tag == DT_INIT_ARRAYSZ)
      count = entry->d_un.d_val / sizeof(uintptr_t);
  }
  char*** arguments = start;
  const int argc = (int)(intptr_t)arguments[0];
  if (init)
    ((init_function*)init)(argc, arguments[1], arguments[2]);
  for (size_t i = 0; i < count; ++i)
    ((init_function*)((uintptr_t*)array)[i])(argc, arguments[1], arguments[2]);
  return 1; // The program is the first of all objects, and the only one here.
}

static void construct(int argc, char** argv, char** environment) {
  char** start[] = {(char**)(intptr_t)argc, argv, environment};
  dl_iterate_phdr(run_constructors, (void*)start);
}

// Until glibc 2.34 it was the program that ran its constructors: it passed a
// function that does to this one. Newer glibcs call such a function, too.
int __libc_start_main(main_function* main, int argc, char** argv,
                      init_function* init, void (*fini)(void),
                      void (*loader_fini)(void), void* stack_end) {
  start_function* real = (start_function*)(uintptr_t)dlvsym(
    RTLD_NEXT, "__libc_start_main", "GLIBC_2.2.5");
  return real(main, argc, argv, init ? init : construct, fini, loader_fini,
              stack_end);
}

// -- threads

// "There may be several threads": it is only ever used to save time.
char __libc_single_threaded = 0; // since 2.32

typedef int clock_wait(pthread_cond_t*, pthread_mutex_t*, clockid_t,
                       const struct timespec*);

enum { nanos_per_second = 1000000000 };

static int64_t nanos(const struct timespec* time) {
  return (int64_t)time->tv_sec * nanos_per_second + time->tv_nsec;
}

// Waits on the clock that condition variables have unless they are told, for at
// most a second: that clock may be set meanwhile, and whoever waits must stand
// being woken for no reason.
static int wait_on_wall_clock(pthread_cond_t* condition, pthread_mutex_t* mutex,
                              clockid_t clock, const struct timespec* until) {
  struct timespec now;
  if (clock_gettime(clock, &now) != 0)
    return EINVAL;
  const int64_t left = nanos(until) - nanos(&now);
  if (left <= 0)
    return ETIMEDOUT;
  const int whole = left <= nanos_per_second;
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t end = nanos(&now) + (whole ? left : nanos_per_second);
  const struct timespec then = {.tv_sec = end / nanos_per_second,
                                .tv_nsec = end % nanos_per_second};
  const int result = pthread_cond_timedwait(condition, mutex, &then);
  return result == ETIMEDOUT && !whole ? 0 : result;
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           clockid_t clock, const struct timespec* until) {
  static clock_wait* known; // since 2.30
  clock_wait* wait = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (!wait) {
    wait = (clock_wait*)(uintptr_t)dlvsym(RTLD_NEXT, "pthread_cond_clockwait",
                                          "GLIBC_2.30");
    if (!wait)
      wait = wait_on_wall_clock;
    __atomic_store_n(&known, wait, __ATOMIC_RELAXED);
  }
  return wait(condition, mutex, clock, until);
}

// -- files: until 2.33 these were functions of the headers

static int status_at(int folder, const char* path, void* status, int flags) {
  return (int)syscall(SYS_newfstatat, folder, path, status, flags);
}

int stat(const char* restrict path, struct stat* restrict status) {
  return status_at(AT_FDCWD, path, status, 0);
}

int stat64(const char* restrict path, struct stat64* restrict status) {
  return status_at(AT_FDCWD, path, status, 0);
}

int lstat(const char* restrict path, struct stat* restrict status) {
  return status_at(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

int lstat64(const char* restrict path, struct stat64* restrict status) {
  return status_at(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

int fstatat(int folder, const char* restrict path,
            struct stat* restrict status, int flags) {
  return status_at(folder, path, status, flags);
}

int fstatat64(int folder, const char* restrict path,
              struct stat64* restrict status, int flags) {
  return status_at(folder, path, status, flags);
}

int fstat(int file, struct stat* status) {
  return (int)syscall(SYS_fstat, file, status);
}

int fstat64(int file, struct stat64* status) {
  return (int)syscall(SYS_fstat, file, status);
}

int mknod(const char* path, mode_t mode, dev_t device) {
  return (int)syscall(SYS_mknodat, AT_FDCWD, path, mode, device);
}

int mknodat(int folder, const char* path, mode_t mode, dev_t device) {
  return (int)syscall(SYS_mknodat, folder, path, mode, device);
}

// Since 2.34, and in Linux since 5.9.
int close_range(unsigned first, unsigned last, int flags) {
  if (syscall(SYS_close_range, first, last, flags) == 0)
    return 0;
  if (errno != ENOSYS)
    return -1;
  const long limit = sysconf(_SC_OPEN_MAX);
  for (long file = first; file < limit && (unsigned long)file <= last; ++file)
    if (flags == 0)
      close((int)file);
    else if (fcntl((int)file, F_GETFD) >= 0)
      fcntl((int)file, F_SETFD, FD_CLOEXEC);
  return 0;
}

// -- random numbers, since 2.36; numbers of 4 bytes come whole

uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
    ;
  return number;
}

// -- names: until 2.34 headers put two underscores before them

int old_dn_expand(const unsigned char*, const unsigned char*,
                  const unsigned char*, char*, int);
int old_res_query(const char*, int, int, unsigned char*, int);
int old_res_nsearch(void*, const char*, int, int, unsigned char*, int);
__asm__(".symver old_dn_expand, __dn_expand@GLIBC_2.2.5");
__asm__(".symver old_res_query, __res_query@GLIBC_2.2.5");
__asm__(".symver old_res_nsearch, __res_nsearch@GLIBC_2.2.5");

int dn_expand(const unsigned char* message, const unsigned char* end,
              const unsigned char* from, char* to, int size) {
  return old_dn_expand(message, end, from, to, size);
}

int res_query(const char* name, int kind, int type, unsigned char* answer,
              int size) {
  return old_res_query(name, kind, type, answer, size);
}

int res_nsearch(void* state, const char* name, int kind, int type,
                unsigned char* answer, int size) {
  return old_res_nsearch(state, name, kind, type, answer, size);
}
