# SPDX-License-Identifier: Apache-2.0
"""The token endpoint, and which tokens are taken: 401, 419, forgery, rotation of keys."""
import base64
import json
import time

import pytest
import requests
from fixtures import served_lake
from lib import auth
from lib.auth import SECRET, ask_token, bearer, forged
from lib.rest import error_of
from lib.server import Server, command

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS = "urn:ietf:params:oauth:token-type:access_token"
OLD_SECRET = "the secret of the year before and still good"


@pytest.fixture(scope="module")
def guarded(stack):
    settings = auth.settings(reader="*:r", narrow="ns:s:rw") | {
        "DUCKICELAKE_OAUTH_JWT_PREVIOUS_SECRETS": OLD_SECRET}
    yield from served_lake(stack, **settings)


def namespaces(server, text: str | None):
    headers = {} if text is None else {"Authorization": text}
    return requests.get(f"{server.api}/namespaces", headers=headers, timeout=30)


def refusal_of(answer, status: int, error: str) -> dict:
    """The body of RFC 6749 §5.2, which is not that of Iceberg's errors."""
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert set(body) == {"error", "error_description"} and body["error"] == error, body
    assert answer.headers["Cache-Control"] == "no-store"
    return body


def test_a_client_gets_a_token_by_form_and_by_basic(guarded):
    form = ask_token(guarded, grant_type="client_credentials", client_id="admin",
                     client_secret="admin-secret", scope="catalog")
    basic = requests.post(f"{guarded.url}/v1/oauth/tokens", auth=("admin", "admin-secret"),
                          data={"grant_type": "client_credentials"}, timeout=30)
    for answer in (form, basic):
        assert answer.status_code == 200, answer.text
        body = answer.json()
        assert body["token_type"] == "Bearer" and body["expires_in"] == 3600
        assert body["issued_token_type"] == ACCESS and body["scope"] == "*:*:*"
        assert answer.headers["Cache-Control"] == "no-store"
        assert namespaces(guarded, f"Bearer {body['access_token']}").status_code == 200
        assert namespaces(guarded, f"bearer {body['access_token']}").status_code == 200


def test_what_is_no_client_gets_none(guarded):
    good = {"grant_type": "client_credentials", "client_id": "admin", "client_secret": "admin-secret"}
    refusal_of(ask_token(guarded, **good | {"client_secret": "x"}), 401, "invalid_client")
    unknown = ask_token(guarded, **good | {"client_id": "nobody"})
    wrong = ask_token(guarded, **good | {"client_secret": "y"})
    assert unknown.text == wrong.text and "Basic" in unknown.headers["WWW-Authenticate"]
    refusal_of(ask_token(guarded, **good | {"grant_type": "password"}), 400, "unsupported_grant_type")
    for missing in good:
        refusal_of(ask_token(guarded, **{k: v for k, v in good.items() if k != missing}), 400,
                   "invalid_request")
    twice = requests.post(f"{guarded.url}/v1/oauth/tokens", timeout=30, headers={
        "Content-Type": "application/x-www-form-urlencoded"},
        data="grant_type=client_credentials&client_id=a&client_id=b&client_secret=c")
    refusal_of(twice, 400, "invalid_request")
    as_json = requests.post(f"{guarded.url}/v1/oauth/tokens", json=good, timeout=30)
    refusal_of(as_json, 400, "invalid_request")
    both = requests.post(f"{guarded.url}/v1/oauth/tokens", data=good, auth=("reader", "reader-secret"),
                         timeout=30)
    refusal_of(both, 400, "invalid_request")


def test_a_scope_narrows_and_never_widens(guarded):
    def scope_of(client: str, scope: str) -> str:
        answer = ask_token(guarded, grant_type="client_credentials", client_id=client,
                           client_secret=f"{client}-secret", scope=scope)
        assert answer.status_code == 200, answer.text
        return answer.json()["scope"]
    assert scope_of("admin", "ns:s:r") == "ns:s:r"
    assert scope_of("reader", "*:*:*") == "*:r"
    assert scope_of("reader", "ns:s:rw") == "ns:s:r"
    # What Iceberg's clients send by default means nothing here.
    assert scope_of("narrow", "catalog") == scope_of("narrow", "PRINCIPAL_ROLE:ALL") == "ns:s:rw"
    assert scope_of("admin", "ns:a%3Ab%20c%25:r catalog") == "ns:a%3Ab%20c%25:r"
    refusal_of(ask_token(guarded, grant_type="client_credentials", client_id="narrow",
                         client_secret="narrow-secret", scope="ns:other:r"), 400, "invalid_scope")


def test_without_a_token_there_is_nothing(guarded):
    answer = namespaces(guarded, None)
    error_of(answer, 401, "NotAuthorizedException")
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="duckicelake"'
    for header in ("Basic YTpi", "Bearer", "Bearer ", "Token x", "Bearer a b", "Bearer\tx"):
        error_of(namespaces(guarded, header), 401)
    # Nobody learns what exists, not even which catalog.
    other = requests.get(f"{guarded.url}/v1/unknown/namespaces", timeout=30)
    assert other.status_code == 401 and other.json() == answer.json()


