#pragma once

namespace hippo {

/// Has OpenSSL keep its memory when the process exits: else `exit` frees what
/// belongs to threads, and so does a thread that is still on its way out, such
/// as that of an actor (https://github.com/openssl/openssl/issues/6214).
/// REQUIRES: OpenSSL has not been used yet.
void keep_openssl_at_exit();

} // namespace hippo
