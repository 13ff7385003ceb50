# SPDX-License-Identifier: Apache-2.0
"""The dev stack's private object store: SeaweedFS with STS, on loopback.

Three identities exist: `admin` makes buckets, `catalog` is what the server signs with (the
bucket's data and AssumeRole, nothing else), beside users whom tests ask for (`users`). An anonymous request must be refused, which `start` asserts. The other ports of SeaweedFS bypass all of this, so the
configuration closes them as far as it can, and they listen on loopback only.
"""
from __future__ import annotations

import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys

import sigv4
from devstack_process import KILL, PidFile, StackError, runtime_folder, tail, wait_until, write_private

ROLE_ARN = "arn:aws:iam::000000000000:role/duckicelake-vendor"
S3_PORT_OFFSET = 10


def weed() -> str:
    """The store's program, from the project's Python environment or the PATH."""
    root = pathlib.Path(__file__).resolve().parent.parent
    deps = pathlib.Path(os.environ.get("DUCKICELAKE_DEPS_DIR") or root / ".deps")
    for place in (deps / "venv/bin/weed", pathlib.Path(sys.prefix) / "bin/weed"):
        if place.exists():
            return str(place)
    found = shutil.which("weed")
    if not found:
        raise StackError("the object store's program `weed` is missing; run `make deps`")
    return found


