#!/bin/sh
# Checks for a C compiler, which cgo and so the race detector need: go's own error is
# hard to understand.
set -eu

cc=$(go env CC)
if [ "$(go env CGO_ENABLED)" = 0 ] && [ -n "${CGO_ENABLED:-}" ]; then
	echo "gcc: the tests run with -race, which needs cgo: unset CGO_ENABLED" >&2
	exit 1
fi
# CC may contain arguments; its first word is the compiler.
if ! command -v "${cc%% *}" >/dev/null 2>&1; then
	echo "gcc: the tests run with -race, which needs a C compiler, and there is no ${cc%% *}: install gcc (Debian: apt-get install gcc libc6-dev)" >&2
	exit 1
fi
