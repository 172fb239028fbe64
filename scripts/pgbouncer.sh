#!/bin/sh
# Installs PgBouncer if it is missing; tests start private poolers. The service of the
# package stays off, now and at the next boot, so that a developer does not get a pooler
# on port 6432.
set -eu

find_pgbouncer() { PATH=$PATH:/usr/sbin:/usr/local/sbin command -v pgbouncer; }

as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

policy=/usr/sbin/policy-rc.d
aside=$policy.before-conch

# Debian starts the services that it installs unless policy-rc.d forbids it. The script
# below asks an existing policy-rc.d about other services; allow_start restores that.
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
	# Keep the service off at the next boot too.
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

echo "pgbouncer: not found, so the tests with a real pooler are skipped; install it to run them (Debian: apt-get install pgbouncer, Fedora: dnf install pgbouncer, macOS: brew install pgbouncer)" >&2
# In CI a skipped test is a failure.
[ -z "${CI:-}" ]
