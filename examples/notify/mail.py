#!/usr/bin/env python3
"""Receives notifications of Hippo and sends each as an e-mail.

The environment variable HIPPO_NOTIFY_KEY holds the secret of the file
`notify.key` in the state folder. Needs Python's standard library alone.
"""

import argparse
import base64
import email.message
import hashlib
import hmac
import http.server
import json
import os
import smtplib
import time

TOLERANCE = 300  # seconds between a notification's time and now
LONGEST = 1 << 20  # bytes of a notification


def is_genuine(headers, body, secret):
    """Whether the holder of the secret has just signed a notification."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}."
    digest = hmac.digest(secret, signed.encode() + body, hashlib.sha256)
    wanted = "v1," + base64.b64encode(digest).decode()
    is_recent = (abs(time.time() - float(headers["webhook-timestamp"]))
                 <= TOLERANCE)
    return is_recent and any(
        hmac.compare_digest(wanted, x)
        for x in headers["webhook-signature"].split())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8025)
    parser.add_argument("--smtp", default="localhost:25", metavar="HOST:PORT")
    parser.add_argument("--from", dest="sender", required=True)
    parser.add_argument("--to", dest="receiver", required=True)
    args = parser.parse_args()
    secret = base64.b64decode(
        os.environ["HIPPO_NOTIFY_KEY"].strip().removeprefix("whsec_"))
    smtp_host, _, smtp_port = args.smtp.rpartition(":")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            size = int(self.headers.get("content-length", 0))
            body = self.rfile.read(size) if size <= LONGEST else b""
            try:
                genuine = is_genuine(self.headers, body, secret)
            except (AttributeError, TypeError, ValueError):  # of a stranger
                genuine = False
            if not genuine:
                self.send_error(401)
                return
            content = json.loads(body)
            mail = email.message.EmailMessage()
            mail["from"], mail["to"] = args.sender, args.receiver
            mail["subject"] = content["text"]
            mail.set_content(json.dumps(content["data"], indent=2))
            try:
                with smtplib.SMTP(smtp_host, int(smtp_port)) as server:
                    server.send_message(mail)
            except OSError as error:  # the service tries again later
                self.send_error(503, str(error))
                return
            self.send_response(204)
            self.end_headers()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", args.port), Handler)
    print(f"listening on port {server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
