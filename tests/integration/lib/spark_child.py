# SPDX-License-Identifier: Apache-2.0
"""Runs SQL in Spark for lib/spark.py: one JSON request a line on stdin, one JSON answer on stdout.

Runs in the Spark environment (.deps/venv-spark), which has no Arrow: results go through Parquet.
"""
import json
import sys


def session(settings):
    from pyspark.sql import SparkSession
    builder = SparkSession.builder.master("local[2]").appName("duckicelake-tests")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def main():
    spark = session(json.loads(sys.stdin.readline()))
    spark.sparkContext.setLogLevel("ERROR")
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            frame = spark.sql(request["sql"])
            if request.get("out"):
                frame.coalesce(1).write.mode("overwrite").parquet(request["out"])
                answer = {"columns": frame.columns}
            else:
                answer = {"rows": [[str(v) for v in row] for row in frame.collect()]}
        except Exception as error:  # the message is the answer
            answer = {"error": f"{type(error).__name__}: {error}"[:4000]}
        print(json.dumps(answer), flush=True)
    spark.stop()


main()
