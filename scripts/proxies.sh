#!/bin/sh
# Installs PgBouncer and nginx if they are missing; tests start private ones. The services of the packages stay off, now and at the
# next boot, so that a developer does not get a pooler on port 6432 and a web server on port 80.
set -eu

find_program() { PATH=$PATH:/usr/sbin:/usr/local/sbin command -v "$1"; }

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
		case "\$*" in *pgbouncer*|*nginx*) exit 101 ;; esac
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
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null </dev/null
	# Keep the services off at the next boot too.
	for name in "$@"; do
		as_root update-rc.d "$name" disable >/dev/null 2>&1 || true
		if command -v systemctl >/dev/null 2>&1; then
			as_root systemctl disable "$name.service" >/dev/null 2>&1 || true
		fi
	done
	allow_start
	trap - EXIT HUP INT TERM
}

missing() { for name in pgbouncer nginx; do find_program "$name" >/dev/null || printf '%s ' "$name"; done; }

lacks=$(missing)
if [ -n "$lacks" ] && command -v apt-get >/dev/null 2>&1 && { [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; }; then
	echo "$lacks: not found, installing from this system's packages; its service stays off"
	# shellcheck disable=SC2086 # several
	install_on_debian $lacks
	lacks=$(missing)
fi
for name in pgbouncer nginx; do
	if program=$(find_program "$name"); then echo "$name: $program"; fi
done
[ -n "$lacks" ] || exit 0

echo "$lacks: not found, so the tests with a real pooler or proxy are skipped; install it to run them (Debian: apt-get install pgbouncer nginx, Fedora: dnf install pgbouncer nginx, macOS: brew install pgbouncer nginx)" >&2
# In CI a skipped test is a failure.
[ -z "${CI:-}" ]
