#!/bin/sh
# Makes sure that PgBouncer is on this machine: tests start private ones. The
# package's own service is neither started nor left to start with the machine: a
# developer who never asked for a pooler on port 6432 gets none.
set -eu

find_pgbouncer() { PATH=$PATH:/usr/sbin:/usr/local/sbin command -v pgbouncer; }

as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

policy=/usr/sbin/policy-rc.d
aside=$policy.before-conch

# Debian starts what it installs unless this program forbids it. What was there
# before is still asked about everything else, and comes back afterwards.
forbid_start() {
	if [ -e "$policy" ]; then as_root mv "$policy" "$aside"; fi
	trap allow_start EXIT
	trap 'exit 1' HUP INT TERM
	as_root tee "$policy" >/dev/null <<-POLICY
		#!/bin/sh
		case "\$*" in *pgbouncer*) exit 101 ;; esac
		if [ -x $aside ]; then exec $aside "\$@"; fi
		exit 104
	POLICY
	as_root chmod 755 "$policy"
}

allow_start() {
	as_root rm -f "$policy"
	if [ -e "$aside" ]; then as_root mv "$aside" "$policy"; fi
}

install_on_debian() {
	as_root apt-get update -qq
	forbid_start
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends pgbouncer >/dev/null </dev/null
	# Nor at the next start of the machine.
	as_root update-rc.d pgbouncer disable >/dev/null 2>&1 || true
	if command -v systemctl >/dev/null 2>&1; then
		as_root systemctl disable pgbouncer.service >/dev/null 2>&1 || true
	fi
	allow_start
	trap - EXIT HUP INT TERM
}

if program=$(find_pgbouncer); then
	echo "pgbouncer: $program"
	exit 0
fi

if command -v apt-get >/dev/null 2>&1 && { [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; }; then
	echo "pgbouncer: not found, installing it from this system's packages; its service stays off"
	install_on_debian
	if program=$(find_pgbouncer); then
		echo "pgbouncer: $program"
		exit 0
	fi
fi

echo "pgbouncer: it was not found, so the tests through a real pooler are skipped; install it to run them (Debian: apt-get install pgbouncer, Fedora: dnf install pgbouncer, macOS: brew install pgbouncer)" >&2
# Where the proof is demanded, its absence is a failure.
[ -z "${CI:-}" ]