class ObjectStore:
    """One store. `settings` holds base_port, bucket, region, the keys and the signing keys."""

    def __init__(self, state: pathlib.Path, settings: dict):
        self.settings = settings
        self.home = state / "s3"
        self.log = self.home / "weed.log"
        self.process = PidFile(self.home / "weed.pid")
        base = settings["base_port"]
        self.port = base + S3_PORT_OFFSET
        self.endpoint = f"http://127.0.0.1:{self.port}"
        # Two sockets that we name: below the temporary folder, because a socket's path may have
        # 107 bytes only. Four that SeaweedFS names, by gRPC port; they survive a SIGKILL.
        self._own_sockets = [runtime_folder() / f"{base}-{name}.sock" for name in ("f", "s")]
        self._sockets = self._own_sockets + [
            pathlib.Path(f"/tmp/seaweedfs-{name}-grpc-{port}.sock") for name, port in
            (("master", base + 1), ("volume", base + 3), ("filer", base + 5), ("s3", base + 11))]

    @property
    def has_sts(self) -> bool:
        return self.settings.get("sts", True)

    @property
    def admin(self) -> sigv4.Keys:
        return sigv4.Keys(self.settings["admin_key"], self.settings["admin_secret"])

    @property
    def catalog(self) -> sigv4.Keys:
        return sigv4.Keys(self.settings["catalog_key"], self.settings["catalog_secret"])

    def user(self, name: str) -> sigv4.Keys:
        """Of a user that the stack was opened with."""
        found = self.settings["users"][name]
        return sigv4.Keys(found["key"], found["secret"])

    def is_running(self) -> bool:
        return self.process.pid() is not None

    def is_ready(self) -> bool:
        try:
            return self.is_running() and sigv4.request(
                "GET", f"{self.endpoint}/healthz", timeout_seconds=2).status == 200
        except (OSError, http.client.HTTPException):
            return False

    def start(self) -> None:
        """Starts the store, makes the bucket if it is new and checks that strangers are refused."""
        if not self.is_running():
            self._launch()
        wait_until("the object store answers", self._ready_or_dead, 60)
        wait_until("the bucket can be made", self._make_bucket, 60)
        self._refuses_strangers()

    def _ready_or_dead(self) -> bool:
        if not self.is_running():
            raise StackError(f"the object store ended at once. Its last words ({self.log}):\n"
                             f"{tail(self.log)}")
        return self.is_ready()

    def stop(self) -> None:
        # SIGTERM waits 15 s for its own gRPC; what was acknowledged is on disk already.
        self.process.stop(KILL)
        for path in self._sockets:
            path.unlink(missing_ok=True)

    def destroy(self) -> None:
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    def _launch(self) -> None:
        self._write_configuration()
        for path in self._sockets:
            try:
                path.unlink(missing_ok=True)
            except PermissionError:
                raise StackError(f"{path} was left by another user's store on the same ports; "
                                 "remove it, or give this stack another --base-port") from None
        base, home = self.settings["base_port"], self.home
        command = [
            weed(), "-logtostderr", f"-config_dir={home}/conf", "server", "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1", f"-dir={home}/data", "-disableHttp",
            f"-master.port={base}", f"-master.port.grpc={base + 1}", "-master.telemetry=false",
            "-master.volumeSizeLimitMB=64", "-master.electionTimeout=500ms",
            "-master.heartbeatInterval=100ms", f"-volume.port={base + 2}",
            f"-volume.port.grpc={base + 3}", "-volume.max=0", "-volume.minFreeSpace=200MiB",
            "-volume.preStopSeconds=0", "-filer", f"-filer.port={base + 4}",
            f"-filer.port.grpc={base + 5}", f"-filer.localSocket={self._own_sockets[0]}",
            "-filer.disableHttp", "-s3", f"-s3.port={self.port}", f"-s3.port.grpc={base + 11}",
            f"-s3.localSocket={self._own_sockets[1]}", "-s3.port.iceberg=0", "-s3.port.lance=0",
            "-s3.domainName=s3.localhost", f"-s3.config={home}/s3.json",
            "-s3.autoCreateBucket=false",
            f"-s3.iam.config={home}/iam.json" if self.has_sts else "-s3.iam=false"]
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("DUCKICELAKE_", "AWS_", "WEED_"))}
        with open(self.log, "ab") as log:
            started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       env=environment | {"GOMEMLIMIT": "512MiB", "GOGC": "800"}, cwd=home,
                                       start_new_session=True)
        self.process.write(started.pid)
        started.returncode = 0  # it outlives us on purpose: no warning when the object goes

    def _write_configuration(self) -> None:
        for name in ("data", "conf"):
            (self.home / name).mkdir(parents=True, exist_ok=True)
        self.home.chmod(0o700)
        s, bucket = self.settings, self.settings["bucket"]

        def identity(name, actions):
            return {"name": name, "actions": actions, "credentials": [
                {"accessKey": s[f"{name}_key"], "secretKey": s[f"{name}_secret"]}]}

        write_private(self.home / "s3.json", json.dumps({"identities": [
            identity("admin", ["Admin", "Read", "Write", "List", "Tagging"]),
            identity("catalog", [f"{verb}:{bucket}" for verb in
                                 ("Read", "Write", "List", "Tagging")]),
            *({"name": name, "actions": [f"{verb}:{bucket}" for verb in user["verbs"]],
               "credentials": [{"accessKey": user["key"], "secretKey": user["secret"]}]}
              for name, user in s.get("users", {}).items())]}, indent=1))
        arn = f"arn:aws:s3:::{bucket}"
        write_private(self.home / "iam.json", json.dumps({
            "sts": {"tokenDuration": "1h", "maxSessionLength": "12h", "issuer": "dev-sts",
                    "signingKey": s["sts_signing_key"], "accountId": "000000000000"},
            "policy": {"defaultEffect": "Deny", "storeType": "memory"},
            "policies": [{"name": "LakeRW", "document": {
                "Version": "2012-10-17", "Statement": [
                    {"Effect": "Allow", "Action": ["s3:*"], "Resource": [arn, f"{arn}/*"]}]}}],
            "roles": [{"roleName": ROLE_ARN.rsplit("/", 1)[1], "roleArn": ROLE_ARN,
                       "trustPolicy": {"Version": "2012-10-17", "Statement": [
                           {"Effect": "Allow", "Action": ["sts:AssumeRole"], "Principal":
                            {"AWS": ["arn:aws:iam::000000000000:user/catalog"]}}]},
                       "attachedPolicies": ["LakeRW"]}]}, indent=1))
        keys = s["internal_keys"]
        write_private(self.home / "conf/security.toml", "[access]\nui = false\n" + "".join(
            f"[{section}]\nkey = \"{key}\"\n" for section, key in
            zip(("jwt.signing", "jwt.signing.read", "jwt.filer_signing",
                 "jwt.filer_signing.read"), keys)))
        write_private(self.home / "conf/master.toml", "[master.volume_growth]\n" + "".join(
            f"copy_{which} = 1\n" for which in ("1", "2", "3", "other")))

    def _make_bucket(self) -> bool:
        url = f"{self.endpoint}/{self.settings['bucket']}"
        try:
            if sigv4.request("HEAD", url, self.admin).status == 200:
                return True
            return sigv4.request("PUT", url, self.admin).status in (200, 409)
        except (OSError, http.client.HTTPException):
            return False

    def _refuses_strangers(self) -> None:
        answer = sigv4.request("GET", f"{self.endpoint}/{self.settings['bucket']}")
        if answer.status != 403:
            self.stop()
            raise StackError(f"the object store answered {answer.status} to an anonymous request "
                             "where it must refuse (403); it was stopped. This is a fault of its "
                             f"configuration in {self.home}.")

    def check_sts(self) -> None:
        """A session limited to one prefix can write there and nowhere else, or StackError."""
        bucket = self.settings["bucket"]
        policy = json.dumps({"Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Action": ["s3:PutObject", "s3:GetObject"],
            "Resource": [f"arn:aws:s3:::{bucket}/devstack-check/*"]}]})
        try:
            session = sigv4.assume_role(self.endpoint, self.catalog, ROLE_ARN, "devstack", policy)
        except RuntimeError as error:
            raise StackError(str(error)) from None
        url = f"{self.endpoint}/{bucket}"
        for method, path, keys, body, want in (
                ("PUT", "devstack-check/a", session, b"a", 200),
                ("GET", "devstack-check/a", session, b"", 200),
                ("PUT", "devstack-other/a", session, b"a", 403),
                ("DELETE", "devstack-check/a", session, b"", 403),
                ("DELETE", "devstack-check/a", self.catalog, b"", 204)):
            status = sigv4.request(method, f"{url}/{path}", keys, body).status
            if status != want:
                raise StackError(f"STS check: {method} {path} answered {status}, expected {want}")
