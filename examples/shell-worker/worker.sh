#!/bin/sh
# A worker in shell that runs in several copies, of which one works.
#
#   psql "$CONCH_DB_URL" -c 'CREATE TABLE public.payments (id bigserial, epoch bigint NOT NULL, worker text NOT NULL)'
#   conch run --scope payments --fenced --restart -- sh worker.sh
#
# `conch run` starts the worker only while it leads. Each transaction ends with the fence,
# so the database refuses the writes of a leadership that is over.
set -u
: "${CONCH_SCOPE:?start it under: conch run --scope S -- sh worker.sh}"

# conch sends SIGTERM before it kills, and psql gets it too: the database rolls back the
# transaction that this cuts off, and the loop ends.
stop=
trap 'stop=yes' TERM

while [ -z "$stop" ]; do
	# psql variables quote themselves: :'scope' is a literal.
	if ! said=$(psql -X -q -t -A "$CONCH_DB_URL" -v ON_ERROR_STOP=1 -v VERBOSITY=sqlstate \
		-v scope="$CONCH_SCOPE" -v epoch="$CONCH_EPOCH" -v term="$CONCH_TERM" -v me="${CONCH_ID-}" 2>&1 <<-'SQL'
		BEGIN;
		INSERT INTO payments (epoch, worker) VALUES (:epoch, :'me') RETURNING 'paid ' || id || ' under epoch ' || epoch;
		SELECT conch.fence(:'scope', :epoch, :'term'); -- last, right before the commit
		COMMIT;
		SQL
	); then
		[ -z "$stop" ] || exit 0
		case $said in
		*CN001*) echo "somebody else leads $CONCH_SCOPE by now" >&2 ;; # do not try again
		*) echo "the database refused: $said" >&2 ;;
		esac
		exit 1
	fi
	# The fence returns an empty line.
	printf '%s\n' "$said" | grep paid
	# In the background: some shells lose a signal while they start a foreground command.
	sleep 0.1 &
	wait $!
done
exit 0
