"""Credentials, and what it means when TLS does not come about."""

from __future__ import annotations

import asyncio
import ssl

from .errors import InvalidArgument

# The name on a service's certificate, wherever it runs.
SERVICE_HOST = "hippo"

# What OpenSSL calls it when a service sends us away.
_REFUSALS = {
    "TLSV1_ALERT_UNKNOWN_CA":
        "its authority is none of those that may come in here, for it is of "
        "another service, or its role has no business at this port",
    "TLSV1_ALERT_DECRYPT_ERROR":
        "its authority is not the one that may come in here, though it has "
        "the same name: the keys of the service were made anew",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED":
        "it is expired, or not valid yet, by the service's clock",
}

# X509_V_ERR_CERT_HAS_EXPIRED and X509_V_ERR_CERT_NOT_YET_VALID.
_VERDICTS_OF_TIME = (9, 10)

# That no issuer is trusted, in OpenSSL's shades of it.
_VERDICTS_OF_AUTHORITY = (2, 7, 18, 19, 20, 21)


def context_of(credentials: str) -> ssl.SSLContext:
    """Makes our side of TLS from a file that `hippo keys add` wrote."""
    try:
        context = ssl.create_default_context(cafile=credentials)
        context.load_cert_chain(credentials)
    except OSError as e:
        raise InvalidArgument(
            f"cannot use the credentials {credentials}: {e}; `hippo keys add "
            "NAME --role client` makes such a file") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def explain(failure: ssl.SSLError, credentials: str | None) -> str:
    """Says in one clause why a handshake failed."""
    if isinstance(failure, ssl.SSLCertVerificationError):
        if failure.verify_code in _VERDICTS_OF_AUTHORITY:
            return ("its certificate is of another authority: "
                    f"{credentials} is of another service, or its keys were "
                    "made anew")
        if failure.verify_code in _VERDICTS_OF_TIME:
            return ("its certificate is expired, or not valid yet, by this "
                    "machine's clock")
        return f"its certificate is not valid: {failure.verify_message}"
    if failure.reason in _REFUSALS:
        return f"it refuses {credentials}: {_REFUSALS[failure.reason]}"
    if failure.reason == "WRONG_VERSION_NUMBER":
        return "what listens there does not speak TLS"
    return f"TLS fails: {failure}"


async def why_refused(host: str, port: int, credentials: str,
                      seconds: float) -> str | None:
    """Asks for the reason why a service has ended a connection, by trying a
    handshake for that purpose.

    Returns:
        A clause; None if no reason is given.
    """
    context = context_of(credentials)
    # In TLS 1.3 we are done before the service has seen the certificate.
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    try:
        _, writer = await asyncio.wait_for(
            asyncio.open_connection(host, port, ssl=context,
                                    server_hostname=SERVICE_HOST), seconds)
        writer.close()
    except ssl.SSLError as e:
        return explain(e, credentials)
    except (OSError, asyncio.TimeoutError):
        pass
    return None
