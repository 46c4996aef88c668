#include "hippo/keys/tls_calls.hpp"

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

// OpenSSL keeps a queue of errors for each thread, and `SSL_get_error` takes
// whatever is in it for an error of the connection that it is asked about
// (openssl/openssl#11889). So the queue must be empty before a connection is
// used. CAF does not see to that: it would close the connection of a trainer
// because somebody else's handshake has failed on the same thread before.
//
// Programs come before libraries when symbols are looked up, so that CAF calls
// the functions below in OpenSSL's place. They are the two of those that it
// uses which do not empty the queue themselves.

namespace {

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}

} // namespace

extern "C" {

[[gnu::visibility("default")]] int SSL_read(SSL* session, void* to, int size) {
  static const auto original = next<decltype(&SSL_read)>("SSL_read");
  ERR_clear_error();
  return original(session, to, size);
}

[[gnu::visibility("default")]] int SSL_write(SSL* session, const void* from,
                                             int size) {
  static const auto original = next<decltype(&SSL_write)>("SSL_write");
  ERR_clear_error();
  return original(session, from, size);
}
}

namespace hippo {

bool tls_calls_are_ours() {
  return ::dlsym(RTLD_DEFAULT, "SSL_read")
           == reinterpret_cast<void*>(&SSL_read)
         && ::dlsym(RTLD_DEFAULT, "SSL_write")
              == reinterpret_cast<void*>(&SSL_write);
}

} // namespace hippo
