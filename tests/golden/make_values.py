#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes values.tsv: what PyIceberg makes of many values, for the C++ tests to compare with.

Columns: type, transform ("" = the value itself), bytes of the source in hex, bytes of the result in hex.
Run with a Python that has pyiceberg: make_values.py > values.tsv
"""
import random
import uuid
from decimal import Decimal, localcontext

from pyiceberg.conversions import to_bytes
from pyiceberg.transforms import parse_transform
from pyiceberg.types import (
    BinaryType, DateType, DecimalType, IntegerType, LongType, StringType, TimestampType, TimestamptzType,
    TimeType, UUIDType,
)

DAY = 86_400_000_000
rng = random.Random(20260801)


def integers(bits: int, count: int) -> list[int]:
    edges = [0, 1, -1, 9, 10, -9, -10, -11, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)) + 1000]
    return edges + [rng.randrange(-(2 ** (b - 1)), 2 ** (b - 1)) for b in range(2, bits, max(1, bits // count))]


def decimals(precision: int, scale: int) -> list[Decimal]:
    unscaled = [0, 1, -1, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, -32769, 10**precision - 1]
    unscaled += [1 - 10**precision] + [rng.randrange(-(10**d), 10**d) for d in range(1, precision)]
    with localcontext() as context:
        context.prec = 40
        return [Decimal(u).scaleb(-scale) for u in unscaled if abs(u) < 10**precision]


def texts() -> list[str]:
    alphabet = "aZ0 é\u07ff\u0800\ud7ff\ue000\uffff😀\U0010ffff\0"
    return ["", "iceberg"] + ["".join(rng.choices(alphabet, k=n)) for n in range(1, 24)]


CASES = [
    (IntegerType(), integers(32, 16), ["bucket[16]", "truncate[10]", "truncate[1000]"]),
    (LongType(), integers(64, 16), ["bucket[7]", "truncate[10]"]),
    (DateType(), [0, -1, 1, 17486, -719162, 2932896] + integers(20, 12), ["bucket[16]", "year", "month", "day"]),
    (TimeType(), [0, 1, DAY - 1, 81_068_000_000], ["bucket[16]"]),
    (TimestampType(), [0, -1, 1, -DAY, -DAY - 1, 1_510_871_468_000_001] + integers(56, 24),
     ["bucket[16]", "year", "month", "day", "hour"]),
    (TimestamptzType(), [0, -1, 1_510_871_468_000_001] + integers(56, 12), ["bucket[16]", "year", "month", "day", "hour"]),
    (DecimalType(5, 2), decimals(4, 2), ["bucket[16]", "truncate[50]"]),
    (DecimalType(10, 0), decimals(9, 0), ["bucket[16]", "truncate[10]"]),
    (DecimalType(18, 3), decimals(18, 3), ["bucket[16]"]),
    (DecimalType(38, 10), decimals(38, 10), ["bucket[16]"]),
    (StringType(), texts(), ["bucket[16]", "truncate[3]"]),
    (BinaryType(), [rng.randbytes(n) for n in range(20)], ["bucket[16]", "truncate[5]"]),
    (UUIDType(), [uuid.UUID(int=rng.getrandbits(128)) for _ in range(10)], ["bucket[16]"]),
]


def main() -> None:
    for iceberg_type, values, transforms in CASES:
        for value in values:
            source = to_bytes(iceberg_type, value).hex()
            print(f"{iceberg_type}\t\t{source}\t{source}")
            for text in transforms:
                transform = parse_transform(text)
                result = transform.transform(iceberg_type)(value)
                encoded = to_bytes(transform.result_type(iceberg_type), result).hex()
                print(f"{iceberg_type}\t{text}\t{source}\t{encoded}")


if __name__ == "__main__":
    main()
