#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks a model over all interleavings with spin, and that the same model with a mistake is caught.
set -eu
command -v spin >/dev/null || { echo "skipped: spin is not installed"; exit 77; }
model=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
spin -run "$model" >right 2>&1
grep -q 'errors: 0' right || { cat right; echo "the model has an error"; exit 1; }
spin -DFORGETFUL -run "$model" >wrong 2>&1 || true
grep -q 'errors: 1' wrong || { cat wrong; echo "the mistake was not found"; exit 1; }
grep 'states, stored' right
