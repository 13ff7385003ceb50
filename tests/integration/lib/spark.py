# SPDX-License-Identifier: Apache-2.0
"""Spark with Iceberg's runtime as one more client; a child process, because it has its own venv."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading

import pyarrow as pa
import pyarrow.parquet as pq

from .canon import Rows, rows_of
from .lakes import ROOT

DEPS = pathlib.Path(os.environ.get("DUCKICELAKE_DEPS_DIR") or ROOT / ".deps").resolve()
SECONDS = 300  # for one statement; the first one starts a JVM


def tick(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


class Spark:
    name = "spark"

    def __init__(self, server, **properties):
        """`properties` of the catalog take the place of the tests' own; None leaves one out."""
        python = DEPS / "venv-spark/bin/python"
        jars = sorted((DEPS / "spark-jars").glob("*.jar"))
        if not python.exists() or not jars:
            raise FileNotFoundError("Spark is missing: run `tools/deps/install --spark`")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="duckicelake-spark-"))
        self.log = open(self.folder / "spark.log", "w+")
        env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "SPARK_HOME")}
        self.child = subprocess.Popen(
            [str(python), str(pathlib.Path(__file__).with_name("spark_child.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
            env=env | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": str(python)},
            cwd=self.folder)
        store = server.lake.env
        files = self._store_jar()
        catalog = {
            "type": "rest", "uri": server.url, "warehouse": "lake",
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            "s3.endpoint": store["DUCKICELAKE_S3_ENDPOINT"], "s3.path-style-access": "true",
            "s3.access-key-id": store["DUCKICELAKE_S3_ROOT_KEY"],
            "s3.secret-access-key": store["DUCKICELAKE_S3_ROOT_SECRET"],
            "client.region": store["DUCKICELAKE_S3_REGION"], "cache-enabled": "false",
            "header.X-Iceberg-Access-Delegation": ""} | properties
        catalog = {key: value for key, value in catalog.items() if value is not None}
        settings = {f"spark.sql.catalog.ice.{key}": value for key, value in catalog.items()}
        settings |= {f"spark.hadoop.duckicelake.store.{key}": value
                     for key, value in catalog.items() if key.startswith(("s3.", "client."))}
        self._ask(settings | {
            "spark.jars": ",".join(map(str, [*jars, files])), "spark.driver.memory": "1g",
            "spark.hadoop.fs.s3.impl": "duckicelake.StoreFileSystem",
            "spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "UTC", "spark.sql.caseSensitive": "true",
            "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
            "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
            "spark.sql.extensions":
                "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog"})

    def _store_jar(self) -> pathlib.Path:
        """With the file system that Spark's add_files lists its source with."""
        spark = next((DEPS / "venv-spark/lib").glob("python*/site-packages/pyspark/jars"))
        classes = self.folder / "classes"
        subprocess.run(
            ["javac", "--release", "17", "-nowarn", "-cp", f"{DEPS / 'spark-jars'}/*:{spark}/*",
             "-d", str(classes), str(pathlib.Path(__file__).with_name("StoreFileSystem.java"))],
            check=True, capture_output=True, timeout=SECONDS)
        return pathlib.Path(shutil.make_archive(str(classes), "zip", classes)).rename(
            self.folder / "store.jar")

    def _ask(self, request: dict) -> dict:
        answer: list[str] = []
        self.child.stdin.write(json.dumps(request) + "\n")
        self.child.stdin.flush()
        reader = threading.Thread(target=lambda: answer.append(self.child.stdout.readline()),
                                  daemon=True)
        reader.start()
        reader.join(SECONDS)
        if not answer or not answer[0]:
            raise RuntimeError(f"Spark gave no answer; its log:\n{self.log_tail()}")
        found = json.loads(answer[0])
        if "error" in found:
            raise RuntimeError(found["error"])
        return found

    def log_tail(self) -> str:
        return "\n".join((self.folder / "spark.log").read_text().splitlines()[-25:])

    def sql(self, text: str) -> list[list[str]]:
        return self._ask({"sql": text})["rows"]

    def table(self, text: str) -> pa.Table:
        out = self.folder / "result"
        columns = self._ask({"sql": text, "out": str(out)})["columns"]
        return pq.read_table(out).select(columns)

    def rows(self, schema: str, table: str, snapshot: int | None = None,
             types: dict | None = None) -> Rows:
        at = "" if snapshot is None else f" VERSION AS OF {snapshot}"
        return rows_of(self.table(f"SELECT * FROM ice.{tick(schema)}.{tick(table)}{at}"), types)

    def close(self) -> None:
        self.child.stdin.close()
        try:
            self.child.wait(60)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
