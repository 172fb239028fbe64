#!/bin/sh
# Installs the server binaries of Postgres if they are missing. Tests and the demo start
# private servers from them; no other server has to run, and this script starts none.
set -eu

holds_server() { [ -x "$1/initdb" ] && [ -x "$1/postgres" ]; }

# The same places as in internal/pg/postmaster, which picks the highest version.
# CONCH_PG_BIN names a folder of binaries and overrides every other place.
find_postgres() {
	if [ -n "${CONCH_PG_BIN:-}" ]; then
		holds_server "$CONCH_PG_BIN" && echo "$CONCH_PG_BIN"
		return
	fi
	for dir in \
		/usr/lib/postgresql/*/bin \
		/usr/pgsql-*/bin \
		/usr/libexec/postgresql* \
		/opt/homebrew/opt/postgres*/bin \
		/usr/local/opt/postgres*/bin \
		/Applications/Postgres.app/Contents/Versions/*/bin \
		"$(pg_config --bindir 2>/dev/null)" \
		"$(dirname "$(command -v postgres)")"; do
		if holds_server "$dir"; then
			echo "$dir"
			return
		fi
	done
	return 1
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

install_on_debian() {
	# Write this before the package is installed, or it starts a cluster on port 5432.
	as_root mkdir -p /etc/postgresql-common
	if ! grep -qs '^create_main_cluster = false' /etc/postgresql-common/createcluster.conf; then
		echo 'create_main_cluster = false' | as_root tee -a /etc/postgresql-common/createcluster.conf >/dev/null
	fi
	as_root apt-get update -qq
	# confold: keep the file above, without a question from apt.
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		-o Dpkg::Options::=--force-confold postgresql postgresql-contrib >/dev/null </dev/null
}

if dir=$(find_postgres); then
	echo "postgres: $dir"
	exit 0
fi

if [ -n "${CONCH_PG_BIN:-}" ]; then
	echo "postgres: CONCH_PG_BIN is $CONCH_PG_BIN, which holds no initdb and postgres; correct or unset it" >&2
	exit 1
fi

if command -v apt-get >/dev/null 2>&1 && { [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; }; then
	echo "postgres: not found, installing it from this system's packages"
	install_on_debian
	if dir=$(find_postgres); then
		echo "postgres: $dir"
		exit 0
	fi
fi

cat >&2 <<'SAY'
postgres: the server binaries (initdb, postgres) were not found; install them and try again:
  Debian, Ubuntu   apt-get install postgresql     (write "create_main_cluster = false" to
                   /etc/postgresql-common/createcluster.conf first, or a server starts on 5432)
  Fedora, RHEL     dnf install postgresql-server postgresql-contrib
  Alpine           apk add postgresql postgresql-contrib
  Arch             pacman -S postgresql
  macOS            brew install postgresql@17
or name the folder that holds them in CONCH_PG_BIN.
SAY
exit 1