def test_open_routes_need_none(guarded):
    for path in ("/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/config"):
        assert requests.get(guarded.url + path, timeout=30).status_code == 200, path


def test_forged_tokens_are_refused(guarded):
    now = int(time.time())
    assert namespaces(guarded, f"Bearer {forged({})}").status_code == 200, "the forger's own control"
    good = forged({})
    head, body, signature = good.split(".")
    none = auth.part({"alg": "none"}) + "." + body + "."
    cases = {
        "alg none": none,
        "alg none, signed": none + signature,
        "alg None": auth.part({"alg": "None"}) + "." + body + ".",
        "no signature": f"{head}.{body}.",
        "two parts": f"{head}.{body}",
        "another key": forged({}, secret="another secret of somebody else"),
        "an empty key": forged({}, secret=""),
        "RS256 by the secret": forged({}, header={"alg": "RS256"}),
        "ES256 by the secret": forged({}, header={"alg": "ES256"}),
        "HS512": forged({}, header={"alg": "HS512"}),
        "unknown kid": forged({}, header={"alg": "HS256", "kid": "../../dev/null"}),
        "key in the header": forged({}, header={"alg": "HS256", "jwk": {"kty": "oct", "k": "AA"}},
                                    secret=b"\x00"),
        "crit": forged({}, header={"alg": "HS256", "crit": ["b64"], "b64": False}),
        "other issuer": forged({"iss": "somebody"}),
        "no issuer": forged({"iss": None}),
        "other audience": forged({"aud": "somebody"}),
        "other audiences": forged({"aud": ["a", "b"]}),
        "from the future": forged({"iat": now + 3600, "exp": now + 7200}),
        "not yet": forged({"nbf": now + 3600}),
        "no end": forged({"exp": None}),
        "no begin": forged({"iat": None}),
        "end as text": forged({"exp": str(now + 60)}),
        "no subject": forged({"sub": None}),
        "a subject of nobody": forged({"sub": "nobody"}),
        "changed body": f"{head}.{auth.part({'iss': 'duckicelake', 'sub': 'admin', 'iat': now, 'exp': now + 9, 'scope': '*'})}.{signature}",
        "blank behind": good + "%20",
        "long": "a" * 20000,
    }
    for what, text in cases.items():
        answer = namespaces(guarded, f"Bearer {text}")
        assert answer.status_code in (401, 431), (what, answer.status_code, answer.text)
        if answer.status_code == 401:
            error_of(answer, 401, "NotAuthorizedException")
            assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"], what


def test_more_in_a_token_than_its_client_has_is_not_given(guarded):
    now = int(time.time())
    text = forged({"sub": "reader", "scope": "*:*:*", "roles": ["root"], "iat": now})
    reader = auth.As(guarded, text)
    assert reader.get("/namespaces").status_code == 200
    error_of(reader.post("/namespaces", {"namespace": ["x"]}), 403, "ForbiddenException")
    error_of(reader.get("/governance/roles"), 403)


def test_an_expired_token_is_419(guarded):
    now = int(time.time())
    for end in (now, now - 1, now - 86400):
        answer = namespaces(guarded, f"Bearer {forged({'iat': now - 90000, 'exp': end})}")
        error_of(answer, 419, "AuthenticationTimeoutException")
        assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]
    # A bad one that has expired is bad.
    error_of(namespaces(guarded, f"Bearer {forged({'exp': now - 5}, secret='x')}"), 401)


def test_a_token_that_is_known_ends_at_its_end(guarded):
    now = int(time.time())
    text = f"Bearer {forged({'exp': now + 3})}"
    assert namespaces(guarded, text).status_code == 200
    time.sleep(max(0, now + 3.05 - time.time()))
    error_of(namespaces(guarded, text), 419)


def test_tokens_of_the_key_before_are_taken(guarded):
    assert namespaces(guarded, f"Bearer {forged({}, secret=OLD_SECRET)}").status_code == 200
    header = json.loads(base64.urlsafe_b64decode(auth.token(guarded).split(".")[0] + "=="))
    assert header["alg"] == "HS256" and len(header["kid"]) == 16


def test_tokens_are_refreshed_by_exchange(guarded):
    first = auth.token(guarded, "narrow")

    def exchange(headers=None, **form):
        return ask_token(guarded, grant_type=EXCHANGE, subject_token=first,
                         subject_token_type=ACCESS, headers=headers or {}, **form)

    as_java = exchange(bearer(first), scope="catalog")
    assert as_java.status_code == 200, as_java.text
    assert as_java.json()["scope"] == "ns:s:rw"
    assert namespaces(guarded, f"Bearer {as_java.json()['access_token']}").status_code == 200
    narrower = exchange(bearer(first), scope="ns:s:r").json()
    assert narrower["scope"] == "ns:s:r"
    # What was given up does not come back.
    wider = ask_token(guarded, grant_type=EXCHANGE, subject_token=narrower["access_token"],
                      subject_token_type=ACCESS, headers=bearer(narrower["access_token"]),
                      scope="ns:s:rw").json()
    assert wider["scope"] == "ns:s:r"
    assert exchange(client_id="narrow", client_secret="narrow-secret").status_code == 200
    refusal_of(exchange(), 401, "invalid_client")
    refusal_of(exchange(bearer("x.y.z")), 401, "invalid_client")
    refusal_of(exchange(client_id="narrow", client_secret="wrong"), 401, "invalid_client")
    refusal_of(ask_token(guarded, grant_type=EXCHANGE, subject_token="x.y.z",
                         subject_token_type=ACCESS, headers=bearer(first)), 400, "invalid_grant")
    refusal_of(ask_token(guarded, grant_type=EXCHANGE, subject_token=first, headers=bearer(first),
                         subject_token_type="urn:ietf:params:oauth:token-type:saml2"), 400,
               "invalid_request")


