#pragma once

namespace hippo {

/// Whether connections by TLS leave each other alone: whether this program's
/// `SSL_read` and `SSL_write`, which tls_calls.cpp has, are those that its
/// libraries call.
bool tls_calls_are_ours();

} // namespace hippo
