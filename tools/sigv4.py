# SPDX-License-Identifier: Apache-2.0
"""AWS Signature Version 4 for the dev stack and the tests, in the standard library only.

`request()` sends one signed (or, without keys, anonymous) HTTP request and returns the answer
whatever its status, so that a test can assert on a refusal.
"""
from __future__ import annotations

import datetime
import hashlib
import hmac
import http.client
import typing
import urllib.parse
import xml.etree.ElementTree


class Keys(typing.NamedTuple):
    access_key: str
    secret_key: str
    session_token: str | None = None


class Answer(typing.NamedTuple):
    status: int
    headers: dict  # lower-case names
    body: bytes


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signed_headers(method: str, url: str, body: bytes, keys: Keys, region: str, service: str,
                   headers: dict | None = None,
                   now: datetime.datetime | None = None) -> dict:
    """The headers to send, Authorization included. `url`'s path must be encoded already."""
    parts = urllib.parse.urlsplit(url)
    now = now or datetime.datetime.now(datetime.timezone.utc)
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    digest = hashlib.sha256(body).hexdigest()
    sent = {name.lower(): value.strip() for name, value in (headers or {}).items()}
    sent |= {"host": parts.netloc, "x-amz-date": stamp, "x-amz-content-sha256": digest}
    if keys.session_token:
        sent["x-amz-security-token"] = keys.session_token
    query = sorted(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
    names = ";".join(sorted(sent))
    canonical = "\n".join([
        method, parts.path or "/",
        "&".join(f"{urllib.parse.quote(k, safe='-_.~')}={urllib.parse.quote(v, safe='-_.~')}"
                 for k, v in query),
        *(f"{name}:{sent[name]}" for name in sorted(sent)), "", names, digest])
    scope = f"{day}/{region}/{service}/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope,
                         hashlib.sha256(canonical.encode()).hexdigest()])
    key = _hmac(("AWS4" + keys.secret_key).encode(), day)
    for part in (region, service, "aws4_request"):
        key = _hmac(key, part)
    sent["authorization"] = (f"AWS4-HMAC-SHA256 Credential={keys.access_key}/{scope}, "
                             f"SignedHeaders={names}, Signature={_hmac(key, to_sign).hex()}")
    return sent


def request(method: str, url: str, keys: Keys | None = None, body: bytes = b"",
            headers: dict | None = None, region: str = "us-east-1", service: str = "s3",
            timeout_seconds: float = 10) -> Answer:
    """Sends one request; raises OSError or http.client.HTTPException when no answer comes."""
    parts = urllib.parse.urlsplit(url)
    sent = dict(headers or {})
    if keys:
        sent = signed_headers(method, url, body, keys, region, service, headers)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout_seconds)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, body=body or None, headers=sent)
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()},
                      response.read())
    finally:
        connection.close()


def assume_role(endpoint: str, keys: Keys, role_arn: str, session_name: str,
                policy: str | None = None, duration_seconds: int = 900,
                region: str = "us-east-1") -> Keys:
    """Session keys of STS AssumeRole; raises RuntimeError with the service's words otherwise."""
    form = {"Action": "AssumeRole", "Version": "2011-06-15", "RoleArn": role_arn,
            "RoleSessionName": session_name, "DurationSeconds": str(duration_seconds)}
    if policy:
        form["Policy"] = policy
    answer = request("POST", endpoint.rstrip("/") + "/", keys,
                     urllib.parse.urlencode(form).encode(),
                     {"Content-Type": "application/x-www-form-urlencoded"}, region, "sts")
    if answer.status != 200:
        raise RuntimeError(f"AssumeRole answered {answer.status}: {answer.body[:500]!r}")
    found = {element.tag.rsplit("}", 1)[-1]: element.text
             for element in xml.etree.ElementTree.fromstring(answer.body).iter()}
    return Keys(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])
