# SPDX-License-Identifier: Apache-2.0
"""Shared helpers of the integration and conformance tests."""