def test_an_expired_token_is_refreshed_by_its_client_only(guarded):
    now = int(time.time())
    old = forged({"sub": "narrow", "iat": now - 7200, "exp": now - 3600, "scope": "ns:s:r"})

    def exchange(client: str):
        return requests.post(f"{guarded.url}/v1/oauth/tokens", auth=(client, f"{client}-secret"),
                             data={"grant_type": EXCHANGE, "subject_token": old,
                                   "subject_token_type": ACCESS}, timeout=30)
    again = exchange("narrow")
    assert again.status_code == 200 and again.json()["scope"] == "ns:s:r", again.text
    refusal_of(exchange("reader"), 400, "invalid_grant")
    refusal_of(ask_token(guarded, grant_type=EXCHANGE, subject_token=old, subject_token_type=ACCESS,
                         headers=bearer(old)), 400, "invalid_grant")


def test_pyiceberg_signs_in_by_itself(guarded):
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import ForbiddenError, OAuthError, UnauthorizedError
    properties = {"type": "rest", "uri": guarded.url, "warehouse": "lake"}
    admin = load_catalog("a", **properties, credential="admin:admin-secret")
    admin.create_namespace_if_not_exists("s")
    assert ("s",) in admin.list_namespaces()
    reader = load_catalog("r", **properties, credential="reader:reader-secret")
    with pytest.raises(ForbiddenError):
        reader.create_namespace("t")
    with pytest.raises((OAuthError, UnauthorizedError)):
        load_catalog("w", **properties, credential="admin:wrong").list_namespaces()
    with_token = load_catalog("t", **properties, token=auth.token(guarded))
    assert ("s",) in with_token.list_namespaces()
    modern = load_catalog("m", **properties, auth={"type": "oauth2", "oauth2": {
        "client_id": "admin", "client_secret": "admin-secret", "token_url": f"{guarded.url}/v1/oauth/tokens"}})
    assert ("s",) in modern.list_namespaces()


def test_failures_are_limited(stack):
    for server in served_lake(stack, **auth.settings(other="*:r")):
        def attempt(client: str, secret: str):
            return ask_token(server, grant_type="client_credentials", client_id=client, client_secret=secret)
        codes = [attempt("admin", f"guess-{i}").status_code for i in range(12)]
        assert codes[:10] == [401] * 10 and codes[-1] == 429, codes
        limited = attempt("admin", "admin-secret")
        refusal_of(limited, 429, "invalid_client")
        assert 1 <= int(limited.headers["Retry-After"]) <= 60
        # Others from the same address are not locked out by it.
        assert attempt("other", "other-secret").status_code == 200


def test_tokens_end_after_the_time_of_the_settings(stack):
    for server in served_lake(stack, **auth.settings() | {"DUCKICELAKE_OAUTH_TTL_SECONDS": "1"}):
        # Of a second that has begun: it lives no shorter than is said.
        time.sleep(0.95 - time.time() % 1 if time.time() % 1 < 0.9 else 0)
        text, made = auth.token(server), time.monotonic()
        while time.monotonic() < made + 0.8:
            assert namespaces(server, f"Bearer {text}").status_code == 200
        time.sleep(1.4)
        error_of(namespaces(server, f"Bearer {text}"), 419)


def test_authentication_off_has_no_tokens(server):
    answer = ask_token(server, grant_type="client_credentials", client_id="a", client_secret="b")
    error_of(answer, 501, "NotImplementedException")
    assert namespaces(server, None).status_code == 200
    assert namespaces(server, "Bearer whatever").status_code == 200


def test_settings_that_let_nobody_in_are_refused(fresh_plain_lake):
    assert command(fresh_plain_lake, "init").returncode == 0
    for settings, why in (({"DUCKICELAKE_REQUIRE_AUTH": "1"}, "nobody could come in"),
                          ({"DUCKICELAKE_OAUTH_CLIENTS": "a:b"}, "JWT_SECRET is not set"),
                          ({"DUCKICELAKE_OAUTH_CLIENTS": "a", "DUCKICELAKE_OAUTH_JWT_SECRET": SECRET}, "client 1"),
                          ({"DUCKICELAKE_OAUTH_CLIENTS_FILE": "/nowhere"}, "cannot be read")):
        server = Server(fresh_plain_lake, **settings).start(wait=False)
        assert server.process.wait(60) == 1
        assert why in server.log_tail(), server.log_tail()
        server.process = None
