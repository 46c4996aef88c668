#include "hippo/net/keys/openssl_exit.hpp"

#include <openssl/crypto.h>

namespace hippo {

void keep_openssl_at_exit() {
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
}

} // namespace hippo
