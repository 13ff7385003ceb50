# SPDX-License-Identifier: Apache-2.0
"""What a client can do to a bucket with some keys, byte by byte: raw signed HTTP, no SDK.

A `Way` sends one request and gives back what came: with keys of its own (`Keyed`), or with a
signature that the catalog makes (`RemotelySigned`). `attempts` are the things to try on an object.
"""
from __future__ import annotations

import datetime
import hashlib
import http.client
import re
import typing
import urllib.parse

import requests
import sigv4


class Place(typing.NamedTuple):
    endpoint: str
    bucket: str
    region: str


def place_of(env: dict) -> Place:
    return Place(env["DUCKICELAKE_S3_ENDPOINT"], env["DUCKICELAKE_S3_BUCKET"],
                 env["DUCKICELAKE_S3_REGION"])


def send(method: str, url: str, headers: dict, body: bytes = b"") -> sigv4.Answer:
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    try:
        connection.putrequest(method, (parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
                              skip_host=True, skip_accept_encoding=True)
        sent = {name.lower(): value for name, value in headers.items()}
        sent.setdefault("host", parts.netloc)
        if body or method in ("PUT", "POST"):
            sent["content-length"] = str(len(body))
        for name, value in sent.items():
            connection.putheader(name, value)
        connection.endheaders(body or None)
        response = connection.getresponse()
        return sigv4.Answer(response.status,
                            {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


class Way:
    """One way to a bucket."""

    def __init__(self, place: Place):
        self.place = place

    def url(self, key: str, query: str = "") -> str:
        path = f"/{self.place.bucket}" + (f"/{urllib.parse.quote(key, safe='/-_.~')}" if key else "")
        return f"{self.place.endpoint}{path}" + (f"?{query}" if query else "")

    def request(self, method: str, key: str, query: str = "", headers: dict | None = None,
                body: bytes = b"") -> sigv4.Answer:
        raise NotImplementedError

    def presigned(self, method: str, key: str) -> sigv4.Answer | None:
        return None


class Keyed(Way):
    def __init__(self, place: Place, keys: sigv4.Keys):
        super().__init__(place)
        self.keys = keys

    def request(self, method, key, query="", headers=None, body=b""):
        url = self.url(key, query)
        return send(method, url, sigv4.signed_headers(method, url, body, self.keys,
                                                      self.place.region, "s3", headers), body)

    def presigned_url(self, method: str, key: str, seconds: int = 300,
                      now: datetime.datetime | None = None) -> str:
        now = now or datetime.datetime.now(datetime.timezone.utc)
        day = now.strftime("%Y%m%d")
        scope = f"{day}/{self.place.region}/s3/aws4_request"
        parts = urllib.parse.urlsplit(self.url(key))
        query = {"X-Amz-Algorithm": "AWS4-HMAC-SHA256",
                 "X-Amz-Credential": f"{self.keys.access_key}/{scope}",
                 "X-Amz-Date": now.strftime("%Y%m%dT%H%M%SZ"), "X-Amz-Expires": str(seconds),
                 "X-Amz-SignedHeaders": "host"}
        if self.keys.session_token:
            query["X-Amz-Security-Token"] = self.keys.session_token
        text = "&".join(f"{k}={urllib.parse.quote(v, safe='-_.~')}" for k, v in sorted(query.items()))
        canonical = "\n".join([method, parts.path, text, f"host:{parts.netloc}", "", "host",
                               "UNSIGNED-PAYLOAD"])
        to_sign = "\n".join(["AWS4-HMAC-SHA256", query["X-Amz-Date"], scope,
                             hashlib.sha256(canonical.encode()).hexdigest()])
        signing = sigv4._hmac(("AWS4" + self.keys.secret_key).encode(), day)
        for part in (self.place.region, "s3", "aws4_request"):
            signing = sigv4._hmac(signing, part)
        return f"{self.url(key)}?{text}&X-Amz-Signature={sigv4._hmac(signing, to_sign).hex()}"

    def presigned(self, method, key):
        return send(method, self.presigned_url(method, key), {})


class RemotelySigned(Way):
    """Each request is signed by POST to `sign_url`; a refusal of the signer is the answer."""

    def __init__(self, place: Place, sign_url: str, headers: dict | None = None):
        super().__init__(place)
        self.sign_url = sign_url
        self.http = requests.Session()
        self.http.headers.update(headers or {})

    def sign(self, method: str, url: str, headers: dict | None = None,
             body: str | None = None) -> requests.Response:
        request = {"method": method, "uri": url, "region": self.place.region,
                   "headers": {name: [value] for name, value in (headers or {}).items()}}
        if body is not None:
            request["body"] = body
        return self.http.post(self.sign_url, json=request, timeout=60)

    def request(self, method, key, query="", headers=None, body=b""):
        headers = dict(headers or {})
        listed = body.decode() if query.split("=")[0] == "delete" else None
        answer = self.sign(method, self.url(key, query), headers, listed)
        if answer.status_code != 200:
            return sigv4.Answer(answer.status_code, dict(answer.headers), answer.content)
        signed = answer.json()
        return send(method, signed["uri"],
                    headers | {k: v[0] for k, v in signed["headers"].items()}, body)


class Attempt(typing.NamedTuple):
    name: str
    right: str  # what a caller needs for it: "read", "write" or "never"
    run: typing.Callable[[Way, str, str], sigv4.Answer | None]  # (way, key, own folder)


def _part(key: str) -> str:
    return key.rpartition("/")[0][:-1]


def _upload(way: Way, key: str, _own: str) -> sigv4.Answer:
    started = way.request("POST", key + ".parts", "uploads=")
    if started.status != 200:
        return started
    upload = urllib.parse.quote(re.search(rb"<UploadId>(.*?)</UploadId>", started.body)[1].decode(),
                                safe="-_.~")
    part = way.request("PUT", key + ".parts", f"partNumber=1&uploadId={upload}", body=b"part")
    if part.status != 200:
        return part
    done = (f"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{part.headers['etag']}"
            "</ETag></Part></CompleteMultipartUpload>").encode()
    return way.request("POST", key + ".parts", f"uploadId={upload}", body=done)


ATTEMPTS = [
    Attempt("get", "read", lambda way, key, own: way.request("GET", key)),
    Attempt("head", "read", lambda way, key, own: way.request("HEAD", key)),
    Attempt("range", "read",
            lambda way, key, own: way.request("GET", key, headers={"range": "bytes=0-3"})),
    Attempt("version", "never", lambda way, key, own: way.request("GET", key, "versionId=null")),
    Attempt("list", "read", lambda way, key, own: way.request(
        "GET", "", "list-type=2&prefix=" + urllib.parse.quote(key.rpartition("/")[0] + "/", safe=""))),
    Attempt("list part", "never", lambda way, key, own: way.request(
        "GET", "", "list-type=2&prefix=" + urllib.parse.quote(_part(key), safe=""))),
    Attempt("list all", "never", lambda way, key, own: way.request("GET", "", "list-type=2")),
    Attempt("put", "write", lambda way, key, own: way.request("PUT", key + ".new", body=b"new")),
    Attempt("copy from", "write", lambda way, key, own: way.request(
        "PUT", own + "copied", headers={"x-amz-copy-source": urllib.parse.quote(
            f"/{way.place.bucket}/{key}")})),
    Attempt("parts", "write", _upload),
    Attempt("acl", "never", lambda way, key, own: way.request("GET", key, "acl=")),
    Attempt("tagging", "never", lambda way, key, own: way.request("GET", key, "tagging=")),
    Attempt("presigned", "read", lambda way, key, own: way.presigned("GET", key)),
    Attempt("delete", "never", lambda way, key, own: way.request("DELETE", key)),
    Attempt("delete many", "never", lambda way, key, own: way.request(
        "POST", "", "delete=", body=(f"<Delete><Object><Key>{key}</Key></Object></Delete>").encode())),
]


class Outcome(typing.NamedTuple):
    who: str
    what: str
    target: str
    status: int | None
    expected: bool  # to succeed
    leaked: bool

    @property
    def is_right(self) -> bool:
        if self.status is None:
            return True
        succeeded = 200 <= self.status < 300
        return succeeded == self.expected and not self.leaked


def denied_in_body(answer: sigv4.Answer) -> bool:
    """DeleteObjects answers 200 with an error for each key that was kept."""
    return b"<Error>" in answer.body and b"<Deleted>" not in answer.body


def try_all(who: str, way: Way, right: str, folders: list[str],
            targets: dict[str, tuple[str, bytes]], own: set[str]) -> list[Outcome]:
    """`targets`: name -> (key, the bytes that are there); those in `own` are the caller's table's.

    `folders` are the table's: where it may write (the first), and the others that it may read.
    """
    rights = {"read": {"read"}, "write": {"read", "write"}, "none": set()}[right]
    found = []
    for target, (key, content) in targets.items():
        for attempt in ATTEMPTS:
            answer = attempt.run(way, key, folders[0])
            expected = target in own and attempt.right in rights
            if attempt.name == "list part":  # half a name is fine below one's own folder
                expected = right != "none" and any(_part(key).startswith(f) for f in folders)
            if attempt.right == "write" and attempt.name != "copy from":
                expected = expected and key.startswith(folders[0])
            if answer is None:
                found.append(Outcome(who, attempt.name, target, None, expected, False))
                continue
            status = answer.status
            if attempt.name == "delete many" and status == 200 and denied_in_body(answer):
                status = 403
            leaked = not expected and bool(content) and content in answer.body
            found.append(Outcome(who, attempt.name, target, status, expected, leaked))
    return found


def table_text(outcomes: list[Outcome]) -> str:
    """One line for each attempt, one column for each target: status, and ! where it is wrong."""
    whos = list(dict.fromkeys(o.who for o in outcomes))
    lines = []
    for who in whos:
        mine = [o for o in outcomes if o.who == who]
        targets = list(dict.fromkeys(o.target for o in mine))
        lines.append(f"{who:<24}" + "".join(f"{t:>14}" for t in targets))
        for what in dict.fromkeys(o.what for o in mine):
            cells = {o.target: o for o in mine if o.what == what}
            lines.append(f"  {what:<22}" + "".join(
                f"{('-' if cells[t].status is None else str(cells[t].status)) + ('' if cells[t].is_right else '!'):>14}"
                for t in targets))
    return "\n".join(lines)
