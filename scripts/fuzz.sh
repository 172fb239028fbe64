#!/bin/sh
# Runs each fuzz test of the workspace with so many inputs: go test -fuzz takes one test at a
# time. With a duration instead, go1.26 reports the end of the time as a failure now and then.
set -eu
cd "$(dirname "$0")/.."

found=$(git grep -l '^func Fuzz' -- '*_test.go')
for file in $found; do
	for name in $(sed -n 's/^func \(Fuzz[A-Za-z0-9]*\)(.*/\1/p' "$file"); do
		echo "fuzz: $name in $(dirname "$file")"
		go test -run '^$' -fuzz "^$name\$" -fuzztime "${1}x" "./$(dirname "$file")" || failed=1
	done
done
exit "${failed:-0}"
