// For LD_PRELOAD: threads that have used OpenSSL end late, and the process
// that exits meanwhile is slow to forget the destructor of what is theirs. A
// library that frees it in both places does so in this order.

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

namespace {

using namespace std::chrono_literals;

pthread_key_t own;
std::array<bool, 1024> has_destructor; // by key

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void end_late(void*) {
  std::this_thread::sleep_for(100ms);
}

__attribute__((constructor)) void begin() {
  pthread_key_create(&own, end_late);
}

} // namespace

extern "C" {

int pthread_key_create(pthread_key_t* key, void (*destructor)(void*)) {
  static auto* make = next<decltype(pthread_key_create)>("pthread_key_create");
  const auto result = make(key, destructor);
  if (result == 0 && *key < has_destructor.size())
    has_destructor[*key] = destructor != nullptr;
  return result;
}

int pthread_setspecific(pthread_key_t key, const void* value) {
  static auto* set = next<decltype(pthread_setspecific)>("pthread_setspecific");
  if (value != nullptr && gettid() != getpid())
    set(own, &own);
  return set(key, value);
}

int pthread_key_delete(pthread_key_t key) {
  static auto* remove =
    next<decltype(pthread_key_delete)>("pthread_key_delete");
  if (key < has_destructor.size() && has_destructor[key])
    std::this_thread::sleep_for(300ms);
  return remove(key);
}

} // extern "C"
