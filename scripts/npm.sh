#!/bin/sh
# Fails if there is no Node.js with npm. In CI, where a test that lacks a program fails, it installs both first; a developer's
# choice of Node.js is left alone.
set -eu

there() { command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1; }

there || { [ -n "${CI:-}" ] && "$(dirname "$0")/apt.sh" npm nodejs npm && there; }
